//! Reads XML within bounds, element by element: no tree is held, and no entity of a file's own is expanded.

use std::io::{self, BufRead, Read};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::ImportError;
use super::lines::past_mark;

/// Deepest nesting: these tools write six levels.
const DEEPEST: usize = 64;
/// Longest name of an element, bytes.
const LONGEST_NAME: usize = 100;
/// Longest part between two tags and longest text of an element, bytes: images stand in some.
const LONGEST_TEXT: usize = 4 << 20;
/// Longest text of a problem, characters: it may quote the file.
const LONGEST_PROBLEM: usize = 300;

/// Calls `each` at the end of every element with its path (`a/b/c`) and the text right in it; texts outside of all elements are
/// passed over, further documents read as well. Returns the number of lines. `what` is what the file should be, for errors.
pub(super) fn each_element(
    input: &mut dyn BufRead,
    what: &str,
    mut each: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<u64, ImportError> {
    past_mark(input)?;
    let mut reader = Reader::from_reader(Bounded { input, lines: 0, left: LONGEST_TEXT });
    // An element without contents ends as all do.
    reader.config_mut().expand_empty_elements = true;
    let (mut buffer, mut path, mut texts) = (Vec::new(), String::new(), Vec::<String>::new());
    loop {
        buffer.clear();
        reader.get_mut().left = LONGEST_TEXT;
        let event = reader.read_event_into(&mut buffer);
        let line = reader.get_ref().lines + 1;
        let error = |what: String| ImportError { line, what };
        let problem = |problem: quick_xml::Error| {
            let text: String = problem.to_string().chars().take(LONGEST_PROBLEM).collect();
            error(format!("{text}; give {what}"))
        };
        let is_end = match event.map_err(problem)? {
            Event::Eof if texts.is_empty() => return Ok(line),
            Event::Eof => return Err(error(format!("the file ends here in the middle; give {what}"))),
            Event::DocType(_) => return Err(error(format!("it declares a document type; give {what}"))),
            Event::Start(tag) => {
                begin(&mut path, &mut texts, tag.name().as_ref()).map_err(|what| error(what.into()))?;
                false
            }
            Event::End(_) => true,
            Event::Text(text) => add(&mut texts, &text).map_err(error)?,
            Event::CData(text) => add(&mut texts, &text).map_err(error)?,
            Event::GeneralRef(name) => {
                let sign = name.resolve_char_ref().ok().flatten().map(String::from);
                let sign = sign.or_else(|| resolve_predefined_entity(&name).map(str::to_owned));
                let sign =
                    sign.ok_or_else(|| error(format!("it uses an entity that XML does not have; give {what}")))?;
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

fn begin(path: &mut String, texts: &mut Vec<String>, name: &str) -> Result<(), &'static str> {
    if texts.len() == DEEPEST || name.len() > LONGEST_NAME {
        return Err("its elements are nested too deep or have names that are too long; give another file");
    }
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
    texts.push(String::new());
    Ok(())
}

/// Adds to the text of the innermost element; it does not end it.
fn add(texts: &mut [String], more: &str) -> Result<bool, String> {
    if let Some(text) = texts.last_mut() {
        text.push_str(more);
        if text.len() > LONGEST_TEXT {
            return Err(format!("the text of an element is longer than {LONGEST_TEXT} bytes; give another file"));
        }
    }
    Ok(false)
}

/// Counts lines, and gives `left` bytes.
struct Bounded<'a> {
    input: &'a mut dyn BufRead,
    lines: u64,
    left: usize,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let given = self.fill_buf()?;
        let length = given.len().min(buffer.len());
        buffer[..length].copy_from_slice(&given[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Bounded<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other(format!("a part is longer than {LONGEST_TEXT} bytes")));
        }
        let given = self.input.fill_buf()?;
        Ok(&given[..given.len().min(self.left)])
    }

    fn consume(&mut self, length: usize) {
        let lines =
            self.input.fill_buf().map_or(0, |given| given[..length].iter().filter(|byte| **byte == b'\n').count());
        self.lines += lines as u64;
        self.left -= length;
        self.input.consume(length);
    }
}
