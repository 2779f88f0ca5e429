//! What people read. Standard output and standard error may be closed or full at any time: a run goes on all the same.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use hostmark_model::{Exit, Lang};
use hostmark_report::RenderOptions;
use hostmark_report::escape::{self, visible};

/// Widest and narrowest tables.
const WIDTHS: (usize, usize) = (100, 80);

/// Whether something could not be printed that somebody wanted to have.
static LOST: AtomicBool = AtomicBool::new(false);

/// What the process ends with as far as its output goes: that is lost to anything but a reader that left.
pub fn exit() -> Exit {
    if LOST.load(Ordering::Relaxed) { Exit::ResourceLost } else { Exit::Fine }
}

/// Prints `text`; a closed output is ignored.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // Once is enough, however much more there was to print.
        if !LOST.swap(true, Ordering::Relaxed) {
            let remedy = remedy_of_size(&error).unwrap_or("redirect it elsewhere");
            complain(&format!("standard output cannot be written ({error}); {remedy}"));
        }
    }
}

/// What to do where a file may not be as large as it would have to be.
pub fn remedy_of_size(error: &io::Error) -> Option<&'static str> {
    (error.kind() == io::ErrorKind::FileTooLarge).then_some("raise the limit of file sizes (ulimit -f)")
}

/// JSON as it is printed: with nothing in it that would steer a terminal.
pub fn json(text: &str) -> String {
    escape::json(text) + "\n"
}

/// Says one sentence, in one line, on standard error; when nobody can hear it, the exit code still tells.
pub fn complain(sentence: &str) {
    // What was typed or read may be part of it, and must not steer a terminal.
    let _ = writeln!(io::stderr(), "hostmark: {}", visible(sentence));
}

/// Says several lines on standard error, each with what would steer a terminal written out.
pub fn complain_in_lines(text: &str) {
    for line in text.lines() {
        let _ = writeln!(io::stderr(), "{}", visible(line));
    }
}

/// How tables look on this output.
pub fn options(lang: Lang, verbose: bool) -> RenderOptions {
    let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).or_else(terminal_columns);
    let width = if columns.is_some_and(|columns: usize| columns < WIDTHS.0) { WIDTHS.1 } else { WIDTHS.0 };
    RenderOptions { width, color, lang, verbose }
}

fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
