//! Reads files whose format is described.

use std::io::{BufRead, Read};
use std::time::{Duration, Instant};

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Message, ReasonCode, Run, Text};
use hostmark_say::say;
use serde_json::Value;

use crate::bounded::{amount, bytes, json_problem, shortened};
use crate::description::{Description, Fields, LineRule, Pointer, QuantityRule, Verdict, filled, short};
use crate::foreign::{Foreign, ImportedValue, read_documents, read_lines};
use crate::{ImportError, ImportFormat, format_named};

/// Longest line that expressions are tried on, bytes.
const LONGEST_LINE: usize = 4096;
/// Longest time in expressions, and the most of it that one line counts: this program may be stopped in between.
const LONGEST_TIME: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(1)];
/// Factor by which a tool may have rounded a number.
const ROUNDED: f64 = 1.001;
/// Largest JSON document, bytes: it is held as a whole.
const LARGEST_DOCUMENT: u64 = 16 << 20;
/// Largest file that describes a format, bytes.
const LARGEST_DESCRIPTION: usize = 64 << 10;

/// A format of a file, and how its files are read.
#[derive(Clone, Copy)]
pub struct DescribedFormat {
    description: &'static Description,
    pub format: ImportFormat,
}

impl DescribedFormat {
    /// The format that a text describes, which lives as long as the program; `is_taken` tells names that it may not have.
    pub fn of(text: &str, is_taken: impl Fn(&str) -> bool) -> Result<DescribedFormat, ImportError> {
        let described = DescribedFormat::with_texts(text, &[])?;
        let name = described.format.name;
        match format_named(name).is_some() || is_taken(name) {
            true => Err(at_first_line(say!("hostmark has a format or probes called {name}; choose another name"))),
            false => Ok(described),
        }
    }

    pub(super) fn with_texts(
        text: &str,
        texts: &'static [(&'static str, Text)],
    ) -> Result<DescribedFormat, ImportError> {
        const WHAT: Text = term!("a format as docs/import-format.md describes it");
        if text.len() > LARGEST_DESCRIPTION {
            return Err(at_first_line(say!("it is longer than {LARGEST_DESCRIPTION} bytes; give {WHAT}")));
        }
        let description = serde_json::from_str(text).map_err(|error| json_problem(&error, 0, WHAT))?;
        let description: &mut Description = Box::leak(Box::new(description));
        let start = description.name.replace('-', "_");
        description.quantities.iter_mut().for_each(|quantity| quantity.id = format!("{start}.{}", quantity.name));
        description.texts = texts;
        let description: &'static Description = description;
        let format = description.format().map_err(|(word, what)| {
            let line = text.lines().position(|line| line.contains(word)).unwrap_or_default() as u64 + 1;
            ImportError { line, what }
        })?;
        Ok(DescribedFormat { description, format })
    }

    /// Reads a file as the format says.
    pub fn read(&self, input: &mut dyn BufRead) -> Result<Run, ImportError> {
        let (description, what) = (self.description, self.format.what);
        if description.fields.is_empty() {
            let headings = vec![Vec::new(); description.lines.len()];
            let (fields, is_open, spent) = (Fields::new(), false, Duration::ZERO);
            let mut reader = LineReader { format: *self, fields, headings, is_open, spent };
            return read_lines(&self.format, input, |run, _, line| match line {
                Some(line) => reader.read_line(run, line.trim()),
                None => reader.end(),
            });
        }
        let mut limited = Read::take(input, LARGEST_DOCUMENT);
        let read = read_documents(&self.format, &mut limited, |run, value: Value| self.keep_document(run, &value));
        match limited.limit() {
            0 => Err(at_first_line(say!("it is longer than {LARGEST_DOCUMENT} bytes; give {what}"))),
            _ => read,
        }
    }

    /// A sentence of the format with its fields: that of its page below this heading, or the text itself.
    fn said(&self, text: &str, fields: &Fields) -> Message {
        match self.description.text(text) {
            Some(Text { en, zh }) => Message::from(Text { en: filled(en, fields), zh: filled(zh, fields) }),
            None => Message::from(filled(text, fields)),
        }
    }

    /// Keeps the values of each item of a document.
    fn keep_document(&self, run: &mut Foreign, document: &Value) -> Result<(), Message> {
        let format = self.description;
        for (item, _) in parts(&format.items, document, &format.items, &[]) {
            let mut fields = Fields::new();
            for (name, pointer) in &format.fields {
                // A pointer to the item itself is its name.
                let found = parts(pointer, document, &format.items, &item);
                let named = found.into_iter().map(|(place, part)| (place.last().cloned().unwrap_or_default(), part));
                let texts = named.filter_map(|(last, part)| {
                    let text = if *pointer == format.items { last.clone() } else { text_of(part)? };
                    Some((last, text))
                });
                match name.strip_suffix('*') {
                    Some(start) => {
                        let asked = texts.filter(|(last, _)| !format.not_asked.contains(last));
                        fields.extend(asked.map(|(last, text)| (format!("{start}{last}"), text)));
                    }
                    None => {
                        let texts: Vec<String> = texts.map(|(_, text)| text).collect();
                        fields.extend((!texts.is_empty()).then(|| (name.clone(), texts.join("\n"))));
                    }
                }
            }
            describe(run, &fields);
            self.keep_values(run, &fields)?;
        }
        Ok(())
    }

    /// Keeps the values of a result.
    fn keep_values(&self, run: &mut Foreign, fields: &Fields) -> Result<(), Message> {
        for quantity in self.description.quantities.iter().filter(|quantity| quantity.when.hold(fields)) {
            if let Some(value) = self.value(run, quantity, fields)? {
                run.keep(value)?;
            }
        }
        Ok(())
    }

    fn value(
        &self,
        run: &mut Foreign,
        quantity: &'static QuantityRule,
        fields: &Fields,
    ) -> Result<Option<ImportedValue>, Message> {
        let (format, what) = (self.description, self.format.what);
        let numbers = |name: &str, unit: &str| -> Result<Vec<f64>, Message> {
            let Some(text) = fields.get(name) else { return Ok(Vec::new()) };
            let one = format.one(unit, fields).ok_or_else(|| {
                let first = quantity.axes().next().and_then(|(axis, _)| fields.get(axis));
                let (of, unit) = (shortened(first.map_or(name, String::as_str)), shortened(&filled(unit, fields)));
                say!("the file names no unit of {of} that is known ({unit}); give {what}")
            })?;
            text.split('\n').map(|word| Ok(amount(word, shortened(name))? * one)).collect()
        };
        let verdict = |verdict: &'static Option<Verdict>| {
            verdict.as_ref().filter(|verdict| verdict.when.hold(fields)).map(|verdict| self.said(&verdict.text, fields))
        };
        let (failed, skipped) = (verdict(&format.failed), verdict(&format.skipped));
        let mut samples = Vec::new();
        if failed.is_none() && skipped.is_none() {
            let Some(name) = quantity.value.split('|').find(|name| fields.contains_key(*name)) else { return Ok(None) };
            samples = numbers(name, &quantity.unit)?;
        }
        if let Some(per) = &quantity.per {
            let divisor = numbers(per, "count")?.first().copied().filter(|number| *number > 0.0);
            let divisor = divisor.ok_or_else(|| say!("{per} is missing or 0; give {what}", per = shortened(per)))?;
            samples.iter_mut().for_each(|sample| *sample /= divisor);
        }
        let ordered: Vec<Vec<f64>> =
            quantity.ordered.iter().map(|name| numbers(name, "count")).collect::<Result<_, _>>()?;
        if ordered.concat().windows(2).any(|pair| pair[0] > pair[1] * ROUNDED) {
            let names = quantity.ordered.join(", ");
            return Err(say!("a number is greater than the next of {names}; give {what}"));
        }
        let mut value = ImportedValue::new(&quantity.id, samples);
        for (axis, kind) in quantity.axes() {
            let text = fields.get(axis).or(format.absent.as_ref()).map_or("unknown", String::as_str);
            value = match (kind, bytes(text)) {
                ("size", Some(size)) => value.at(axis, size),
                ("name", _) => value.at(axis, run.distinct(text)),
                _ => value.at(axis, text),
            };
        }
        for also in &quantity.also {
            let number = numbers(also.value.as_ref().unwrap_or(&also.name), &also.unit)?.first().copied();
            value = value.and(&also.name, number);
        }
        for (name, text) in fields {
            value = match name.split_once('.') {
                Some(("note", name)) => {
                    value.note(name, text.parse().map_or(text.clone(), |number: f64| number.to_string()))
                }
                Some(("asked", name)) => value.asked(name, text),
                _ => value,
            };
        }
        value.absent = skipped.map(|text| ReasonCode::Imported.because(text));
        value.unconfirmed = verdict(&format.doubt).filter(|_| failed.is_none());
        value.failed = failed;
        Ok(Some(value))
    }
}

fn at_first_line(what: Message) -> ImportError {
    ImportError { line: 1, what }
}

/// A text of lines while it is read.
struct LineReader {
    format: DescribedFormat,
    fields: Fields,
    /// Headings of tables, by rule.
    headings: Vec<Vec<String>>,
    /// True from the beginning of a result to its end.
    is_open: bool,
    spent: Duration,
}

impl LineReader {
    fn end(&self) -> Result<(), Message> {
        let (unfinished, what) = (self.unfinished(), self.format.format.what);
        match self.is_open {
            false => Ok(()),
            true => Err(say!("{unfinished}: the file ends within a result, so it is truncated; give {what}")),
        }
    }

    /// The fault where a result begins before the last has ended.
    fn unfinished(&self) -> Message {
        let Description { unfinished, .. } = self.format.description;
        let own = unfinished.as_ref().map(|text| self.format.said(text, &self.fields));
        own.unwrap_or_else(|| say!("the result before this line is not whole"))
    }

    #[expect(clippy::disallowed_methods, reason = "bounds the expressions; nothing is measured with it")]
    fn read_line(&mut self, run: &mut Foreign, line: &str) -> Result<(), Message> {
        if line.len() > LONGEST_LINE {
            return Ok(());
        }
        let begun = Instant::now();
        for (rule, heading) in self.format.description.lines.iter().zip(&mut self.headings) {
            let found = Some(line).filter(|_| rule.when.hold(&self.fields));
            if let Some(found) = found.map_or(Ok(None), |line| fields_of(rule, heading, line))? {
                self.follow(run, rule, found)?;
                break;
            }
        }
        self.spent += begun.elapsed().min(LONGEST_TIME[1]);
        match self.spent > LONGEST_TIME[0] {
            true => Err(say!("the expressions took 10 s up to this line; give simpler ones, or a shorter file")),
            false => Ok(()),
        }
    }

    /// Does what a rule says of a line.
    fn follow(&mut self, run: &mut Foreign, rule: &LineRule, found: Fields) -> Result<(), Message> {
        let format = self.format;
        if rule.begins {
            if self.is_open {
                let (unfinished, what) = (self.unfinished(), format.format.what);
                return Err(say!("{unfinished}; give {what}"));
            }
            self.fields.clear();
        }
        let mut fields = self.fields.clone();
        fields.extend(found);
        let set: Fields = rule.set.iter().map(|(name, text)| (name.clone(), filled(text, &fields))).collect();
        fields.extend(set);
        if let Some(text) = &rule.refuse {
            return Err(format.said(text, &fields));
        }
        describe(run, &fields);
        self.is_open = rule.opens || (self.is_open && !rule.ends);
        if !rule.keep && !rule.ends {
            self.fields = fields;
            return Ok(());
        }
        let mut values = vec![fields];
        for (number, (name, pattern)) in rule.each.iter().enumerate() {
            let text = values.first().and_then(|fields| fields.get(name)).cloned().unwrap_or_default();
            let matches: Vec<_> = pattern.regex.captures_iter(&text).collect();
            if number == 0 {
                values = vec![values.remove(0); matches.len()];
            }
            same_length(matches.len(), values.len())?;
            values.iter_mut().zip(&matches).for_each(|(fields, found)| fields.extend(pattern.fields(found)));
        }
        if rule.ends {
            self.fields.clear();
        }
        values.iter().try_for_each(|fields| format.keep_values(run, fields))
    }
}

/// The fields of a line; none where it is of another rule.
fn fields_of(rule: &LineRule, heading: &mut Vec<String>, line: &str) -> Result<Option<Fields>, Message> {
    let Some(separator) = &rule.columns else {
        return Ok(rule.line.captures(line).map(|captures| rule.line.fields(&captures).collect()));
    };
    let cells: Vec<String> = line.split(separator.as_str()).map(|cell| short(cell.trim())).collect();
    if cells.contains(&rule.heading) {
        *heading = cells;
    } else if !heading.is_empty() && rule.line.regex.is_match(line) {
        same_length(cells.len(), heading.len())?;
        return Ok(Some(heading.iter().cloned().zip(cells).collect()));
    }
    Ok(None)
}

fn same_length(cells: usize, heading: usize) -> Result<(), Message> {
    match cells == heading {
        true => Ok(()),
        false => Err(say!("the row has {cells} cells and its heading {heading}: it is truncated or shifted")),
    }
}

/// Takes what fields say of the tool and its host.
fn describe(run: &mut Foreign, fields: &Fields) {
    for (name, text) in fields.iter().filter_map(|(name, text)| Some((name.strip_prefix("run.")?, text))) {
        match name {
            "version" => run.version_is(text),
            "hostname" => run.host.hostname.clone_from(text),
            "system" => run.host.kernel.system_is(text),
            "release" => run.host.kernel.release.clone_from(text),
            "machine" => run.host.cpu.architecture.clone_from(text),
            "cpu" => run.host.cpu.model = Some(text.clone()),
            "cpus" => run.has_cpus(text),
            _ => {
                run.date_is(text);
                run.started = Timestamp::parse(text).map(|time| time.to_string()).unwrap_or_default();
            }
        }
    }
}

/// The parts of a document that a pointer names, with their places. A `*` of the pointer is that of the item where it is the same one.
fn parts<'a>(pointer: &Pointer, whole: &'a Value, items: &Pointer, item: &[String]) -> Vec<(Vec<String>, &'a Value)> {
    let mut found = vec![(Vec::new(), whole)];
    for (depth, step) in pointer.0.iter().enumerate() {
        let is_of_item = depth < item.len() && pointer.0[..=depth] == items.0[..=depth];
        let step = if is_of_item { &item[depth] } else { step };
        let within = |(place, part): (Vec<String>, &'a Value)| {
            let parts: Vec<(String, &Value)> = match (part, step.as_str()) {
                (Value::Array(list), "*") => (0..).map(|at: usize| at.to_string()).zip(list).collect(),
                (Value::Object(map), "*") => map.iter().map(|(name, part)| (name.clone(), part)).collect(),
                (_, step) => {
                    let escaped = step.replace('~', "~0").replace('/', "~1");
                    part.pointer(&format!("/{escaped}")).map(|part| (step.to_owned(), part)).into_iter().collect()
                }
            };
            parts.into_iter().map(move |(step, part)| ([&place[..], &[step]].concat(), part))
        };
        found = found.into_iter().flat_map(within).collect();
    }
    found
}

/// The text of a part of a document; none where it says nothing.
fn text_of(part: &Value) -> Option<String> {
    Some(match part {
        Value::Null => return None,
        Value::String(text) => short(text),
        Value::Number(number) if number.is_f64() => number.as_f64()?.to_string(),
        other => short(&other.to_string()),
    })
}
