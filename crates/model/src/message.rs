//! A sentence for people: its English template, by which other languages are looked up, and what fills it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::process::ExitStatus;

use hostmark_say::say;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Lang, Text, append_in_chinese, counted};

/// A sentence or label, made by `hostmark_say::say!`. It displays in English.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Message {
    /// The English sentence with `{name}` in the place of each argument; `{name:noun}` is a count with its noun.
    template: Cow<'static, str>,
    /// The arguments by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    arguments: BTreeMap<Cow<'static, str>, MessageArgument>,
}

/// An argument of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MessageArgument {
    /// A text that is the same in every language: a name, a number, words of another program.
    Text(String),
    /// A sentence within the sentence, in the language of the whole.
    Message(Message),
    /// A text in both languages.
    Words(Text<String>),
    /// Sentences behind one another.
    List {
        /// The sentences; an empty one is left out.
        list: Vec<Message>,
        /// Separator.
        between: Message,
    },
}

/// The template of a message in some language.
type TemplateOf<'t> = &'t dyn for<'m> Fn(&'m Message) -> Cow<'m, str>;

/// The template of a text that no language has otherwise.
const BARE: &str = "{text}";
/// Template of a finished sentence, which other languages have where it is a template itself.
const FINISHED: &str = "{sentence}";
/// Template of sentences behind one another.
const LIST: &str = "{list}";
/// Template of an error of the system.
const SYSTEM_ERROR: &str = "{words} (os error {errno})";
/// Weight up to which a message of a file is read: a longer one takes time and is no sentence of ours.
const HEAVIEST: usize = 64 << 10;

impl Message {
    /// A sentence of a template with placeholders in braces, and what stands in their places. Written by `say!`.
    pub fn new(template: &'static str, arguments: Vec<(&'static str, MessageArgument)>) -> Message {
        let arguments = arguments.into_iter().map(|(name, value)| (Cow::from(name), value)).collect();
        Message { template: template.into(), arguments }
    }

    /// A finished sentence of a library or of an older file: other languages have it where it is a template itself.
    pub fn finished(sentence: impl fmt::Display) -> Message {
        Message::new(FINISHED, vec![("sentence", MessageArgument::Text(sentence.to_string()))])
    }

    /// A text that is the same in every language.
    pub fn plain(text: impl fmt::Display) -> Message {
        Message::new(BARE, vec![("text", MessageArgument::Text(text.to_string()))])
    }

    /// Sentences behind one another: `joined([one, other], say!(", "))`. An empty one is left out.
    pub fn joined<M: Into<Message>>(list: impl IntoIterator<Item = M>, between: impl Into<Message>) -> Message {
        let list = list.into_iter().map(Into::into).collect();
        Message::new(LIST, vec![("list", MessageArgument::List { list, between: between.into() })])
    }

    /// Tells whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.to_string().is_empty()
    }

    /// The sentence, and behind a colon what a process said last.
    pub fn with_last_word(self, word: Option<impl Into<Message>>) -> Message {
        let Some(word) = word.map(Into::into) else { return self };
        say!("{how}: {word}", how = self)
    }

    /// The English template.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The text of a plain message.
    pub fn as_plain(&self) -> Option<&str> {
        self.only_text(BARE, "text")
    }

    /// The text of a finished sentence.
    pub fn as_finished(&self) -> Option<&str> {
        self.only_text(FINISHED, "sentence")
    }

    fn only_text(&self, template: &str, name: &str) -> Option<&str> {
        match self.arguments.get(name) {
            Some(MessageArgument::Text(text)) if self.template == template => Some(text),
            _ => None,
        }
    }

    /// The sentence that stands within this one, by the name of its placeholder.
    pub fn part(&self, name: &str) -> Option<&Message> {
        match self.arguments.get(name) {
            Some(MessageArgument::Message(message)) => Some(message),
            _ => None,
        }
    }

    /// The sentences of one that [`Message::joined`] made; none of any other.
    pub fn parts(&self) -> &[Message] {
        match self.arguments.get("list") {
            Some(MessageArgument::List { list, .. }) if self.template == LIST => list,
            _ => &[],
        }
    }

    /// The number of the system's error that it is.
    pub fn errno(&self) -> Option<i32> {
        match self.arguments.get("errno") {
            Some(MessageArgument::Text(number)) if self.template == SYSTEM_ERROR => number.parse().ok(),
            _ => None,
        }
    }

    /// The number of the system's error that the sentence ends with.
    pub fn errno_at_end(&self) -> Option<i32> {
        let last = self.template.strip_suffix('}').and_then(|rest| rest.rsplit('{').next());
        self.errno().or_else(|| self.part(last?)?.errno_at_end())
    }

    /// The sentence in `lang`, with the template that `template_of` has for it and for each sentence within it.
    pub fn filled(&self, lang: Lang, template_of: TemplateOf) -> String {
        let mut out = String::new();
        // A template is written with its spaces. What is beside a sentence within it is not known there.
        let mut is_behind_a_sentence = false;
        for piece in pieces(&template_of(self)) {
            let (part, is_sentence) = match piece {
                Piece::Literal(text) => (Cow::Borrowed(text), false),
                Piece::Hole(hole) => self.in_hole(hole, lang, template_of),
            };
            match lang {
                Lang::Zh if is_sentence || is_behind_a_sentence => append_in_chinese(&mut out, &part),
                _ => out += &part,
            }
            is_behind_a_sentence = is_sentence;
        }
        out
    }

    /// The value of a placeholder, and whether it is words.
    fn in_hole(&self, hole: &str, lang: Lang, template_of: TemplateOf) -> (Cow<'_, str>, bool) {
        let (name, format) = hole.split_once(':').unwrap_or((hole, ""));
        match self.arguments.get(name) {
            None => (format!("{{{hole}}}").into(), false),
            Some(MessageArgument::Text(text)) if is_noun(format) => (counted(text, format).into(), false),
            Some(MessageArgument::Text(text)) => (text.into(), false),
            Some(MessageArgument::Message(message)) => (message.filled(lang, template_of).into(), true),
            Some(MessageArgument::Words(text)) => (text.get(lang).into(), true),
            Some(MessageArgument::List { list, between }) => {
                let parts = list.iter().map(|part| part.filled(lang, template_of)).filter(|part| !part.is_empty());
                (parts.collect::<Vec<_>>().join(&between.filled(lang, template_of)).into(), true)
            }
        }
    }

    /// Shows every text in it, for changes.
    pub fn each_text(&mut self, show: &mut dyn FnMut(&mut String)) {
        show(self.template.to_mut());
        for argument in self.arguments.values_mut() {
            match argument {
                MessageArgument::Text(text) => show(text),
                MessageArgument::Message(message) => message.each_text(show),
                MessageArgument::Words(Text { en, zh }) => [en, zh].into_iter().for_each(&mut *show),
                MessageArgument::List { list, between } => {
                    list.iter_mut().chain([between]).for_each(|part| part.each_text(show));
                }
            }
        }
    }

    /// Bytes that a filled template has at most, counted without filling it: templates within templates may repeat an argument.
    fn weight(&self) -> usize {
        let weights: BTreeMap<&str, usize> =
            self.arguments.iter().map(|(name, argument)| (&**name, argument.weight())).collect();
        let weight_of = |piece: Piece| match piece {
            Piece::Literal(text) => text.len(),
            Piece::Hole(hole) => {
                weights.get(hole.split(':').next().unwrap_or(hole)).map_or(hole.len(), |own| own.saturating_add(1))
            }
        };
        let filled = pieces(&self.template).into_iter().map(weight_of).fold(0, usize::saturating_add);
        weights.values().copied().fold(filled, usize::max)
    }

    fn read(value: &Value) -> Option<Message> {
        let template = value.get("template")?.as_str()?.to_owned().into();
        let arguments = value.get("arguments").map(Value::as_object).unwrap_or_default();
        let argument = |(name, value): (&String, &Value)| Some((name.clone().into(), MessageArgument::read(value)?));
        let arguments = arguments.into_iter().flatten().map(argument).collect::<Option<_>>()?;
        Some(Message { template, arguments })
    }
}

impl MessageArgument {
    fn weight(&self) -> usize {
        match self {
            MessageArgument::Text(text) => text.len(),
            MessageArgument::Message(message) => message.weight(),
            MessageArgument::Words(text) => text.en.len().max(text.zh.len()),
            MessageArgument::List { list, between } => {
                let between = between.weight();
                list.iter().map(|part| part.weight().saturating_add(between)).fold(0, usize::saturating_add)
            }
        }
    }

    // By hand, since serde tries each variant, and each variant of what is within it.
    fn read(value: &Value) -> Option<MessageArgument> {
        Some(match value {
            Value::String(text) => MessageArgument::Text(text.clone()),
            _ if value.get("template").is_some() => MessageArgument::Message(Message::read(value)?),
            _ => match value.get("list") {
                Some(list) => MessageArgument::List {
                    list: list.as_array()?.iter().map(Message::read).collect::<Option<_>>()?,
                    between: Message::read(value.get("between")?)?,
                },
                None => MessageArgument::Words(Text::deserialize(value).ok()?),
            },
        })
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Message, D::Error> {
        let message = Message::read(&Value::deserialize(from)?).filter(|message| message.weight() <= HEAVIEST);
        message.ok_or_else(|| D::Error::custom("no template, or an argument that is none"))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(&self.filled(Lang::En, &|message| Cow::Borrowed(&message.template)))
    }
}

impl std::error::Error for Message {}

/// A type of which a `Message` can be made: it stands in a sentence in the language of the whole.
#[macro_export]
macro_rules! has_a_message {
    ($($type:ty)*) => {$(
        impl From<$type> for $crate::Message {
            fn from(value: $type) -> $crate::Message {
                $crate::Message::from(&value)
            }
        }

        impl $crate::Nested for $type {
            fn nested(&self) -> $crate::MessageArgument {
                $crate::MessageArgument::Message(self.into())
            }
        }
    )*};
}
has_a_message!(io::Error ExitStatus);

/// The same of an error, which displays in English.
#[macro_export]
macro_rules! displays_its_message {
    ($type:ty) => {
        $crate::has_a_message!($type);

        impl ::std::fmt::Display for $type {
            fn fmt(&self, to: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&$crate::Message::from(self), to)
            }
        }
    };
}

macro_rules! made_from {
    ($make:ident: $($type:ty)*) => {$(
        impl From<$type> for Message {
            fn from(text: $type) -> Message {
                Message::$make(text)
            }
        }
    )*};
}

made_from!(plain: &str String &String fmt::Arguments<'_>);
made_from!(finished: std::num::ParseIntError std::num::ParseFloatError std::num::TryFromIntError);

impl From<&Message> for Message {
    fn from(message: &Message) -> Message {
        message.clone()
    }
}

impl<S: AsRef<str>> From<&Text<S>> for Message {
    fn from(text: &Text<S>) -> Message {
        Message::new(BARE, vec![("text", MessageArgument::Words(text.to_owned_text()))])
    }
}

impl<S: AsRef<str>> From<Text<S>> for Message {
    fn from(text: Text<S>) -> Message {
        Message::from(&text)
    }
}

impl From<&io::Error> for Message {
    /// The message that the error was made of: `io::Error::other(say!(…))`.
    fn from(error: &io::Error) -> Message {
        let words = error.to_string();
        match (error.get_ref(), error.raw_os_error()) {
            (Some(inner), _) => of_error(inner),
            (None, Some(errno)) => {
                let words = words.strip_suffix(&format!(" (os error {errno})")).unwrap_or(&words);
                say!("{words} (os error {errno})")
            }
            _ => Message::finished(words),
        }
    }
}

/// The message of an error, also of one with words before that of its source: `open: it is a directory`.
fn of_error(error: &(dyn std::error::Error + 'static)) -> Message {
    if let Some(message) = error.downcast_ref::<Message>() {
        return message.clone();
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return Message::from(error);
    }
    let text = error.to_string();
    let before = error.source().and_then(|source| Some((text.strip_suffix(&source.to_string())?, source)));
    match before.map(|(before, source)| (before, before.strip_suffix(": "), source)) {
        Some(("", _, source)) => of_error(source),
        Some((_, Some(what), source)) => say!("{what}: {error}", error = of_error(source)),
        _ => Message::finished(text),
    }
}

/// Returns what a file records of a message: its English sentence, and beside it the message where that is not the same in every language.
pub(crate) fn recorded(message: Message) -> (String, Option<Message>) {
    let is_said = |message: &Message| message.as_plain().or(message.as_finished()).is_none();
    (message.to_string(), Some(message).filter(is_said))
}

/// The message of a file's record. One that says something else than the sentence beside it is not believed.
pub(crate) fn restored(text: &str, message: Option<&Message>) -> Message {
    message.filter(|message| message.to_string() == text).map_or_else(|| Message::finished(text), Message::clone)
}

/// A value of a file: none where a later hostmark wrote what this one does not know.
pub(crate) fn known<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}

/// A value that stands in a sentence in the sentence's language. All others are displayed.
pub trait Nested {
    /// The value as an argument.
    fn nested(&self) -> MessageArgument;
}

impl Nested for Message {
    fn nested(&self) -> MessageArgument {
        MessageArgument::Message(self.clone())
    }
}

impl From<&ExitStatus> for Message {
    fn from(status: &ExitStatus) -> Message {
        let text = status.to_string();
        match (text.strip_prefix("exit status: "), text.strip_prefix("signal: ")) {
            (Some(code), _) => say!("exit status: {code}"),
            (_, Some(signal)) => say!("signal: {signal}"),
            _ => Message::plain(text),
        }
    }
}

impl<S: AsRef<str>> Nested for Text<S> {
    fn nested(&self) -> MessageArgument {
        MessageArgument::Words(self.to_owned_text())
    }
}

impl<T: Nested + ?Sized> Nested for &T {
    fn nested(&self) -> MessageArgument {
        (**self).nested()
    }
}

/// A value given to `say!`. The compiler finds `argument` of a [`Nested`] value here, and of any other one behind `Deref`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Given<'a, T: ?Sized>(Shown<'a, T>);

#[doc(hidden)]
#[derive(Debug)]
pub struct Shown<'a, T: ?Sized>(&'a T);

impl<'a, T: ?Sized> Given<'a, T> {
    #[doc(hidden)]
    pub fn new(value: &'a T) -> Given<'a, T> {
        Given(Shown(value))
    }
}

impl<T: Nested + ?Sized> Given<'_, T> {
    #[doc(hidden)]
    pub fn argument(&self) -> MessageArgument {
        self.0.0.nested()
    }
}

impl<T: fmt::Display + ?Sized> Shown<'_, T> {
    #[doc(hidden)]
    pub fn argument(&self) -> MessageArgument {
        MessageArgument::Text(self.0.to_string())
    }
}

impl<'a, T: ?Sized> Deref for Given<'a, T> {
    type Target = Shown<'a, T>;

    fn deref(&self) -> &Shown<'a, T> {
        &self.0
    }
}

/// Tells whether the format of a placeholder is an English noun that is counted. `say!` asks the same.
fn is_noun(format: &str) -> bool {
    format.len() > 1 && format.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ')
}

enum Piece<'a> {
    Literal(&'a str),
    /// `name` or `name:format`.
    Hole(&'a str),
}

/// The parts of a template; `{{` and `}}` are braces.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let (mut found, mut rest) = (Vec::new(), template);
    while let Some(at) = rest.find(['{', '}']) {
        let (mark, behind) = rest[at..].split_at(1);
        found.push(Piece::Literal(&rest[..at]));
        rest = match behind.split_once('}') {
            _ if behind.starts_with(mark) => {
                found.push(Piece::Literal(mark));
                &behind[1..]
            }
            Some((inside, after)) if mark == "{" => {
                found.push(Piece::Hole(inside));
                after
            }
            _ => {
                found.push(Piece::Literal(mark));
                behind
            }
        };
    }
    found.push(Piece::Literal(rest));
    found.retain(|piece| !matches!(piece, Piece::Literal("")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chinese as a catalogue would have it.
    fn zh(message: &Message) -> String {
        message.filled(Lang::Zh, &|message| {
            Cow::Borrowed(match message.template() {
                "{turns:turn} in {file:?}, {{as is}}" => "{file} 中 {turns} 次，{{原样}}",
                "{what} failed: {why}" => "{what}失败：{why}",
                "it is offline" => "它已离线",
                ", " => "、",
                other => other,
            })
        })
    }

    #[test]
    fn a_template_is_filled_in_each_language() {
        let message = say!("{turns:turn} in {file:?}, {{as is}}", turns = 1, file = "a{b}");
        assert_eq!(message.to_string(), "1 turn in \"a{b}\", {as is}");
        assert_eq!(zh(&message), "\"a{b}\" 中 1 次，{原样}");
    }

    #[test]
    fn an_argument_is_in_the_language_of_the_whole() {
        let why = say!("it is offline");
        let (cpu, here) = (Text { en: "CPU 3", zh: "CPU 3" }, Text { en: "this host", zh: "本机" }.to_owned_text());
        let all = [
            (say!("{what} failed: {why}", what = cpu), "CPU 3 failed: it is offline", "CPU 3 失败：它已离线"),
            (
                say!("{what} failed: {why}", what = &here, why = &why),
                "this host failed: it is offline",
                "本机失败：它已离线",
            ),
            (say!("{what} failed: {why}", what = "a", why = 1.5), "a failed: 1.5", "a失败：1.5"),
            (say!("{why:>15}!"), "  it is offline!", "  it is offline!"),
            (
                Message::joined([why.clone(), Message::plain(""), Message::from(here)], say!(", ")),
                "it is offline, this host",
                "它已离线、本机",
            ),
            (Message::from(&io::Error::other(say!("it is offline"))), "it is offline", "它已离线"),
        ];
        for (message, en, chinese) in all {
            assert_eq!((message.to_string(), zh(&message)), (en.to_owned(), chinese.to_owned()));
            let text = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message, "{text}");
        }
    }

    #[test]
    fn a_message_that_would_take_long_to_fill_is_not_read() {
        let nested = |inside: String| format!(r#"{{"template":"{}","arguments":{{"a":{inside}}}}}"#, "{a}".repeat(20));
        let deep = (0..30).fold("\"\"".to_owned(), |inside, _| nested(inside));
        let both = (0..60).fold("7".to_owned(), |inside, _| {
            format!(
                r#"{{"template":"{{a}}","arguments":{{"a":{inside}}},"list":[{inside_list}],"between":7}}"#,
                inside_list = 7
            )
        });
        for wrong in [&*deep, &*both, "{}", r#"{"template":7}"#, r#"{"template":"a","arguments":{"a":7}}"#] {
            assert!(serde_json::from_str::<Message>(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Message>(&nested(nested("\"b\"".to_owned()))).is_ok());
    }
}
