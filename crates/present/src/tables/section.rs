//! A part of a table of sizes: which probe it goes along, and which cases are its rows.

use hostmark_analysis::lmbench::case_at;
use hostmark_model::{CaseRecord, HostFacts, Run, Text};

/// A part of a table: one probe along one axis of sizes.
#[derive(Debug)]
pub(crate) struct Section {
    /// Title over it; empty for nothing but a rule.
    pub(crate) title: Text,
    pub(crate) probe: &'static str,
    /// The axis along which it goes.
    pub(crate) along: &'static str,
    pub(crate) sizes: Sizes,
    pub(crate) at: &'static [(&'static str, &'static str)],
    /// The axis of which every point gets such a section.
    pub(crate) each: Option<&'static str>,
    pub(crate) form: Form,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Sizes {
    /// The same on every machine, KiB.
    Kib(&'static [u64]),
    /// Around a cache of the machine, by its position among them.
    AroundCache(usize),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// A rate in units of 10^6 bytes/s, under this name.
    Rate(Text),
    /// The same, and below it bytes per core cycle of what the first cache holds.
    RateAndCycles(Text),
    /// The time of a load at a stride of so many bytes, and the lines that it goes round.
    Latency(u64),
}

/// Fewer lines than this are no list of lines.
const LEAST_LINES: u64 = 2;

impl Section {
    /// Points on a machine that measures on `cpu`, as in case ids.
    pub(crate) fn sizes(&self, host: &HostFacts, cpu: usize) -> Vec<String> {
        let sizes = match self.sizes {
            Sizes::Kib(kib) => kib.iter().map(|kib| kib * 1024).collect(),
            Sizes::AroundCache(position) => {
                host.sizes_around_caches(cpu).into_iter().nth(position).map(|around| around.sizes).unwrap_or_default()
            }
        };
        let least = if let Form::Latency(stride) = self.form { LEAST_LINES * stride } else { 0 };
        sizes.into_iter().filter(|&size| size >= least).map(|size| size.to_string()).collect()
    }

    pub(super) fn sizes_of(&self, run: &Run) -> Vec<String> {
        self.sizes(&run.host, run.settings.cpu)
    }

    /// The points of the axis of which each gets a section, in the run's order; one where there is no such axis.
    pub(super) fn points(&self, run: &Run) -> Vec<Option<String>> {
        let Some(axis) = self.each else { return vec![None] };
        let mut points: Vec<Option<String>> = Vec::new();
        for size in self.sizes_of(run) {
            let cases = run.cases.iter().filter(|case| case.probe == self.probe);
            let of_row = cases.filter(|case| case.params.get(self.along) == Some(&size));
            for point in of_row.map(|case| case.params.get(axis).map(str::to_owned)) {
                let is_row = || self.case(run, &size, point.as_deref()).is_some();
                if point.is_some() && !points.contains(&point) && is_row() {
                    points.push(point);
                }
            }
        }
        points
    }

    /// The case of a row; of the section at `point`, where each point of an axis has one.
    pub(super) fn case<'a>(&self, run: &'a Run, size: &str, point: Option<&str>) -> Option<&'a CaseRecord> {
        let each = self.each.zip(point);
        let at: Vec<(&str, &str)> =
            [(self.along, size)].into_iter().chain(self.at.iter().copied()).chain(each).collect();
        case_at(run, self.probe, &at)
    }
}
