//! A finding in one line.

use hostmark_model::Text;
use unicode_width::UnicodeWidthStr;

/// The width of a finding's short text at most, in columns of a terminal, of which a wide East Asian character takes two.
pub const MOST_COLUMNS: usize = 90;
/// The width of a host's name in it at most: a longer one leaves no room for figures, and a part of one is no name.
const NAME_COLUMNS: usize = 20;

/// A short text. In Chinese there is no blank before a percent sign.
pub(super) fn short(en: String, zh: String) -> Text<String> {
    Text { en, zh: zh.replace(" %", "%") }
}

/// A peer by its name where that leaves room, with the blanks beside it in Chinese.
pub(super) fn peer(name: &str) -> Text<String> {
    match name.width() <= NAME_COLUMNS {
        true => Text { en: name.to_owned(), zh: format!(" {name} ") },
        false => Text { en: "the peer".to_owned(), zh: "对端".to_owned() },
    }
}
