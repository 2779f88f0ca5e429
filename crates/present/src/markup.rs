//! Texts of two languages as markup, in which the page shows one of them.

use hostmark_analysis::Spoken;
use hostmark_analysis::escape::visible;
use hostmark_analysis::typography::typeset;
use hostmark_model::{Lang, Message};

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
    fn nothing_from_a_file_becomes_markup() {
        assert_eq!(
            escaped("<script>\"a\" & 'b'</script>"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;"
        );
        assert_eq!(escaped("\u{202e}evil\u{1b}[31m\0"), "\\u{202e}evil\\u{1b}[31m\\u{0}");
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
