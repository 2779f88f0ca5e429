//! Cases that differ in their path alone: the same CPUs, block and amount.

use hostmark_model::{CaseRecord, Message, Params, Run};

use super::pipeline::{PATH, PROBE, Pipeline};
use crate::reasons;

/// The axis of CPUs that the processes may use.
pub(super) const CPUS: &str = "cpus";

/// The paths of one place or of one process, of which forecasts are made.
pub(super) const ZERO: &str = "zero_null";
pub(super) const FILE: &str = "file_null";
pub(super) const COLD_FILE: &str = "cold_file_null";
pub(super) const PIPE: &str = "memory_pipe_memory";
pub(super) const SOCKET: &str = "memory_socket_memory";
/// The same where the receiver takes each block at once.
pub(super) const SOCKET_CLOSE: &str = "memory_socket_memory_close";
/// The same where several blocks lie between the two at any time.
pub(super) const SOCKET_BEHIND: &str = "memory_socket_memory_behind";

/// Paths of which forecasts are made: no pipeline that is forecast is among them.
pub(super) const SINGLE_STAGES: [&str; 7] = [ZERO, FILE, COLD_FILE, PIPE, SOCKET, SOCKET_CLOSE, SOCKET_BEHIND];

/// Tells whether the processes of a path share one CPU in turn, as several CPUs do not.
pub fn is_of_one_cpu(path: &str) -> bool {
    [SOCKET_CLOSE, SOCKET_BEHIND].contains(&path)
}

/// Cases that differ in their path alone.
#[derive(Debug)]
pub(super) struct Setting<'a> {
    /// Position on all axes but the path.
    pub(super) point: Params,
    pub(super) cpus: f64,
    pub(super) pipelines: Vec<Pipeline<'a>>,
    pub(super) unmeasured: Vec<&'a CaseRecord>,
}

impl<'a> Setting<'a> {
    pub(super) fn named(&self, path: &str) -> Option<&Pipeline<'a>> {
        self.pipelines.iter().find(|pipeline| pipeline.path == path)
    }

    /// The single stages that were measured, in the order of the list.
    pub(super) fn single_stages(&self) -> impl Iterator<Item = &Pipeline<'a>> {
        SINGLE_STAGES.iter().filter_map(|path| self.named(path))
    }

    /// The pipelines that are forecast, or that forego a copy.
    pub(super) fn composed(&self) -> impl Iterator<Item = &Pipeline<'a>> {
        self.pipelines.iter().filter(|pipeline| !SINGLE_STAGES.contains(&pipeline.path))
    }

    /// Tells whether the other one differs on this axis alone.
    pub(super) fn differs_in(&self, axis: &str, other: &Setting) -> bool {
        without(&self.point, axis) == without(&other.point, axis) && self.point != other.point
    }
}

/// All settings of a run, of the fewest CPUs first, then in the order of the run.
pub(super) fn settings(run: &Run) -> Vec<Setting<'_>> {
    let mut all: Vec<Setting> = Vec::new();
    for case in run.cases.iter().filter(|case| case.probe == PROBE && case.params.get(PATH).is_some()) {
        let point = without(&case.params, PATH);
        let index = all.iter().position(|setting| setting.point == point).unwrap_or_else(|| {
            let cpus = cpus(run, case);
            all.push(Setting { point, cpus, pipelines: Vec::new(), unmeasured: Vec::new() });
            all.len() - 1
        });
        let setting = &mut all[index];
        match Pipeline::of(case) {
            Some(pipeline) => setting.pipelines.push(pipeline),
            None => setting.unmeasured.push(case),
        }
    }
    all.sort_by(|one, other| one.cpus.total_cmp(&other.cpus));
    all
}

fn without(params: &Params, axis: &str) -> Params {
    Params(params.0.iter().filter(|(name, _)| name != axis).cloned().collect())
}

/// Number of CPUs on the axis; if it says "all" or nothing, of the host's usable ones.
fn cpus(run: &Run, case: &CaseRecord) -> f64 {
    let cpus_given = case.params.get(CPUS).and_then(|cpus| cpus.parse::<u32>().ok()).filter(|cpus| *cpus > 0);
    let usable = run.host.cpus.iter().filter(|cpu| cpu.allowed && cpu.online).count().max(1);
    cpus_given.map_or(usable as f64, f64::from)
}

pub(super) fn reason(case: &CaseRecord) -> Message {
    let no_rate = || term!("its value is no rate").into();
    reasons::of_outcome(&case.outcome).unwrap_or_else(no_rate)
}
