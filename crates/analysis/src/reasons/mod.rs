//! Reasons of skipped and failed cases in Chinese. A run file carries them in English, since programs read it.

mod errors;
mod table;
mod template;

use std::borrow::Cow;

use hostmark_model::{Lang, Outcome, Text, append_in_chinese as push};

use crate::bilingual::cut;
use template::{fill, holes, literal_bytes};

/// What is longer is no reason of ours: no time is spent on it.
const LONGEST: usize = 4096;
/// A reason within a reason within a reason: more of them is no reason of ours.
const DEEPEST: usize = 12;
/// Places at most where a reason is taken apart.
const MOST_PLACES: usize = 12;

/// A reason, as it stands in a run file, in `lang`. One that nobody has translated stays as it is.
pub fn localized(reason: &str, lang: Lang) -> Cow<'_, str> {
    match lang {
        Lang::En => Cow::Borrowed(reason),
        Lang::Zh => in_chinese(reason).map_or(Cow::Borrowed(reason), Cow::Owned),
    }
}

/// Characters of a reason in the answer: with the case's name, three lines of a terminal of 80 columns.
const BRIEF: usize = 180;

/// A reason in that language, without what goes beyond three lines: what a worker said last may be a page.
pub fn brief(reason: &str, lang: Lang) -> String {
    cut(&localized(reason, lang), BRIEF)
}

/// What stands before the reason of a case that was not measured.
pub(crate) const SKIPPED: Text = Text { en: "skipped", zh: "已跳过" };
const FAILED: Text = Text { en: "failed", zh: "失败" };

/// A word, and the reason behind its colon.
pub fn because(word: Text, reason: &str) -> Text<String> {
    Text { en: format!("{}: {reason}", word.en), zh: format!("{}：{}", word.zh, localized(reason, Lang::Zh)) }
}

/// Why an outcome has no value; none where it has one.
pub fn of_outcome(outcome: &Outcome) -> Option<Text<String>> {
    match outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped { reason } => Some(because(SKIPPED, reason)),
        Outcome::Failed { reason } => Some(because(FAILED, reason)),
    }
}

/// A reason in Chinese, as far as its parts are known; none where none of them is. One that ends with an error of the system
/// goes on with what helps.
pub fn in_chinese(reason: &str) -> Option<String> {
    if reason.len() > LONGEST {
        return None;
    }
    let mut zh = translated(reason, 0)?;
    if let Some(remedy) = errors::remedy(reason) {
        push(&mut zh, "；");
        push(&mut zh, remedy);
    }
    Some(zh)
}

/// A Chinese text in which the system's errors stand in English: with their names instead.
pub fn with_errors_named(text: &str) -> String {
    errors::within(text)
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
    let literal = |en: &str| (!en.starts_with('{'), literal_bytes(en));
    let fitting = table::all().filter_map(|(en, zh)| Some((literal(en), zh, holes(en, reason)?)));
    let (_, zh, found) = fitting.max_by_key(|(literal, ..)| *literal)?;
    let values: Vec<Cow<str>> = found.into_iter().map(|hole| or_as_it_is(hole, depth)).collect();
    Some(fill(zh, &values))
}

fn or_as_it_is(part: &str, depth: usize) -> Cow<'_, str> {
    translated(part, depth + 1).or_else(|| votes(part)).map_or(Cow::Borrowed(part), Cow::Owned)
}

/// What each number was voted for: `8 by 1, 16 by 2`.
fn votes(list: &str) -> Option<String> {
    let is_number = |text: &&str| text.parse::<f64>().is_ok();
    let one = |vote: &str| {
        let (value, rounds) = vote.split_once(" by ")?;
        [value, rounds].iter().all(is_number).then(|| format!("{value}（{rounds} 轮）"))
    };
    Some(list.split(", ").map(one).collect::<Option<Vec<_>>>()?.join("、"))
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

#[cfg(test)]
#[path = "reasons_tests.rs"]
mod tests;
