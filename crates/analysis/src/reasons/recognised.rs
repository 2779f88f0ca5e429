//! Reasons that stand in a run file in English alone, without a template: recognised by their words.

use std::borrow::Cow;

use hostmark_model::append_in_chinese as push;

use super::template::{fill, holes, literal_bytes};
use super::{errors, table};
use crate::texts::CHINESE;

/// What is longer is no reason of ours: no time is spent on it.
const LONGEST: usize = 4096;
/// A reason within a reason within a reason: more of them is no reason of ours.
const DEEPEST: usize = 12;
/// Places at most where a reason is taken apart.
const MOST_PLACES: usize = 12;

/// A reason in Chinese, as far as its parts are known; none where none of them is.
pub(super) fn in_chinese(reason: &str) -> Option<String> {
    if reason.len() > LONGEST { None } else { translated(reason, 0) }
}

/// Whether one template is all of a reason in which each value is `value`: none of its words fell into a hole.
pub fn is_known(reason: &str, value: &str) -> bool {
    let is_value = |hole: &str| hole.split(value).all(|rest| !rest.contains(char::is_alphabetic));
    let fits = |en: &str| holes(en, reason).is_some_and(|found| found.into_iter().all(is_value));
    table::all().any(|(en, _)| fits(en))
}

fn translated(reason: &str, depth: usize) -> Option<String> {
    if depth > DEEPEST || reason.is_empty() {
        return None;
    }
    whole(reason, depth).or_else(|| in_parts(reason, depth)).or_else(|| with_brackets(reason, depth))
}

/// What one template, or the system's number of an error, tells in full. A template that begins with words wins over one that
/// begins with a hole, and then the one with more words.
fn whole(reason: &str, depth: usize) -> Option<String> {
    if let Some(error) = errors::in_chinese(reason) {
        return Some(error);
    }
    // A sentence without arguments is its own template.
    if let Ok(at) = CHINESE.binary_search_by_key(&reason, |(en, _)| en) {
        return Some(CHINESE[at].1.to_owned());
    }
    let literal = |en: &str| (!en.starts_with('{'), literal_bytes(en));
    let fitting = table::all().filter_map(|(en, zh)| Some((literal(en), zh, holes(en, reason)?)));
    let (_, zh, found) = fitting.max_by_key(|(literal, ..)| *literal)?;
    let values: Vec<Cow<str>> = found.into_iter().map(|hole| or_as_it_is(hole, depth)).collect();
    Some(fill(zh, &values))
}

fn or_as_it_is(part: &str, depth: usize) -> Cow<'_, str> {
    translated(part, depth + 1).map_or(Cow::Borrowed(part), Cow::Owned)
}

/// A reason of several behind one another: `what: error: cure`, or `this; that`.
fn in_parts(reason: &str, depth: usize) -> Option<String> {
    let marks = reason.char_indices().filter_map(|(at, _)| match reason.get(at..at + 2)? {
        ": " => Some((at, "：")),
        "; " => Some((at, "；")),
        _ => None,
    });
    let places: Vec<(usize, &str)> = marks.take(MOST_PLACES).collect();
    for &(at, mark) in places.iter().rev() {
        if let Some(mut zh) = whole(&reason[..at], depth + 1) {
            push(&mut zh, mark);
            push(&mut zh, &or_as_it_is(&reason[at + 2..], depth));
            return Some(zh);
        }
    }
    let &(at, mark) = places.first()?;
    let rest = translated(&reason[at + 2..], depth + 1)?;
    let mut zh = reason[..at].to_owned();
    push(&mut zh, mark);
    push(&mut zh, &rest);
    Some(zh)
}

/// A reason with another one in brackets at its end.
fn with_brackets(reason: &str, depth: usize) -> Option<String> {
    let (before, inside) = reason.strip_suffix(')')?.split_once(" (")?;
    let parts = [before, inside].map(|part| translated(part, depth + 1));
    if parts.iter().all(Option::is_none) {
        return None;
    }
    let [first, second] = parts;
    let mut zh = first.unwrap_or_else(|| before.to_owned());
    push(&mut zh, "（");
    push(&mut zh, second.as_deref().unwrap_or(inside));
    push(&mut zh, "）");
    Some(zh)
}
