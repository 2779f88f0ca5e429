//! Reads the table that stress-ng prints with `--metrics`, and the metrics of single stressors below it.

use super::super::lines::amount;
use super::{CPU_RATE, MOST_METRICS, RATE, Stressor};

/// The columns of a row behind the stressor's name, as the YAML calls them. Older versions lack the last two.
const COLUMNS: [&str; 8] =
    ["bogo-ops", "wall-clock-time", "user-time", "system-time", RATE, CPU_RATE, "cpu-usage-per-instance", "max-rss"];
/// How many of them every version has.
const LEAST_COLUMNS: usize = 6;
/// Most rows: stress-ng has some 400 stressors.
const MOST_ROWS: usize = 5000;

/// What the text tells so far.
#[derive(Default)]
pub(super) struct StressorTable {
    pub stressors: Vec<Stressor>,
    /// stress-ng's version, which it prints with `--verbose`.
    pub version: Option<String>,
    /// Where the rows of the last table begin.
    begin: Option<usize>,
    /// Whether `--log-brief` leaves out what stands before each message.
    is_brief: bool,
    /// How many instances of a stressor were started.
    started: Vec<(String, String)>,
}

impl StressorTable {
    /// Takes a line of stress-ng's messages; whether it is one.
    pub(super) fn take(&mut self, line: &str) -> Result<bool, String> {
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
        } else if let Some((_, names)) = message.strip_prefix("failed: ").and_then(|rest| rest.split_once(": ")) {
            // `failed: 2: cpu (1), vm (1)`
            let failed = |name: &str| names.split(',').any(|one| one.split_whitespace().next() == Some(name));
            let last = self.begin.unwrap_or_default();
            self.stressors[last..].iter_mut().for_each(|stressor| stressor.is_failed |= failed(&stressor.name));
        } else if let Some(version) = message.strip_prefix("stress-ng ").filter(|rest| rest.starts_with(is_digit)) {
            self.version = version.split_whitespace().next().map(str::to_owned);
        } else if let Some(begin) = self.begin {
            self.row(begin, message)?;
        }
        Ok(true)
    }

    fn row(&mut self, begin: usize, message: &str) -> Result<(), String> {
        let mut words = message.split_whitespace();
        let Some(name) = words.next() else { return Ok(()) };
        let words: Vec<&str> = words.collect();
        let numbers = words.iter().take_while(|word| word.parse::<f64>().is_ok()).count();
        if numbers >= LEAST_COLUMNS {
            if self.stressors.len() == MOST_ROWS {
                return Err(format!("there are more than {MOST_ROWS} rows; give one result of stress-ng"));
            }
            let metrics = COLUMNS.iter().zip(&words);
            let metrics =
                metrics.map(|(key, word)| Ok(((*key).to_owned(), amount(word, &format!("'{key}' of {name}"))?)));
            let started = self.started.iter().find(|(hog, _)| hog == name).map(|(_, count)| count.clone());
            self.stressors.push(Stressor {
                metrics: metrics.collect::<Result<_, String>>()?,
                instances: started.unwrap_or_default(),
                ..Stressor::named(name)
            });
        } else if let (1, Some(stressor)) = (numbers, self.stressors[begin..].iter_mut().find(|one| one.name == name)) {
            if stressor.metrics.len() == MOST_METRICS {
                return Err(format!("a stressor has more than {MOST_METRICS} metrics; give one result"));
            }
            let key = key(&words[1..].join(" "));
            stressor.metrics.push((key, amount(words[0], &format!("a metric of {name}"))?));
        }
        Ok(())
    }
}

/// What stands behind `stress-ng: metrc: [4242] `.
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
