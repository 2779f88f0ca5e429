//! The run of another tool while it is built: its programs as probes that describe themselves, its values as cases.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::BufRead;

use hostmark_model::imported::ASKED;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{
    Also, AxisInfo, AxisKind, Better, CaseId, CaseRecord, ClockFacts, CpuFact, Estimate, Explain, Flag, FlagKind,
    HostFacts, Imported, IntervalMethod, MOST_CASES, Measured, Message, Noise, Outcome, Params, ProbeInfo, Profile,
    QuantityInfo, Reason, ReasonCode, Run, SCHEMA, Settings, Text, Tool, Unit,
};
use hostmark_say::say;
use hostmark_stats::descriptive as stats;
use serde::de::DeserializeOwned;

use super::bounded::{Amount, LARGEST, Plain, TrailingText, each_document, each_element, each_line};
use super::{ImportError, ImportFormat};
use crate::texts;

/// Most values of a run: those of one case are numbers, of which JMH and pytest-benchmark write thousands.
const MOST_VALUES: usize = 200_000;
/// Longest note, characters.
const LONGEST_NOTE: usize = 200;
/// Most bytes of notes of a run.
const MOST_NOTED: usize = 64 << 20;
/// Longest name in a case id, characters.
const LONGEST_NAME: usize = 60;

/// A quantity of another tool.
#[derive(Debug)]
pub(super) struct ForeignQuantity {
    /// `tool.name`; the texts `name title` and `name` are its own.
    pub id: &'static str,
    /// Its title and section, where no texts have them.
    titled: Option<[Text; 2]>,
    unit: Unit,
    pub axes: &'static [Axis],
    /// Further quantities of the same measurement.
    pub also: &'static [Further],
    better: Better,
}

impl ForeignQuantity {
    /// Adds further quantities of the same measurement.
    pub(super) const fn with(self, also: &'static [Further]) -> ForeignQuantity {
        ForeignQuantity { also, ..self }
    }

    /// Gives it a title and a section beside the format's texts.
    pub(super) const fn titled(self, title: Text, section: Text) -> ForeignQuantity {
        ForeignQuantity { titled: Some([title, section]), ..self }
    }

    /// Its name, behind that of its tool.
    pub(super) fn name(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(_, name)| name)
    }

    /// Says which direction is good, where the unit does not.
    pub(super) const fn with_direction(self, better: Better) -> ForeignQuantity {
        ForeignQuantity { better, ..self }
    }
}

/// A quantity with neither further ones nor a direction of its own.
pub(super) const fn quantity(id: &'static str, unit: Unit, axes: &'static [Axis]) -> ForeignQuantity {
    ForeignQuantity { id, titled: None, unit, axes, also: &[], better: better(unit) }
}

/// An axis: its name, and of what kind its values are.
pub(super) type Axis = (&'static str, AxisKind);

/// A further quantity: its name, unit and title.
#[derive(Debug)]
pub(super) struct Further(pub &'static str, pub Unit, pub Text);

/// A value with the case it belongs to, in base units.
#[derive(Debug, Default)]
pub(super) struct ImportedValue {
    pub probe: &'static str,
    pub params: Vec<(&'static str, String)>,
    pub samples: Vec<f64>,
    pub also: Vec<(&'static str, f64)>,
    pub notes: Vec<(String, String)>,
    /// The doubt of the tool, or what the file does not tell.
    pub unconfirmed: Option<Message>,
    /// Reason for no value, by the tool's own word.
    pub failed: Option<Message>,
    /// Reason for no value, where it is not that the tool printed 0.
    pub absent: Option<Reason>,
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

    pub(super) fn note(mut self, key: &str, value: impl ToString) -> ImportedValue {
        let value: String = value.to_string().chars().take(LONGEST_NOTE).collect();
        if !value.is_empty() {
            self.notes.push((key.to_owned(), value));
        }
        self
    }

    /// Notes what the tool was asked to do: values with another note of this key are not compared.
    pub(super) fn asked(self, option: &str, value: impl ToString) -> ImportedValue {
        self.note(&format!("{ASKED}{}", axis_value(option)), value)
    }

    fn asked_options(&self) -> impl Iterator<Item = &(String, String)> {
        self.notes.iter().filter(|(key, _)| key.starts_with(ASKED))
    }

    /// Notes the options of a file but `others`, which axes have or which name outputs and machines.
    pub(super) fn asked_but(self, others: &str, options: &BTreeMap<String, Plain>) -> ImportedValue {
        let counts = options.iter().filter(|(name, _)| !others.split(' ').any(|other| other == *name));
        counts.fold(self, |value, (name, Plain(option))| value.asked(name, option))
    }
}

#[derive(Default)]
pub(super) struct Foreign {
    format: ImportFormat,
    /// The tool's name and version.
    pub version: String,
    pub host: HostFacts,
    /// RFC 3339, where the file tells.
    pub started: String,
    pub finished: Option<String>,
    pub date: Option<String>,
    /// Settings of the tool that the file tells, and what it was compiled for.
    pub set: BTreeMap<String, String>,
    pub target: String,
    /// Text behind the result in the file.
    pub rest: Option<TrailingText>,
    /// Names of results in the file that are not read.
    pub unread: Vec<String>,
    cases: Vec<(CaseId, ImportedValue)>,
    known: HashMap<CaseId, usize>,
    values: usize,
    noted: usize,
    /// Names of the file by what they become as the value of an axis.
    names: HashMap<String, HashMap<String, usize>>,
}

impl Foreign {
    pub(super) fn of(format: &ImportFormat) -> Foreign {
        Foreign { format: *format, version: format.tool.to_owned(), ..Foreign::default() }
    }

    /// True until a value is kept.
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

    /// The run; where nothing was kept, an error at the file's last line.
    pub(super) fn finish(self, line: u64) -> Result<Run, ImportError> {
        let ImportFormat { what, nothing, .. } = self.format;
        match self.is_empty() {
            true => Err(ImportError { line, what: say!("{nothing}; give {what}") }),
            false => Ok(self.into_run()),
        }
    }

    /// Takes seconds since 1970 as the start, unless there are none.
    pub(super) fn begun_at(&mut self, seconds: Option<Amount>) {
        if let Some(Amount(seconds)) = seconds.filter(|seconds| seconds.0 > 0.0) {
            self.started = Timestamp::from_seconds(seconds as i64).map(|time| time.to_string()).unwrap_or_default();
        }
    }

    /// Takes a date as the file writes it, unless it is empty.
    pub(super) fn date_is(&mut self, date: &str) {
        self.date = Some(date.to_owned()).filter(|date| !date.is_empty());
    }

    /// Takes a number of CPUs, unless it is absurd.
    pub(super) fn has_cpus(&mut self, count: &str) {
        const MOST: usize = 8192;
        let count = count.parse().ok().filter(|count| *count <= MOST).unwrap_or(0);
        let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
        self.host.cpus = (0..count).map(cpu).collect();
    }

    pub(super) fn version_is(&mut self, version: &str) {
        let version = version.strip_prefix(self.format.tool).unwrap_or(version).trim_start();
        self.version = format!("{} {version}", self.format.tool).trim_end().to_owned();
    }

    /// Keeps a value; one more of the same case is a further sample of it. An error is a fragment.
    pub(super) fn keep(&mut self, value: ImportedValue) -> Result<(), Message> {
        let tool = self.format.tool;
        self.values += value.samples.len().max(1);
        self.noted += value.notes.iter().map(|(key, note)| key.len() + note.len()).sum::<usize>();
        let numbers = value.samples.iter().chain(value.also.iter().map(|(_, number)| number));
        if let Some(bad) = numbers.into_iter().find(|number| !(0.0..LARGEST).contains(*number)) {
            return Err(say!("{bad} is no value of {probe}; correct the file", probe = value.probe));
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
                if !kept.asked_options().eq(value.asked_options()) {
                    kept.unconfirmed.get_or_insert_with(|| say!("its samples are of different options"));
                }
                kept.samples.extend(value.samples);
                kept.also.extend(value.also);
                kept.failed = kept.failed.take().or(value.failed);
                kept.absent = kept.absent.take().or(value.absent);
                kept.unconfirmed = kept.unconfirmed.take().or(value.unconfirmed);
            }
        }
        match self.cases.len() > MOST_CASES || self.values > MOST_VALUES || self.noted > MOST_NOTED {
            false => Ok(()),
            true => Err(say!(
                "there are more than {MOST_CASES} cases, {MOST_VALUES} values or {MOST_NOTED} bytes of options; give one \
                 result of {tool}"
            )),
        }
    }

    fn into_run(mut self) -> Run {
        let format = &self.format;
        let ids: HashSet<&str> = self.cases.iter().map(|(id, _)| id.probe.as_str()).collect();
        let programs: Vec<&ForeignQuantity> =
            format.programs.iter().filter(|program| ids.contains(program.id)).collect();
        let place = |id: &CaseId| programs.iter().position(|program| program.id == id.probe);
        let probes = programs.iter().map(|program| info(format, program)).collect();
        // Stable: within a program the file's order remains.
        self.cases.sort_by_key(|(id, _)| place(id));
        Run {
            schema: SCHEMA.into(),
            id: String::new(),
            name: String::new(),
            finished: self.finished.or_else(|| Some(self.started.clone())),
            started: self.started,
            interrupted: None,
            imported: Some(Imported { format: format.name.into(), file: String::new(), date: self.date }),
            tool: Tool {
                version: self.version,
                target: self.target,
                libc: String::new(),
                is_static: false,
                digest: None,
            },
            // This program was not asked for the run: they say nothing.
            settings: Settings {
                profile: Profile::Quick,
                seed: 0,
                filters: Vec::new(),
                table: None,
                rounds: 1,
                limit_s: 0.0,
                clock: ClockFacts { source: String::new(), hz: 0.0, reason: None, message: None, drift: None },
                cpu: 0,
                set: self.set,
                inputs: Default::default(),
            },
            host: self.host,
            disturbances: self.rest.iter().map(TrailingText::passed_over).chain(passed_over(&self.unread)).collect(),
            neighbours: None,
            others_share: None,
            hottest_celsius: None,
            trust: None,
            probes,
            cases: self.cases.into_iter().map(|(id, value)| record(format, id, value)).collect(),
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

/// The run of a text, of which `each` takes every line with its number, and none at the end.
pub(super) fn read_lines(
    format: &ImportFormat,
    input: &mut dyn BufRead,
    mut each: impl FnMut(&mut Foreign, u64, Option<&str>) -> Result<(), Message>,
) -> Result<Run, ImportError> {
    let mut run = Foreign::of(format);
    let lines = each_line(input, format.what, |at, line| each(&mut run, at, line))?;
    run.finish(lines)
}

/// The run of a file of JSON, of which `each` takes every document.
pub(super) fn read_documents<T: DeserializeOwned>(
    format: &ImportFormat,
    input: &mut dyn BufRead,
    mut each: impl FnMut(&mut Foreign, T) -> Result<(), Message>,
) -> Result<Run, ImportError> {
    let mut run = Foreign::of(format);
    let (lines, rest) = each_document(input, format.what, |document| each(&mut run, document))?;
    run.rest = rest;
    run.finish(lines)
}

/// The run of a file of XML, of which `each` takes every element, and none at the end.
pub(super) fn read_elements(
    format: &ImportFormat,
    input: &mut dyn BufRead,
    mut each: impl FnMut(&mut Foreign, Option<(&str, &str)>) -> Result<(), Message>,
) -> Result<Run, ImportError> {
    let mut run = Foreign::of(format);
    let lines = each_element(input, format.what, |path, text| each(&mut run, Some((path, text))))?;
    each(&mut run, None).map_err(|what| ImportError { line: lines, what })?;
    run.finish(lines)
}

/// Says which results of the file are not in the run.
fn passed_over(unread: &[String]) -> Option<Text<String>> {
    let names = (!unread.is_empty()).then(|| unread.join(", "))?;
    Some(texts::foreign::passed_over!(names))
}

fn record(format: &ImportFormat, id: CaseId, value: ImportedValue) -> CaseRecord {
    let tool = format.tool;
    let failed = value.failed.map(|text| Outcome::Failed { reason: ReasonCode::Imported.because(text) });
    let outcome = failed.unwrap_or_else(|| match estimate_above_zero(&value.samples) {
        None => {
            let zero = || ReasonCode::NoValue.because(say!("{tool} printed 0, which is below its resolution"));
            Outcome::Skipped { reason: value.absent.unwrap_or_else(zero) }
        }
        Some(estimate) => {
            let mut also: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            let unit = |name: &str| {
                let further = format.programs.iter().filter(|program| program.id == id.probe).flat_map(|p| p.also);
                further.into_iter().find(|further| further.0 == name).map(|further| further.1)
            };
            for (name, number) in value.also {
                also.entry(name.to_owned()).or_default().push(number);
            }
            let also = also.into_iter().filter_map(|(name, numbers)| {
                // A time or a rate of 0 is one that was cut off by its digits; a count or a share may be 0.
                let may_be_zero = matches!(unit(&name), Some(Unit::Count | Unit::Ratio));
                let estimate = if may_be_zero { of(&numbers) } else { estimate_above_zero(&numbers) };
                Some((name, Also { estimate: estimate? }))
            });
            let flag = |detail: Message| Flag::new(FlagKind::Unconfirmed, detail);
            Outcome::Measured(Box::new(Measured {
                estimate,
                also: also.collect(),
                samples: vec![value.samples],
                histogram: None,
                rounds: Vec::new(),
                noise: Noise::default(),
                notes: value.notes.into_iter().collect(),
                flags: value.unconfirmed.map(flag).into_iter().collect(),
                bounds: None,
            }))
        }
    });
    CaseRecord { id: id.to_string(), probe: id.probe, params: id.params, outcome }
}

/// The estimate of what a tool printed; none where its median is 0, since that is a value below the tool's resolution.
fn estimate_above_zero(values: &[f64]) -> Option<Estimate> {
    of(values).filter(|estimate| estimate.typical > 0.0)
}

/// The estimate of all values, without an interval, since the tool tells no rounds.
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

/// The good direction of a unit.
const fn better(unit: Unit) -> Better {
    match unit {
        Unit::Nanoseconds => Better::Lower,
        Unit::BytesPerSecond | Unit::OperationsPerSecond => Better::Higher,
        _ => Better::Neither,
    }
}

fn info(format: &ImportFormat, program: &ForeignQuantity) -> ProbeInfo {
    let tool = format.tool;
    let name = program.name();
    let text = |heading: &str| {
        let found = format.texts.iter().find(|(known, _)| *known == heading);
        found.map(|(_, text)| text.to_owned_text()).unwrap_or_default()
    };
    let axis = |(name, kind): &Axis| AxisInfo { name: (*name).into(), kind: *kind, default: String::new() };
    let further = |Further(name, unit, title): &Further| QuantityInfo {
        name: (*name).into(),
        unit: *unit,
        better: better(*unit),
        title: title.to_owned_text(),
    };
    let (what, why) = match program.titled {
        Some(_) => (texts::lmbench::what_of!(name), term!("To set an old result beside a new one.").to_owned_text()),
        None => (text(name), texts::foreign::why!(tool)),
    };
    let [title, section] = program
        .titled
        .map_or_else(|| [text(&format!("{name} title")), text("section")], |own| own.map(|text| text.to_owned_text()));
    ProbeInfo {
        id: program.id.into(),
        title,
        unit: program.unit,
        better: program.better,
        also: program.also.iter().map(further).collect(),
        revision: 1,
        explain: Explain { what, why, reading: text("reading"), ..Explain::default() },
        section,
        related: Vec::new(),
        replaces: Vec::new(),
        differs: None,
        axes: program.axes.iter().map(axis).collect(),
        needs: Vec::new(),
        brought_by: Vec::new(),
    }
}

/// The kind of a number with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    Time,
    Rate,
    Operations,
}

const KIB: f64 = 1024.0;

/// Units that are known: what they are of, and what one is in the base unit. KB, MB and GB are not among them: some tools count
/// 1000, others 1024.
const UNITS: &[(&str, UnitKind, f64)] = &[
    ("ns|nanoseconds", UnitKind::Time, 1.0),
    ("us|usec|microseconds", UnitKind::Time, 1e3),
    ("ms|msec|milliseconds", UnitKind::Time, 1e6),
    ("s|sec|second|seconds", UnitKind::Time, 1e9),
    ("minutes", UnitKind::Time, 60e9),
    ("hours", UnitKind::Time, 3600e9),
    ("B/s|byte/s|bytes/s|bytes/sec", UnitKind::Rate, 1.0),
    ("KiB/s", UnitKind::Rate, KIB),
    ("MiB/s", UnitKind::Rate, KIB * KIB),
    ("GiB/s", UnitKind::Rate, KIB * KIB * KIB),
    ("bits/sec", UnitKind::Rate, 0.125),
    ("kbits/sec", UnitKind::Rate, 125.0),
    ("mbits/sec", UnitKind::Rate, 125e3),
    ("gbits/sec", UnitKind::Rate, 125e6),
    ("iops|ops/s|ops/sec|operations/s|operations/sec|operations per second", UnitKind::Operations, 1.0),
    ("req/s|requests per second|tps|qps", UnitKind::Operations, 1.0),
    ("transactions_per_second|transactions per second", UnitKind::Operations, 1.0),
];

/// The kind of a unit, and its size in the base unit. Words may be in any case; where B is bytes and b bits, it counts.
pub(super) fn known(unit: &str) -> Option<(UnitKind, f64)> {
    let lower = unit.to_ascii_lowercase();
    let is_it = |name: &str| name == unit || name == lower;
    UNITS.iter().find(|(names, ..)| names.split('|').any(is_it)).map(|(_, kind, one)| (*kind, *one))
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
    fn an_estimate_whose_median_is_zero_is_none_and_zeros_are_samples() {
        assert!([&[0.0][..], &[0.0, 0.0, 5.0]].iter().all(|values| estimate_above_zero(values).is_none()));
        let one = estimate_above_zero(&[0.0, 5.0, 6.0]).unwrap();
        assert_eq!((one.typical, one.n, one.ci_low), (5.0, 3, None));
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
