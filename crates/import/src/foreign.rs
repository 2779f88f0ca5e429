//! The run of another tool while it is built: its programs as probes that describe themselves, its values as cases.

use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{
    Also, AxisInfo, AxisKind, Better, CaseId, CaseRecord, ClockFacts, Estimate, Explain, Flag, FlagKind, HostFacts,
    Imported, IntervalMethod, Measured, Noise, Outcome, Params, ProbeInfo, Profile, QuantityInfo, ReasonCode, Run,
    SCHEMA, Settings, Text, Tool, Unit,
};
use hostmark_stats::descriptive as stats;

use super::ImportError;
use super::bounded::{LARGEST, TrailingText};
use crate::texts;

/// Most values of a run. A file has at most some hundred; each costs under a KiB.
const MOST_VALUES: usize = 20_000;
/// Longest note, characters.
const LONGEST_NOTE: usize = 200;
/// Longest name in a case id, characters.
const LONGEST_NAME: usize = 60;

/// A quantity of another tool.
pub(super) struct ForeignQuantity {
    /// `tool.name`.
    pub id: &'static str,
    pub title: Text,
    pub unit: Unit,
    pub axes: &'static [(&'static str, AxisKind)],
    /// Further quantities of the same measurement.
    pub also: &'static [Further],
    /// What the tool does and what the value is.
    pub what: Text,
}

impl ForeignQuantity {
    /// One with a single quantity.
    pub(super) const fn plain(
        id: &'static str,
        title: Text,
        unit: Unit,
        axes: &'static [(&'static str, AxisKind)],
        what: Text,
    ) -> ForeignQuantity {
        ForeignQuantity { id, title, unit, axes, also: &[], what }
    }
}

/// A further quantity: its name, unit and title.
pub(super) struct Further(pub &'static str, pub Unit, pub Text);

/// A tool, as its importer describes it.
pub(super) struct Source {
    /// The format's name.
    pub format: &'static str,
    /// The tool's name for people.
    pub tool: &'static str,
    pub section: Text,
    /// How to read its values, of all programs.
    pub reading: Text,
    /// In the order of a report.
    pub programs: &'static [ForeignQuantity],
}

/// A value with the case it belongs to, in base units.
#[derive(Debug, Default)]
pub(super) struct ImportedValue {
    pub probe: &'static str,
    pub params: Vec<(&'static str, String)>,
    pub samples: Vec<f64>,
    pub also: Vec<(&'static str, f64)>,
    pub notes: Vec<(&'static str, String)>,
    /// What the value stands on and the file does not tell.
    pub unconfirmed: Option<String>,
    /// Why there is no value, by the tool's own word.
    pub failed: Option<String>,
}

impl ImportedValue {
    pub(super) fn new(probe: &'static str, samples: Vec<f64>) -> ImportedValue {
        ImportedValue { probe, samples, ..ImportedValue::default() }
    }

    pub(super) fn at(mut self, axis: &'static str, value: impl ToString) -> ImportedValue {
        self.params.push((axis, axis_value(&value.to_string())));
        self
    }

    /// A further quantity, where the file tells it.
    pub(super) fn and(mut self, name: &'static str, value: Option<f64>) -> ImportedValue {
        self.also.extend(value.map(|value| (name, value)));
        self
    }

    pub(super) fn note(mut self, key: &'static str, value: impl ToString) -> ImportedValue {
        let value: String = value.to_string().chars().take(LONGEST_NOTE).collect();
        if !value.is_empty() {
            self.notes.push((key, value));
        }
        self
    }
}

pub(super) struct Foreign {
    source: &'static Source,
    /// The tool's name and version.
    pub version: String,
    pub host: HostFacts,
    /// RFC 3339, where the file tells.
    pub started: String,
    pub date: Option<String>,
    /// What stands behind the result in the file.
    pub rest: Option<TrailingText>,
    /// What the file has results of that are not read.
    pub unread: Vec<String>,
    cases: Vec<(CaseId, ImportedValue)>,
    known: HashMap<CaseId, usize>,
    values: usize,
    /// Programs of numbers without a unit of ours of which a direction is known.
    pub directions: &'static [(&'static str, Better)],
    /// Names of the file by what they become as the value of an axis.
    names: HashMap<String, HashMap<String, usize>>,
}

impl Foreign {
    pub(super) fn of(source: &'static Source) -> Foreign {
        Foreign {
            source,
            version: source.tool.to_owned(),
            host: HostFacts::default(),
            started: String::new(),
            date: None,
            rest: None,
            unread: Vec::new(),
            cases: Vec::new(),
            known: HashMap::new(),
            values: 0,
            directions: &[],
            names: HashMap::new(),
        }
    }

    /// Whether nothing was kept yet.
    pub(super) fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// A name as the value of an axis: where another name became the same, with a number behind it.
    pub(super) fn distinct(&mut self, name: &str) -> String {
        const LONGEST_NUMBER: usize = 6;
        let value = shortened_axis_value(name, LONGEST_NAME - LONGEST_NUMBER);
        let names = self.names.entry(value.clone()).or_default();
        let next = names.len() + 1;
        match *names.entry(name.to_owned()).or_insert(next) {
            1 => value,
            number => format!("{value}+{number}"),
        }
    }

    /// The run; where nothing was kept, an error at the file's last line with what `nothing` says.
    pub(super) fn finish(self, line: u64, nothing: impl FnOnce() -> String) -> Result<Run, ImportError> {
        if self.is_empty() { Err(ImportError { line, what: nothing() }) } else { Ok(self.into_run()) }
    }

    /// Takes seconds since 1970 as the start.
    pub(super) fn begun_at(&mut self, seconds: f64) {
        let time = Timestamp::from_seconds(seconds as i64);
        self.started = time.map(|time| time.to_string()).unwrap_or_default();
    }

    /// Keeps a value; one more of the same case is a further sample of it. An error is a fragment.
    pub(super) fn keep(&mut self, value: ImportedValue) -> Result<(), String> {
        let tool = self.source.tool;
        self.values += value.samples.len().max(1);
        if self.values > MOST_VALUES {
            return Err(format!("there are more than {MOST_VALUES} values; give one result of {tool}"));
        }
        let numbers = value.samples.iter().chain(value.also.iter().map(|(_, number)| number));
        if let Some(bad) = numbers.into_iter().find(|number| !(0.0..LARGEST).contains(*number)) {
            return Err(format!("{bad} is no value of {}; correct the file", value.probe));
        }
        let params = value.params.iter().map(|(axis, value)| ((*axis).to_owned(), value.clone())).collect();
        let id = CaseId { probe: value.probe.into(), params: Params(params) };
        match self.known.get(&id) {
            None => {
                self.known.insert(id.clone(), self.cases.len());
                self.cases.push((id, value));
            }
            Some(&index) => {
                let kept = &mut self.cases[index].1;
                kept.samples.extend(value.samples);
                kept.also.extend(value.also);
                kept.failed = kept.failed.take().or(value.failed);
            }
        }
        Ok(())
    }

    pub(super) fn into_run(mut self) -> Run {
        let source = self.source;
        let ids: HashSet<&str> = self.cases.iter().map(|(id, _)| id.probe.as_str()).collect();
        let programs: Vec<&ForeignQuantity> =
            source.programs.iter().filter(|program| ids.contains(program.id)).collect();
        let place = |id: &CaseId| programs.iter().position(|program| program.id == id.probe);
        let mut probes: Vec<ProbeInfo> = programs.iter().map(|program| info(source, program)).collect();
        for (id, better) in self.directions {
            probes.iter_mut().filter(|probe| probe.id == *id).for_each(|probe| probe.better = *better);
        }
        // Stable: within a program the file's order remains.
        self.cases.sort_by_key(|(id, _)| place(id));
        Run {
            schema: SCHEMA.into(),
            id: String::new(),
            name: String::new(),
            finished: Some(self.started.clone()),
            started: self.started,
            interrupted: None,
            imported: Some(Imported { format: source.format.into(), file: String::new(), date: self.date }),
            tool: Tool {
                version: self.version,
                target: String::new(),
                libc: String::new(),
                is_static: false,
                digest: None,
            },
            settings: no_settings(BTreeMap::new()),
            host: self.host,
            disturbances: self.rest.iter().map(TrailingText::passed_over).chain(passed_over(&self.unread)).collect(),
            neighbours: None,
            others_share: None,
            hottest_celsius: None,
            trust: None,
            probes,
            cases: self.cases.into_iter().map(|(id, value)| record(source, id, value)).collect(),
            lost_rounds: Vec::new(),
            time: None,
            findings: Vec::new(),
            guest: None,
            peers: Vec::new(),
            pairs: Vec::new(),
            again: None,
            note: None,
            series: None,
            place: None,
        }
    }
}

/// Says which results of the file are not in the run.
fn passed_over(unread: &[String]) -> Option<Text<String>> {
    let names = (!unread.is_empty()).then(|| unread.join(", "))?;
    Some(texts::foreign::passed_over!(names))
}

/// The settings of a run that this program was not asked for: they say nothing.
pub(super) fn no_settings(set: BTreeMap<String, String>) -> Settings {
    Settings {
        profile: Profile::Quick,
        seed: 0,
        filters: Vec::new(),
        table: None,
        rounds: 1,
        limit_s: 0.0,
        clock: ClockFacts { source: String::new(), hz: 0.0, reason: None, message: None, drift: None },
        cpu: 0,
        set,
        inputs: Default::default(),
    }
}

fn record(source: &Source, id: CaseId, value: ImportedValue) -> CaseRecord {
    let tool = source.tool;
    let failed = value.failed.map(|text| Outcome::Failed { reason: ReasonCode::Imported.because(text) });
    let outcome = failed.unwrap_or_else(|| match estimate(&value.samples) {
        None => {
            let text = format!("{tool} printed 0, which is no value");
            Outcome::Skipped { reason: ReasonCode::NoValue.because(text) }
        }
        Some(estimate) => {
            let mut also: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            let unit = |name: &str| {
                let further = source.programs.iter().filter(|program| program.id == id.probe).flat_map(|p| p.also);
                further.into_iter().find(|further| further.0 == name).map(|further| further.1)
            };
            for (name, number) in value.also {
                // A time or a rate of 0 is one that was cut off by its digits; a count or a share may be 0.
                let may_be_zero = matches!(unit(name), Some(Unit::Count | Unit::Ratio));
                if number > 0.0 || may_be_zero {
                    also.entry(name.to_owned()).or_default().push(number);
                }
            }
            let also = also.into_iter().filter_map(|(name, numbers)| Some((name, Also { estimate: of(&numbers)? })));
            let flag = |detail: String| Flag::new(FlagKind::Unconfirmed, detail);
            Outcome::Measured(Box::new(Measured {
                estimate,
                also: also.collect(),
                samples: vec![good(&value.samples)],
                histogram: None,
                rounds: Vec::new(),
                noise: Noise::default(),
                notes: value.notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                flags: value.unconfirmed.map(flag).into_iter().collect(),
                bounds: None,
            }))
        }
    });
    CaseRecord { id: id.to_string(), probe: id.probe, params: id.params, outcome }
}

fn good(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| *value > 0.0).collect()
}

/// The estimate of what a tool printed, without an interval, since it tells no rounds; none of values of 0 or less alone.
pub(super) fn estimate(values: &[f64]) -> Option<Estimate> {
    of(&good(values))
}

fn of(values: &[f64]) -> Option<Estimate> {
    let median = stats::median(values)?;
    Some(Estimate {
        typical: median,
        ci_low: None,
        ci_high: None,
        confidence: 0.95,
        method: IntervalMethod::None,
        min: stats::min(values).unwrap_or(median),
        max: stats::max(values).unwrap_or(median),
        mean: stats::mean(values).unwrap_or(median),
        stddev: stats::stddev(values).unwrap_or(0.0),
        mad: stats::mad(values).unwrap_or(0.0),
        best_round: median,
        n: values.len() as u64,
        rounds: 1,
        range: None,
        quiet: None,
        leading: Default::default(),
        repetition: None,
        agreement: None,
    })
}

/// A name of the file as the value of an axis: what may not stand in a case id becomes `-`.
pub(super) fn axis_value(name: &str) -> String {
    let mut value = String::new();
    for c in name.chars().take(LONGEST_NAME) {
        let c = c.to_ascii_lowercase();
        let fits = c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '+' | '-');
        value.push(if fits { c } else { '-' });
    }
    if value.is_empty() { "unnamed".into() } else { value }
}

/// The same of at most `most` signs: of a longer name its beginning and a digest of all, so that in every file it becomes the same
/// and another name with that beginning does not.
fn shortened_axis_value(name: &str, most: usize) -> String {
    const DIGEST: usize = 7;
    if name.chars().count() <= most {
        return axis_value(name);
    }
    // FNV-1a.
    let digest = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let begin: String = axis_value(name).chars().take(most - DIGEST).collect();
    format!("{begin}.{:06x}", digest & 0xff_ffff)
}

/// What is wrong with a file in which nothing was found, which should be `what`.
pub(super) fn no_result(what: &str) -> String {
    format!("the file has no result; give {what}")
}

/// A number as the shortest text that reads back the same.
pub(super) fn shortest(number: f64) -> String {
    number.to_string()
}

/// Which direction of a unit is good.
fn better(unit: Unit) -> Better {
    match unit {
        Unit::Nanoseconds => Better::Lower,
        Unit::BytesPerSecond | Unit::OperationsPerSecond => Better::Higher,
        _ => Better::Neither,
    }
}

fn info(source: &Source, program: &ForeignQuantity) -> ProbeInfo {
    let tool = source.tool;
    let axis = |(name, kind): &(&str, AxisKind)| AxisInfo { name: (*name).into(), kind: *kind, default: String::new() };
    let further = |Further(name, unit, title): &Further| QuantityInfo {
        name: (*name).into(),
        unit: *unit,
        better: better(*unit),
        title: title.to_owned_text(),
    };
    ProbeInfo {
        id: program.id.into(),
        title: program.title.to_owned_text(),
        unit: program.unit,
        better: better(program.unit),
        also: program.also.iter().map(further).collect(),
        revision: 1,
        explain: Explain {
            what: program.what.to_owned_text(),
            why: texts::foreign::why!(tool),
            reading: source.reading.to_owned_text(),
            typical: Text::default(),
            causes: Text::default(),
        },
        section: source.section.to_owned_text(),
        related: Vec::new(),
        replaces: Vec::new(),
        differs: None,
        axes: program.axes.iter().map(axis).collect(),
        needs: Vec::new(),
        brought_by: Vec::new(),
    }
}

/// What a number with a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// A time: ns.
    Time,
    /// Bytes per second.
    Rate,
    Operations,
}

const KIB: f64 = 1024.0;

/// Units that are known: what they are of, and what one is in the base unit. KB, MB and GB are not among them: some tools count
/// 1000, others 1024.
const UNITS: &[(&str, UnitKind, f64)] = &[
    ("ns", UnitKind::Time, 1.0),
    ("nanoseconds", UnitKind::Time, 1.0),
    ("us", UnitKind::Time, 1e3),
    ("usec", UnitKind::Time, 1e3),
    ("microseconds", UnitKind::Time, 1e3),
    ("ms", UnitKind::Time, 1e6),
    ("msec", UnitKind::Time, 1e6),
    ("milliseconds", UnitKind::Time, 1e6),
    ("s", UnitKind::Time, 1e9),
    ("sec", UnitKind::Time, 1e9),
    ("second", UnitKind::Time, 1e9),
    ("seconds", UnitKind::Time, 1e9),
    ("minutes", UnitKind::Time, 60e9),
    ("hours", UnitKind::Time, 3600e9),
    ("B/s", UnitKind::Rate, 1.0),
    ("byte/s", UnitKind::Rate, 1.0),
    ("bytes/s", UnitKind::Rate, 1.0),
    ("bytes/sec", UnitKind::Rate, 1.0),
    ("KiB/s", UnitKind::Rate, KIB),
    ("MiB/s", UnitKind::Rate, KIB * KIB),
    ("GiB/s", UnitKind::Rate, KIB * KIB * KIB),
    ("bits/sec", UnitKind::Rate, 0.125),
    ("kbits/sec", UnitKind::Rate, 125.0),
    ("mbits/sec", UnitKind::Rate, 125e3),
    ("gbits/sec", UnitKind::Rate, 125e6),
    ("iops", UnitKind::Operations, 1.0),
    ("ops/s", UnitKind::Operations, 1.0),
    ("ops/sec", UnitKind::Operations, 1.0),
    ("operations/s", UnitKind::Operations, 1.0),
    ("operations/sec", UnitKind::Operations, 1.0),
    ("operations per second", UnitKind::Operations, 1.0),
    ("req/s", UnitKind::Operations, 1.0),
    ("requests per second", UnitKind::Operations, 1.0),
    ("transactions_per_second", UnitKind::Operations, 1.0),
    ("transactions per second", UnitKind::Operations, 1.0),
    ("tps", UnitKind::Operations, 1.0),
    ("qps", UnitKind::Operations, 1.0),
];

/// What a unit is. Words may be in any case; where B is bytes and b bits, it counts.
pub(super) fn known(unit: &str) -> Option<(UnitKind, f64)> {
    let lower = unit.to_ascii_lowercase();
    UNITS.iter().find(|(name, ..)| *name == unit || *name == lower).map(|(_, kind, one)| (*kind, *one))
}

#[cfg(test)]
mod tests {
    use hostmark_model::is_axis_value;

    use super::*;

    #[test]
    fn any_name_becomes_the_value_of_an_axis() {
        for (name, value) in
            [("randread", "randread"), ("My Job/1", "my-job-1"), ("", "unnamed"), ("\u{1b}[31m", "--31m")]
        {
            assert_eq!(axis_value(name), value);
            assert!(is_axis_value(&axis_value(name)));
        }
        assert!(axis_value(&"é".repeat(500)).len() <= LONGEST_NAME);
    }

    #[test]
    fn long_names_that_begin_alike_are_distinguished_in_every_file() {
        let name = |end: &str| format!("{}{end}", "compress --level 19 ".repeat(4));
        let [one, other] = ["a", "b"].map(|end| shortened_axis_value(&name(end), 54));
        assert!(one != other && one == shortened_axis_value(&name("a"), 54));
        assert!(one.len() == 54 && is_axis_value(&one) && one.starts_with("compress---level"), "{one}");
    }

    #[test]
    fn an_estimate_of_zeros_is_none_and_of_one_value_is_that_value() {
        assert_eq!(estimate(&[0.0]), None);
        let one = estimate(&[0.0, 5.0]).unwrap();
        assert_eq!((one.typical, one.n, one.ci_low), (5.0, 1, None));
    }

    #[test]
    fn units_that_may_be_two_things_are_unknown() {
        for unit in ["MB/s", "KB/s", "Mb/s", "b/s", "Mib/s", "GB/s", "", "points"] {
            assert_eq!(known(unit), None, "{unit}");
        }
        assert_eq!(known("MiB/s"), Some((UnitKind::Rate, 1_048_576.0)));
        assert_eq!(known("Mbits/sec"), Some((UnitKind::Rate, 125e3)));
        assert_eq!(known("Seconds"), Some((UnitKind::Time, 1e9)));
    }
}
