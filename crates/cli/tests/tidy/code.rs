//! What of a Rust file is code: a rule reads its tokens, in which comments, strings and characters say nothing.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of a file or a piece of one.
pub fn tokens(text: &str) -> Vec<TokenTree> {
    let parsed: Result<TokenStream, _> = text.parse();
    let first = text.lines().next().unwrap_or_default();
    parsed.unwrap_or_else(|error| panic!("this is no Rust ({error}): {first}")).into_iter().collect()
}

/// The code of `text`: its tokens one behind the other, without comments and without what is in strings and characters.
pub fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    write(&tokens(text), &mut code);
    code
}

fn write(tokens: &[TokenTree], code: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                code.push_str(open);
                write(&group.stream().into_iter().collect::<Vec<_>>(), code);
                code.push_str(close);
            }
            TokenTree::Punct(mark) => code.push(mark.as_char()),
            // A lifetime's name follows its mark.
            TokenTree::Ident(word) if code.ends_with('\'') => code.push_str(&word.to_string()),
            TokenTree::Ident(word) => *code += &format!(" {word}"),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_number = text.starts_with(|c: char| c.is_ascii_digit());
                code.push_str(if is_number { &text } else { " " });
            }
        }
    }
}

/// The words of a code: names and keywords.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A code without its white space, so that a rule need not guess how it was laid out.
pub fn packed(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn prose_is_no_code() {
    let text =
        "// one unsafe\nlet a = \"two \\\" unsafe\"; /* three /* unsafe */ unsafe */ let b = r#\"four \" unsafe\"#;";
    assert!(words(&code_of(text)).all(|word| word != "unsafe"), "{}", code_of(text));
}

#[test]
fn code_between_literals_is_code() {
    let text = "fn f<'a>(c: &'a char) -> bool { *c == '\"' || *c == '\\'' || br\"\\\".len() == 1 } unsafe {}";
    let code = code_of(text);
    assert!(words(&code).any(|word| word == "unsafe"), "{code}");
    assert!(code.contains("&'a char") && !code.contains('"'), "{code}");
}
