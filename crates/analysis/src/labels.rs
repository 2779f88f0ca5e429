//! Labels of a run's cases: titles of probes, and points by their axes. For the console, the page and comparisons.

use std::collections::HashMap;

use hostmark_model::{AxisInfo, AxisKind, CaseRecord, Message, Params, ProbeInfo, Run, Text, size_text};
use hostmark_say::say;

use crate::texts::{AXES, AXIS_VALUES};
use crate::typography::COMMA;

/// A point of an axis: the axis' name, and the value in a case id.
pub(crate) type Point<'a> = (&'a str, &'a str);

/// The letter by which a run is called beside others.
pub fn run_letter(index: usize) -> String {
    match u8::try_from(index).ok().filter(|index| *index < 26) {
        Some(index) => char::from(b'A' + index).to_string(),
        None => format!("R{}", index + 1),
    }
}

/// The labels of a run's probes.
pub struct Labels<'a> {
    probes: HashMap<&'a str, ProbeLabels<'a>>,
}

impl<'a> Labels<'a> {
    pub fn of(run: &'a Run) -> Labels<'a> {
        let mut probes: HashMap<&str, ProbeLabels> = HashMap::new();
        for info in &run.probes {
            probes.insert(&info.id, ProbeLabels { id: &info.id, info: Some(info), first: None });
        }
        for case in &run.cases {
            let probe = probes.entry(&case.probe).or_insert(ProbeLabels::unknown(&case.probe));
            probe.first = probe.first.or(Some(&case.params));
        }
        Labels { probes }
    }

    /// Labels of a probe, which the run need not know.
    pub fn probe<'b>(&self, id: &'b str) -> ProbeLabels<'b>
    where
        'a: 'b,
    {
        self.probes.get(id).copied().unwrap_or(ProbeLabels::unknown(id))
    }

    /// A case: its probe's title, with the axes behind it that are not at their default.
    pub(crate) fn case(&self, case: &CaseRecord) -> Message {
        let probe = self.probe(&case.probe);
        probe.title(&probe.off_default(&case.params))
    }
}

#[derive(Clone, Copy)]
pub struct ProbeLabels<'a> {
    id: &'a str,
    info: Option<&'a ProbeInfo>,
    /// The point of its first case.
    first: Option<&'a Params>,
}

impl<'a> ProbeLabels<'a> {
    pub fn new(id: &'a str, info: Option<&'a ProbeInfo>, first: Option<&'a Params>) -> ProbeLabels<'a> {
        ProbeLabels { id, info, first }
    }

    fn unknown(id: &'a str) -> ProbeLabels<'a> {
        ProbeLabels { id, info: None, first: None }
    }

    /// Description of the probe in the run; a file may lack it.
    pub fn info(&self) -> Option<&'a ProbeInfo> {
        self.info
    }

    fn axis(&self, name: &str) -> Option<&'a AxisInfo> {
        self.info?.axes.iter().find(|axis| axis.name == name)
    }

    pub fn kind(&self, axis: &str) -> AxisKind {
        self.axis(axis).map_or(AxisKind::Choice, |axis| axis.kind)
    }

    /// Tells whether the values of an axis are numbers, and so have an order.
    pub fn is_numeric(&self, axis: &str) -> bool {
        matches!(self.kind(axis), AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies)
    }

    /// The value that an axis has while another is swept: what the probe says, else that of its first case.
    pub fn default_of(&self, axis: &str) -> Option<&'a str> {
        let said = self.axis(axis).map(|axis| axis.default.as_str()).filter(|default| !default.is_empty());
        said.or_else(|| self.first?.get(axis))
    }

    pub fn off_default<'b>(&self, params: &'b Params) -> Vec<Point<'b>> {
        let points = params.0.iter().map(|(axis, at)| (axis.as_str(), at.as_str()));
        points.filter(|(axis, at)| self.default_of(axis) != Some(at)).collect()
    }

    /// Title, with points behind it: `memory read, kernel nt`.
    pub fn title(&self, points: &[Point]) -> Message {
        let title = self.info.map_or_else(|| self.id.into(), |info| Message::from(&info.title));
        Message::joined([title, self.points(points)], COMMA)
    }

    /// A value of an axis: `64 KiB`, `same CPU`, `nt`.
    pub fn value(&self, axis: &str, at: &str) -> Message {
        match self.kind(axis) {
            AxisKind::Size => at.parse().map_or_else(|_| at.into(), |bytes| size_text(bytes).into()),
            AxisKind::Placement => placement(at).map_or_else(|| at.into(), Message::from),
            AxisKind::Count | AxisKind::Threads | AxisKind::Copies | AxisKind::Choice | AxisKind::Nodes => {
                Text { en: at, zh: chinese_value(axis, at).unwrap_or(at) }.into()
            }
        }
    }

    /// A value with its axis' name: `size 64 KiB`, `copies 4`, `same CPU`.
    pub fn point(&self, axis: &str, at: &str) -> Message {
        let value = self.value(axis, at);
        match self.kind(axis) {
            AxisKind::Placement if placement(at).is_some() => value,
            _ => Message::joined([axis_name(axis), value], " "),
        }
    }

    /// Several points: `kernel nt, page pmd`.
    pub fn points(&self, points: &[Point]) -> Message {
        Message::joined(points.iter().map(|(axis, at)| self.point(axis, at)), COMMA)
    }
}

/// Name of an axis: in English as in case ids.
pub fn axis_name(axis: &str) -> Message {
    let chinese = AXES.iter().find(|(name, _)| *name == axis).map_or(axis, |(_, chinese)| chinese);
    Text { en: axis, zh: chinese }.into()
}

/// A value of an axis in Chinese, where it is a word.
fn chinese_value(axis: &str, at: &str) -> Option<&'static str> {
    AXIS_VALUES.iter().find(|(of, value, _)| *of == axis && *value == at).map(|(.., chinese)| *chinese)
}

/// The axis by which cases are listed: `by size`.
pub fn by_axis(axis: &str) -> Message {
    say!("by {axis}", axis = axis_name(axis))
}

fn placement(value: &str) -> Option<Text> {
    Some(match value {
        "same_cpu" => term!("same CPU"),
        "smt_sibling" => term!("SMT sibling"),
        "same_cache" => term!("same cache"),
        "other_cache" => term!("other cache"),
        "same_package_other_node" => term!("other node, same package"),
        "other_node" => term!("other node"),
        "free" => term!("free"),
        _ => return None,
    })
}
