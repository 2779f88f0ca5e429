//! Reads a text line by line within bounds, so that no file of whatever size or form is held in memory.

use std::io::{BufRead, Read};

use hostmark_model::Text;

use super::ImportError;

/// Longest line, bytes: far longer than any that these tools write.
pub(super) const LONGEST_LINE: usize = 64 << 10;
/// Most lines: a whole result file has some thousand.
pub(super) const MOST_LINES: u64 = 200_000;

/// Calls `each` with every line, from 1, without the space at its end; returns the number of lines. `what` is what the file
/// should be, for errors.
pub(super) fn each_line(
    input: &mut dyn BufRead,
    what: &str,
    mut each: impl FnMut(u64, &str) -> Result<(), ImportError>,
) -> Result<u64, ImportError> {
    past_mark(input)?;
    let mut line = Vec::new();
    let mut count = 0;
    loop {
        let at = count + 1;
        let error = |problem: String| ImportError { line: at, what: problem };
        line.clear();
        // One byte more than may be, so that a longer line is noticed and never held.
        let mut limited = Read::take(&mut *input, LONGEST_LINE as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Err(failure) => return Err(error(format!("it cannot be read ({failure}); try again"))),
            Ok(0) => return Ok(count),
            Ok(length) if length > LONGEST_LINE => {
                return Err(error(format!("it is longer than {LONGEST_LINE} bytes; give {what}")));
            }
            Ok(_) if at > MOST_LINES => {
                return Err(error(format!("there are more than {MOST_LINES} lines; give {what}")));
            }
            Ok(_) => count = at,
        }
        each(at, String::from_utf8_lossy(&line).trim_end())?;
    }
}

/// Passes over a byte order mark; one of another encoding is told.
pub(super) fn past_mark(input: &mut dyn BufRead) -> Result<(), ImportError> {
    let error = |what: String| Err(ImportError { line: 1, what });
    let length = match input.fill_buf() {
        Err(failure) => return error(format!("it cannot be read ({failure}); try again")),
        Ok([0xff, 0xfe, ..] | [0xfe, 0xff, ..]) => {
            return error("the text is UTF-16; convert it: iconv -f UTF-16 -t UTF-8".into());
        }
        Ok([0xef, 0xbb, 0xbf, ..]) => 3,
        Ok(_) => 0,
    };
    input.consume(length);
    Ok(())
}

/// What stands behind a result and is none of it.
#[derive(Debug)]
pub(super) struct TrailingText {
    /// Where it begins.
    pub line: u64,
    /// Its first words.
    pub text: String,
}

impl TrailingText {
    /// For who reads the run.
    pub(super) fn passed_over(&self) -> Text<String> {
        let TrailingText { line, text } = self;
        crate::texts::foreign::text_passed_over!(line, text)
    }
}

/// The number that `word` is, not negative, or why it is none; `what` is where it should stand.
pub(super) fn amount(word: &str, what: &str) -> Result<f64, String> {
    let number = word.parse::<f64>().ok().filter(|number| (0.0..LARGEST).contains(number));
    number.ok_or_else(|| {
        let (word, what) = (shortened(word), shortened(what));
        format!("'{word}' is no amount, where {what} should be; correct the line or remove it")
    })
}

/// Larger than anything that is measured in a base unit.
pub(super) const LARGEST: f64 = 1e18;

/// The beginning of a text, for an error or a note.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    text.chars().take(MOST).collect()
}
