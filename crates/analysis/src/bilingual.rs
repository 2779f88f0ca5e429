//! Texts in both languages, made of names and numbers as well as of words.

use hostmark_model::{Lang, Text};

/// A text in both languages, as a run file carries it.
pub type Words = Text<String>;

/// The same in both languages: a name, a number.
pub fn same(text: impl Into<String>) -> Words {
    let text = text.into();
    Text { en: text.clone(), zh: text }
}

/// A text that somebody else wrote, of so many characters at most, and "…" where it goes on.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// What `of` says in each language.
pub fn each(of: impl Fn(Lang) -> String) -> Words {
    Text { en: of(Lang::En), zh: of(Lang::Zh) }
}

/// Several texts behind each other, with `between` in the gaps.
pub fn joined(parts: &[Words], between: Text) -> Words {
    each(|lang| {
        let all: Vec<&str> = parts.iter().map(|part| part.get(lang)).filter(|part| !part.is_empty()).collect();
        all.join(between.get(lang))
    })
}

/// A colon as each language writes it.
pub const COLON: Text = term!(": ");
/// A semicolon as each language writes it.
pub const SEMICOLON: Text = term!("; ");
/// A comma as each language writes it.
pub const COMMA: Text = term!(", ");
