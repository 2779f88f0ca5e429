//! A sentence for people: its English template, by which other languages are looked up, and what fills it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::counted;

/// A sentence, made by `hostmark_say::say!`. It displays in English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    template: &'static str,
    /// Name, value and, of a count, the English noun.
    arguments: Vec<(&'static str, String, Option<&'static str>)>,
}

impl Message {
    /// A sentence of a template with placeholders in braces, and what stands in their places. Written by `say!`.
    pub fn new(template: &'static str, arguments: Vec<(&'static str, String, Option<&'static str>)>) -> Message {
        Message { template, arguments }
    }

    /// The English template.
    pub fn template(&self) -> &'static str {
        self.template
    }

    /// The sentence of this template, which another language has in the place of its own. A count stands there without a noun.
    pub fn filled(&self, template: &str) -> String {
        fill(template, |name| self.argument(name).map(|(text, _)| Cow::from(text)))
    }

    /// The value of an argument, and of a count the noun.
    fn argument(&self, name: &str) -> Option<(&str, Option<&'static str>)> {
        self.arguments.iter().find(|(known, ..)| *known == name).map(|(_, text, noun)| (&**text, *noun))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&fill(self.template, |name| {
            self.argument(name).map(|(text, noun)| noun.map_or(Cow::from(text), |noun| Cow::from(counted(text, noun))))
        }))
    }
}

/// A template with values in the place of `{name}` and `{name:format}`; `{{` and `}}` are braces.
fn fill<'a>(template: &str, value: impl Fn(&str) -> Option<Cow<'a, str>>) -> String {
    let (mut out, mut rest) = (String::with_capacity(template.len()), template);
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (mark, behind) = rest[at..].split_at(1);
        rest = match behind.split_once('}') {
            _ if behind.starts_with(mark) => {
                out.push_str(mark);
                &behind[1..]
            }
            Some((inside, after)) if mark == "{" => {
                let name = inside.split(':').next().unwrap_or(inside);
                match value(name) {
                    Some(value) => out.push_str(&value),
                    None => {
                        let _ = write!(out, "{{{inside}}}");
                    }
                }
                after
            }
            _ => {
                out.push_str(mark);
                behind
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_each_language() {
        let arguments = vec![("turns", "1".to_owned(), Some("turn")), ("file", "a{b}".to_owned(), None)];
        let message = Message::new("{turns:turn} in {file:?}, {{as is}}", arguments);
        assert_eq!(message.to_string(), "1 turn in a{b}, {as is}");
        assert_eq!(message.filled("{file} 中 {turns} 次"), "a{b} 中 1 次");
    }
}
