//! Breaks a text into lines by what it looks like: at spaces, and beside Chinese characters, which have none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters that may not begin a line, as they close what stands before them.
const CLOSING: &str = "，。、；：？！）》」』】”’…,.;:?!)]%";
/// Characters that may not end a line.
const OPENING: &str = "（《「『【“‘([";

/// `text` in lines of at most `width` columns; a word that is wider is cut.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        if line.width() + word.trim_end().width() > width && !line.is_empty() {
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > width && c != ' ' {
                lines.push(line.trim_end().to_owned());
                line.clear();
            }
            line.push(c);
        }
    }
    if !line.trim_end().is_empty() || lines.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// The pieces between which a line may break, each with the spaces behind it.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    for c in text.chars() {
        if before.is_some_and(|before| may_break(before, c)) {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
        before = Some(c);
    }
    words.push(word);
    words
}

fn may_break(before: char, after: char) -> bool {
    let is_wide = |c: char| c.width() == Some(2);
    let at_space = before == ' ' && after != ' ';
    // A unit and a percent sign stay with their number.
    at_space && after != '%' && after != '…'
        || (is_wide(before) || is_wide(after)) && after != ' ' && !CLOSING.contains(after) && !OPENING.contains(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_keep_their_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a 12 % b", 4), ["a", "12 %", "b"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
    }

    #[test]
    fn chinese_breaks_anywhere_but_not_before_a_full_stop() {
        assert_eq!(wrap("内存带宽。", 8), ["内存带", "宽。"]);
        assert_eq!(wrap("内存THP=madvise带宽", 12), ["内存", "THP=madvise", "带宽"]);
    }
}
