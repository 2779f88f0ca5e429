//! A rule on reasons: each has a code, and each code is made and documented.

use super::tree::{File, Tree};

/// Where the codes of reasons are listed.
const CODES: &str = "crates/model/src/reason.rs";

/// Places that make a reason without saying of which kind, and kinds that no place makes or no document tells of.
pub fn without_a_code(tree: &Tree) -> Vec<String> {
    let sources = || tree.sources().filter(|file| file.path.contains("/src/") && !file.stem().ends_with("tests"));
    let is_literal = |file: &&File| {
        let parts: Vec<&str> = file.packed().split("Reason{").collect();
        parts.windows(2).any(|pair| {
            let is_type = ["->", "for", "struct", "let"].iter().any(|word| pair[0].ends_with(word));
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
