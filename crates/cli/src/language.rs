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

/// The locale's language as gettext finds it: the first of LANGUAGE that hostmark speaks, and else that of LC_ALL, LC_MESSAGES or LANG.
/// A locale whose characters are not those of UTF-8 has English.
pub fn of_locale() -> Language {
    of_variables(&variable)
}

/// Tells whether the locale's characters are those of UTF-8; they are taken to be where no locale is set.
pub fn is_utf8() -> bool {
    has_utf8(&variable)
}

/// The value of an environment variable that is neither empty nor no text.
fn variable(name: &str) -> Option<String> {
    (context().variable)(name)?.into_string().ok().filter(|value| !value.is_empty())
}

fn of_variables(set: &dyn Fn(&str) -> Option<String>) -> Language {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set);
    // Who wants the C locale wants no other language.
    let list = set("LANGUAGE").filter(|_| locale.as_ref().is_some_and(|name| !["C", "POSIX"].contains(&name.as_str())));
    let listed =
        list.iter().flat_map(|list| list.split(':')).find(|name| name.starts_with("zh") || name.starts_with("en"));
    if has_utf8(set) { of_name(listed.or(locale.as_deref())) } else { Language::En }
}

fn has_utf8(set: &dyn Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).is_none_or(|locale| {
        let codeset = locale.split('@').next().and_then(|name| name.split_once('.')).map_or("", |(_, codeset)| codeset);
        ["utf-8", "utf8"].iter().any(|name| codeset.eq_ignore_ascii_case(name))
    })
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
    fn a_list_of_languages_goes_before_the_locale_whose_characters_decide_what_can_be_said() {
        let of = |variables: &[(&str, &str)]| {
            let set = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
            (of_variables(&set), has_utf8(&set))
        };
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LANGUAGE", "fr:zh_CN:en")]), (Language::Zh, true));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LANGUAGE", "en")]), (Language::En, true));
        assert_eq!(of(&[("LANGUAGE", "zh")]), (Language::En, true));
        for locale in ["zh_CN.GBK", "zh_TW.Big5", "zh_CN", "de_DE.ISO-8859-1", "de_DE@euro", "C", "POSIX"] {
            assert_eq!(of(&[("LC_ALL", locale), ("LANGUAGE", "zh")]), (Language::En, false), "{locale}");
        }
    }

    #[test]
    fn chinese_locales_get_chinese_and_all_others_english() {
        assert_eq!(of_name(Some("zh_CN.UTF-8")), Language::Zh);
        assert_eq!(of_name(Some("C.UTF-8")), Language::En);
        assert_eq!(of_name(None), Language::En);
    }
}
