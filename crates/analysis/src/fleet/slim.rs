//! A run file as a fleet needs it: everything but samples, rounds and the texts that teach, which are skipped while it is read.

use std::borrow::Cow;

use hostmark_model::{
    Also, Better, Estimate, Flag, HostFacts, Imported, LoadError, Measured, Neighbours, Noise, Run, Settings, Text,
    Tool, Unit, load_form,
};
use serde::Deserialize;

/// A run without what takes its room. Whatever is not named here is skipped.
#[derive(Debug, Deserialize)]
pub(super) struct SlimRun {
    schema: Option<String>,
    id: String,
    name: String,
    started: String,
    finished: Option<String>,
    interrupted: Option<String>,
    imported: Option<Imported>,
    tool: Tool,
    guest: Option<Box<hostmark_model::Guest>>,
    settings: Settings,
    host: HostFacts,
    disturbances: Vec<Text<String>>,
    neighbours: Option<Neighbours>,
    pub(super) probes: Vec<SlimProbe>,
    pub(super) cases: Vec<SlimCase>,
}

/// Part of a probe that a fleet needs.
#[derive(Debug, Deserialize)]
pub(super) struct SlimProbe {
    pub(super) id: String,
    pub(super) title: Text<String>,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) revision: u32,
}

/// Part of a case that a fleet needs.
#[derive(Debug, Deserialize)]
pub(super) struct SlimCase {
    pub(super) id: String,
    pub(super) probe: String,
    pub(super) outcome: SlimOutcome,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SlimOutcome {
    Measured(Box<SlimMeasured>),
    /// Case that could not be measured there.
    Skipped {},
    Failed {},
}

#[derive(Debug, Deserialize)]
pub(super) struct SlimMeasured {
    pub(super) estimate: Estimate,
    pub(super) noise: Noise,
    #[serde(default)]
    pub(super) flags: Vec<Flag>,
    #[serde(default)]
    also: SlimAlso,
}

/// Companion by which a core is judged.
#[derive(Debug, Default, Deserialize)]
struct SlimAlso {
    cycles: Option<Also>,
}

impl SlimMeasured {
    /// Value, or that in cycles of the core; none where these are not known.
    pub(super) fn quantity(&self, name: &str) -> Option<Cow<'_, Estimate>> {
        if name == Measured::CYCLES {
            let cycles = &self.also.cycles.as_ref()?.estimate;
            return Some(Measured::companion_of(&self.estimate, name, cycles));
        }
        Some(Cow::Borrowed(&self.estimate)).filter(|_| name.is_empty())
    }
}

impl SlimRun {
    /// Reads a run file's text.
    pub(super) fn read(text: &str) -> Result<SlimRun, LoadError> {
        load_form(text, |run: &SlimRun| run.schema.clone())
    }

    /// The run without probes and cases, and these.
    pub(super) fn parts(self) -> (Run, Vec<SlimProbe>, Vec<SlimCase>) {
        let run = Run {
            schema: self.schema.unwrap_or_default(),
            id: self.id,
            name: self.name,
            started: self.started,
            finished: self.finished,
            interrupted: self.interrupted,
            imported: self.imported,
            tool: self.tool,
            guest: self.guest,
            settings: self.settings,
            host: self.host,
            disturbances: self.disturbances,
            neighbours: self.neighbours,
            ..Run::default()
        };
        (run, self.probes, self.cases)
    }
}
