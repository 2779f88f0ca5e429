//! The language of what people read: as asked, else as the locale says.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};

use clap::ValueEnum;
use hostmark_analysis::reasons;
use hostmark_model::{Exit, Lang, Message};

use crate::world::context;

thread_local! {
    /// Language of this thread's command; settled before anything is parsed.
    static CURRENT: Cell<Lang> = const { Cell::new(Lang::En) };
}

/// The language of errors; English until it is settled.
pub fn current() -> Lang {
    CURRENT.get()
}

/// Settles the language of a command by its words, which are not parsed yet, and else by the locale.
pub fn settle(words: &[OsString]) -> Lang {
    let lang = asked(words).unwrap_or_else(of_locale).into();
    CURRENT.set(lang);
    lang
}

/// The language behind `--lang`, wherever it stands before `--`.
fn asked(words: &[OsString]) -> Option<Language> {
    let mut words = words.iter().take_while(|word| *word != "--");
    let mut last = None;
    while let Some(word) = words.next() {
        let word = word.to_str().unwrap_or_default();
        let value = match word.strip_prefix("--lang=") {
            Some(value) => Some(OsStr::new(value)),
            None if word == "--lang" => words.next().map(OsString::as_os_str),
            None => continue,
        };
        last = value.and_then(|value| Language::from_str(value.to_str()?, false).ok()).or(last);
    }
    last
}

/// A sentence in the language of the command.
pub fn spoken(message: &Message) -> String {
    hostmark_analysis::spoken(message, current())
}

/// Localized reason why a process was not started, or was lost: an error of `hostmark_launch`, which is a reason of a case as well.
pub fn of_launch(error: impl Into<Message>) -> String {
    reasons::localized(error, current())
}

/// An error of a command, and the code that it ends with.
#[derive(Debug)]
pub struct EndsWith(pub Exit, pub Message);

impl std::fmt::Display for EndsWith {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&of_launch(&self.1))
    }
}

impl std::error::Error for EndsWith {}

/// A sentence in the language of the command: `said!("{file} is empty")`, whose Chinese is in `zh.po` of `hostmark-analysis`.
macro_rules! said {
    ($($sentence:tt)*) => { $crate::language::spoken(&hostmark_say::say!($($sentence)*)) };
}
pub(crate) use said;

/// An error of a sentence, which displays in the language of the command.
macro_rules! refused {
    ($($sentence:tt)*) => {
        anyhow::Error::from($crate::language::EndsWith(hostmark_model::Exit::BadInput, hostmark_say::say!($($sentence)*)))
    };
}
pub(crate) use refused;

/// Ends a function with such an error.
macro_rules! refuse {
    ($($sentence:tt)*) => { return Err($crate::language::refused!($($sentence)*)) };
}
pub(crate) use refuse;

/// A language as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// English.
    En,
    /// Simplified Chinese.
    Zh,
}

impl From<Language> for Lang {
    fn from(language: Language) -> Lang {
        match language {
            Language::En => Lang::En,
            Language::Zh => Lang::Zh,
        }
    }
}

/// The locale's language: the first of LC_ALL, LC_MESSAGES and LANG that is set.
pub fn of_locale() -> Language {
    let set = |name: &&str| (context().variable)(name)?.into_string().ok().filter(|value| !value.is_empty());
    of_name(["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set).as_deref())
}

fn of_name(locale: Option<&str>) -> Language {
    match locale {
        Some(name) if name.starts_with("zh") => Language::Zh,
        _ => Language::En,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_found_before_the_command_line_is_parsed() {
        let of = |words: &[&str]| asked(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of(&["run", "--lang", "zh", "--nonsense"]), Some(Language::Zh));
        assert_eq!(of(&["--lang=en", "run", "--lang=zh"]), Some(Language::Zh));
        assert_eq!(of(&["run", "--", "--lang", "zh"]), None);
        assert_eq!(of(&["run", "--lang"]), None);
        assert_eq!(of(&["run", "--lang", "tlh"]), None);
    }

    #[test]
    fn chinese_locales_get_chinese_and_all_others_english() {
        assert_eq!(of_name(Some("zh_CN.UTF-8")), Language::Zh);
        assert_eq!(of_name(Some("C.UTF-8")), Language::En);
        assert_eq!(of_name(None), Language::En);
    }
}
