//! A case's value in an environment, from all of the environment's runs.

use hostmark_model::{CaseRecord, Estimate, FlagKind, Lang, Measured, Outcome, ProbeInfo, Text, Unit};

use hostmark_stats::compare::Spread;
use hostmark_stats::descriptive::mean;

use super::Environment;
use crate::format;
use crate::joined::{Joined, joined_ratio};

/// A value with what it takes to hold it against another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    /// The median of the runs' medians.
    pub(super) median: f64,
    /// From the lowest end of the runs' intervals to the highest; none where a run has none.
    pub(super) interval: Option<(f64, f64)>,
    /// The runs' medians.
    runs: Vec<f64>,
    /// The mean of all samples; the median of the runs.
    pub(super) mean: Option<f64>,
    /// Standard deviation of all samples over their mean; the median of the runs.
    pub(super) deviation: Option<f64>,
    /// Its unit, where the run tells it.
    pub(super) unit: Option<Unit>,
    /// Whether what was measured was disturbed, or cannot be believed.
    pub(super) is_doubted: bool,
    /// The revision of its probe.
    revision: Option<u32>,
    /// Its probe.
    probe: String,
    /// How many CPUs it kept busy; 0 where the run does not tell.
    cpus: usize,
}

/// Remarks on a value that leave it no proof of anything.
const DOUBTED: [FlagKind; 4] =
    [FlagKind::Contended, FlagKind::Throttled, FlagKind::Implausible, FlagKind::UnderResolution];

impl Value {
    /// The value of the case `id`, or why there is none.
    pub(super) fn of(environment: &Environment, id: &str) -> Result<Value, Text<String>> {
        Value::of_quantity(environment, id, None)
    }

    /// A further quantity of the case `id`, or its value; or why there is none.
    pub(super) fn of_quantity(
        environment: &Environment,
        id: &str,
        quantity: Option<&str>,
    ) -> Result<Value, Text<String>> {
        let mut reason = Text { en: "not measured".to_owned(), zh: "未测量".to_owned() };
        let mut cases: Vec<&CaseRecord> = Vec::new();
        let mut probe: Option<&ProbeInfo> = None;
        for run in &environment.runs {
            let Some(case) = run.cases.iter().find(|case| case.id == id) else { continue };
            match &case.outcome {
                Outcome::Measured(_) => cases.push(case),
                Outcome::Skipped { reason: why } => {
                    reason = Text { en: format!("skipped: {why}"), zh: format!("略过：{why}") };
                }
                Outcome::Failed { reason: why } => {
                    reason = Text { en: format!("failed: {why}"), zh: format!("失败：{why}") };
                }
            }
            probe = probe.or_else(|| run.probes.iter().find(|probe| probe.id == case.probe));
        }
        let measured: Vec<_> = cases.iter().filter_map(|case| case.measured()).collect();
        let estimate = |measured: &&'_ Measured| match quantity {
            None => Some(measured.estimate.clone()),
            Some(name) => measured.also.get(name).map(|also| also.estimate.clone()),
        };
        let all: Vec<Estimate> = measured.iter().filter_map(estimate).collect();
        let estimates = || all.iter();
        let Some(median) = middle(estimates().map(|estimate| estimate.median)) else { return Err(reason) };
        let low = estimates().map(|estimate| estimate.ci_low).reduce(|one, other| Some(one?.min(other?))).flatten();
        let high = estimates().map(|estimate| estimate.ci_high).reduce(|one, other| Some(one?.max(other?))).flatten();
        let deviations = estimates().filter(|estimate| estimate.mean != 0.0);
        Ok(Value {
            median,
            interval: low.zip(high),
            runs: estimates().map(|estimate| estimate.median).collect(),
            mean: middle(estimates().map(|estimate| estimate.mean)),
            deviation: middle(deviations.map(|estimate| estimate.stddev / estimate.mean)),
            unit: probe.and_then(|probe| match quantity {
                None => Some(probe.unit),
                Some(name) => probe.also.iter().find(|also| also.name == name).map(|also| also.unit),
            }),
            is_doubted: measured.iter().flat_map(|measured| &measured.flags).any(|flag| DOUBTED.contains(&flag.kind)),
            probe: cases.first().map(|case| case.probe.clone()).unwrap_or_default(),
            revision: probe.map(|probe| probe.revision),
            cpus: measured.iter().flat_map(|m| &m.rounds).map(|round| round.cpus.len()).max().unwrap_or(0),
        })
    }

    /// By what fraction it lies over `base`, with the interval that both give it; or why that would say nothing.
    pub(super) fn over(&self, base: &Value) -> Result<Joined, Text<String>> {
        let not =
            |en: String, zh: String| Err(Text { en: format!("not comparable: {en}"), zh: format!("不可比：{zh}") });
        if self.unit != base.unit {
            return not("another unit".to_owned(), "单位不同".to_owned());
        }
        // Probes count their revisions apart.
        if let (Some(one), Some(other)) = (base.revision, self.revision)
            && self.probe == base.probe
            && one != other
        {
            return not(format!("revisions {one} and {other}"), format!("探针修订为 {one} 与 {other}"));
        }
        if base.median <= 0.0 || !base.median.is_finite() || !self.median.is_finite() {
            return not("the base is not above zero".to_owned(), "基准不大于零".to_owned());
        }
        let of = [(self.median, self.interval), (base.median, base.interval)];
        let ratio = |values: &[f64]| (values[1] > 0.0).then(|| values[0] / values[1]);
        joined_ratio(&of, ratio)
            .map(Joined::beyond_one)
            .ok_or_else(|| Text { en: "not finite".to_owned(), zh: "不是有限值".to_owned() })
    }

    /// Whether the runs of both scatter so much that they may be runs of one machine: Student's t on the logarithms of the
    /// runs' medians, as they are few, and as a half is as far away as a double.
    pub(super) fn may_equal(&self, base: &Value) -> bool {
        let sides = [&base.runs, &self.runs];
        let reach = Spread::pooled(&sides).and_then(|spread| spread.reach(base.runs.len(), self.runs.len()));
        let [one, other] = sides.map(|runs| mean(&runs.iter().map(|run| run.ln()).collect::<Vec<f64>>()));
        match reach.zip(one.zip(other)) {
            Some((reach, (one, other))) => (other - one).abs() <= reach.ln_1p(),
            // Of one run a side its interval alone tells; of more, values that have no logarithm prove nothing.
            None => base.runs.len() + self.runs.len() > 2 || self.median == base.median,
        }
    }

    /// A rate as the time of one operation, ns; a time as it is.
    pub(super) fn time(&self) -> Value {
        if !self.is_rate() {
            return self.clone();
        }
        const NS_PER_S: f64 = 1e9;
        let interval = self.interval.filter(|(low, _)| *low > 0.0).map(|(low, high)| (NS_PER_S / high, NS_PER_S / low));
        let runs = self.runs.iter().map(|run| NS_PER_S / run).collect();
        Value {
            median: NS_PER_S / self.median,
            interval,
            runs,
            unit: Some(Unit::Nanoseconds),
            mean: None,
            ..self.clone()
        }
    }

    /// Whether it says how long something takes.
    pub(super) fn is_cost(&self) -> bool {
        self.is_rate() || matches!(self.unit, Some(Unit::Nanoseconds | Unit::CoreCycles | Unit::ReferenceCycles))
    }

    /// Whether it counts operations in a time.
    pub(super) fn is_rate(&self) -> bool {
        matches!(self.unit, Some(Unit::BytesPerSecond | Unit::OperationsPerSecond))
    }

    /// The same between two environments, which must have had as many CPUs for it.
    pub(super) fn over_alike(&self, base: &Value) -> Result<(), Text<String>> {
        let (one, other) = (base.cpus, self.cpus);
        if one == 0 || other == 0 || one == other {
            return Ok(());
        }
        Err(Text {
            en: format!("not comparable: {one} and {other} CPUs"),
            zh: format!("不可比：{one} 个与 {other} 个 CPU"),
        })
    }

    /// The value for people.
    pub(super) fn shown(&self, lang: Lang) -> String {
        match self.unit {
            Some(unit) => format::value(self.median, unit, lang),
            None => format::number(self.median),
        }
    }

    /// The mean of all samples and their standard deviation, for people.
    pub(super) fn mean_text(&self) -> Option<Text<String>> {
        let (mean, deviation) = (self.mean?, self.deviation?);
        let shown = |number: f64, lang: Lang| match self.unit {
            // Of many digits, as reports in cycles have them.
            Some(Unit::ReferenceCycles) => format!("{number:.0}"),
            Some(unit) => format::value(number, unit, lang),
            None => format::number(number),
        };
        let text = |lang: Lang| format!("{} ± {}", shown(mean, lang), shown(mean * deviation, lang));
        Some(Text { en: text(Lang::En), zh: text(Lang::Zh) })
    }

    /// The value in both languages.
    pub(super) fn text(&self) -> Text<String> {
        Text { en: self.shown(Lang::En), zh: self.shown(Lang::Zh) }
    }

    /// The value in both languages with its interval, where it has one.
    pub(super) fn text_with_interval(&self) -> Text<String> {
        let Some((low, high)) = self.interval else { return self.text() };
        let end = |median: f64, lang: Lang| Value { median, ..self.clone() }.shown(lang);
        let text = |lang: Lang| format!("{} ({} … {})", self.shown(lang), end(low, lang), end(high, lang));
        Text { en: text(Lang::En), zh: text(Lang::Zh) }
    }
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
