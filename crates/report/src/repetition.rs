//! Where another run's values are to be expected: this run's intervals, widened by what runs on this host differ by, or where these are
//! too few, by what the run's own rounds disagree by.

mod assumed;

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use hostmark_model::{CaseRecord, Estimate, HostFacts, Outcome, Repetition, Run};
use hostmark_stats::descriptive;
use hostmark_stats::repetition::{CALIBRATED, Deviation};

/// A clock was held nine tenths of the time: so much of it may have been lower.
const HELD: f64 = 0.1;
/// So many rounds of a pass tell the clock that it held, and so many passes how far that differs.
const ROUNDS_OF_A_CLOCK: usize = 20;
const PASSES_OF_A_CLOCK: usize = 3;
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

/// Says of each value where another run's is to be expected, by what earlier runs of the host differed by, or by what this run tells
/// of that.
pub fn add(run: &mut Run, earlier: &Earlier) {
    let of_one_run = OfOneRun::of(run);
    for case in &mut run.cases {
        let own = earlier.values.get(&case.id).map_or(&[][..], Vec::as_slice);
        let Some(estimate) = case.measured().map(|measured| &measured.estimate) else { continue };
        let assumed_sd = of_one_run.deviation(case, estimate);
        let all: Vec<f64> = own.iter().copied().chain([estimate.value()]).collect();
        let known = Deviation::of(&all, assumed_sd).filter(|_| own.len() >= LEAST_RUNS);
        let deviation = known.unwrap_or_else(|| Deviation::assumed(assumed_sd));
        let runs = if known.is_some() { own.len() as u32 } else { 0 };
        set(case, deviation, runs);
    }
    repeat(run);
}

/// The same of a run that was estimated again: what earlier runs told stands as the file has it.
pub fn keep(run: &mut Run, stored: &Run) {
    let known: HashMap<&str, Repetition> = stored
        .cases
        .iter()
        .filter_map(|case| Some((case.id.as_str(), case.measured()?.estimate.repetition?)))
        .collect();
    let of_one_run = OfOneRun::of(run);
    for case in &mut run.cases {
        let Some(Repetition { deviation, runs, .. }) = known.get(case.id.as_str()).copied() else { continue };
        let Some(estimate) = case.measured().map(|measured| &measured.estimate) else { continue };
        let deviation = match runs {
            0 => Deviation::assumed(of_one_run.deviation(case, estimate)),
            _ => stored_deviation(deviation, runs),
        };
        set(case, deviation, runs);
    }
    repeat(run);
}

/// The least that runs of a value are taken to differ by.
pub(crate) fn least_deviation(estimate: &Estimate) -> f64 {
    CALIBRATED.least(is_of_core(estimate))
}

/// Whether it is what the core does by itself.
fn is_of_core(estimate: &Estimate) -> bool {
    estimate.leading_quiet().is_some()
}

/// What a run alone tells of how far runs lie apart.
#[derive(Default)]
struct OfOneRun {
    /// The half-widths of its intervals, on logarithms, by kind: cases of a group that the same value leads.
    halves: HashMap<(String, bool), Vec<f64>>,
    /// Of the clock at which quiet values are told, between its passes.
    clock: f64,
}

impl OfOneRun {
    fn of(run: &Run) -> OfOneRun {
        let mut alone = OfOneRun { clock: clock_deviation(run), ..OfOneRun::default() };
        for case in &run.cases {
            let Some(estimate) = case.measured().map(|measured| &measured.estimate) else { continue };
            let Some((down, up)) = sides(estimate) else { continue };
            alone.halves.entry(kind(case, estimate)).or_default().push((down + up) / 2.0);
        }
        alone
    }

    /// By what runs differ in such a case. What is told at a clock differs by that clock too.
    fn deviation(&self, case: &CaseRecord, estimate: &Estimate) -> f64 {
        let halves = self.halves.get(&kind(case, estimate)).map_or(&[][..], Vec::as_slice);
        let clock = estimate.leading_quiet().and_then(|quiet| quiet.at_hz).map_or(0.0, |_| self.clock);
        CALIBRATED.deviation(is_of_core(estimate), halves).hypot(clock)
    }
}

/// Of the clock that a core held nine tenths of the time, on logarithms, between the passes of a run; 0 where no core has enough
/// passes of enough rounds.
fn clock_deviation(run: &Run) -> f64 {
    let mut passes: HashMap<usize, BTreeMap<u32, Vec<f64>>> = HashMap::new();
    for round in run.cases.iter().filter_map(CaseRecord::measured).flat_map(|measured| &measured.rounds) {
        let Some((cpu, core_hz)) = round.cpus.first().zip(round.core_hz.filter(|hz| *hz > 0.0)) else { continue };
        passes.entry(*cpu).or_default().entry(round.round).or_default().push(core_hz);
    }
    let of_core = |passes: &BTreeMap<u32, Vec<f64>>| {
        let enough = passes.values().filter(|rounds| rounds.len() >= ROUNDS_OF_A_CLOCK);
        let held: Vec<f64> = enough.filter_map(|rounds| Some(descriptive::quantile(rounds, HELD)?.ln())).collect();
        descriptive::stddev(&held).filter(|_| held.len() >= PASSES_OF_A_CLOCK)
    };
    passes.values().filter_map(of_core).fold(0.0, f64::max)
}

fn kind(case: &CaseRecord, estimate: &Estimate) -> (String, bool) {
    (case.probe.split('.').next().unwrap_or("").to_owned(), is_of_core(estimate))
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

/// The ends of the interval.
fn expected(estimate: &Estimate, deviation: &Deviation) -> Option<(f64, f64)> {
    let ((down, up), value) = (sides(estimate)?, estimate.value());
    let ends = (value * (-deviation.half_width(down)).exp(), value * deviation.half_width(up).exp());
    (ends.0 > 0.0 && ends.1.is_finite()).then_some(ends)
}

/// How far this run's interval reaches to either side, on logarithms; none of what rounds voted on, of what has none, and of what is
/// not above zero.
fn sides(estimate: &Estimate) -> Option<(f64, f64)> {
    let ((low, high), value) = (estimate.of_this_run()?, estimate.value());
    let is_told = estimate.agreement.is_none() && value > 0.0 && low > 0.0 && high.is_finite();
    is_told.then(|| ((value / low).ln(), (high / value).ln()))
}

#[cfg(test)]
#[path = "repetition_tests.rs"]
mod tests;
