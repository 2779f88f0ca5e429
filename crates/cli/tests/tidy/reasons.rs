//! A rule on reasons: each one that a crate can give for a case without a value has a Chinese template.

use std::collections::HashSet;

use aho_corasick::AhoCorasick;
use proc_macro2::{Delimiter, TokenTree};

use super::code::tokens;
use super::tree::{File, Tree};

/// Where reasons are made.
const FOLDERS: [&str; 5] =
    ["crates/engine/src/", "crates/probes/src/", "crates/sys/src/", "crates/host/src/placement", "crates/launch/src/"];
/// Files of the program that make reasons of a run.
const OF_THE_PROGRAM: [&str; 1] = ["crates/cli/src/command/far/peers.rs"];
/// Files that are of no run: made-up workers and probes, errors that `refusals.rs` tells, and what only its own log says.
const NO_REASONS: [&str; 7] = [
    "crates/engine/src/mock.rs",
    "crates/engine/src/fixture.rs",
    "crates/engine/src/record/journal.rs",
    "crates/engine/src/plan.rs",
    "crates/engine/src/plan/refused.rs",
    "crates/engine/src/estimate/reestimate.rs",
    "crates/launch/src/serve/refusals.rs",
];
/// Files and folders of which every sentence is a reason or a part of one.
const ALL_REASONS: [&str; 16] = [
    "crates/engine/src/case/bind.rs",
    "crates/engine/src/case/directories.rs",
    "crates/engine/src/estimate/derived.rs",
    "crates/engine/src/estimate/gate/",
    "crates/engine/src/worker/job.rs",
    "crates/engine/src/resource_limits.rs",
    "crates/engine/src/plan/placed.rs",
    "crates/engine/src/plan/priority.rs",
    "crates/engine/src/probe/need.rs",
    "crates/engine/src/worker/session.rs",
    "crates/engine/src/round_error.rs",
    "crates/engine/src/estimate/vote.rs",
    "crates/host/src/placement.rs",
    "crates/launch/src/local.rs",
    "crates/probes/src/memory/hierarchy/levels.rs",
    "crates/probes/src/printed.rs",
];
/// What makes a reason of the text behind it.
const MAKERS: [&str; 15] = [
    "skipped", "failed", "lacking", "unable", "Skipped", "Failed", "Err", "Asked", "Missing", "garbled", "asked",
    "flag", "is_wrong", "because", "fault",
];
/// The values of these, where they are bound.
const BOUND: [&str; 5] = ["reason", "lack", "lies", "told", "detail"];
/// What a reason says of itself in its `Display`.
const ERRORS_OF_THEIR_OWN: [&str; 3] = ["Refused", "Malformed", "Holder"];
/// What stands in every hole.
const VALUE: &str = "7";

/// Reasons that nobody has translated: `is_known` says of a reason with a value in each hole whether a template is all of it.
pub fn in_english_alone(tree: &Tree, is_known: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let starts = |file: &File, places: &[&str]| places.iter().any(|place| file.path.starts_with(place));
    let is_held = |file: &&File| {
        (starts(file, &FOLDERS) || starts(file, &OF_THE_PROGRAM))
            && !starts(file, &NO_REASONS)
            && !file.stem().ends_with("tests")
    };
    let mut found = Vec::new();
    for file in tree.sources().filter(is_held) {
        let mut reasons = Vec::new();
        walk(&tokens(&file.text), starts(file, &ALL_REASONS), &mut reasons);
        reasons.sort();
        reasons.dedup();
        // A kernel says what it cannot do.
        let is_translated = |reason: &str| is_known(reason, VALUE) || is_known(&format!("cannot {reason}"), VALUE);
        let missing = reasons.iter().map(|reason| with_values(reason)).filter(|reason| is_sentence(reason));
        found.extend(
            missing.filter(|reason| !is_translated(reason)).map(|reason| file.says(format!("no Chinese: {reason}"))),
        );
    }
    found
}

/// Where the Chinese of reasons stands.
const TABLE: &str = "crates/analysis/src/reasons/";
/// Words of the standard library.
const OF_THE_LIBRARY: &str = "crates/analysis/src/reasons/table/library.rs";
/// So much of a template tells whether anything says it.
const BEGINNING: usize = 24;

/// Templates of the table that no place says any more.
pub fn said_nowhere(tree: &Tree) -> Vec<String> {
    let is_said = |file: &&File| !file.path.starts_with(TABLE) && !file.stem().ends_with("tests");
    let said: String = tree.sources().filter(is_said).map(|file| in_one_line(&file.text)).collect();
    let tables = tree.sources().filter(|file| file.path.starts_with(TABLE) && file.path != OF_THE_LIBRARY);
    let mut all = Vec::new();
    for file in tables.filter(|file| file.path.contains("/table/")) {
        all.extend(templates(&tokens(&file.text)).into_iter().map(|template| (file, template)));
    }
    let words = AhoCorasick::new(all.iter().map(|(_, template)| begins(template))).expect("few short words");
    let said: HashSet<usize> = words.find_overlapping_iter(&said).map(|found| found.pattern().as_usize()).collect();
    let dead = all.iter().enumerate().filter(|(at, _)| !said.contains(at));
    dead.map(|(_, (file, template))| file.says(format!("nothing says: {template}"))).collect()
}

/// The beginning of the longest part between the holes of a template.
fn begins(template: &str) -> String {
    let longest = template.split("{}").max_by_key(|part| part.len()).unwrap_or_default();
    // A kernel says what it cannot do.
    let begins: String = longest.trim().trim_start_matches("cannot ").chars().take(BEGINNING).collect();
    begins.trim_end_matches([':', ' ']).to_owned()
}

/// A source whose texts are not broken and whose comments are gone; reading it as tokens takes ten times as long.
fn in_one_line(source: &str) -> String {
    let lines = source.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    lines.map(|line| line.strip_suffix('\\').unwrap_or(line).replace("\\\"", "\"")).collect()
}

/// The first of each two texts in brackets.
fn templates(tokens: &[TokenTree]) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        let TokenTree::Group(group) = token else { continue };
        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
        match inside.as_slice() {
            [TokenTree::Literal(en), TokenTree::Punct(_), TokenTree::Literal(_), ..] => {
                found.extend(text_of(&en.to_string()));
            }
            _ => found.extend(templates(&inside)),
        }
    }
    found
}

/// Where the codes of reasons are listed.
const CODES: &str = "crates/model/src/reason.rs";

/// Places that make a reason without saying of which kind, and kinds that no place makes or no document tells of.
pub fn without_a_code(tree: &Tree) -> Vec<String> {
    let sources = || tree.sources().filter(|file| file.path.contains("/src/") && !file.stem().ends_with("tests"));
    let is_literal = |file: &&File| {
        let parts: Vec<&str> = file.packed().split("Reason{").collect();
        parts.windows(2).any(|pair| {
            let is_type = ["->", "for", "struct"].iter().any(|word| pair[0].ends_with(word));
            !is_type && pair[1].split('}').next().is_some_and(|body| body.contains("code:"))
        })
    };
    let literals = sources().filter(|file| file.path != CODES).filter(is_literal);
    let mut found: Vec<String> =
        literals.map(|file| file.says("a reason without its code; ReasonCode::….because(…) has one")).collect();
    let document = tree.file("docs/schema.md").map(|file| file.text.as_str()).unwrap_or_default();
    let made: Vec<&str> =
        sources().map(|file| file.packed().split("#[cfg(test)]").next().unwrap_or_default()).collect();
    for (variant, word) in codes(tree) {
        let (site, word) = (format!("ReasonCode::{variant}"), format!("`{word}`"));
        let is_made = |code: &&str| code.split(&site).skip(1).any(|rest| !rest.starts_with(char::is_alphanumeric));
        if !made.iter().any(is_made) {
            found.push(format!("{CODES}: nothing makes {variant}"));
        }
        if !document.contains(&word) {
            found.push(format!("docs/schema.md: nothing tells of {word}"));
        }
    }
    found
}

/// Every code: as the program and as files name it.
fn codes(tree: &Tree) -> Vec<(String, String)> {
    let all = tree.file(CODES).map(File::packed).unwrap_or_default();
    let list = all.split("enumReasonCode{").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or_default();
    let word = |variant: &str| {
        let parts = variant.chars().map(|c| if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.into() });
        parts.collect::<String>().trim_start_matches('_').to_owned()
    };
    list.split(',')
        .filter_map(|one| one.rsplit(']').next().filter(|name| !name.is_empty()))
        .map(|one| (one.to_owned(), word(one)))
        .collect()
}

/// Collects the texts of reasons; in a file of which `all` are reasons, every text.
fn walk(tokens: &[TokenTree], all: bool, found: &mut Vec<String>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1);
        match (token, next) {
            // What a whole file or folder says of itself.
            (TokenTree::Punct(mark), Some(TokenTree::Punct(other)))
                if mark.as_char() == '#' && other.as_char() == '!' =>
            {
                at += 3;
                continue;
            }
            (TokenTree::Punct(mark), Some(TokenTree::Group(attribute))) if mark.as_char() == '#' => {
                let text = attribute.stream().to_string().replace(' ', "");
                match text.as_str() {
                    "cfg(test)" => at = past_item(tokens, at + 2),
                    // `error("…")` of an enum; all other attributes speak to the compiler.
                    text if text.starts_with("error(") => {
                        texts(&attribute.stream().into_iter().collect::<Vec<_>>(), found);
                        at += 2;
                    }
                    _ => at += 2,
                }
                continue;
            }
            (TokenTree::Ident(_), Some(TokenTree::Group(group))) if makes_a_reason(tokens, at) => {
                texts(&group.stream().into_iter().collect::<Vec<_>>(), found);
            }
            (TokenTree::Ident(name), _) if BOUND.contains(&name.to_string().as_str()) && is_bound(next) => {
                let ends = |token: &&TokenTree| !matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';');
                let value: Vec<TokenTree> = tokens[at + 2..].iter().take_while(ends).cloned().collect();
                texts(&value, found);
            }
            (TokenTree::Ident(name), Some(TokenTree::Ident(of)))
                if *name == "for" && ERRORS_OF_THEIR_OWN.contains(&of.to_string().as_str()) =>
            {
                if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                    texts(&body.stream().into_iter().collect::<Vec<_>>(), found);
                }
            }
            (TokenTree::Literal(literal), _) if all => found.extend(text_of(&literal.to_string())),
            _ => {}
        }
        if let TokenTree::Group(group) = token
            && !is_said(tokens, at)
        {
            walk(&group.stream().into_iter().collect::<Vec<_>>(), all, found);
        }
        at += 1;
    }
}

/// Whether a group is what `say!` is given: its Chinese is in the catalogue.
fn is_said(tokens: &[TokenTree], at: usize) -> bool {
    at >= 2 && tokens[at - 1].to_string() == "!" && tokens[at - 2].to_string() == "say"
}

fn is_bound(next: Option<&TokenTree>) -> bool {
    matches!(next, Some(TokenTree::Punct(mark)) if ['=', ':'].contains(&mark.as_char()))
}

/// Whether a word before brackets is one that makes a reason of what is in them.
fn makes_a_reason(tokens: &[TokenTree], at: usize) -> bool {
    let name = tokens[at].to_string();
    let of_error = || at >= 3 && tokens[at - 3].to_string() == "Error" && ["other", "new"].contains(&name.as_str());
    let is_defined = at >= 1 && tokens[at - 1].to_string() == "fn";
    !is_defined && (MAKERS.contains(&name.as_str()) || of_error())
}

/// The place behind the item that begins at `at`.
fn past_item(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        at += 1;
        let is_end = match token {
            TokenTree::Punct(mark) => mark.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        if is_end {
            break;
        }
    }
    at
}

/// Every text among these tokens.
fn texts(tokens: &[TokenTree], found: &mut Vec<String>) {
    let is_attribute = |at: usize| at > 0 && matches!(&tokens[at - 1], TokenTree::Punct(mark) if mark.as_char() == '#');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(_) if is_attribute(at) || is_said(tokens, at) => {}
            TokenTree::Group(group) => texts(&group.stream().into_iter().collect::<Vec<_>>(), found),
            TokenTree::Literal(literal) => found.extend(text_of(&literal.to_string())),
            _ => {}
        }
    }
}

/// What a literal says, where it is a text.
pub(super) fn text_of(literal: &str) -> Option<String> {
    let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
    let (mut text, mut rest) = (String::new(), inside.chars().peekable());
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some('\n')) => while rest.next_if(|c| c.is_whitespace()).is_some() {},
            ('\\', Some(&c)) => {
                text.push(if c == 'n' { '\n' } else { c });
                rest.next();
            }
            (c, _) => text.push(c),
        }
    }
    Some(text)
}

/// A text with a value in each hole.
fn with_values(text: &str) -> String {
    let text = text.replace("{{", "").replace("}}", "");
    let part = |(at, part): (usize, &str)| match (at, part.split_once('}')) {
        (1.., Some((_, behind))) => format!("{VALUE}{behind}"),
        _ => part.to_owned(),
    };
    text.split('{').enumerate().map(part).collect()
}

/// Whether it has two words at least: one word alone is a name.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || c == '\'');
    text.trim().split([' ', ':', ';', ',']).filter(is_word).count() > 1
}

#[test]
fn a_reason_without_a_code_is_found_and_a_code_without_a_reason() {
    let list = "//! A.\npub enum ReasonCode { NoRoot, NoTime, NoNews }";
    let code = "//! A.\nfn f() -> Reason { ReasonCode::NoRoot.because(1) }\nfn g() { ReasonCode::NoTime.because(1) }\n\
                #[cfg(test)]\nmod tests { fn f() { ReasonCode::NoNews.because(1) } }";
    let bare = "//! A.\nfn f(text: String) { Reason { text, code: None, arguments: empty() } }";
    let tree = Tree::of(&[
        (CODES, list),
        ("crates/a/src/a.rs", code),
        ("crates/a/src/b.rs", bare),
        ("docs/schema.md", "`no_root`, `no_news`"),
    ]);
    let found = without_a_code(&tree);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("crates/a/src/b.rs: ") && found[1].ends_with("of `no_time`"), "{found:?}");
    assert!(found[2].ends_with("nothing makes NoNews"), "{found:?}");
}

#[test]
fn a_template_that_nothing_says_is_found() {
    let table = "//! A.\nconst PAIRS: &[Pair] = &[(\"needs {} of it\", \"x\"), (\"gone for good: {}\", \"y\")];";
    let code = "//! A.\nfn f() { skipped(format!(\"needs {n} of it\")) }";
    let tree = Tree::of(&[("crates/analysis/src/reasons/table/a.rs", table), ("crates/a/src/a.rs", code)]);
    let found = said_nowhere(&tree);
    assert!(found.len() == 1 && found[0].ends_with("nothing says: gone for good: {}"), "{found:?}");
}

#[test]
fn a_reason_without_chinese_is_found() {
    let code = "//! A.\n\
                fn f() { RoundError::skipped(\"needs a thing\") }\n\
                fn g() { Err(RoundError::lacking(format_args!(\"no way to {x} it\"), &e)) }\n\
                fn h() { io::Error::other(format!(\"{a} of {} \\\n  were there\", b)) }\n\
                fn i() { let reason = \"it is late\"; log(\"nobody is told\"); RoundError::failed(name) }\n\
                #[derive(Debug)] #[error(\"{0} is wrong here\")] struct E;\n\
                fn known() { RoundError::failed(\"this one is known\"); RoundError::failed(say!(\"it is in the catalogue\")) }\n\
                #[cfg(test)]\nmod tests { fn f() { RoundError::skipped(\"of no run\") } }";
    let tree = Tree::of(&[("crates/probes/src/a.rs", code), ("crates/analysis/src/a.rs", code)]);
    let found = in_english_alone(&tree, |reason, _| reason == "this one is known");
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found.iter().any(|line| line.ends_with("no Chinese: 7 is wrong here")), "{found:?}");
    assert!(found.iter().any(|line| line.ends_with("no Chinese: 7 of 7 were there")), "{found:?}");
}
