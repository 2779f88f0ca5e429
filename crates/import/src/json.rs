//! Reads JSON of a known shape within bounds: what is not asked for is passed over and never held.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::ImportError;
use super::lines::{LARGEST, TrailingText, past_mark, shortened};

/// Longest text that is kept, characters.
const LONGEST_TEXT: usize = 300;
/// What may stand before a document, bytes: warnings of the tool.
const MOST_TEXT: usize = 1 << 20;

/// The documents of a file, one after the other, each given to `each`; text before, between and behind them is passed over.
/// Returns the line where the last ended, and the text behind the first. `what` is what the file should be, for errors.
pub(super) fn each_document<T: DeserializeOwned>(
    input: &mut dyn BufRead,
    what: &str,
    mut each: impl FnMut(T) -> Result<(), String>,
) -> Result<(u64, Option<TrailingText>), ImportError> {
    past_mark(input)?;
    let (mut lines, mut rest, mut is_first) = (0, None, true);
    loop {
        let (text, is_end) = pass_text(input, &mut lines)?;
        let error = |what| ImportError { line: lines + 1, what };
        match (is_first, is_end) {
            (true, true) => return Err(error(format!("the file has no JSON object; give {what}"))),
            (true, false) => {}
            (false, _) => rest = rest.or(text),
        }
        if is_end {
            return Ok((lines + 1, rest));
        }
        let counted = Cell::new(lines);
        let mut document = serde_json::Deserializer::from_reader(Counted { input: &mut *input, lines: &counted });
        let document = T::deserialize(&mut document).map_err(|error| problem(&error, lines, what))?;
        (lines, is_first) = (counted.get(), false);
        each(document).map_err(|what| ImportError { line: lines + 1, what })?;
    }
}

/// What is wrong with a document, and where.
fn problem(error: &serde_json::Error, before: u64, what: &str) -> ImportError {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let place = format!("column {}", error.column());
    let what = match error.classify() {
        serde_json::error::Category::Eof => format!("{place}: the file ends here in the middle; give {what}"),
        serde_json::error::Category::Io => format!("{place}: it cannot be read ({text}); try again"),
        _ => {
            let text: String = text.chars().take(LONGEST_TEXT).collect();
            format!("{place}: {text}; give {what}")
        }
    };
    ImportError { line: before + error.line() as u64, what }
}

/// Passes over text until a line goes on with a brace, counting its lines: what it begins with, and whether there is no brace.
fn pass_text(input: &mut dyn BufRead, lines: &mut u64) -> Result<(Option<TrailingText>, bool), ImportError> {
    let (mut bytes, mut begin, mut text, mut is_blank) = (0, 0, Vec::new(), true);
    let is_end = loop {
        let line = *lines + 1;
        let buffer = input
            .fill_buf()
            .map_err(|failure| ImportError { line, what: format!("it cannot be read ({failure}); try again") })?;
        let byte = match buffer.first() {
            Some(b'{') if is_blank => break false,
            Some(&byte) if bytes < MOST_TEXT => byte,
            _ => break true,
        };
        // Documents may be the elements of a list.
        let is_between = byte.is_ascii_whitespace() || matches!(byte, b'[' | b',' | b']');
        (bytes, is_blank) = (bytes + 1, byte == b'\n' || (is_blank && is_between));
        *lines += u64::from(byte == b'\n');
        if text.is_empty() && !is_blank {
            begin = line;
        }
        if begin == line && text.len() < LONGEST_TEXT {
            text.push(byte);
        }
        input.consume(1);
    };
    let rest = TrailingText { line: begin, text: shortened(String::from_utf8_lossy(&text).trim_end()) };
    Ok(((begin > 0).then_some(rest), is_end))
}

/// Counts the lines that were read.
struct Counted<'a> {
    input: &'a mut dyn BufRead,
    lines: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        let more = buffer[..read].iter().filter(|byte| **byte == b'\n').count();
        self.lines.set(self.lines.get() + more as u64);
        Ok(read)
    }
}

/// A number that is not negative and not absurd.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Amount(pub f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        let number = f64::deserialize(deserializer)?;
        match (0.0..LARGEST).contains(&number) {
            true => Ok(Amount(number)),
            false => Err(D::Error::custom(format!("{number} is no amount"))),
        }
    }
}

/// A text, cut off where it is too long; a number or a truth is taken as its text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Short(pub String);

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Short, D::Error> {
        deserializer.deserialize_any(AnyText { with_lists: false }).map(Short)
    }
}

/// The same, which a list or an object may be as well: of those the texts of the values, one after the other.
#[derive(Debug)]
pub(super) struct Plain(pub String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
        deserializer.deserialize_any(AnyText { with_lists: true }).map(Plain)
    }
}

struct AnyText {
    with_lists: bool,
}

impl<'de> Visitor<'de> for AnyText {
    type Value = String;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.chars().take(LONGEST_TEXT).collect())
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_bool<E: Error>(self, truth: bool) -> Result<String, E> {
        Ok(truth.to_string())
    }
    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Ok(String::new())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
        if !self.with_lists {
            return Err(A::Error::invalid_type(de::Unexpected::Seq, &self));
        }
        let mut texts = Vec::new();
        while let Some(Plain(text)) = list.next_element()? {
            add_text(&mut texts, text);
        }
        self.visit_str(&format!("[{}]", texts.join(", ")))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        if !self.with_lists {
            return Err(A::Error::invalid_type(de::Unexpected::Map, &self));
        }
        let mut texts = Vec::new();
        while let Some((Short(name), Plain(text))) = map.next_entry()? {
            add_text(&mut texts, format!("{name}: {text}"));
        }
        self.visit_str(&format!("{{{}}}", texts.join(", ")))
    }
}

/// Adds a text to others unless they are long enough.
fn add_text(texts: &mut Vec<String>, text: String) {
    if texts.len() < LONGEST_TEXT {
        texts.push(text);
    }
}

/// A list that is refused when it is longer than `MOST`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AtMost<T, const MOST: usize>(pub Vec<T>);

impl<T, const MOST: usize> Default for AtMost<T, MOST> {
    fn default() -> Self {
        AtMost(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for AtMost<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T, const MOST: usize>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for List<T, MOST> {
            type Value = AtMost<T, MOST>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    if values.len() == MOST {
                        return Err(A::Error::custom(format!("there are more than {MOST}")));
                    }
                    values.push(value);
                }
                Ok(AtMost(values))
            }
        }
        deserializer.deserialize_seq(List(std::marker::PhantomData))
    }
}

/// An object of names and plain values, of which the first hundred are kept; what is no plain value is an error.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct NameMap<T>(pub BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NameMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Map<T> {
            type Value = NameMap<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                const MOST: usize = 100;
                let mut names = BTreeMap::new();
                while names.len() < MOST {
                    match map.next_entry::<Short, T>()? {
                        Some((name, value)) => names.insert(name.0, value),
                        None => return Ok(NameMap(names)),
                    };
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(NameMap(names))
            }
        }
        deserializer.deserialize_map(Map(std::marker::PhantomData))
    }
}

/// For a field that may be null or absent.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: de::Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
