//! The run file itself: what an export writes, `load_run` reads back as it was.

use std::io::{Error, Result, Write};

use hostmark_analysis::escape;
use hostmark_model::Run;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::{ExportFormat, Render};
use crate::RenderOptions;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "json",
    description: term!("the run file itself, with every sample"),
    render: Render::One(render),
};

fn render(run: &Run, _: &RenderOptions) -> String {
    written(run).unwrap_or_else(|error| format!("{}\n", serde_json::json!({ "error": error.to_string() })))
}

/// A value as JSON text. Only a key that is no string could fail, and the model has none.
fn written(value: &impl Serialize) -> Result<String> {
    let mut text = Vec::new();
    let layout = Layout { depth: 0, last: Last::Opened, is_in_list: false };
    value.serialize(&mut Serializer::with_formatter(&mut text, layout)).map_err(Error::from)?;
    text.push(b'\n');
    String::from_utf8(text).map_err(Error::other)
}

/// Layout of a run file. A list of plain values stands on one line: a sample a line would bury the rest of the file, and a diff of it. No
/// character of a string steers a terminal.
struct Layout {
    depth: usize,
    last: Last,
    /// The value that comes next belongs to a list.
    is_in_list: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Opened,
    Plain,
    Block,
}

impl Layout {
    fn line<W: ?Sized + Write>(&self, to: &mut W) -> Result<()> {
        write!(to, "\n{:1$}", "", 2 * self.depth)
    }

    fn open<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> Result<()> {
        if self.is_in_list {
            self.line(to)?;
        }
        (self.depth, self.last, self.is_in_list) = (self.depth + 1, Last::Opened, false);
        to.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8], on_one_line: &[Last]) -> Result<()> {
        self.depth -= 1;
        if !on_one_line.contains(&self.last) {
            self.line(to)?;
        }
        self.last = Last::Block;
        to.write_all(bracket)
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.close(to, b"]", &[Last::Opened, Last::Plain])
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> Result<()> {
        let comma: &[u8] = if self.last == Last::Block { b"," } else { b", " };
        (self.last, self.is_in_list) = (Last::Plain, true);
        if is_first { Ok(()) } else { to.write_all(comma) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        self.close(to, b"}", &[Last::Opened])
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> Result<()> {
        if !is_first {
            to.write_all(b",")?;
        }
        self.line(to)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        (self.last, self.is_in_list) = (Last::Plain, false);
        to.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> Result<()> {
        if text.contains(escape::steers) { write!(to, "{}", escape::json(text)) } else { to.write_all(text.as_bytes()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_plain_values_are_joined() {
        let value = serde_json::json!({"a": [1, 2.5, "x]", "y["], "b": [[1], []], "c": [{"d": [true]}], "e": []});
        let text = written(&value).unwrap();
        assert!(text.contains("\"a\": [1, 2.5, \"x]\", \"y[\"],\n  \"b\": [\n    [1],\n    []\n  ],\n"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
