//! Templates of texts: literal parts with holes between them, matched in English and filled in Chinese.

use std::borrow::Cow;

use hostmark_model::append_in_chinese as push;

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
