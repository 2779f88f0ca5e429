//! The macro that makes a sentence of its template and arguments.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use hostmark_texts::placeholders;
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Message about a faulty call, and its place.
type Fault = (String, Span);

/// A `Message` of `hostmark-model`: `say!("{file} is empty")`, `say!("{file} has {size:.1} MB", size = bytes / 1e6)`. A placeholder is a
/// variable, or one of the arguments behind the template; its format is one of `std::fmt`, or an English noun that is counted:
/// `{turns:turn}` is "1 turn" or "3 turns" in English, and the number in other languages. Without a format, a value that has a language (a
/// `Message`, a `Reason`, a `Text`, an error of the system) is in that of the whole sentence.
#[proc_macro]
pub fn say(input: TokenStream) -> TokenStream {
    expanded(input).unwrap_or_else(|(what, span)| {
        let message = TokenTree::from(Literal::string(&what)).into();
        let mut call: TokenStream = tokens("::std::compile_error!");
        call.extend([group(Delimiter::Parenthesis, [message])]);
        call.into_iter()
            .map(|mut token| {
                token.set_span(span);
                token
            })
            .collect()
    })
}

fn expanded(input: TokenStream) -> Result<TokenStream, Fault> {
    let mut input = input.into_iter();
    let first = input.next().ok_or_else(|| ("a template is missing".to_owned(), Span::call_site()))?;
    let span = first.span();
    let holes =
        unquoted(&first.to_string()).and_then(|template| placeholders(&template)).map_err(|what| (what, span))?;
    let mut given = arguments(input)?;
    let list = holes.iter().map(|(name, format)| {
        let value = given.iter().position(|(given, ..)| given == name).map(|at| given.swap_remove(at).1);
        argument(name, format, value.unwrap_or_else(|| TokenTree::from(Ident::new(name, span)).into()))
    });
    let list = group(Delimiter::Bracket, list.collect::<Vec<_>>());
    if let Some((name, _, span)) = given.first() {
        return Err((format!("the template has no {{{name}}}"), *span));
    }
    let mut call = tokens("::hostmark_model::Message::new");
    call.extend([group(Delimiter::Parenthesis, [first.into(), tokens(", ::std::vec!"), list.into()])]);
    Ok(call)
}

/// `("name", value),`
fn argument(name: &str, format: &str, value: TokenStream) -> TokenStream {
    // `Message` asks the same of a template.
    let is_noun = format.len() > 1 && format.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ');
    let in_brackets = |parts: Vec<TokenStream>| TokenStream::from(group(Delimiter::Parenthesis, parts));
    let value = if format.is_empty() {
        let by_reference = in_brackets(vec![tokens("&"), in_brackets(vec![value])]);
        [tokens("::hostmark_model::Given::new"), by_reference, tokens(".argument()")]
    } else {
        let format = if is_noun { "{}".to_owned() } else { format!("{{:{format}}}") };
        let written = in_brackets(vec![string(&format), tokens(","), value]);
        let text = in_brackets(vec![tokens("::std::format!"), written]);
        [tokens("::hostmark_model::MessageArgument::Text"), text, TokenStream::new()]
    };
    let parts = [string(name), tokens(",")].into_iter().chain(value);
    [group(Delimiter::Parenthesis, parts), Punct::new(',', Spacing::Alone).into()].into_iter().collect()
}

/// Arguments behind the template: `, name = value` each.
fn arguments(mut input: impl Iterator<Item = TokenTree>) -> Result<Vec<(String, TokenStream, Span)>, Fault> {
    let is_mark = |token: &TokenTree, mark: char| matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark);
    let mut found = Vec::new();
    let Some(comma) = input.next() else { return Ok(found) };
    if !is_mark(&comma, ',') {
        return Err(("a comma is missing".to_owned(), comma.span()));
    }
    while let Some(name) = input.next() {
        let span = name.span();
        if !input.next().is_some_and(|token| is_mark(&token, '=')) {
            return Err(("an argument is written as name = value".to_owned(), span));
        }
        let value: TokenStream = input.by_ref().take_while(|token| !is_mark(token, ',')).collect();
        found.push((name.to_string(), value, span));
    }
    Ok(found)
}

/// The text of a string's literal.
fn unquoted(literal: &str) -> Result<String, String> {
    let inside = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside.ok_or_else(|| format!("a template is a string, and not {literal}"))?;
    // Escapes say nothing of placeholders, and one kind has braces.
    let mut parts = inside.split("\\u{");
    let first = parts.next().unwrap_or_default().to_owned();
    Ok(parts.fold(first, |text, part| text + part.split_once('}').map_or("", |(_, rest)| rest)))
}

fn string(text: &str) -> TokenStream {
    TokenTree::from(Literal::string(text)).into()
}

fn group(delimiter: Delimiter, parts: impl IntoIterator<Item = TokenStream>) -> TokenTree {
    Group::new(delimiter, parts.into_iter().collect()).into()
}

fn tokens(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}
