//! A text in every language that hostmark speaks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The languages of titles, explanations and findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English, the default.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

// `S` is `&'static str` in a probe and `String` in a run file.
/// One text in English and in Chinese; both are mandatory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Text<S = &'static str> {
    /// English.
    pub en: S,
    /// Simplified Chinese.
    pub zh: S,
}

/// A count with its English noun: `1 case`, `2 cases`, `1 process`, `2 processes`.
pub fn counted<N: fmt::Display>(count: N, noun: &str) -> String {
    let count = count.to_string();
    let ending = match count.as_str() {
        "1" => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

impl Text {
    /// The text in `lang`, of one that lives as long as the program.
    pub const fn say(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En => self.en,
            Lang::Zh => self.zh,
        }
    }
}

impl<S: AsRef<str>> Text<S> {
    /// Whether it is `name` in either language, whatever the case and the spaces.
    pub fn is_called(&self, name: &str) -> bool {
        let plain = |text: &str| -> String { text.split_whitespace().collect::<String>().to_lowercase() };
        let wanted = plain(name);
        [self.en.as_ref(), self.zh.as_ref()].iter().any(|text| plain(text) == wanted)
    }

    /// The text in `lang`.
    pub fn get(&self, lang: Lang) -> &str {
        match lang {
            Lang::En => self.en.as_ref(),
            Lang::Zh => self.zh.as_ref(),
        }
    }

    /// The same text as owned strings, as a run file carries it.
    pub fn to_owned_text(&self) -> Text<String> {
        Text { en: self.en.as_ref().to_owned(), zh: self.zh.as_ref().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_plural() {
        let expected = [
            counted(1, "case"),
            counted(0, "case"),
            counted(2, "CPU"),
            counted(1, "process"),
            counted("1.5", "process"),
        ];
        assert_eq!(expected, ["1 case", "0 cases", "2 CPUs", "1 process", "1.5 processes"]);
    }
}
