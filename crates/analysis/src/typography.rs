//! Marks between the parts of a sentence, and how each language sets them: Chinese has no blank before `%`.

use std::borrow::Cow;

use hostmark_model::{Lang, Text};

/// A text that somebody else wrote, of so many characters at most, and "…" where it goes on.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A colon as each language writes it.
pub const COLON: Text = term!(": ");
/// A semicolon as each language writes it.
pub const SEMICOLON: Text = term!("; ");
/// A comma as each language writes it.
pub const COMMA: Text = term!(", ");

/// Blank between a number and its percent sign in English.
const WITH_BLANK: &str = " %";
/// A terminal's end of a colour.
const RESET: &str = "\u{1b}[0m";

/// `text` as it is set in a language.
pub fn typeset(text: &str, lang: Lang) -> Cow<'_, str> {
    set(text, lang, false)
}

/// The same of lines with columns: these stay where they are.
pub fn typeset_columns(text: &str, lang: Lang) -> Cow<'_, str> {
    set(text, lang, true)
}

fn set(text: &str, lang: Lang, has_columns: bool) -> Cow<'_, str> {
    if lang == Lang::En || !text.contains(WITH_BLANK) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(WITH_BLANK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if !out.ends_with(|c: char| c.is_ascii_digit()) {
            out.push_str(WITH_BLANK);
            out.push_str(part);
            continue;
        }
        out.push('%');
        let (reset, rest) = part.strip_prefix(RESET).map_or(("", part), |rest| (RESET, rest));
        out.push_str(reset);
        if has_columns && rest.starts_with("  ") {
            out.push(' ');
        }
        out.push_str(rest);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_has_no_blank_before_percent_and_its_columns_stay() {
        let text = "延迟  ±26 %  1.36 ns\n有 24 % 的时间（57 %）； % 读";
        assert_eq!(typeset(text, Lang::En), text);
        assert_eq!(typeset(text, Lang::Zh), "延迟  ±26%  1.36 ns\n有 24% 的时间（57%）； % 读");
        assert_eq!(typeset_columns("a ±26 %  b\nc ±2.1 %", Lang::Zh), "a ±26%   b\nc ±2.1%");
        assert_eq!(typeset_columns("\u{1b}[2m26 %\u{1b}[0m   b", Lang::Zh), "\u{1b}[2m26%\u{1b}[0m    b");
    }
}
