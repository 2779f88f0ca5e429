//! Output for people. Standard output and standard error may be closed or full at any time: a run goes on all the same.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::path::Path;

use clap::ValueEnum;
use hostmark_analysis::escape;
use hostmark_analysis::escape::visible;
use hostmark_engine::probe;
use hostmark_model::{Exit, Lang, typed_id};
use hostmark_present::RenderOptions;
use hostmark_present::export::over_time::Shades;
use hostmark_probes::CATALOGUE;

use crate::language::{is_utf8, refuse, said};
use crate::world::context;

/// Narrowest and widest pages: under the first a table is no table any more, over the second no eye finds back to the row.
const WIDTHS: (usize, usize) = (60, 200);

const NO_TERMINAL: usize = 100;

/// Use of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal; NO_COLOR and CLICOLOR_FORCE have a say
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Output options on the command line.
#[derive(Debug, Clone, Copy, Default)]
struct Wishes {
    color: Color,
    is_quiet: bool,
}

thread_local! {
    static WISHES: Cell<Wishes> = Cell::default();
    /// True where output was lost that somebody wanted to have.
    static LOST: Cell<bool> = const { Cell::new(false) };
}

fn wishes() -> Wishes {
    WISHES.get()
}

/// Resets the options and the record of lost output.
pub fn begin() {
    WISHES.take();
    LOST.take();
}

/// Settles how the command of this thread speaks.
pub fn settle(color: Color, is_quiet: bool) {
    WISHES.set(Wishes { color, is_quiet });
}

/// Tells whether only results and errors are wanted.
pub fn is_quiet() -> bool {
    wishes().is_quiet
}

/// Exit code by the command's output: an error where output was lost, unless its reader left.
pub fn exit() -> Exit {
    if LOST.get() { Exit::ResourceLost } else { Exit::Fine }
}

/// Prints `text`, and says what became of it.
pub fn written(text: &str) -> io::Result<()> {
    let text = in_locale(text);
    let context = context();
    let mut out = context.output.borrow_mut();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Prints `text`; a closed output is ignored.
pub fn print(text: &str) {
    if let Err(error) = written(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // Once is enough, however much more there was to print.
        if !LOST.replace(true) {
            let remedy = remedy_of_size(&error).unwrap_or_else(|| said!("redirect it elsewhere"));
            complain(&said!("standard output cannot be written ({error}); {remedy}"));
        }
    }
}

pub fn remedy_of_size(error: &io::Error) -> Option<String> {
    let is_too_large = error.kind() == io::ErrorKind::FileTooLarge;
    is_too_large.then(|| said!("raise the limit of file sizes (ulimit -f)"))
}

/// Formats that nobody reads on a terminal, and that fill it with thousands of lines.
const FOR_FILES: [&str; 5] = ["html", "json", "jsonl", "card", "openbenchmarking"];

/// Refuses to fill a terminal; `remedy` says how else the text is had.
pub fn refuse_flood(format: &str, out: Option<&Path>, remedy: &str) -> anyhow::Result<()> {
    if out.is_none() && FOR_FILES.contains(&format) && context().output.borrow().is_terminal() {
        refuse!("--format {format} would fill the terminal; write it to a file: {remedy}");
    }
    Ok(())
}

/// JSON as it is printed: with nothing in it that would steer a terminal.
pub fn json(text: &str) -> String {
    escape::json(text) + "\n"
}

/// Says one sentence, in one line, on standard error; when nobody can hear it, the exit code still tells.
pub fn complain(sentence: &str) {
    // What was typed or read may be part of it, and must not steer a terminal.
    let _ = writeln!(context().errors.borrow_mut(), "hostmark: {}", in_locale(&visible(sentence)));
}

/// Says one sentence on standard error that is no error: nothing where only errors are wanted.
pub fn remark(sentence: &str) {
    if !is_quiet() {
        complain(sentence);
    }
}

/// Options for pages on this output.
pub fn options(lang: Lang, verbose: bool) -> RenderOptions {
    let context = context();
    let out = context.output.borrow();
    RenderOptions { width: page_width(out.columns()), color: may_color(out.is_terminal()), lang, verbose }
}

/// Characters for drawing: ASCII where the locale knows no others.
pub fn shades() -> Shades {
    if is_utf8() { Shades::Unicode } else { Shades::Ascii }
}

/// A text in characters that the locale has.
pub fn in_locale(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_utf8() { text.into() } else { spelled(text).into() }
}

/// A text in ASCII: data is escaped as its format does it, and all else is spelled.
fn spelled(text: &str) -> String {
    let form = text.chars().find(|c| !c.is_whitespace()).filter(|c| ['{', '[', '<'].contains(c));
    let of = |c: char| match form {
        _ if c.is_ascii() => c.to_string(),
        Some('<') => format!("&#{};", u32::from(c)),
        Some(_) => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        None => SPELLED.iter().find(|(known, _)| known.contains(c)).map_or("?", |(_, ascii)| ascii).to_owned(),
    };
    text.chars().map(of).collect()
}

/// Characters of hostmark's own texts outside ASCII, and their stand-ins; that of a range is one, as columns are set before.
const SPELLED: [(&str, &str); 14] = [
    ("µμ", "u"),
    ("±", "+-"),
    ("…", "~"),
    ("×", "x"),
    ("÷", "/"),
    ("–—−─·•", "-"),
    ("‘’", "'"),
    ("“”", "\""),
    ("→", "->"),
    ("≤", "<="),
    ("≥", ">="),
    ("≈~", "~"),
    ("²", "^2"),
    ("▁▂▃▄▅▆▇█░▒▓", "#"),
];

/// Options for pages by their destination: in a file as on this output, with colours only if they are forced.
pub fn options_for(out: Option<&Path>, lang: Lang, verbose: bool) -> RenderOptions {
    match out {
        Some(_) => RenderOptions { color: wishes().color == Color::Always, width: page_width(None), lang, verbose },
        None => options(lang, verbose),
    }
}

fn page_width(of_terminal: Option<usize>) -> usize {
    let typed = variable("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    typed.or(of_terminal).unwrap_or(NO_TERMINAL).clamp(WIDTHS.0, WIDTHS.1)
}

/// The value of an environment variable that is text.
fn variable(name: &str) -> Option<String> {
    (context().variable)(name)?.into_string().ok()
}

pub fn may_color(is_terminal: bool) -> bool {
    may_color_as(wishes().color, is_terminal, &variable)
}

/// Tells whether a terminal may be steered: Emacs' shell and consoles of CI say that they cannot (TERM=dumb).
pub fn is_steered(is_terminal: bool) -> bool {
    is_terminal && !is_dumb(&variable)
}

fn is_dumb(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    variable("TERM").is_some_and(|name| name.is_empty() || name == "dumb")
}

/// The usual order: what is typed, then NO_COLOR, then CLICOLOR_FORCE, then what the stream is.
fn may_color_as(color: Color, is_terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if is_set("NO_COLOR") => false,
        Color::Auto if is_set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE").as_deref() != Some("0") => true,
        Color::Auto => is_terminal && variable("CLICOLOR").as_deref() != Some("0") && !is_dumb(variable),
    }
}

/// The id of a case of the catalogue; words before it, as those of whose turn it is, stay.
pub fn case_id(text: &str) -> String {
    let (before, id) = text.split_at(text.rfind(' ').map_or(0, |at| at + 1));
    let name = id.split_once('@').map_or(id, |(name, _)| name);
    let Some(entry) = probe::find(CATALOGUE, name) else { return text.to_owned() };
    let axes = entry.axes();
    before.to_owned() + &typed_id(id, |name| Some(axes.iter().find(|axis| axis.name == name)?.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_locale_has_no_character_for_is_spelled_and_data_escapes_it() {
        assert_eq!(spelled("1.5 µs ± 2 % … 中"), "1.5 us +- 2 % ~ ?");
        assert_eq!(spelled("{\"a\": \"µ𝄞\"}"), "{\"a\": \"\\u00b5\\ud834\\udd1e\"}");
        assert_eq!(spelled("<p>µ"), "<p>&#181;");
    }

    #[test]
    fn what_is_typed_wins_over_the_environment_and_that_over_the_terminal() {
        let colors = |color, is_terminal, variables: &[(&str, &str)]| {
            let value =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            may_color_as(color, is_terminal, &value)
        };
        assert!(colors(Color::Auto, true, &[]) && !colors(Color::Auto, false, &[]));
        assert!(!colors(Color::Auto, true, &[("NO_COLOR", "1")]));
        assert!(colors(Color::Auto, true, &[("NO_COLOR", "")]));
        assert!(colors(Color::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!colors(Color::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!colors(Color::Auto, true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(!colors(Color::Auto, true, &[("CLICOLOR", "0")]));
        assert!(colors(Color::Always, false, &[("NO_COLOR", "1")]));
        for (name, is_colored) in [("dumb", false), ("", false), ("xterm", true)] {
            assert_eq!(colors(Color::Auto, true, &[("TERM", name)]), is_colored, "{name}");
        }
        assert!(colors(Color::Auto, true, &[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")]));
        assert!(!colors(Color::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn sizes_are_as_typed_whoever_has_the_turn() {
        assert_eq!(case_id("memory.read@size=67108864,threads=1"), "memory.read@size=64M,threads=1");
        assert_eq!(case_id("a 2/5 memory.read@size=4096"), "a 2/5 memory.read@size=4K");
        for other in ["", "a", "unknown.probe@size=4096", "two words"] {
            assert_eq!(case_id(other), other);
        }
    }
}
