//! Reads the metrics that stress-ng writes as YAML (`--metrics --yaml FILE`), or prints where there is no YAML: line by line.

use std::io::BufRead;

use hostmark_model::AxisKind::Choice;
use hostmark_model::{Message, Run, Text, Unit};
use hostmark_say::say;

use super::bounded::{Amount, TrailingText, amount, shortened};
use super::foreign::{Axis, Foreign, Further, ImportedValue, quantity, read_lines};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "stress-ng",
    tool: "stress-ng",
    what: WHAT,
    nothing: term!("it has no metrics of a stressor"),
    texts: crate::texts::stress_ng::TEXTS,
    programs: &[
        quantity("stress_ng.bogo_operations", Unit::OperationsPerSecond, &[STRESSOR]).with(&[
            Further("of_cpu_time", Unit::OperationsPerSecond, term!("a second of CPU time")),
            Further("peak_memory", Unit::Bytes, term!("peak memory of an instance")),
        ]),
        quantity("stress_ng.time", Unit::Nanoseconds, &[STRESSOR, ("metric", Choice)]),
        quantity("stress_ng.metric", Unit::Count, &[STRESSOR, ("metric", Choice)]),
    ],
    read,
};

const WHAT: Text = term!("what stress-ng wrote with --metrics, or with --metrics --yaml");

const STRESSOR: Axis = ("stressor", Choice);
const RATE: &str = "bogo-ops-per-second-real-time";
const CPU_RATE: &str = "bogo-ops-per-second-usr-sys-time";

/// Times by how a metric's name begins, ns.
const TIMES: [(&str, f64); 5] =
    [("nanosec", 1.0), ("microsec", 1e3), ("millisec", 1e6), ("secs", 1e9), ("seconds", 1e9)];
/// Metrics of every stressor, which are no cases of their own.
const COMMON: &[&str] =
    &["bogo-ops", RATE, CPU_RATE, "wall-clock-time", "user-time", "system-time", "cpu-usage-per-instance", "max-rss"];
/// Most metrics of a stressor.
const MOST_METRICS: usize = 100;

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let mut reader = StressNgReader::default();
    read_lines(&FORMAT, input, |run, at, line| match line {
        Some(line) => reader.take(run, at, line),
        None => reader.finish(run),
    })
}

#[derive(Default)]
struct StressNgReader {
    /// The key in the first column under which the lines stand.
    section: String,
    stressor: Option<Stressor>,
    /// True once a document has begun, and once its end has come.
    is_yaml: bool,
    is_closed: bool,
    table: StressorTable,
}

/// One stressor with its metrics in the file's order.
#[derive(Default)]
struct Stressor {
    name: String,
    metrics: Vec<(String, f64)>,
    /// The number of instances, where it is told.
    instances: String,
    is_failed: bool,
    /// A doubt that stress-ng has itself of the metrics.
    doubt: Option<Message>,
}

impl Stressor {
    fn add(&mut self, key: &str, word: &str) -> Result<(), Message> {
        let of = say!("'{key}' of {name}", key = shortened(key), name = shortened(&self.name));
        self.metrics.push((key.to_owned(), amount(word, of)?));
        match self.metrics.len() > MOST_METRICS {
            true => Err(say!("a stressor has more than {MOST_METRICS} metrics; give {WHAT}")),
            false => Ok(()),
        }
    }
}

impl StressNgReader {
    fn take(&mut self, run: &mut Foreign, at: u64, line: &str) -> Result<(), Message> {
        let inside = line.trim_start();
        if self.table.take(line)? {
            return Ok(());
        }
        match inside {
            "" => return Ok(()),
            "---" => {
                // Several documents follow each other.
                (self.is_yaml, self.is_closed) = (true, false);
                self.section.clear();
                return Ok(());
            }
            "..." => {
                self.is_closed = true;
                return self.end_stressor(run);
            }
            _ if inside.starts_with('#') => return Ok(()),
            _ if self.is_closed => {
                run.rest.get_or_insert_with(|| TrailingText { line: at, text: shortened(inside) });
                return Ok(());
            }
            _ => {}
        }
        let is_item = inside.starts_with("- ");
        let inside = inside.strip_prefix("- ").unwrap_or(inside);
        let Some((key, value)) = inside.split_once(':') else {
            // Commands stand before what they print.
            if !self.is_yaml {
                return Ok(());
            }
            let text = shortened(inside);
            return Err(say!("'{text}' is not of the form key: value; give {WHAT}"));
        };
        let value = unquoted(value.trim());
        if inside.len() == line.len() {
            self.end_stressor(run)?;
            key.clone_into(&mut self.section);
            self.is_yaml |= matches!(key, "system-info" | "metrics");
            return Ok(());
        }
        match self.section.as_str() {
            "system-info" => system(run, key, value),
            "metrics" if is_item && key == "stressor" => {
                self.end_stressor(run)?;
                self.stressor = Some(Stressor { name: value.to_owned(), ..Stressor::default() });
                Ok(())
            }
            "metrics" => {
                let none = || say!("a metric without a stressor; give {WHAT}");
                self.stressor.as_mut().ok_or_else(none)?.add(key.trim(), value)
            }
            // Times, thermal zones, interrupts, and what later versions add.
            _ => Ok(()),
        }
    }

    /// The end of the file: what stands in both is the same result, and the YAML has more digits.
    fn finish(&mut self, run: &mut Foreign) -> Result<(), Message> {
        if self.is_yaml && !self.is_closed {
            return Err(say!("the file ends here without '...', so it is truncated; give {WHAT}"));
        }
        if run.is_empty() {
            let StressorTable { stressors, version, .. } = std::mem::take(&mut self.table);
            if let Some(version) = version {
                run.version_is(&shortened(&version));
            }
            for stressor in stressors {
                self.stressor = Some(stressor);
                self.end_stressor(run)?;
            }
        }
        Ok(())
    }

    fn end_stressor(&mut self, run: &mut Foreign) -> Result<(), Message> {
        let Some(Stressor { name, metrics, instances, is_failed, doubt }) = self.stressor.take() else { return Ok(()) };
        let metric = |wanted: &str| metrics.iter().find(|(key, _)| key == wanted).map(|(_, number)| *number);
        let of = shortened(&name);
        let rate = metric(RATE).ok_or_else(|| say!("{RATE} of {of} did not come before this line; give {WHAT}"))?;
        let mut value = ImportedValue::new("stress_ng.bogo_operations", vec![rate])
            .at("stressor", &name)
            .and("of_cpu_time", metric(CPU_RATE))
            // The resident set in KiB; unknown where the kernel does not account it.
            .and("peak_memory", metric("max-rss").filter(|kib| *kib > 0.0).map(|kib| kib * 1024.0));
        for key in ["bogo-ops", "wall-clock-time", "cpu-usage-per-instance"] {
            value = value.note(key, metric(key).map(|number| number.to_string()).unwrap_or_default());
        }
        value = value.asked("instances", instances);
        value.failed = is_failed.then(|| say!("stress-ng says that {of} failed"));
        value.unconfirmed.clone_from(&doubt);
        run.keep(value)?;
        for (key, number) in metrics.iter().filter(|(key, _)| !COMMON.contains(&key.as_str())) {
            let time = TIMES.iter().find(|(start, _)| key.starts_with(start));
            let (probe, scale) = time.map_or(("stress_ng.metric", 1.0), |(_, ns)| ("stress_ng.time", *ns));
            let value = ImportedValue::new(probe, vec![number * scale]).at("stressor", &name).at("metric", key);
            run.keep(ImportedValue { unconfirmed: doubt.clone(), ..value })?;
        }
        Ok(())
    }
}

fn system(run: &mut Foreign, key: &str, value: &str) -> Result<(), Message> {
    let short = || value.chars().take(200).collect::<String>();
    match key {
        "stress-ng-version" => run.version_is(&shortened(value)),
        "hostname" => run.host.hostname = short(),
        "sysname" => run.host.kernel.system_is(value),
        "release" => run.host.kernel.release = short(),
        "version" => run.host.kernel.version = short(),
        "machine" => run.host.cpu.architecture = short(),
        "epoch-secs" => run.begun_at(Some(Amount(amount(value, "epoch-secs")?))),
        "totalram" => run.host.memory.total_bytes = amount(value, "totalram")? as u64,
        "date-yyyy-mm-dd" => run.date = Some(short()),
        "time-hh-mm-ss" => {
            let date = run.date.take().unwrap_or_default();
            run.date = Some(format!("{date} {}", short()).trim_start().to_owned());
        }
        _ => {}
    }
    Ok(())
}

/// A plain value, or what stands in quotes.
fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

/// The columns of a row behind the stressor's name, as the YAML calls them. Older versions lack the last two.
const COLUMNS: [&str; 8] =
    ["bogo-ops", "wall-clock-time", "user-time", "system-time", RATE, CPU_RATE, "cpu-usage-per-instance", "max-rss"];
/// The number of them that every version has.
const LEAST_COLUMNS: usize = 6;
/// Most rows: stress-ng has some 400 stressors.
const MOST_ROWS: usize = 5000;

/// State of the text so far.
#[derive(Default)]
struct StressorTable {
    stressors: Vec<Stressor>,
    /// stress-ng's version, which it prints with `--verbose`.
    pub version: Option<String>,
    /// Begin of the rows of the last table.
    begin: Option<usize>,
    /// True where `--log-brief` leaves out the text before each message.
    is_brief: bool,
    /// Stressors with the number of instances that were started.
    started: Vec<(String, String)>,
}

impl StressorTable {
    /// Takes a line of stress-ng's messages; whether it is one.
    fn take(&mut self, line: &str) -> Result<bool, Message> {
        let is_digit = |c: char| c.is_ascii_digit();
        let is_head = |text: &str| text.starts_with("stressor ") && text.contains(" bogo ops ");
        self.is_brief |= is_head(line);
        let message = match message(line) {
            Some(message) => message,
            None if self.is_brief => line.trim_start(),
            None => return Ok(false),
        };
        if is_head(message) {
            self.begin = Some(self.stressors.len());
        } else if let Some(hogs) = message.strip_prefix("dispatching hogs: ") {
            let pairs = hogs.split(',').filter_map(|hog| hog.trim().split_once(' '));
            self.started = pairs.map(|(count, name)| (name.to_owned(), count.to_owned())).collect();
        } else if let Some((what, names)) = verdict(message) {
            for stressor in &mut self.stressors[self.begin.unwrap_or_default()..] {
                let is_named = names.split(',').any(|one| one.split_whitespace().next() == Some(&stressor.name));
                match what {
                    "failed" => stressor.is_failed |= is_named,
                    "metrics untrustworthy" if is_named => {
                        stressor.doubt = Some(say!("stress-ng says that its metrics are untrustworthy"))
                    }
                    "unsuccessful run" => {
                        stressor.doubt.get_or_insert_with(|| say!("stress-ng says that its run was unsuccessful"));
                    }
                    _ => {}
                }
            }
        } else if let Some(version) = message.strip_prefix("stress-ng ").filter(|rest| rest.starts_with(is_digit)) {
            self.version = version.split_whitespace().next().map(str::to_owned);
        } else if let Some(begin) = self.begin {
            self.row(begin, message)?;
        }
        Ok(true)
    }

    fn row(&mut self, begin: usize, message: &str) -> Result<(), Message> {
        let mut words = message.split_whitespace();
        let Some(name) = words.next() else { return Ok(()) };
        let words: Vec<&str> = words.collect();
        let numbers = words.iter().take_while(|word| word.parse::<f64>().is_ok()).count();
        if numbers >= LEAST_COLUMNS {
            if self.stressors.len() == MOST_ROWS {
                return Err(say!("there are more than {MOST_ROWS} rows; give one result of stress-ng"));
            }
            let started = self.started.iter().find(|(hog, _)| hog == name).map(|(_, count)| count.clone());
            let instances = started.unwrap_or_default();
            let mut stressor = Stressor { name: name.to_owned(), instances, ..Stressor::default() };
            COLUMNS.iter().zip(&words).try_for_each(|(key, word)| stressor.add(key, word))?;
            self.stressors.push(stressor);
        } else if let (1, Some(stressor)) = (numbers, self.stressors[begin..].iter_mut().find(|one| one.name == name)) {
            stressor.add(&key(&words[1..].join(" ")), words[0])?;
        }
        Ok(())
    }
}

/// The word of stress-ng on stressors and their names, of `failed: 2: cpu (1), vm (1)`; one on the whole run has no names.
fn verdict(message: &str) -> Option<(&'static str, &str)> {
    let what =
        ["failed", "metrics untrustworthy", "unsuccessful run"].into_iter().find(|what| message.starts_with(what))?;
    Some((what, message.rsplit_once(": ").map_or("", |(_, names)| names)))
}

/// The text behind `stress-ng: metrc: [4242] `.
fn message(line: &str) -> Option<&str> {
    let (_, rest) = line.trim_start().strip_prefix("stress-ng: ")?.split_once(':')?;
    Some(rest.trim_start().strip_prefix('[')?.split_once(']')?.1.trim_start())
}

/// The description of a metric as the YAML's key, without how the instances' values became one.
fn key(description: &str) -> String {
    let mean = description.rsplit_once(" (").filter(|(_, how)| how.contains("mean") || how.contains("average"));
    let described = mean.map_or(description, |(described, _)| described);
    let sign = |c: char| if c == ' ' { Some('-') } else { c.is_ascii_alphanumeric().then(|| c.to_ascii_lowercase()) };
    described.chars().filter_map(sign).collect()
}
