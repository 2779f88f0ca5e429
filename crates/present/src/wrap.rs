//! Texts as a medium takes them: broken into lines by what they look like, or as markup in both languages.

use hostmark_analysis::Spoken;
use hostmark_analysis::escape::visible;
use hostmark_analysis::typography::typeset;
use hostmark_model::{Lang, Message};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters that may not begin a line, as they close what stands before them.
const CLOSING: &str = "，。、；：？！）》」』】”’…,.;:?!)]%";
/// Characters that may not end a line.
const OPENING: &str = "（《「『【“‘([";

/// Marks behind which a word may be parted that is wider than a line: the axes of a case id, the parts of a path.
const JOINTS: &str = ",/@_";

/// Units, and words that belong to the number before them.
const UNITS: &[&str] = &[
    "ns", "µs", "ms", "s", "min", "h", "%", "B", "KiB", "MiB", "GiB", "TiB", "B/s", "kB/s", "KB/s", "MB/s", "GB/s",
    "TB/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s", "Hz", "kHz", "MHz", "GHz", "/s", "k/s", "M/s", "G/s", "T/s",
    "cycles", "秒", "分钟", "个", "轮", "倍", "次",
];

/// `text` in lines of at most `width` columns; a word that is wider is parted.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    // Counted as it grows: a line may go on with any number of spaces.
    let mut columns = 0;
    for word in words(text) {
        if columns + word.trim_end().width() > width && !line.is_empty() {
            lines.push(line.trim_end().to_owned());
            line.clear();
            columns = 0;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if columns + wide > width && c != ' ' {
                let joint =
                    line.rfind(|c| JOINTS.contains(c)).map(|at| at + 1).filter(|at| line[..*at].width() > width / 3);
                let rest = line.split_off(joint.unwrap_or(line.len()));
                lines.push(line.trim_end().to_owned());
                line = rest;
                columns = line.width();
            }
            line.push(c);
            columns += wide;
        }
    }
    if !line.trim_end().is_empty() || lines.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// `text` behind `lead`, in as many lines as it needs, those after the first indented by as much; each ends with a line break.
pub fn hanging(lead: &str, text: &str, width: usize) -> String {
    let indent = lead.width();
    let mut out = String::new();
    for (index, part) in wrap(text, width.saturating_sub(indent)).into_iter().enumerate() {
        let lead = if index == 0 { lead.to_owned() } else { " ".repeat(indent) };
        out += &format!("{}\n", (lead + &part).trim_end());
    }
    out
}

/// Lines that were laid out elsewhere: one that is wider than `width` goes on below, further in.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let fitted = text.lines().map(|line| {
        if line.width() <= width {
            return format!("{line}\n");
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let further = " ".repeat((indent + FURTHER).min(width / 2));
        let mut parts = wrap(line.trim_start_matches(' '), width - further.len()).into_iter();
        let first = parts.next().unwrap_or_default();
        let rest: String = parts.map(|part| format!("{further}{}\n", part.trim_start())).collect();
        format!("{}{first}\n{rest}", " ".repeat(indent.min(width / 2)))
    });
    fitted.collect()
}

/// Columns by which a line is further in that goes on.
const FURTHER: usize = 4;

/// Splits columns into parts that fit the width, each behind `lead` columns that all have.
pub(crate) fn banks(widths: &[usize], lead: usize, gap: usize, width: usize) -> Vec<std::ops::Range<usize>> {
    let (mut banks, mut from) = (Vec::new(), 0);
    while from < widths.len() {
        let (mut to, mut used) = (from, lead);
        while to < widths.len() && (to == from || used + gap + widths[to] <= width) {
            used += gap + widths[to];
            to += 1;
        }
        banks.push(from..to);
        from = to;
    }
    banks
}

/// `text` where it fits in `room` columns, else its beginning with `…` behind it.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > room {
            break;
        }
        kept.push(c);
    }
    if room > 0 {
        kept.push('…');
    }
    kept
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
    together(words)
}

/// Numbers with their units, and both ends of a range.
fn together(words: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        match all.last_mut() {
            Some(before) if belong_together(before.trim_end(), word.trim_end()) => before.push_str(&word),
            _ => all.push(word),
        }
    }
    all
}

fn belong_together(before: &str, after: &str) -> bool {
    let last = before.rsplit(' ').next().unwrap_or(before);
    let is_number = last.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(|c: char| c.is_ascii_digit())
        && last.ends_with(|c: char| c.is_ascii_digit());
    let unit = after.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
    let is_short = before.width() < LONGEST_TOGETHER;
    // A range of numbers alone: a sentence may go on behind an ellipsis.
    let is_range = before.len() > '…'.len_utf8()
        && before.ends_with(" …")
        && after.trim_start_matches(['−', '+', '-']).starts_with(|c: char| c.is_ascii_digit());
    is_short
        && (is_number
            && (UNITS.contains(&unit) || UNITS.iter().any(|u| !u.is_ascii() && unit.starts_with(u) && *u != "µs"))
            || is_range)
}

/// Largest width of text that is kept in one line, so that the line can hold it.
const LONGEST_TOGETHER: usize = 24;

fn may_break(before: char, after: char) -> bool {
    let is_wide = |c: char| c.width() == Some(2);
    let at_space = before == ' ' && after != ' ';
    // A unit and a percent sign stay with their number.
    at_space && after != '%' && after != '…'
        || (is_wide(before) || is_wide(after)) && after != ' ' && !CLOSING.contains(after) && !OPENING.contains(before)
}

/// `text` as it may stand in an element or between an attribute's quotes: nothing in it is markup, and what would steer
/// its neighbours is written out.
pub(crate) fn escaped(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// Markup that shows `text` in the page's language: as it is where both say the same, else an element for each, of which
/// the style sheet hides one.
pub(crate) fn markup(text: &Message) -> String {
    let (en, zh) = (text.to_string(), text.get(Lang::Zh));
    match en == zh {
        true => coded(&en),
        false => format!(
            "<span lang=\"en\">{}</span><span lang=\"zh-CN\">{}</span>",
            coded(&en),
            coded(&typeset(&zh, Lang::Zh))
        ),
    }
}

/// A text in which what stands between two backticks is what a person types.
fn coded(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let part = |(at, part): (usize, &&str)| match at % 2 {
        1 => format!("<code>{}</code>", escaped(part)),
        _ => escaped(part),
    };
    parts.iter().enumerate().map(part).collect()
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
        // In a time that grows with the text alone.
        assert_eq!(wrap(&format!("a{}b", " ".repeat(1 << 18)), 9), ["a", "b"]);
    }

    #[test]
    fn a_number_keeps_its_unit_and_a_range_its_ends() {
        assert_eq!(wrap("it takes 12 ns here", 11), ["it takes", "12 ns here"]);
        assert_eq!(wrap("it takes 12 ns, here", 11), ["it takes", "12 ns, here"]);
        assert_eq!(wrap("between 1.24 … 3.76", 14), ["between", "1.24 … 3.76"]);
        assert_eq!(wrap("剩余 19 秒", 7), ["剩余", "19 秒"]);
        assert_eq!(wrap("of 12 CPUs", 6), ["of 12", "CPUs"]);
    }

    #[test]
    fn a_word_wider_than_a_line_is_parted_behind_a_comma() {
        assert_eq!(wrap("a.b@size=64M,threads=12", 16), ["a.b@size=64M,", "threads=12"]);
        assert_eq!(hanging("    ", "a.b@size=64M,threads=12   1 s", 20), "    a.b@size=64M,\n    threads=12   1 s\n");
    }

    #[test]
    fn chinese_breaks_anywhere_but_not_before_a_full_stop() {
        assert_eq!(wrap("内存带宽。", 8), ["内存带", "宽。"]);
        assert_eq!(wrap("内存THP=madvise带宽", 12), ["内存", "THP=madvise", "带宽"]);
    }

    #[test]
    fn what_a_person_types_is_code_where_it_ends() {
        assert_eq!(markup(&"try `a < b` now".into()), "try <code>a &lt; b</code> now");
        assert_eq!(markup(&"a ` alone".into()), "a ` alone");
    }

    #[test]
    fn a_text_that_is_the_same_in_both_languages_stands_there_once() {
        assert_eq!(markup(&"3 < 4".into()), "3 &lt; 4");
        let both = hostmark_model::Text { en: "size".to_owned(), zh: "容量".to_owned() };
        assert_eq!(markup(&both.into()), "<span lang=\"en\">size</span><span lang=\"zh-CN\">容量</span>");
    }
}
