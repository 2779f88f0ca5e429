//! Sentences in the language of who reads them: Chinese is looked up by the template of a message.

use std::borrow::Cow;

use hostmark_model::{Lang, Message, Outcome, Text, errno_name};

use crate::texts::{CHINESE, REMEDIES};
use crate::typography::{COLON, SEMICOLON, cut};

/// A sentence in `lang`, with errors of the system by their names in Chinese. One that has no Chinese stays as it is.
pub fn spoken(message: &Message, lang: Lang) -> String {
    match lang {
        Lang::En => message.to_string(),
        Lang::Zh => message.filled(lang, &chinese),
    }
}

/// A sentence as a printer shows it, like a `Text`.
pub trait Spoken {
    fn get(&self, lang: Lang) -> String;
}

impl Spoken for Message {
    fn get(&self, lang: Lang) -> String {
        spoken(self, lang)
    }
}

/// The Chinese template of a message. A finished sentence may be one itself: of an older file without arguments, words of the library. All
/// others stay as they are, and so does a plain text, as the name of a host, whatever it is.
fn chinese(message: &Message) -> Cow<'_, str> {
    let of_template = |en: &str| CHINESE.binary_search_by_key(&en, |(en, _)| en).ok().map(|at| CHINESE[at].1);
    match (message.errno(), message.as_finished()) {
        (Some(number), _) => match errno_name(number) {
            Some(name) => format!("{name} ({number})").into(),
            None => message.template().into(),
        },
        (_, Some(text)) => of_template(text).unwrap_or(text).replace('{', "{{").replace('}', "}}").into(),
        _ => of_template(message.template()).unwrap_or(message.template()).into(),
    }
}

/// A sentence in both languages.
pub fn words(message: impl Into<Message>) -> Text<String> {
    let message = message.into();
    Text { en: spoken(&message, Lang::En), zh: spoken(&message, Lang::Zh) }
}

/// A reason in `lang`, with what helps.
pub fn localized(reason: impl Into<Message>, lang: Lang) -> String {
    in_both(reason).get(lang)
}

/// A reason with what helps: in Chinese, one that ends with an error of the system goes on with it.
pub fn in_both(reason: impl Into<Message>) -> Message {
    let reason = reason.into();
    let remedy = |number| REMEDIES.iter().find(|(numbers, _)| numbers.contains(&number));
    match reason.errno_at_end().and_then(remedy) {
        Some((_, zh)) => Message::joined([reason, Text { en: "", zh: *zh }.into()], SEMICOLON),
        None => reason,
    }
}

/// Characters of a reason in the answer: with the case's name, three lines of a terminal of 80 columns.
const BRIEF: usize = 180;

/// A reason without what goes beyond three lines: what a worker said last may be a page.
pub fn brief(reason: impl Into<Message>) -> Message {
    let Text { en, zh } = words(in_both(reason));
    Text { en: cut(&en, BRIEF), zh: cut(&zh, BRIEF) }.into()
}

/// Label before the reason of a case that was not measured.
pub(crate) const SKIPPED: Text = term!("skipped");
const FAILED: Text = term!("failed");

/// A word, and the reason behind its colon.
pub fn because(word: Text, reason: impl Into<Message>) -> Message {
    Message::joined([word.into(), in_both(reason)], COLON)
}

/// Reason why an outcome has no value; none where it has one.
pub fn of_outcome(outcome: &Outcome) -> Option<Message> {
    match outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped { reason } => Some(because(SKIPPED, reason)),
        Outcome::Failed { reason } => Some(because(FAILED, reason)),
    }
}

#[cfg(test)]
#[path = "reasons_tests.rs"]
mod tests;
