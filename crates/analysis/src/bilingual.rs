//! Parts of sentences that somebody else wrote, and the marks between parts.

use hostmark_model::Text;

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
