//! Errors of the system in a Chinese text: the name and the number of each, and what helps.

use crate::texts::{LIBRARY_ERRORS, REMEDIES};

const MARK: &str = " (os error ";

/// `EACCES (13)` of `Permission denied (os error 13)` and its like, or the words of the library.
pub(super) fn in_chinese(error: &str) -> Option<String> {
    if let Some((_, zh)) = LIBRARY_ERRORS.iter().find(|(en, _)| *en == error) {
        return Some((*zh).to_owned());
    }
    let (words, number) = split(error)?;
    let is_one = !words.is_empty() && !words.contains(": ") && !words.contains("; ");
    // The words of some have a colon in them.
    (is_one || said(number).is_some_and(|said| said == error)).then(|| named(number)).flatten()
}

/// What helps against the error that a reason ends with.
pub(super) fn remedy(reason: &str) -> Option<&'static str> {
    let (_, number) = split(reason)?;
    REMEDIES.iter().find(|(numbers, _)| numbers.contains(&number)).map(|(_, remedy)| *remedy)
}

/// The words and the number of the error at the end of a text.
fn split(text: &str) -> Option<(&str, u32)> {
    let (words, number) = text.strip_suffix(')')?.rsplit_once(MARK)?;
    Some((words, number.parse().ok()?))
}

/// What this system says of an error.
fn said(number: u32) -> Option<String> {
    Some(std::io::Error::from_raw_os_error(i32::try_from(number).ok()?).to_string())
}

fn named(number: u32) -> Option<String> {
    Some(format!("{} ({number})", hostmark_model::errno_name(i32::try_from(number).ok()?)?))
}

/// A text in Chinese in which errors of the system stand as the system says them in English: with their names.
pub(super) fn within(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let behind = &rest[at + MARK.len()..];
        let digits = behind.find(')').filter(|&end| end <= 4).map_or("", |end| &behind[..end]);
        let end = at + MARK.len() + digits.len() + 1;
        let known = digits.parse().ok().and_then(|number: u32| {
            let before = rest.get(..end)?.strip_suffix(said(number)?.as_str())?;
            Some(format!("{before}{}", named(number)?))
        });
        match known {
            Some(remedy) => {
                out += &remedy;
                rest = &rest[end..];
            }
            None => {
                out += &rest[..at + MARK.len()];
                rest = behind;
            }
        }
    }
    out + rest
}
