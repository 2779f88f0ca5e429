//! Texts in every language that hostmark speaks, and how Chinese is set where parts of a sentence meet.

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
    /// A name, which is the same in every language.
    pub const fn name(name: &'static str) -> Text {
        Text { en: name, zh: name }
    }

    /// The text in `lang`, of one that lives as long as the program.
    pub const fn say(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En => self.en,
            Lang::Zh => self.zh,
        }
    }
}

impl<S: AsRef<str>> Text<S> {
    /// Tells whether it is `name` in either language, whatever the case and the spaces.
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

impl From<Text> for Text<String> {
    fn from(text: Text) -> Text<String> {
        text.to_owned_text()
    }
}

/// Substitute for a placeholder in a text file: the same in every language, or a text.
pub trait Bilingual {
    /// Writes it in `lang`, in the placeholder's format.
    fn write(&self, lang: Lang, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: fmt::Display + ?Sized> Bilingual for T {
    fn write(&self, _: Lang, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt(f)
    }
}

impl<S: fmt::Display> Bilingual for Text<S> {
    fn write(&self, lang: Lang, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match lang {
            Lang::En => self.en.fmt(f),
            Lang::Zh => self.zh.fmt(f),
        }
    }
}

/// An argument in one language.
#[derive(Debug)]
pub struct InLanguage<'a, T: ?Sized>(pub Lang, pub &'a T);

impl<T: Bilingual + ?Sized> fmt::Display for InLanguage<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.write(self.0, f)
    }
}

/// Fills the placeholders of a template in both languages: `filled!("at {speed}", "速率 {speed}"; speed = rate(bytes))`. A variable of the
/// placeholder's name needs no `=`. The build scripts' macros expand to this.
#[macro_export]
macro_rules! filled {
    ($en:literal, $zh:literal; $($name:ident $(= $value:expr)?),* $(,)?) => {{
        $(let $name = &$crate::argument!($name $($value)?);)*
        $crate::Text {
            en: format!($en, $($name = $crate::InLanguage($crate::Lang::En, $name)),*),
            zh: format!($zh, $($name = $crate::InLanguage($crate::Lang::Zh, $name)),*),
        }
    }};
}

/// The value of an argument of [`filled!`].
#[doc(hidden)]
#[macro_export]
macro_rules! argument {
    ($name:ident) => {
        $name
    };
    ($name:ident $value:expr) => {
        $value
    };
}

/// Appends a part: a space between an ideograph and a Latin letter or digit, none beside a full-width mark.
pub fn append_in_chinese(text: &mut String, part: &str) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_filled_in_each_language() {
        let (share, place) = (0.51, Text { en: "here", zh: "此处" });
        let text = filled!("{count} {place}: {share:.1}", "{place}{count}：{share:.1}"; place, share, count = 1 + 1);
        assert_eq!(text, Text { en: "2 here: 0.5".to_owned(), zh: "此处2：0.5".to_owned() });
    }

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
