//! The language of what people read: as asked, else as the locale says.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};

use clap::ValueEnum;
use hostmark_analysis::escape::steers;
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
/// An error of a sentence, which displays in the language of the command.
macro_rules! refused {
    ($($sentence:tt)*) => {
        anyhow::Error::from($crate::language::EndsWith(hostmark_model::Exit::BadInput, hostmark_say::say!($($sentence)*)))
    };
}
/// Ends a function with such an error.
macro_rules! refuse {
    ($($sentence:tt)*) => { return Err($crate::language::refused!($($sentence)*)) };
}
pub(crate) use {refuse, refused, said};

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

/// Tells whether the locale's characters are those of UTF-8. Without a locale they are ASCII's, as POSIX has it, unless Chinese was asked for.
pub fn is_utf8() -> bool {
    has_utf8(&variable) || (current() == Lang::Zh && codeset(&variable).is_none())
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
    let is_it = |codeset: String| ["utf-8", "utf8"].iter().any(|name| codeset.eq_ignore_ascii_case(name));
    codeset(set).is_some_and(is_it)
}

/// The characters that the locale names, `UTF-8`; an empty name where it names none, and none without a locale.
fn codeset(set: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set)?;
    let name = locale.split('@').next().and_then(|name| name.split_once('.'));
    Some(name.map(|(_, codeset)| codeset).unwrap_or_default().to_owned())
}

fn of_name(locale: Option<&str>) -> Language {
    match locale {
        Some(name) if name.starts_with("zh") => Language::Zh,
        _ => Language::En,
    }
}

/// The words of a command: separated by blanks, which quotes and backslashes make part of a word.
pub fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => single_quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or_else(|| said!("it ends with a backslash"))?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// One word as a shell takes it; none where it would steer a terminal that shows it.
pub fn quoted(word: &str) -> Option<String> {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c) || (!c.is_ascii() && c.is_alphanumeric());
    match word {
        _ if word.contains(steers) => None,
        word if !word.is_empty() && word.chars().all(is_plain) => Some(word.to_owned()),
        word => Some(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

/// Up to the next single quote, everything is as it stands.
fn single_quoted(chars: &mut std::str::Chars, word: &mut String) -> Result<(), String> {
    for c in chars.by_ref() {
        match c {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
    Err(said!("a single quote is not closed"))
}

/// Up to the next double quote; a backslash stands for itself but before another, a double quote, `$` and a backtick.
fn double_quoted(chars: &mut std::str::Chars, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(said!("a double quote is not closed"))
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
        assert_eq!([of(&[]), of(&[("LANGUAGE", "zh")])], [(Language::En, false); 2]);
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

    #[test]
    fn a_quoted_word_is_split_into_itself() {
        for word in ["a", "", "my run.json", "it's", "'", "$HOME", "a`b`", "*", "a\\b", "\"", "~x", "运行", "a;b", "#a"]
        {
            assert_eq!(split(&quoted(word).unwrap()), Ok(vec![word.to_owned()]), "{word}");
        }
        assert_eq!(quoted("run-1.json").as_deref(), Some("run-1.json"));
        assert_eq!(quoted("my run.json").as_deref(), Some("'my run.json'"));
        assert_eq!(quoted("a\u{1b}[31m"), None);
    }

    #[track_caller]
    fn words(command: &str, expected: &[&str]) {
        assert_eq!(split(command).unwrap(), expected);
    }

    #[test]
    fn words_are_those_of_a_shell() {
        words("taskset -c 0  ./old/hostmark ", &["taskset", "-c", "0", "./old/hostmark"]);
        words("'/srv/my tools/hostmark'", &["/srv/my tools/hostmark"]);
        words(r#"env A="x y" B=\"z hostmark"#, &["env", "A=x y", "B=\"z", "hostmark"]);
        words(r#"a"b"'c'd "" '\' "\n\\""#, &["abcd", "", "\\", "\\n\\"]);
        words("", &[]);
    }

    #[test]
    fn nothing_is_expanded() {
        words("a $HOME `b` *.json ; c | d ~", &["a", "$HOME", "`b`", "*.json", ";", "c", "|", "d", "~"]);
    }

    #[test]
    fn what_has_no_end_is_refused() {
        for open in ["'a", "\"a", "a\\", "\"a\\"] {
            assert!(split(open).is_err(), "{open}");
        }
    }
}
