//! A finding in one line.

use hostmark_model::{Lang, Text};
use unicode_width::UnicodeWidthStr;

use crate::typography::typeset;

/// The width of a finding's short text at most, in columns of a terminal, of which a wide East Asian character takes two.
pub const MOST_COLUMNS: usize = 90;
/// The width of a host's name in it at most: a longer one leaves no room for figures, and a part of one is no name.
const NAME_COLUMNS: usize = 20;

/// A short text, as each language sets it.
pub(super) fn short(text: Text<String>) -> Text<String> {
    Text { zh: typeset(&text.zh, Lang::Zh).into_owned(), ..text }
}

/// A peer by its name where that leaves room, with the blanks beside it in Chinese.
pub(super) fn peer(name: &str) -> Text<String> {
    match name.width() <= NAME_COLUMNS {
        true => Text { en: name.to_owned(), zh: format!(" {name} ") },
        false => term!("the peer").to_owned_text(),
    }
}

/// The first thing to do of a cure: its first sentence. A point within a name, a number or brackets ends none.
pub fn first_thing_to_do(cure: &str) -> &str {
    let mut depth = 0_i32;
    for (at, c) in cure.char_indices() {
        let rest = &cure[at + c.len_utf8()..];
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth -= 1,
            '。' if depth <= 0 => return &cure[..at + c.len_utf8()],
            '.' if depth <= 0 && rest.trim_start() != rest => return &cure[..at + 1],
            _ => {}
        }
    }
    cure
}

#[cfg(test)]
mod tests {
    use hostmark_model::Lang;

    use super::*;
    use crate::findings::RULES;

    /// A line of 80 columns, less what stands before it.
    const LINE: usize = 75;

    #[test]
    fn a_sentence_ends_at_a_point_before_a_space() {
        assert_eq!(
            first_thing_to_do("It takes 1.5 ns (p99. more) in net.ipv4. The rest."),
            "It takes 1.5 ns (p99. more) in net.ipv4."
        );
        assert_eq!(first_thing_to_do("需要 1.5 ns（见 a。b）。其余。"), "需要 1.5 ns（见 a。b）。");
        assert_eq!(first_thing_to_do("no end"), "no end");
    }

    #[test]
    fn every_rule_begins_with_one_thing_to_do_that_fits_into_a_line() {
        let mut known = std::collections::HashSet::new();
        for rule in RULES {
            // What the layers of a kernel cost explains others.
            let Some(cure) = rule.cure else {
                assert_eq!(rule.id, "kernel.layers");
                continue;
            };
            for lang in [Lang::En, Lang::Zh] {
                let first = first_thing_to_do(cure.get(lang));
                assert!(known.insert(first.to_owned()), "{}: another finding has this advice: {first}", rule.id);
                assert!(first.width() <= LINE, "{}: {} columns: {first}", rule.id, first.width());
                assert!(first.ends_with(['.', '。']) && !first.contains(';'), "{}: {first}", rule.id);
            }
        }
    }
}
