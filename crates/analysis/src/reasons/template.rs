//! Templates of texts: literal parts with holes between them, matched in English and filled in Chinese.

use std::borrow::Cow;

/// A hole of an English template.
const HOLE: &str = "{}";

/// Bytes of a template that are not holes: the more of them, the more it says.
pub(super) fn literal_bytes(template: &str) -> usize {
    template.split(HOLE).map(str::len).sum()
}

/// What stands in the holes of `template` where `text` is that template; no hole is empty. The last one ends before an error
/// that follows a colon, unless it is itself behind a colon.
pub(super) fn holes<'a>(template: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = template.split(HOLE);
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let first = rest.chars().next()?.len_utf8();
        let length = match parts.peek() {
            Some(_) => first + rest[first..].find(part)?,
            None => rest.strip_suffix(part)?.len(),
        };
        let (hole, behind) = rest.split_at(length);
        if hole.is_empty() {
            return None;
        }
        found.push(hole);
        rest = behind.strip_prefix(part)?;
    }
    let ends_early = template.ends_with(HOLE) && !template.ends_with(": {}");
    let is_within = !ends_early || found.last().is_none_or(|hole| !hole.contains(": "));
    (rest.is_empty() && is_within).then_some(found)
}

/// A Chinese template with these values in its holes, `{0}`, `{1}`, …
pub(super) fn fill(template: &str, values: &[Cow<str>]) -> String {
    let mut filled = String::new();
    for part in template.split('{') {
        let hole = part.split_once('}').and_then(|(number, behind)| Some((number.parse::<usize>().ok()?, behind)));
        match hole {
            Some((number, behind)) => {
                push(&mut filled, values.get(number).map_or("", |value| value.as_ref()));
                push(&mut filled, behind);
            }
            None => push(&mut filled, part),
        }
    }
    filled
}

/// Appends a part as Chinese is set: a space between an ideograph and a Latin letter or digit, none beside a full-width mark.
pub(super) fn push(text: &mut String, part: &str) {
    let before = text.trim_end_matches(' ').chars().next_back();
    let behind = part.trim_start_matches(' ').chars().next();
    let (Some(before), Some(behind)) = (before, behind) else {
        *text += part;
        return;
    };
    let is_latin = |c: char| c.is_ascii_alphanumeric();
    let space = if is_mark(before) || is_mark(behind) || is_ideograph(before) && is_ideograph(behind) {
        Some("")
    } else if is_ideograph(before) && is_latin(behind) || is_latin(before) && is_ideograph(behind) {
        Some(" ")
    } else {
        None
    };
    match space {
        Some(space) => {
            text.truncate(text.trim_end_matches(' ').len());
            *text += space;
            *text += part.trim_start_matches(' ');
        }
        None => *text += part,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Full-width punctuation, which brings its own space.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{2018}'..='\u{201d}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}')
}
