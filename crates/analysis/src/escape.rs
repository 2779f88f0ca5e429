//! Makes strings from a file safe to show: writes out what would steer a terminal, reorder a line or pass for markup.

/// `text` with every control character, and every character that changes direction or joins others, written as
/// `\u{…}`; a line break is written `\n`. The result stands on one line and its width is what it looks like.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c if steers(c) => out.extend(c.escape_unicode()),
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

/// `text` as a field of a table that a spreadsheet may open: what it would take for a formula begins with an apostrophe.
pub fn csv(text: &str) -> String {
    let shown = visible(text);
    // The wide forms are signs too where people type Chinese or Japanese.
    let is_formula = shown.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    // A tab or a carriage return before a formula is dropped by a spreadsheet; here both are written out.
    if is_formula || text.starts_with(['\t', '\r', '\n']) { format!("'{shown}") } else { shown }
}

/// A JSON text in which nothing steers a terminal: such characters, which stand in strings alone, become `\uXXXX`.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Outside strings a line break is layout; inside them it is escaped already.
        if c == '\n' || !steers(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}"));
        }
    }
    out
}

/// Control characters, and characters without a picture of their own that change how their neighbours look.
pub fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
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
    fn no_field_is_a_formula() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "＝1"] {
            assert!(csv(formula).starts_with('\''), "{formula}");
        }
        assert_eq!(csv("\u{1b}[31ma\u{7}\u{202e}"), "\\u{1b}[31ma\\u{7}\\u{202e}");
        for plain in ["", "size=32768;threads=1", "a-b", "no \"huge\" pages"] {
            assert_eq!(csv(plain), plain);
        }
    }

    #[test]
    fn json_says_the_same_without_steering() {
        let value = serde_json::json!({ "a\u{9b}": ["\u{202e}\u{7f}\u{e0041}", "内存 \n"], "b": 1.5 });
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.contains(|c: char| c != '\n' && steers(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn what_people_write_passes_as_it_is() {
        assert_eq!(visible("内存带宽 ±0.3 % µs … ≈"), "内存带宽 ±0.3 % µs … ≈");
    }
}
