//! A case's value in an environment, from all of the environment's runs, and its distance from the control beside it.

use hostmark_model::{CaseRecord, Estimate, FlagKind, Measured, Message, ProbeInfo, Text, Unit};
use hostmark_say::say;
use hostmark_stats::compare::Difference;
use hostmark_stats::repetition::Deviation;
use hostmark_stats::{descriptive, halves};

use super::{Environment, cell_of, not_comparable};
use crate::difference::{self, FALSE_DISCOVERIES};
use crate::propagated::Propagated;
use crate::{format, reasons};

/// A value with what it takes to hold it against another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ComparableValue {
    /// The median of the runs' typical values.
    pub(super) value: f64,
    /// Interval from the lowest end of the runs' intervals to the highest; none where a run has none.
    pub(super) interval: Option<(f64, f64)>,
    /// Name of the environment: two values of one environment are of the same runs.
    environment: String,
    /// The runs' typical values: what layers add is taken apart round by round, and what a layer disturbs is its cost.
    pub(super) runs: Vec<f64>,
    /// Indices of the environment's runs.
    which: Vec<usize>,
    /// Assumed standard deviation of these, on logarithms, and the variance by a run's own rounds.
    scatter: (f64, f64),
    /// The mean of all samples; the median of the runs.
    pub(super) mean: Option<f64>,
    /// Standard deviation of all samples over their mean; the median of the runs.
    pub(super) deviation: Option<f64>,
    /// Unit, where the run tells it.
    pub(super) unit: Option<Unit>,
    /// True where the measurement was disturbed or is implausible.
    pub(super) is_doubted: bool,
    revision: Option<u32>,
    probe: String,
    /// Number of CPUs it kept busy; 0 where the run does not tell.
    cpus: usize,
}

/// Remarks on a value that leave it no proof of anything.
const DOUBTED: [FlagKind; 4] =
    [FlagKind::Contended, FlagKind::Throttled, FlagKind::Implausible, FlagKind::UnderResolution];

impl ComparableValue {
    /// The value of the case `id`, or why there is none.
    pub(super) fn of(environment: &Environment, id: &str) -> Result<ComparableValue, Message> {
        ComparableValue::of_quantity(environment, id, None)
    }

    /// A further quantity of the case `id`, or its value; or why there is none.
    pub(super) fn of_quantity(
        environment: &Environment,
        id: &str,
        quantity: Option<&str>,
    ) -> Result<ComparableValue, Message> {
        let mut reason = term!("not measured").into();
        let mut cases: Vec<(usize, &CaseRecord)> = Vec::new();
        let mut probe: Option<&ProbeInfo> = None;
        for (at, case) in environment.cases_of(id) {
            match reasons::of_outcome(&case.outcome) {
                None => cases.push((at, case)),
                Some(why) => reason = why,
            }
            probe = probe.or_else(|| environment.runs[at].probes.iter().find(|probe| probe.id == case.probe));
        }
        let measured: Vec<_> = cases.iter().filter_map(|(_, case)| case.measured()).collect();
        let estimate = |measured: &&'_ Measured| match quantity {
            None => Some(measured.estimate.clone()),
            Some(name) => measured.also.get(name).map(|also| also.estimate.clone()),
        };
        let all: Vec<Estimate> = measured.iter().filter_map(estimate).collect();
        let has_it = |(_, case): &&(usize, &CaseRecord)| case.measured().is_some_and(|one| estimate(&one).is_some());
        let estimates = || all.iter();
        let Some(value) = middle(estimates().map(|estimate| estimate.typical)) else { return Err(reason) };
        let low = estimates().map(|estimate| estimate.ci_low).reduce(|one, other| Some(one?.min(other?))).flatten();
        let high = estimates().map(|estimate| estimate.ci_high).reduce(|one, other| Some(one?.max(other?))).flatten();
        let deviations = estimates().filter(|estimate| estimate.mean != 0.0);
        Ok(ComparableValue {
            value,
            interval: low.zip(high),
            environment: environment.name.to_owned(),
            runs: estimates().map(|estimate| estimate.typical).collect(),
            which: cases.iter().filter(has_it).map(|(at, _)| *at).collect(),
            scatter: scatter(&cases.iter().map(|(_, case)| *case).collect::<Vec<_>>(), &all),
            mean: middle(estimates().map(|estimate| estimate.mean)),
            deviation: middle(deviations.map(|estimate| estimate.stddev / estimate.mean)),
            unit: probe.and_then(|probe| match quantity {
                None => Some(probe.unit),
                Some(name) => probe.also.iter().find(|also| also.name == name).map(|also| also.unit),
            }),
            is_doubted: measured.iter().flat_map(|measured| &measured.flags).any(|flag| DOUBTED.contains(&flag.kind)),
            probe: cases.first().map(|(_, case)| case.probe.clone()).unwrap_or_default(),
            revision: probe.map(|probe| probe.revision),
            cpus: measured.iter().flat_map(|m| &m.rounds).map(|round| round.cpus.len()).max().unwrap_or(0),
        })
    }

    /// Fraction by which it lies over `base`, with the interval from both; or the reason why that would say nothing.
    pub(super) fn over(&self, base: &ComparableValue) -> Result<Propagated, Message> {
        let not = |why: Message| Err(not_comparable(why));
        if self.unit != base.unit {
            return not(say!("another unit"));
        }
        // Probes count their revisions apart.
        if let (Some(one), Some(other)) = (base.revision, self.revision)
            && self.probe == base.probe
            && one != other
        {
            return not(say!("revisions {one} and {other}"));
        }
        if base.value <= 0.0 || !base.value.is_finite() || !self.value.is_finite() {
            return not(say!("the base is not above zero"));
        }
        let ratio = self.value / base.value;
        if !(ratio > 0.0 && ratio.is_finite()) {
            return Err(term!("not finite").into());
        }
        // About the ratio of the medians, as far as a comparison has it about that of the means.
        let ends = |difference: Difference| {
            let ((low, high), middle) = (difference.interval(), difference.ratio());
            (ratio * low / middle, ratio * high / middle)
        };
        Ok(Propagated { value: ratio, interval: self.difference(base).map(ends) }.beyond_one())
    }

    /// The difference to `base`, as a comparison of the runs of both has it; none of values that have no logarithm. Two cases of the
    /// same runs have in common what runs differ by: of these each run's own ratio counts, and of one or two runs what their rounds tell.
    pub(super) fn difference(&self, base: &ComparableValue) -> Option<Difference> {
        let own = [self.scatter.1, base.scatter.1];
        if self.environment == base.environment {
            let ratio = |(at, run): (&usize, &f64)| Some(run / base.runs[base.which.iter().position(|one| one == at)?]);
            let ratios: Vec<f64> = self.which.iter().zip(&self.runs).filter_map(ratio).collect();
            let own = own.iter().sum::<f64>();
            let known = difference::estimated_deviation(&[&ratios], Deviation::assumed(own.sqrt()));
            if known.is_none() && own == 0.0 {
                return None;
            }
            let (variance, freedom) = known.map_or((own, f64::INFINITY), |known| (known.sd.powi(2), known.freedom));
            let logarithm = descriptive::mean(&logarithms(&ratios)?)?;
            return Some(Difference { logarithm, error: (variance / ratios.len() as f64).sqrt(), freedom });
        }
        let assumed = self.scatter.0.max(base.scatter.0);
        let known = difference::estimated_deviation(&[&base.runs, &self.runs], Deviation::assumed(assumed));
        let own = own.iter().sum::<f64>() / 2.0;
        // What a run does not know itself is in what runs are known to differ by, and comes to what is assumed.
        let (variance, freedom) = match known {
            Some(deviation) => (deviation.sd.powi(2).max(own), deviation.freedom),
            None => (assumed * assumed + own, f64::INFINITY),
        };
        difference::between(&logarithms(&base.runs)?, &logarithms(&self.runs)?, variance, freedom)
    }

    /// The p value of "it is that of `base`"; 1 of values without a logarithm, 0 where no scatter of the same run is known.
    pub(super) fn p_equal(&self, base: &ComparableValue) -> f64 {
        let is_positive = self.value > 0.0 && base.value > 0.0 && self.value != base.value;
        let unknown = if is_positive && self.environment == base.environment { 0.0 } else { 1.0 };
        self.difference(base).map_or(unknown, |difference| difference.p_changed())
    }

    pub(super) fn may_equal(&self, base: &ComparableValue) -> bool {
        self.p_equal(base) > FALSE_DISCOVERIES
    }

    /// A rate as the time of one operation, ns; a time as it is.
    pub(super) fn time(&self) -> ComparableValue {
        if !self.is_rate() {
            return self.clone();
        }
        const NS_PER_S: f64 = 1e9;
        let interval = self.interval.filter(|(low, _)| *low > 0.0).map(|(low, high)| (NS_PER_S / high, NS_PER_S / low));
        let runs = self.runs.iter().map(|run| NS_PER_S / run).collect();
        ComparableValue {
            value: NS_PER_S / self.value,
            interval,
            runs,
            unit: Some(Unit::Nanoseconds),
            mean: None,
            ..self.clone()
        }
    }

    /// The time of one operation with its interval, ns.
    pub(super) fn propagated_time(&self) -> Propagated {
        let ComparableValue { value, interval, .. } = self.time();
        Propagated { value, interval }
    }

    /// Tells whether it is a duration.
    pub(super) fn is_cost(&self) -> bool {
        self.is_rate() || matches!(self.unit, Some(Unit::Nanoseconds | Unit::CoreCycles | Unit::ReferenceCycles))
    }

    /// Tells whether it counts operations in a time.
    pub(super) fn is_rate(&self) -> bool {
        matches!(self.unit, Some(Unit::BytesPerSecond | Unit::OperationsPerSecond))
    }

    /// The same between two environments, which must have had as many CPUs for it.
    pub(super) fn over_alike(&self, base: &ComparableValue) -> Result<(), Message> {
        let (one, other) = (base.cpus, self.cpus);
        if one == 0 || other == 0 || one == other {
            return Ok(());
        }
        Err(not_comparable(say!("{one} and {other} CPUs")))
    }

    fn amount(&self, number: f64) -> Message {
        match self.unit {
            Some(unit) => format::amount(number, unit),
            None => format::number(number).into(),
        }
    }

    /// The mean of all samples and their standard deviation, for people.
    pub(super) fn mean_text(&self) -> Option<Message> {
        let (mean, deviation) = (self.mean?, self.deviation?);
        let shown = |number: f64| match self.unit {
            // Of many digits, as reports in cycles have them.
            Some(Unit::ReferenceCycles) => format!("{number:.0}").into(),
            _ => self.amount(number),
        };
        Some(Message::joined([shown(mean), shown(mean * deviation)], " ± "))
    }

    pub(super) fn text(&self) -> Message {
        self.amount(self.value)
    }

    pub(super) fn text_with_interval(&self) -> Message {
        let Some((low, high)) = self.interval else { return self.text() };
        let (number, low, high) = (self.text(), self.amount(low), self.amount(high));
        say!("{number} ({low} … {high})")
    }
}

/// Assumed deviation between runs, and the variance of one run: by its rounds, or where a file has none by its interval.
fn scatter(cases: &[&CaseRecord], estimates: &[Estimate]) -> (f64, f64) {
    let (assumed, own) = difference::typical_scatter(cases.iter().copied()).unwrap_or_default();
    let of_interval = |estimate: &Estimate| {
        let error = difference::error_of_interval(estimate.ci_low.zip(estimate.ci_high)?)?;
        Some(error * error)
    };
    let squares: Vec<f64> = estimates.iter().filter_map(of_interval).collect();
    (assumed, if own > 0.0 { own } else { descriptive::mean(&squares).unwrap_or(0.0) })
}

/// Logarithms of values above zero; none where one has none.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0).then(|| value.ln()).filter(|one| one.is_finite())).collect()
}

/// The median of finite values; none of none.
pub(super) fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[half]),
        _ => Some((values[half - 1] + values[half]) / 2.0),
    }
}

/// Tells whether the first environment can be compared with itself: it has runs for two halves.
pub(super) fn has_control(first: &Environment) -> bool {
    first.runs.len() > 1
}

/// Distance of the medians of two halves of a value's runs, on logarithms; none where fewer than two runs have it.
pub(super) fn control_distance(of_first: &ComparableValue) -> Option<f64> {
    halves::apart(&of_first.runs, descriptive::median)
}

/// The cell of a percentage: within the control, or of values whose runs may be those of one machine, it is no difference.
pub(super) fn beside_control(fraction: &Propagated, may_equal: bool, distance: Option<f64>, all: bool) -> Message {
    let shown = cell_of(fraction, all);
    if may_equal || is_within(1.0 + fraction.value, distance) { no_difference(&shown) } else { shown }
}

pub(super) fn no_difference(shown: &Message) -> Message {
    say!("{shown} (no difference)")
}

/// Tells whether a ratio is, on logarithms, no farther from one than halves of the first environment's runs are.
pub(super) fn is_within(ratio: f64, distance: Option<f64>) -> bool {
    distance.is_some_and(|distance| ratio.ln().abs() <= distance)
}

/// The cell of a control: how much more one half comes to than the other.
pub(super) fn control_cell(distance: Option<f64>) -> Message {
    Message::plain(distance.map_or_else(|| "–".to_owned(), |distance| format!("±{:.2} %", distance.exp_m1() * 100.0)))
}

/// The head of the column, or a row's, in which the controls stand.
pub(super) const CONTROL_TITLE: Text = Text { en: "A/A", zh: "A/A" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_may_have_made_is_no_difference() {
        let shown = |value, may_equal, distance: Option<f64>| {
            let fraction = Propagated { value, interval: Some((value - 0.001, value + 0.001)) };
            beside_control(&fraction, may_equal, distance.map(f64::ln_1p), false).to_string()
        };
        assert_eq!(shown(0.01, false, Some(0.02)), "+1.00 % (no difference)");
        assert_eq!((shown(0.01, false, Some(0.005)), shown(0.01, false, None)), ("+1.00 %".into(), "+1.00 %".into()));
        // A control that happens to be small proves nothing where the runs of both may be those of one machine.
        assert_eq!(shown(0.01, true, Some(0.001)), "+1.00 % (no difference)");
        assert_eq!(
            [control_cell(Some(0.02_f64.ln_1p())), control_cell(None)].map(|cell| cell.to_string()),
            ["±2.00 %", "–"]
        );
    }

    #[test]
    fn a_control_reaches_as_many_times_down_as_up() {
        for (ratio, expected) in [(1.9, true), (0.55, true), (2.1, false), (0.45, false), (0.0, false)] {
            assert_eq!(is_within(ratio, Some(2_f64.ln())), expected, "{ratio}");
        }
    }
}
