//! Breaks text into lines: at blanks, and between Chinese characters, which have none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// No line begins with one of these.
const CLOSING: &str = "，。；：、！？）」』”’》";
/// No line ends with one of these.
const OPENING: &str = "（「『“‘《";

/// The lines of a text, none wider than `width` unless a single word is.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for (atom, has_blank) in atoms(text) {
        let blank = usize::from(has_blank && !line.is_empty());
        if !line.is_empty() && line.width() + blank + atom.width() > width {
            lines.push(std::mem::take(&mut line));
        } else if blank == 1 {
            line.push(' ');
        }
        line.push_str(&atom);
    }
    lines.push(line);
    lines
}

/// What no line break goes through, and whether a blank stands before it.
fn atoms(text: &str) -> Vec<(String, bool)> {
    let mut atoms: Vec<(String, bool)> = Vec::new();
    // Whether the next character belongs to the last atom.
    let mut is_open = false;
    let mut has_blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            (is_open, has_blank) = (false, true);
            continue;
        }
        let is_wide = c.width() == Some(2) || OPENING.contains(c) || CLOSING.contains(c);
        let joins = !has_blank && (is_open && (!is_wide || ends_open(&atoms)) || CLOSING.contains(c));
        match atoms.last_mut().filter(|_| joins) {
            Some((atom, _)) => atom.push(c),
            None => atoms.push((c.to_string(), has_blank)),
        }
        is_open = !is_wide || OPENING.contains(c);
        has_blank = false;
    }
    atoms
}

fn ends_open(atoms: &[(String, bool)]) -> bool {
    atoms.last().is_some_and(|(atom, _)| atom.ends_with(|c| OPENING.contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_breaks_at_blanks() {
        assert_eq!(lines("to be or not to be", 9), ["to be or", "not to be"]);
        assert_eq!(lines("incomprehensible word", 5), ["incomprehensible", "word"]);
        assert_eq!(lines("", 5), [""]);
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_at_punctuation() {
        assert_eq!(lines("测量本机的性能", 8), ["测量本机", "的性能"]);
        assert_eq!(lines("测量本机，网络", 8), ["测量本", "机，网络"]);
        assert_eq!(lines("测量（本机）", 6), ["测量", "（本", "机）"]);
        assert_eq!(lines("用 --help 查看", 9), ["用 --help", "查看"]);
    }
}
