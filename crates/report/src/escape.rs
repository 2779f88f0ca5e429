//! Makes strings from a file safe to show: what would steer a terminal, reorder a line, or be taken for markup is written
//! out instead.

/// `text` with every control character, and every character that changes direction or joins others, written as
/// `\u{…}`; a line break is written `\n`. The result stands on one line and its width is what it looks like.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c if c.is_control() || steers(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// `text` as one line of markdown that shows it as it is, in a paragraph or in a cell of a table.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// `text` as the content of an XML element or of an attribute.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // No XML 1.0 document may hold these.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Characters without a picture of their own that change how their neighbours look.
fn steers(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_passes() {
        assert_eq!(visible("a\u{1b}[31mred\n"), "a\\u{1b}[31mred\\n");
        assert_eq!(visible("\u{202e}evil\u{7}\u{9b}"), "\\u{202e}evil\\u{7}\\u{9b}");
    }

    #[test]
    fn no_name_becomes_markup() {
        let hostile = "<script>alert(1)</script> [x](javascript:y) | `code` *b* &amp; \u{1b}[0m\n# head \"q\"";
        let shown = markdown(hostile);
        assert!(!shown.contains(['<', '>', '\u{1b}', '\n']), "{shown}");
        for (at, _) in shown.match_indices(['|', '[', ']', '`', '*', '#']) {
            assert_eq!(&shown[at - 1..at], "\\", "{shown}");
        }
        assert_eq!(xml("a<b> & \"c\" 'd' \u{ffff}\0"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos; \u{fffd}\\u{0}");
    }

    #[test]
    fn what_people_write_passes_as_it_is() {
        assert_eq!(visible("内存带宽 ±0.3 % µs … ≈"), "内存带宽 ±0.3 % µs … ≈");
    }
}
