//! Formats that a file of JSON describes: where the values of a text or of a JSON document are, what they are called and in what unit.
//! `docs/import-format.md` explains such a file.

use std::collections::BTreeMap;

use hostmark_model::{AxisKind, Better, Message, Text, Unit};
use hostmark_say::say;
use regex_lite::{Captures, Regex, RegexBuilder};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::bounded::shortened;
use crate::foreign::{Axis, Further, UnitKind, known, quantity};
use crate::texts::foreign as said;
use crate::{ImportFormat, NOTHING};

/// Longest text of a field, characters.
const LONGEST_FIELD: usize = 200;
/// Longest name of a format, a quantity or an axis.
const LONGEST_NAME: usize = 40;

/// Texts by the names of fields. Those called `run.…` describe the run, `note.…` are notes, and `asked.…` options of the tool.
pub(super) type Fields = BTreeMap<String, String>;

/// A format, as its file describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    pub name: String,
    pub tool: String,
    what: Option<String>,
    nothing: Option<String>,
    #[serde(default)]
    reading: String,
    #[serde(default)]
    pub lines: Vec<LineRule>,
    /// Fault where a result begins before the last has ended.
    pub unfinished: Option<String>,
    #[serde(default)]
    pub items: Pointer,
    #[serde(default)]
    pub fields: BTreeMap<String, Pointer>,
    /// Options that are not noted.
    #[serde(default)]
    pub not_asked: Vec<String>,
    /// Size of one in the base unit, by the tool's own words.
    #[serde(default)]
    units: BTreeMap<String, f64>,
    /// Value of an axis that the file does not tell.
    pub absent: Option<String>,
    pub quantities: Vec<QuantityRule>,
    pub failed: Option<Verdict>,
    pub skipped: Option<Verdict>,
    pub doubt: Option<Verdict>,
    /// Texts of its page.
    #[serde(skip)]
    pub texts: &'static [(&'static str, Text)],
}

/// Rule for the lines that an expression fits: their fields, and what becomes of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineRule {
    pub line: Pattern,
    #[serde(default)]
    pub when: Conditions,
    /// Sign between the cells of a table, and a cell by which its heading is known.
    pub columns: Option<String>,
    #[serde(default)]
    pub heading: String,
    #[serde(default)]
    pub set: Fields,
    /// Fields of which each match is a value of its own; the first of one goes with the first of another.
    #[serde(default)]
    pub each: BTreeMap<String, Pattern>,
    pub refuse: Option<String>,
    #[serde(default)]
    pub begins: bool,
    #[serde(default)]
    pub opens: bool,
    #[serde(default)]
    pub keep: bool,
    #[serde(default)]
    pub ends: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuantityRule {
    pub name: String,
    /// Fields, of which the first that is there counts.
    pub value: String,
    pub unit: String,
    /// Unit of the run, where `unit` is a field or the tool's own word.
    base: Option<String>,
    /// A field that the value is divided by.
    pub per: Option<String>,
    /// Fields of which none is above the next.
    #[serde(default)]
    pub ordered: Vec<String>,
    better: Option<Better>,
    #[serde(default)]
    axes: Vec<String>,
    #[serde(default)]
    pub also: Vec<FurtherRule>,
    #[serde(default)]
    pub when: Conditions,
    title: Option<String>,
    #[serde(default)]
    about: String,
    /// The name behind that of the format.
    #[serde(skip)]
    pub id: String,
}

impl QuantityRule {
    pub(super) fn axes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.axes.iter().map(|axis| axis.split_once(':').unwrap_or((axis, "choice")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FurtherRule {
    pub name: String,
    /// The field, where it is not called like the quantity.
    pub value: Option<String>,
    pub unit: String,
    base: Option<String>,
    title: Option<String>,
}

/// A word of the tool on its value, and its meaning.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verdict {
    pub when: Conditions,
    pub text: String,
}

/// A regular expression, and whether it must not fit.
pub(super) struct Pattern {
    pub regex: Regex,
    is_negated: bool,
    /// A text that all that fits begins with: most lines are of another rule, which is told without the expression.
    start: String,
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
        /// Largest compiled expression, bytes.
        const LARGEST: usize = 1 << 17;
        let text = String::deserialize(deserializer)?;
        let regex = RegexBuilder::new(text.strip_prefix('!').unwrap_or(&text)).size_limit(LARGEST).build();
        let problem = |error| D::Error::custom(format!("'{}' is no regular expression: {error}", shortened(&text)));
        let literal = |c: &char| c.is_ascii_alphanumeric() || " -:=#_,".contains(*c);
        let mut start: String = text.strip_prefix('^').unwrap_or_default().chars().take_while(literal).collect();
        match text[start.len()..].chars().nth(1) {
            _ if text.contains('|') => start.clear(),
            // The last sign may be missing.
            Some('?' | '*' | '+' | '{') => drop(start.pop()),
            _ => {}
        }
        Ok(Pattern { regex: regex.map_err(problem)?, is_negated: text.starts_with('!'), start })
    }
}

impl Pattern {
    pub(super) fn captures<'a>(&self, text: &'a str) -> Option<Captures<'a>> {
        text.starts_with(&self.start).then(|| self.regex.captures(text))?
    }

    /// The named groups of a match.
    pub(super) fn fields<'a>(&'a self, captures: &'a Captures) -> impl Iterator<Item = (String, String)> {
        let text = |name: &'a str| Some((name.to_owned(), short(captures.name(name)?.as_str().trim())));
        self.regex.capture_names().flatten().filter_map(text)
    }
}

pub(super) fn short(text: &str) -> String {
    text.chars().take(LONGEST_FIELD).collect()
}

/// Expressions that fields must fit.
#[derive(Deserialize, Default)]
pub(super) struct Conditions(BTreeMap<String, Pattern>);

impl Conditions {
    pub(super) fn hold(&self, fields: &Fields) -> bool {
        let text = |name: &str| fields.get(name).map_or("", String::as_str);
        self.0.iter().all(|(name, pattern)| pattern.regex.is_match(text(name)) != pattern.is_negated)
    }
}

/// The steps of a JSON pointer; `*` is each element or member.
#[derive(Deserialize, Default, PartialEq)]
#[serde(from = "String")]
pub(super) struct Pointer(pub Vec<String>);

impl From<String> for Pointer {
    fn from(text: String) -> Pointer {
        Pointer(text.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
    }
}

/// A text whose `{field}`s are filled.
pub(super) fn filled(text: &str, fields: &Fields) -> String {
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        out.extend([fields.get(name).map_or("", String::as_str), rest]);
    }
    out
}

impl Description {
    /// Size of one in the base unit, of a unit or of that in a field.
    pub(super) fn one(&self, unit: &str, fields: &Fields) -> Option<f64> {
        let word = filled(unit, fields);
        self.units.get(&word).copied().or_else(|| Some(unit_of(&word)?.1))
    }

    /// The text of its page below a heading.
    pub(super) fn text(&self, heading: &str) -> Option<Text> {
        self.texts.iter().find(|(known, _)| *known == heading).map(|(_, text)| *text)
    }

    /// The format, or its fault with the word where it is.
    pub(super) fn format(&'static self) -> Result<ImportFormat, (&'static str, Message)> {
        let called = |name: &'static str, more: &str| {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || more.contains(c);
            match !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
                true => Ok(name),
                false => Err((name, say!("'{name}' is no name; use a-z, 0-9 and _", name = shortened(name)))),
            }
        };
        let base = |unit: &'static str, base: &'static Option<String>| {
            let word = base.as_deref().unwrap_or(unit);
            let unit = unit_of(word).map(|(unit, _)| unit);
            let fault = || say!("'{unit}' is no unit; give {BASES} as unit or as base", unit = shortened(word));
            unit.ok_or_else(|| (word, fault()))
        };
        let title = |heading: &str, title: &'static Option<String>, name: &'static str| {
            self.text(heading).unwrap_or_else(|| same(title.as_deref().unwrap_or(name)))
        };
        called(&self.name, "-_")?;
        if self.quantities.is_empty() || self.lines.is_empty() == self.fields.is_empty() {
            return Err(("quantities", say!("a format has quantities, and either lines or fields")));
        }
        let (mut programs, mut own) = (Vec::new(), vec![("reading", same(&self.reading))]);
        for rule in &self.quantities {
            let mut axes: Vec<Axis> = Vec::new();
            for (axis, kind) in rule.axes() {
                let kind = match kind {
                    "choice" | "name" => AxisKind::Choice,
                    "size" => AxisKind::Size,
                    "count" => AxisKind::Count,
                    _ => return Err((kind, say!("the kind of '{axis}' is none of choice, name, size and count"))),
                };
                axes.push((called(axis, "_")?, kind));
            }
            let mut also = Vec::new();
            for further in &rule.also {
                let title = title(&format!("also {}", further.name), &further.title, &further.name);
                also.push(Further(called(&further.name, "_")?, base(&further.unit, &further.base)?, title));
            }
            let mut program = quantity(&rule.id, base(&rule.unit, &rule.base)?, axes.leak()).with(also.leak());
            if let Some(better) = rule.better {
                program = program.with_direction(better);
            }
            programs.push(program);
            own.push((called(&rule.name, "_")?, same(&rule.about)));
            own.push((format!("{} title", rule.name).leak(), title("", &rule.title, &rule.name)));
        }
        let tool = &self.tool;
        let leaked = |Text { en, zh }: Text<String>| Text { en: en.leak() as &str, zh: zh.leak() as &str };
        own.push(("section", leaked(said::section_of!(tool))));
        let told = |heading: &str, own: &'static Option<String>| self.text(heading).or(own.as_deref().map(same));
        Ok(ImportFormat {
            name: &self.name,
            tool: &self.tool,
            what: told("what", &self.what).unwrap_or_else(|| leaked(said::what_of!(tool))),
            nothing: told("nothing", &self.nothing).unwrap_or(NOTHING),
            texts: if self.texts.is_empty() { own.leak() } else { self.texts },
            programs: programs.leak(),
            ..ImportFormat::default()
        })
    }
}

/// A text that is not translated.
const fn same(text: &'static str) -> Text {
    Text { en: text, zh: text }
}

const BASES: &str = "ns, us, ms, s, B/s, MB/s, MiB/s, ops/s, B, count, ratio";

/// A unit of the run by its word, and the size of one of the word's in it.
fn unit_of(word: &str) -> Option<(Unit, f64)> {
    Some(match (word, known(word)) {
        ("count", _) => (Unit::Count, 1.0),
        ("ratio", _) => (Unit::Ratio, 1.0),
        ("%", _) => (Unit::Ratio, 0.01),
        ("B", _) => (Unit::Bytes, 1.0),
        // Who describes a format knows whether the tool counts 1000 or 1024.
        ("kB/s", _) => (Unit::BytesPerSecond, 1e3),
        ("MB/s", _) => (Unit::BytesPerSecond, 1e6),
        ("GB/s", _) => (Unit::BytesPerSecond, 1e9),
        (_, Some((UnitKind::Time, one))) => (Unit::Nanoseconds, one),
        (_, Some((UnitKind::Rate, one))) => (Unit::BytesPerSecond, one),
        (_, Some((UnitKind::Operations, one))) => (Unit::OperationsPerSecond, one),
        _ => return None,
    })
}
