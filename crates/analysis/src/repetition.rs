//! Prediction of another run's values: this run's intervals, widened by the spread of runs on this host, or where these are too few, by the
//! spread of the run's own rounds.

mod assumed;

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};

use hostmark_model::{CaseRecord, Estimate, HostFacts, Measured, Outcome, Repetition, Run};
use hostmark_stats::descriptive;
use hostmark_stats::repetition::{Deviation, HalfWidths, SHARE};

pub(crate) use self::assumed::{assumed_deviation, assumed_shift};
use crate::neighbours;

/// Earlier runs of a host take part from this number on: two tell no scatter.
const LEAST_RUNS: usize = 3;

/// Companions that are predicted apart: a case's value, and the same in cycles where the core alone decides. These differ by no clock.
const EACH: [&str; 2] = ["", Measured::CYCLES];

fn quantity<'a>(measured: &'a Measured, name: &str) -> Option<&'a Estimate> {
    if name.is_empty() {
        return Some(&measured.estimate);
    }
    measured.in_cycles()?;
    measured.also.get(name).map(|also| &also.estimate).filter(|estimate| is_of_core(estimate))
}

/// Leading values of each case in earlier runs of the same host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Earlier {
    /// Each value with the place of its run in `runs`.
    values: HashMap<(String, &'static str), Vec<(usize, f64)>>,
    /// The ids of the runs.
    runs: Vec<String>,
}

impl Earlier {
    /// Collects the runs on the host of `run` in the same profile and time that ended as planned. The run itself is left out.
    pub fn of(run: &Run, runs: impl IntoIterator<Item = impl Borrow<Run>>) -> Earlier {
        let mut earlier = Earlier::default();
        let revisions = revisions(run);
        for other in runs {
            let other = other.borrow();
            let is_alike = is_same_host(&run.host, &other.host)
                && other.settings.profile == run.settings.profile
                // Runs share the time of one where a guest takes turns.
                && other.settings.limit_s == run.settings.limit_s
                && other.id != run.id
                && other.interrupted.is_none()
                && other.imported.is_none();
            if !is_alike {
                continue;
            }
            earlier.runs.push(other.id.clone());
            let others = self::revisions(other);
            let same = |case: &&CaseRecord| revisions.get(case.probe.as_str()) == others.get(case.probe.as_str());
            for case in other.cases.iter().filter(same) {
                let of = |name: &'static str| Some((name, quantity(case.measured()?, name)?.value()));
                for (name, value) in EACH.into_iter().filter_map(of) {
                    let of_run = (earlier.runs.len() - 1, value);
                    earlier.values.entry((case.id.clone(), name)).or_default().push(of_run);
                }
            }
        }
        earlier
    }

    pub fn runs(&self) -> usize {
        self.runs.len()
    }
}

/// A value is an outlier so many deviations from the median of the runs.
const FAR: f64 = 6.0;
/// The least deviation of runs that is assumed for that, on logarithms.
const LEAST_DEVIATION: f64 = 0.05;
/// Outliers are one value of so many at most: more are a scatter.
const OF_OUTLIERS: usize = 4;

/// The values of earlier runs that lie near the others, and the places of the runs whose values do not.
fn parted(own: &[(usize, f64)], value: f64, assumed_sd: f64) -> (Vec<f64>, Vec<usize>) {
    let logarithms: Vec<f64> = own.iter().map(|(_, value)| value.ln()).chain([value.ln()]).collect();
    let (middle, sd) = (descriptive::median(&logarithms), descriptive::robust_stddev(&logarithms));
    let most = FAR * sd.unwrap_or(0.0).max(assumed_sd).max(LEAST_DEVIATION);
    let is_far = |(_, value): &&(usize, f64)| middle.is_some_and(|middle| (value.ln() - middle).abs() > most);
    let far: Vec<usize> = own.iter().filter(is_far).map(|(run, _)| *run).collect();
    let far = if far.len() * OF_OUTLIERS <= logarithms.len() { far } else { Vec::new() };
    (own.iter().filter(|(run, _)| !far.contains(run)).map(|(_, value)| *value).collect(), far)
}

fn revisions(run: &Run) -> HashMap<&str, u32> {
    run.probes.iter().map(|probe| (probe.id.as_str(), probe.revision)).collect()
}

fn is_same_host(one: &HostFacts, other: &HostFacts) -> bool {
    let identity = |host: &HostFacts| (host.hostname.clone(), host.cpu.model.clone(), host.cpus.len());
    identity(one) == identity(other)
}

/// Says of each value where another run's is to be expected, by what earlier runs of the host differed by, or by what this run tells
/// of that. Returns the ids of the runs whose values were left out as outliers.
pub fn add(run: &mut Run, earlier: &Earlier) -> Vec<String> {
    let (of_one_run, cases) = (OfOneRun::of(run), run.cases.len());
    let mut left_out = BTreeSet::new();
    for (name, index) in EACH.into_iter().flat_map(|name| (0..cases).map(move |index| (name, index))) {
        let case = &mut run.cases[index];
        let own = earlier.values.get(&(case.id.clone(), name)).map_or(&[][..], Vec::as_slice);
        let Some(estimate) = case.measured().and_then(|measured| quantity(measured, name)) else { continue };
        let assumed = of_one_run.deviation(case, name, estimate);
        let (own, outliers) = parted(own, estimate.value(), assumed.sd);
        left_out.extend(outliers);
        let all: Vec<f64> = own.iter().copied().chain([estimate.value()]).collect();
        let known = Deviation::of(&all, assumed.sd).filter(|_| own.len() >= LEAST_RUNS);
        let (runs, deviation, ends) = match known {
            Some(known) => (own.len() as u32, known.sd, known.prediction(&all)),
            None => (0, assumed.sd, expected(estimate, &assumed)),
        };
        set(case, name, (deviation, runs), ends);
    }
    repeat(run);
    left_out.into_iter().map(|place| earlier.runs[place].clone()).collect()
}

/// The same of a run that was estimated again: what earlier runs told stands as the file has it.
pub fn keep(run: &mut Run, stored: &Run) {
    let of_one_run = OfOneRun::of(run);
    for name in EACH {
        let stored_value = |case: &CaseRecord| {
            let estimate = quantity(case.measured()?, name)?;
            estimate.repetition.map(|repetition| (repetition, estimate.value()))
        };
        let known: HashMap<&str, (Repetition, f64)> =
            stored.cases.iter().filter_map(|case| Some((case.id.as_str(), stored_value(case)?))).collect();
        for case in &mut run.cases {
            let Some((Repetition { deviation, runs, low, high }, before)) = known.get(case.id.as_str()).copied() else {
                continue;
            };
            let Some(estimate) = case.measured().and_then(|measured| quantity(measured, name)) else { continue };
            let by = estimate.value() / before;
            let (deviation, ends) = match runs {
                0 => {
                    let assumed = of_one_run.deviation(case, name, estimate);
                    (assumed.sd, expected(estimate, &assumed))
                }
                _ => (deviation, Some((low * by, high * by)).filter(|_| by.is_finite())),
            };
            set(case, name, (deviation, runs), ends);
        }
    }
    repeat(run);
}

/// Tells whether the value is limited by the core alone.
pub(crate) fn is_of_core(estimate: &Estimate) -> bool {
    estimate.leading_quiet().is_some()
}

/// Spread between runs as estimated from one run.
struct OfOneRun {
    /// The half-widths of its intervals: of its values, and of the same in cycles.
    halves: [HalfWidths; 2],
    /// Deviation of the clocks at which undisturbed values are reported.
    clock: f64,
    /// Factor of both for what differs between runs and stood still while this one lasted.
    beyond: f64,
    /// Factor for what the core does by itself, where it was seldom alone.
    shared: f64,
}

/// Duration of the runs that tell the constants, s: a quick run.
const CALIBRATED_S: f64 = 57.0;
/// Largest factor by which a shorter run sees too little.
const MOST_BEYOND: f64 = 3.0;

/// Factor of a core-bound value's deviation for each part of the run in which another thread used the core, from half of it on: no round
/// is alone then, and the undisturbed value is itself disturbed.
const SHARED: f64 = 2.0;
/// That part of a guest's run which does not tell it: as on the recorded guests beside busy neighbours.
const UNKNOWN: f64 = 0.75;

/// Returns by what factor runs lie further apart than a run of this duration tells. What disturbs a guest drifts: the variance of a drift
/// grows with time. It is no less than one, which longer runs had too (docs/decisions/0065-how-far-another-run-lies.md).
fn beyond(run: &Run) -> f64 {
    let wall_s = run.time.map_or(CALIBRATED_S, |time| time.wall_s);
    (CALIBRATED_S / wall_s).sqrt().clamp(1.0, MOST_BEYOND)
}

impl OfOneRun {
    fn of(run: &Run) -> OfOneRun {
        let halves = EACH.map(|name| {
            let mut halves = HalfWidths::default();
            for case in &run.cases {
                let Some(estimate) = case.measured().and_then(|measured| quantity(measured, name)) else { continue };
                let Some(half) = half_width(estimate) else { continue };
                halves.add(group_of(&case.probe), is_of_core(estimate), half);
            }
            halves
        });
        let core_shared = neighbours::core_shared(run).unwrap_or_else(|is_alone| if is_alone { 0.0 } else { UNKNOWN });
        OfOneRun { halves, clock: clock_deviation(run), beyond: beyond(run), shared: SHARED * core_shared }
    }

    /// Deviation between runs of a case. Values reported at a clock differ by that clock too.
    fn deviation(&self, case: &CaseRecord, name: &str, estimate: &Estimate) -> Deviation {
        let half = half_width(estimate).unwrap_or(0.0);
        let clock = estimate.leading_quiet().and_then(|quiet| quiet.at_hz).map_or(0.0, |_| self.clock);
        let halves = &self.halves[usize::from(!name.is_empty())];
        let own = halves.deviation(group_of(&case.probe), is_of_core(estimate), half, SHARE);
        let times = if is_of_core(estimate) { self.beyond.max(self.shared) } else { self.beyond };
        Deviation::assumed(times * own.hypot(clock))
    }
}

/// The ends of the interval about one run's value.
fn expected(estimate: &Estimate, deviation: &Deviation) -> Option<(f64, f64)> {
    let ((down, up), value) = (sides(estimate)?, estimate.value());
    let ends = (value * (-deviation.half_width(down)).exp(), value * deviation.half_width(up).exp());
    (ends.0 > 0.0 && ends.1.is_finite()).then_some(ends)
}

/// Deviation of a case's clock over its rounds, on logarithms, as the root mean square over the cases reported at a clock: it changes
/// slower than rounds pass, so another run's median clock differs by about as much.
pub(crate) fn clock_deviation(run: &Run) -> f64 {
    let variance = |case: &CaseRecord| {
        let measured = case.measured()?;
        measured.estimate.leading_quiet()?.at_hz?;
        let known = measured.rounds.iter().filter_map(|round| round.core_hz.filter(|hz| *hz > 0.0));
        let logs: Vec<f64> = known.map(f64::ln).collect();
        // A look that another thread on the core made slow is no clock.
        descriptive::robust_stddev(&logs).map(|deviation| deviation * deviation)
    };
    let variances: Vec<f64> = run.cases.iter().filter_map(variance).collect();
    descriptive::mean(&variances).map_or(0.0, f64::sqrt)
}

/// The group of a probe, or of a case by its id: the first part.
pub(crate) fn group_of(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
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
        for (_, also) in measured.also.iter_mut().filter(|(name, _)| *name != Measured::CYCLES) {
            let is_several = also.estimate.rounds > 1;
            also.estimate.repetition = known.get(&key(&also.estimate)).copied().filter(|_| is_several);
        }
    }
}

/// Says so of a case's value: another run's lies between these ends, and so does its own.
fn set(case: &mut CaseRecord, name: &str, (deviation, runs): (f64, u32), ends: Option<(f64, f64)>) {
    let Outcome::Measured(measured) = &mut case.outcome else { return };
    // Bounds are in the value's own unit.
    let bounds = measured.bounds.filter(|_| name.is_empty()).unwrap_or_default();
    let estimate = measured.also.get_mut(name).map_or(&mut measured.estimate, |also| &mut also.estimate);
    let value = estimate.value();
    let ends = ends.filter(|_| sides(estimate).is_some());
    estimate.repetition = ends.map(|(low, high)| {
        let (low, high) = bounds.held((low.min(value), high.max(value)), value);
        Repetition { low, high, deviation, runs }
    });
}

fn half_width(estimate: &Estimate) -> Option<f64> {
    sides(estimate).map(|(down, up)| (down + up) / 2.0)
}

/// Distance of this run's interval to either side, on logarithms; none for votes of rounds, for values without an interval or not above
/// zero.
fn sides(estimate: &Estimate) -> Option<(f64, f64)> {
    let ((low, high), value) = (estimate.of_this_run()?, estimate.value());
    let is_usable = estimate.agreement.is_none() && value > 0.0 && low > 0.0 && high.is_finite();
    is_usable.then(|| ((value / low).ln(), (high / value).ln()))
}

#[cfg(test)]
#[path = "repetition_tests.rs"]
mod tests;
