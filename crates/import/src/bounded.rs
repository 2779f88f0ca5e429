//! Reads text, JSON and XML within bounds: no file of whatever size or form is held in memory, and what is not asked for is passed over.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use hostmark_model::{Message, Text};
use hostmark_say::say;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::ImportError;

/// Longest line, bytes: far longer than any that these tools write.
const LONGEST_LINE: usize = 64 << 10;
/// Most lines: a whole result file has some thousand.
const MOST_LINES: u64 = 200_000;

/// Calls `each` with every line, from 1, without the space at its end, and then with the last number and no line; returns the number
/// of lines. `what` is what the file should be, for errors.
pub(super) fn each_line(
    input: &mut dyn BufRead,
    what: Text,
    mut each: impl FnMut(u64, Option<&str>) -> Result<(), Message>,
) -> Result<u64, ImportError> {
    let mut input = unmarked(input)?;
    let mut line = Vec::new();
    let mut count = 0;
    loop {
        let at = count + 1;
        let error = |problem: Message| ImportError { line: at, what: problem };
        line.clear();
        // One byte more than may be, so that a longer line is noticed and never held.
        let mut limited = Read::take(&mut *input, LONGEST_LINE as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Err(failure) => return Err(error(say!("it cannot be read ({failure}); try again"))),
            Ok(0) => {
                each(count, None).map_err(|what| ImportError { line: count, what })?;
                return Ok(count);
            }
            Ok(length) if length > LONGEST_LINE => {
                return Err(error(say!("it is longer than {LONGEST_LINE} bytes; give {what}")));
            }
            Ok(_) if at > MOST_LINES => {
                return Err(error(say!("there are more than {MOST_LINES} lines; give {what}")));
            }
            Ok(_) => count = at,
        }
        each(at, Some(String::from_utf8_lossy(&line).trim_end())).map_err(error)?;
    }
}

/// Beginnings of packed files, and what unpacks them.
const PACKED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gzip -d"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd -d"),
    (&[0xfd, b'7', b'z', b'X'], "xz -d"),
    (b"BZh", "bzip2 -d"),
    (b"PK\x03\x04", "unzip"),
];

/// The text behind its byte order mark, of UTF-16 as UTF-8; a file that is packed is told.
fn unmarked<'a>(input: &'a mut dyn BufRead) -> Result<Box<dyn BufRead + 'a>, ImportError> {
    let error = |what: Message| Err(ImportError { line: 1, what });
    let start = match input.fill_buf() {
        Err(failure) => return error(say!("it cannot be read ({failure}); try again")),
        Ok(start) => start,
    };
    if let Some((_, unpack)) = PACKED.iter().find(|(magic, _)| start.starts_with(magic)) {
        return error(say!("it is packed; unpack it with {unpack}"));
    }
    let (length, is_big_endian) = match start {
        [0xff, 0xfe, ..] => (2, Some(false)),
        [0xfe, 0xff, ..] => (2, Some(true)),
        [0xef, 0xbb, 0xbf, ..] => (3, None),
        _ => (0, None),
    };
    input.consume(length);
    Ok(match is_big_endian {
        None => Box::new(input),
        Some(is_big_endian) => {
            Box::new(BufReader::new(Utf16 { input, is_big_endian, high: None, rest: VecDeque::new() }))
        }
    })
}

/// Text of UTF-16 as UTF-8.
struct Utf16<'a> {
    input: &'a mut dyn BufRead,
    is_big_endian: bool,
    /// The first half of a sign, until the second has come.
    high: Option<u16>,
    rest: VecDeque<u8>,
}

impl Utf16<'_> {
    fn unit(&mut self) -> io::Result<Option<u16>> {
        let mut pair = [0; 2];
        for byte in &mut pair {
            let Some(&first) = self.input.fill_buf()?.first() else { return Ok(None) };
            *byte = first;
            self.input.consume(1);
        }
        Ok(Some(if self.is_big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }))
    }
}

impl Read for Utf16<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.len() < buffer.len()
            && let Some(unit) = self.unit()?
        {
            if self.high.is_none() && (0xd800..0xdc00).contains(&unit) {
                self.high = Some(unit);
                continue;
            }
            for sign in char::decode_utf16(self.high.take().into_iter().chain([unit])) {
                let sign = sign.unwrap_or(char::REPLACEMENT_CHARACTER);
                self.rest.extend(sign.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        self.rest.read(buffer)
    }
}

/// Text behind a result that is none of it.
#[derive(Debug)]
pub(super) struct TrailingText {
    pub line: u64,
    pub text: String,
}

impl TrailingText {
    pub(super) fn passed_over(&self) -> Text<String> {
        let TrailingText { line, text } = self;
        crate::texts::foreign::text_passed_over!(line, text)
    }
}

/// The number that `word` is, not negative, or why it is none; `what` is where it should stand.
pub(super) fn amount(word: &str, what: impl Into<Message>) -> Result<f64, Message> {
    let number = word.parse::<f64>().ok().filter(|number| (0.0..LARGEST).contains(number));
    number.ok_or_else(|| {
        let (word, what) = (shortened(word), what.into());
        say!("'{word}' is no amount, where {what} should be; correct the line or remove it")
    })
}

/// `16k` as bytes; a k is 1024.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "b" => 0,
        "k" | "kb" | "ki" | "kib" => 10,
        "m" | "mb" | "mi" | "mib" => 20,
        "g" | "gb" | "gi" | "gib" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Larger than anything that is measured in a base unit.
pub(super) const LARGEST: f64 = 1e18;

/// The beginning of a text, for an error or a note.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    text.chars().take(MOST).collect()
}

/// Longest text that is kept, characters.
const LONGEST_TEXT: usize = 300;
/// Longest text before a document, bytes: warnings of the tool.
const MOST_TEXT: usize = 1 << 20;

/// The documents of a file, one after the other, each given to `each`; text before, between and behind them is passed over.
/// Returns the line where the last ended, and the text behind the first. `what` is what the file should be, for errors.
pub(super) fn each_document<T: DeserializeOwned>(
    input: &mut dyn BufRead,
    what: Text,
    mut each: impl FnMut(T) -> Result<(), Message>,
) -> Result<(u64, Option<TrailingText>), ImportError> {
    let mut input = unmarked(input)?;
    let (mut lines, mut rest, mut is_first) = (0, None, true);
    loop {
        let (text, is_end) = pass_text(&mut *input, &mut lines)?;
        let error = |what: Message| ImportError { line: lines + 1, what };
        match (is_first, is_end) {
            (true, true) => return Err(error(say!("the file has no JSON object; give {what}"))),
            (true, false) => {}
            (false, _) => rest = rest.or(text),
        }
        if is_end {
            return Ok((lines + 1, rest));
        }
        let counted = Cell::new(lines);
        let input = Counted { input: &mut *input, lines: &counted };
        let input = FiniteNumbers { input, is_text: false, is_escaped: false, word: VecDeque::new() };
        let mut document = serde_json::Deserializer::from_reader(input);
        let document = T::deserialize(&mut document).map_err(|error| json_problem(&error, lines, what))?;
        (lines, is_first) = (counted.get(), false);
        each(document).map_err(|what| ImportError { line: lines + 1, what })?;
    }
}

/// The fault of a document, and its place.
pub(super) fn json_problem(error: &serde_json::Error, before: u64, what: Text) -> ImportError {
    let (text, column) = (error.to_string(), error.column());
    let text = text.split(" at line ").next().unwrap_or_default();
    let quoted = |start: &str| Some(shortened(text.strip_prefix(start)?.split('`').next()?));
    // What serde says by itself names types of this program.
    let fault = match (error.is_syntax(), quoted("missing field `"), quoted("unknown field `")) {
        (true, ..) => say!("this is no JSON"),
        (_, Some(field), _) => say!("the object that ends here has no {field}"),
        (_, _, Some(field)) => say!("no key is called '{field}'"),
        _ if OF_SERDE.iter().any(|start| text.starts_with(start)) => say!("a value of another kind should stand here"),
        _ => match text.split_once(" is no regular expression: ") {
            Some((expression, error)) => say!("{expression} is no regular expression: {error}"),
            None => Message::finished(text),
        },
    };
    let what = match error.classify() {
        Category::Eof => say!("column {column}: the file ends here in the middle, so it is truncated; give {what}"),
        Category::Io => say!("column {column}: it cannot be read ({text}); try again"),
        _ => say!("column {column}: {fault}; give {what}"),
    };
    ImportError { line: before + error.line() as u64, what }
}

/// Beginnings of what serde says by itself. All else is of this crate.
const OF_SERDE: [&str; 5] = ["invalid type", "invalid value", "invalid length", "unknown variant", "duplicate field"];

/// Passes over text until a line goes on with a brace, counting its lines: what it begins with, and whether there is no brace.
fn pass_text(input: &mut dyn BufRead, lines: &mut u64) -> Result<(Option<TrailingText>, bool), ImportError> {
    let (mut bytes, mut begin, mut text, mut is_blank) = (0, 0, Vec::new(), true);
    let is_end = loop {
        let line = *lines + 1;
        let buffer = input
            .fill_buf()
            .map_err(|failure| ImportError { line, what: say!("it cannot be read ({failure}); try again") })?;
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

/// Gives null for the numbers that C prints and JSON lacks (NaN and infinities, outside of texts), and all other bytes as they are.
struct FiniteNumbers<R> {
    input: R,
    is_text: bool,
    is_escaped: bool,
    word: VecDeque<u8>,
}

impl<R: BufRead> Read for FiniteNumbers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Longer than "-Infinity". A word ends at any other sign, so that nothing behind the document is taken.
        const LONGEST: usize = 10;
        let mut goes_on = self.word.is_empty();
        while goes_on && let Some(&byte) = self.input.fill_buf()?.first() {
            let is_word = !self.is_text && (byte.is_ascii_alphabetic() || byte == b'-');
            if !is_word && !self.word.is_empty() {
                break;
            }
            self.input.consume(1);
            self.word.push_back(byte);
            self.is_text ^= byte == b'"' && !self.is_escaped;
            self.is_escaped = self.is_text && byte == b'\\' && !self.is_escaped;
            goes_on = is_word && self.word.len() < LONGEST;
        }
        let word = &*self.word.make_contiguous();
        let word = word.strip_prefix(b"-").unwrap_or(word);
        if ["nan", "inf", "infinity"].iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes())) {
            self.word = b"null".iter().copied().collect();
        }
        self.word.read(buffer)
    }
}

/// Counts the lines that were read.
struct Counted<'a> {
    input: &'a mut dyn BufRead,
    lines: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.lines.set(self.lines.get() + line_ends(&buffer[..read]));
        Ok(read)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.lines.set(self.lines.get() + self.input.fill_buf().map_or(0, |given| line_ends(&given[..length])));
        self.input.consume(length);
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A number that is not negative and not absurd.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Amount(pub f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        let number = f64::deserialize(deserializer)?;
        match (0.0..LARGEST).contains(&number) {
            true => Ok(Amount(number)),
            false => Err(D::Error::custom(say!("a number is below 0 or too large"))),
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
#[derive(Debug, Clone, Default)]
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
        deserializer.deserialize_seq(Self::default())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for AtMost<T, MOST> {
    type Value = Self;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(value) = list.next_element()? {
            if self.0.len() == MOST {
                return Err(A::Error::custom(say!("a list is too long")));
            }
            self.0.push(value);
        }
        Ok(self)
    }
}

/// An object of names and plain values, of which the first hundred are kept; what is no plain value is an error.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct NameMap<T>(pub BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NameMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NameMap(BTreeMap::new()))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for NameMap<T> {
    type Value = Self;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        const MOST: usize = 100;
        while self.0.len() < MOST {
            let Some((Short(name), value)) = map.next_entry()? else { return Ok(self) };
            self.0.insert(name, value);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self)
    }
}

/// Deepest nesting: these tools write six levels.
const DEEPEST: usize = 64;
/// Longest name of an element, bytes.
const LONGEST_NAME: usize = 100;
/// Longest part between two tags and longest text of an element, bytes: images stand in some.
const LONGEST_PART: u64 = 4 << 20;
/// Longest text of a problem, characters: it may quote the file.
const LONGEST_PROBLEM: usize = 120;

/// Calls `each` at the end of every element with its path (`a/b/c`) and the text right in it; texts outside of all elements are
/// passed over, further documents read as well. Returns the number of lines. `what` is what the file should be, for errors.
pub(super) fn each_element(
    input: &mut dyn BufRead,
    what: Text,
    mut each: impl FnMut(&str, &str) -> Result<(), Message>,
) -> Result<u64, ImportError> {
    let mut input = unmarked(input)?;
    let lines = Cell::new(0);
    let mut reader = Reader::from_reader(Counted { input: &mut *input, lines: &lines }.take(LONGEST_PART));
    // An element without contents ends as all do.
    reader.config_mut().expand_empty_elements = true;
    let (mut buffer, mut path, mut texts) = (Vec::new(), String::new(), Vec::<String>::new());
    loop {
        buffer.clear();
        reader.get_mut().set_limit(LONGEST_PART);
        let event = reader.read_event_into(&mut buffer);
        let line = lines.get() + 1;
        let error = |what: Message| ImportError { line, what };
        if reader.get_ref().limit() == 0 {
            return Err(error(say!("a part is longer than {LONGEST_PART} bytes; give {what}")));
        }
        let problem = |problem: quick_xml::Error| {
            let text: String = problem.to_string().chars().take(LONGEST_PROBLEM).collect();
            error(say!("this is no XML ({text}); give {what}"))
        };
        let is_end = match event.map_err(problem)? {
            Event::Eof if texts.is_empty() => return Ok(line),
            Event::Eof => {
                return Err(error(say!("the file ends here in the middle, so it is truncated; give {what}")));
            }
            Event::DocType(_) => return Err(error(say!("it declares a document type; give {what}"))),
            Event::Start(tag) => {
                begin(&mut path, &mut texts, tag.name().as_ref()).map_err(error)?;
                false
            }
            Event::End(_) => true,
            Event::Text(text) => add(&mut texts, &text).map_err(error)?,
            Event::CData(text) => add(&mut texts, &text).map_err(error)?,
            Event::GeneralRef(name) => {
                let sign = name.resolve_char_ref().ok().flatten().map(String::from);
                let sign = sign.or_else(|| resolve_predefined_entity(&name).map(str::to_owned));
                let sign = sign.ok_or_else(|| error(say!("it uses an entity that XML does not have; give {what}")))?;
                add(&mut texts, &sign).map_err(error)?
            }
            Event::Empty(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) => false,
        };
        if is_end && let Some(text) = texts.pop() {
            each(&path, text.trim()).map_err(error)?;
            path.truncate(path.rfind('/').unwrap_or(0));
        }
    }
}

fn begin(path: &mut String, texts: &mut Vec<String>, name: &str) -> Result<(), Message> {
    if texts.len() == DEEPEST || name.len() > LONGEST_NAME {
        return Err(say!("its elements are nested too deep or have names that are too long; give another file"));
    }
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
    texts.push(String::new());
    Ok(())
}

/// Adds to the text of the innermost element; it does not end it.
fn add(texts: &mut [String], more: &str) -> Result<bool, Message> {
    if let Some(text) = texts.last_mut() {
        text.push_str(more);
        if text.len() as u64 > LONGEST_PART {
            return Err(say!("the text of an element is longer than {LONGEST_PART} bytes; give another file"));
        }
    }
    Ok(false)
}
