//! Difference between two sides' runs of a case, and its error: shared by comparisons and overhead.

use hostmark_model::{CaseRecord, Measured};
use hostmark_stats::compare::Difference;
use hostmark_stats::descriptive;
use hostmark_stats::repetition::Deviation;

use crate::repetition;

/// The rate of false discoveries that verdicts are held to, over all cases of one comparison. No unit.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// Fewer degrees of freedom than this, three runs of one environment, say nothing of how much runs differ.
const LEAST_FREEDOM: usize = 2;
/// The standard error of a median is so many times that of the mean of normal values: √(π/2).
const OF_A_MEDIAN: f64 = 1.2533;
/// An interval of 95 % reaches so many standard errors to both sides.
const OF_AN_INTERVAL: f64 = 2.0;

/// The difference of two sides' runs on logarithms, with the error of one run's variance and its freedom. `None` without a run.
pub(crate) fn between(base: &[f64], new: &[f64], variance: f64, freedom: f64) -> Option<Difference> {
    let logarithm = descriptive::mean(new)? - descriptive::mean(base)?;
    let sides = 1.0 / base.len() as f64 + 1.0 / new.len() as f64;
    Some(Difference { logarithm, error: (variance * sides).sqrt(), freedom })
}

/// Standard deviation between runs from groups, each about its own mean, drawn towards `prior`; none where there are too few.
pub(crate) fn estimated_deviation<Group: AsRef<[f64]>>(groups: &[Group], prior: Deviation) -> Option<Deviation> {
    let freedom: usize = groups.iter().map(|group| group.as_ref().len().saturating_sub(1)).sum();
    Deviation::drawn(groups, prior).filter(|_| freedom >= LEAST_FREEDOM)
}

/// Assumed standard deviation between runs of a case, on logarithms, and the variance of one run by its own rounds. `assumed` is of a case,
/// `least` and `own_error` are of a run. `None` where no run measured the case.
pub(crate) fn scatter<'a>(
    records: impl Iterator<Item = &'a CaseRecord>,
    assumed: impl Fn(&CaseRecord) -> f64,
    least: impl Fn(&Measured) -> f64,
    own_error: impl Fn(&Measured) -> Option<f64>,
) -> Option<(f64, f64)> {
    let measured: Vec<(&CaseRecord, &Measured)> =
        records.filter_map(|record| Some((record, record.measured()?))).collect();
    let least = measured.iter().map(|(_, measured)| least(measured)).fold(0.0, f64::max);
    let squares: Vec<f64> =
        measured.iter().filter_map(|(_, measured)| own_error(measured)).map(|error| error * error).collect();
    let assumed = assumed(measured.first()?.0).max(least);
    Some((assumed, descriptive::mean(&squares).unwrap_or(0.0)))
}

/// The same of typical values.
pub(crate) fn typical_scatter<'a>(records: impl Iterator<Item = &'a CaseRecord>) -> Option<(f64, f64)> {
    scatter(records, |record| repetition::assumed_deviation(record, false), between_rounds, typical_error)
}

/// The standard error of a logarithm whose 95 % interval has these ends; none where one is not above zero.
pub(crate) fn error_of_interval((low, high): (f64, f64)) -> Option<f64> {
    (low > 0.0).then(|| (high / low).ln() / 2.0 / OF_AN_INTERVAL)
}

/// The standard deviation of rounds, on the logarithms; 0 of one alone.
pub(crate) fn between_rounds(measured: &Measured) -> f64 {
    let medians = measured.rounds.iter().map(|round| round.median);
    let logarithms: Vec<f64> = medians.filter(|value| *value > 0.0).map(f64::ln).collect();
    descriptive::stddev(&logarithms).unwrap_or(0.0)
}

/// The standard error of the typical value's logarithm as the run's own rounds tell it; none of one round alone.
pub(crate) fn typical_error(measured: &Measured) -> Option<f64> {
    let rounds = measured.rounds.len();
    (rounds > 1).then(|| OF_A_MEDIAN * between_rounds(measured) / (rounds as f64).sqrt())
}
