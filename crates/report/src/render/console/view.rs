//! A run as the blocks look at it: labels of cases and points, and which of them were shown already.

use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_model::{AxisKind, CaseRecord, FlagKind, Lang, Outcome, Params, ProbeInfo, Run, Text, Unit, size_text};
use hostmark_stats::histogram::Percentile;

use super::words;
use crate::format::interval_target;
use crate::render::RenderOptions;

/// Ids of the cases that a block has shown; the rest goes to the sections, so that nothing is silently absent.
pub(crate) type Shown<'a> = HashSet<&'a str>;

/// A run, with what all blocks need to know of it.
pub(crate) struct View<'a> {
    pub(crate) run: &'a Run,
    pub(crate) lang: Lang,
    pub(crate) verbose: bool,
    /// Half-width above which an interval is shown everywhere.
    pub(crate) target: f64,
    /// How many measured cases carry each flag.
    pub(crate) flags: BTreeMap<FlagKind, usize>,
    /// Cases with a value.
    pub(crate) measured: usize,
    probes: HashMap<&'a str, &'a ProbeInfo>,
}

/// A flag that at least this many cases carry is told once for the run and not beside each value …
const COMMON_CASES: usize = 8;
/// … when it is on at least one of this many.
const COMMON_SHARE: usize = 5;

impl<'a> View<'a> {
    pub(crate) fn new(run: &'a Run, options: &RenderOptions) -> View<'a> {
        let mut flags = BTreeMap::new();
        let mut measured = 0;
        for values in run.cases.iter().filter_map(CaseRecord::measured) {
            measured += 1;
            let kinds: HashSet<FlagKind> = values.flags.iter().map(|flag| flag.kind).collect();
            kinds.into_iter().for_each(|kind| *flags.entry(kind).or_insert(0) += 1);
        }
        View {
            run,
            lang: options.lang,
            verbose: options.verbose,
            target: interval_target(run.settings.profile),
            flags,
            measured,
            probes: run.probes.iter().map(|probe| (probe.id.as_str(), probe)).collect(),
        }
    }

    pub(crate) fn say(&self, text: Text) -> &'static str {
        text.say(self.lang)
    }

    /// Whether a flag is on so many cases that it says something about the run and nothing about a case.
    pub(crate) fn is_common(&self, kind: FlagKind) -> bool {
        let of_the_value = matches!(kind, FlagKind::Implausible | FlagKind::UnderResolution | FlagKind::Unconfirmed);
        let count = self.flags.get(&kind).copied().unwrap_or(0);
        !of_the_value && count >= COMMON_CASES && count * COMMON_SHARE >= self.measured
    }

    pub(crate) fn probe(&self, id: &str) -> Option<&'a ProbeInfo> {
        self.probes.get(id).copied()
    }

    pub(crate) fn cases_of(&self, probe: &str) -> Vec<&'a CaseRecord> {
        self.run.cases.iter().filter(|case| case.probe == probe).collect()
    }

    /// The unit of a probe, `otherwise` when the run does not describe it.
    pub(crate) fn unit_or(&self, probe: &str, otherwise: Unit) -> Unit {
        self.probe(probe).map_or(otherwise, |info| info.unit)
    }

    /// Whether a probe watches the tails of its values.
    pub(crate) fn has_percentiles(&self, id: &str) -> bool {
        self.probe(id).is_some_and(|info| info.also.iter().any(|also| Percentile::of_name(&also.name).is_some()))
    }

    /// The title of a probe, with its points behind it: `memory read, kernel nt`.
    pub(crate) fn title(&self, probe: &str, points: &[(&str, &str)]) -> String {
        let title = self.probe(probe).map_or(probe, |info| info.title.get(self.lang));
        match points {
            [] => title.to_owned(),
            _ => format!("{title}{}{}", self.say(words::COMMA), self.points_label(probe, points)),
        }
    }

    /// The value that an axis has while another is swept: what the probe says, else that of its first case.
    pub(crate) fn default_of(&self, probe: &str, axis: &str) -> Option<&'a str> {
        let said = self.probe(probe).and_then(|info| info.axes.iter().find(|known| known.name == axis));
        let first = || self.run.cases.iter().find(|case| case.probe == probe)?.params.get(axis);
        said.map(|known| known.default.as_str()).filter(|default| !default.is_empty()).or_else(first)
    }

    pub(crate) fn kind_of(&self, probe: &str, axis: &str) -> AxisKind {
        let known = self.probe(probe).and_then(|info| info.axes.iter().find(|known| known.name == axis));
        known.map_or(AxisKind::Choice, |axis| axis.kind)
    }

    /// Whether the values of an axis are numbers, and so have an order of their own.
    pub(crate) fn is_numeric(&self, probe: &str, axis: &str) -> bool {
        matches!(self.kind_of(probe, axis), AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies)
    }

    /// The axes of a case that are not at their default.
    pub(crate) fn off_default<'b>(&self, probe: &str, params: &'b Params) -> Vec<(&'b str, &'b str)> {
        let pairs = params.0.iter().map(|(axis, value)| (axis.as_str(), value.as_str()));
        pairs.filter(|(axis, value)| self.default_of(probe, axis) != Some(value)).collect()
    }

    /// A value of an axis, without the axis' name.
    pub(crate) fn value_label(&self, probe: &str, axis: &str, value: &str) -> String {
        match self.kind_of(probe, axis) {
            AxisKind::Size => value.parse().map_or_else(|_| value.to_owned(), size_text),
            AxisKind::Placement => {
                words::placement(value).map_or_else(|| value.to_owned(), |text| self.say(text).to_owned())
            }
            AxisKind::Count | AxisKind::Threads | AxisKind::Copies | AxisKind::Choice | AxisKind::Nodes => {
                value.to_owned()
            }
        }
    }

    /// A point of an axis: `size 64 KiB`, `copies 4`, `same CPU`.
    pub(crate) fn point_label(&self, probe: &str, axis: &str, value: &str) -> String {
        let label = self.value_label(probe, axis, value);
        match self.kind_of(probe, axis) {
            AxisKind::Placement => label,
            _ => format!("{axis} {label}"),
        }
    }

    /// Several points: `kernel nt, page pmd`.
    pub(crate) fn points_label(&self, probe: &str, points: &[(&str, &str)]) -> String {
        points
            .iter()
            .map(|(axis, value)| self.point_label(probe, axis, value))
            .collect::<Vec<_>>()
            .join(self.say(words::COMMA))
    }
}

/// `4K`, `1.5M`, `1G`: a size where the columns are narrow, in the letters that `--set` takes (2^10 …).
pub(crate) fn short_size(value: &str) -> String {
    let Ok(bytes) = value.parse::<u64>() else { return value.to_owned() };
    for (size, letter) in [(1u64 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')] {
        if bytes >= size {
            return match bytes % size {
                0 => format!("{}{letter}", bytes / size),
                // Two digits tell neighbouring points apart.
                _ if bytes >= 10 * size => format!("{:.0}{letter}", bytes as f64 / size as f64),
                _ => format!("{:.1}{letter}", bytes as f64 / size as f64),
            };
        }
    }
    bytes.to_string()
}

/// The reason of a case that has no value, and whether it went wrong.
pub(crate) fn reason(case: &CaseRecord) -> Option<(bool, &str)> {
    match &case.outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped { reason } => Some((false, reason)),
        Outcome::Failed { reason } => Some((true, reason)),
    }
}
