//! Where another run's values are to be expected: this run's intervals, widened by what runs on this host differ by.

mod assumed;

use std::borrow::Borrow;
use std::collections::HashMap;

use hostmark_model::{CaseRecord, Estimate, HostFacts, Outcome, Repetition, Run};
use hostmark_stats::repetition::Deviation;

/// Earlier runs of a host take part from this number on: two tell no scatter.
pub const LEAST_RUNS: usize = 3;

/// What the values of runs are assumed to differ by, as the standard deviation of their logarithms: the quiet ones of a case, or its
/// typical ones.
pub(crate) fn assumed_deviation(case: &CaseRecord, is_quiet: bool) -> f64 {
    let estimate = case.measured().map(|measured| &measured.estimate).filter(|_| is_quiet);
    assumed::deviation(case, estimate)
}

/// What all cases of a group together are assumed to differ by between runs.
pub(crate) fn assumed_shift(group: &str) -> f64 {
    assumed::shift(group)
}

/// What earlier runs of the same host found: each case's leading values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Earlier {
    values: HashMap<String, Vec<f64>>,
    runs: usize,
}

impl Earlier {
    /// Those of `runs` that were measured on the host of `run` in the same profile, and ended as planned. The run itself is none of
    /// them.
    pub fn of(run: &Run, runs: impl IntoIterator<Item = impl Borrow<Run>>) -> Earlier {
        let mut earlier = Earlier::default();
        let revisions = revisions(run);
        for other in runs {
            let other = other.borrow();
            let is_alike = is_same_host(&run.host, &other.host)
                && other.settings.profile == run.settings.profile
                && other.id != run.id
                && other.interrupted.is_none()
                && other.imported.is_none();
            if !is_alike {
                continue;
            }
            earlier.runs += 1;
            let others = self::revisions(other);
            let same = |case: &&CaseRecord| revisions.get(case.probe.as_str()) == others.get(case.probe.as_str());
            for case in other.cases.iter().filter(same) {
                let Some(estimate) = case.measured().map(|measured| &measured.estimate) else { continue };
                earlier.values.entry(case.id.clone()).or_default().push(estimate.value());
            }
        }
        earlier
    }

    /// How many runs these are.
    pub fn runs(&self) -> usize {
        self.runs
    }
}

fn revisions(run: &Run) -> HashMap<&str, u32> {
    run.probes.iter().map(|probe| (probe.id.as_str(), probe.revision)).collect()
}

fn is_same_host(one: &HostFacts, other: &HostFacts) -> bool {
    let told = |host: &HostFacts| (host.hostname.clone(), host.cpu.model.clone(), host.cpus.len());
    told(one) == told(other)
}

/// Says of each value where another run's is to be expected, by what earlier runs of the host differed by, or by what is assumed.
pub fn add(run: &mut Run, earlier: &Earlier) {
    for case in &mut run.cases {
        let own = earlier.values.get(&case.id).map_or(&[][..], Vec::as_slice);
        let Some(estimate) = case.measured().map(|measured| &measured.estimate) else { continue };
        let assumed_sd = assumed::deviation(case, Some(estimate));
        let all: Vec<f64> = own.iter().copied().chain([estimate.value()]).collect();
        let known = Deviation::of(&all, assumed_sd).filter(|_| own.len() >= LEAST_RUNS);
        let deviation = known.unwrap_or_else(|| Deviation::assumed(assumed_sd));
        let runs = if known.is_some() { own.len() as u32 } else { 0 };
        set(case, deviation, runs);
    }
    repeat(run);
}

/// The same of a run that was estimated again: what runs differ by stands as the file has it.
pub fn keep(run: &mut Run, stored: &Run) {
    let known: HashMap<&str, Repetition> = stored
        .cases
        .iter()
        .filter_map(|case| Some((case.id.as_str(), case.measured()?.estimate.repetition?)))
        .collect();
    for case in &mut run.cases {
        let Some(Repetition { deviation, runs, .. }) = known.get(case.id.as_str()).copied() else { continue };
        set(case, stored_deviation(deviation, runs), runs);
    }
    repeat(run);
}

/// A further quantity that is another case's value, as a level's bandwidth is, has what is said of that: one value has one interval.
fn repeat(run: &mut Run) {
    let mut known: HashMap<[u64; 4], Repetition> = HashMap::new();
    let key = |estimate: &Estimate| [estimate.value(), estimate.mean, estimate.stddev, estimate.mad].map(f64::to_bits);
    for estimate in run.cases.iter().filter_map(|case| Some(&case.measured()?.estimate)) {
        known.extend(estimate.repetition.map(|repetition| (key(estimate), repetition)));
    }
    for case in &mut run.cases {
        let Outcome::Measured(measured) = &mut case.outcome else { continue };
        for also in measured.also.values_mut() {
            let is_several = also.estimate.rounds > 1;
            also.estimate.repetition = known.get(&key(&also.estimate)).copied().filter(|_| is_several);
        }
    }
}

/// As a file has it.
fn stored_deviation(sd: f64, runs: u32) -> Deviation {
    let assumed = Deviation::assumed(sd);
    Deviation { freedom: assumed.freedom + f64::from(runs), runs: runs as usize, ..assumed }
}

fn set(case: &mut CaseRecord, deviation: Deviation, runs: u32) {
    let Outcome::Measured(measured) = &mut case.outcome else { return };
    let (value, bounds) = (measured.estimate.value(), measured.bounds.unwrap_or_default());
    measured.estimate.repetition = expected(&measured.estimate, &deviation).map(|(low, high)| {
        let (low, high) = bounds.held((low, high), value);
        Repetition { low, high, deviation: deviation.sd, runs }
    });
}

/// The ends of the interval; none of what rounds voted on, of what has none of this run, and of what is not above zero.
fn expected(estimate: &Estimate, deviation: &Deviation) -> Option<(f64, f64)> {
    let ((low, high), value) = (estimate.of_this_run()?, estimate.value());
    if estimate.agreement.is_some() || value <= 0.0 || low <= 0.0 || !high.is_finite() {
        return None;
    }
    let (down, up) = ((value / low).ln(), (high / value).ln());
    let ends = (value * (-deviation.half_width(down)).exp(), value * deviation.half_width(up).exp());
    (ends.0 > 0.0 && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
#[path = "repetition_tests.rs"]
mod tests;
