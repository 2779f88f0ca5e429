//! Rules on the two languages: every text is there in both, and each is what it says it is.

use std::collections::HashSet;

use hostmark_analysis::findings::Rule;
use hostmark_engine::probe::{Catalogue, entries};
use hostmark_model::Text;
use proc_macro2::TokenTree;

use super::sources::tokens;
use super::{File, Tree};

/// A text, and where it stands.
pub type Placed = (String, Text);

pub fn of_probes(catalogue: Catalogue) -> Vec<Placed> {
    let mut texts = Vec::new();
    for entry in entries(catalogue) {
        let (id, probe) = (entry.id(), entry.probe);
        let mut add = |field: &str, text: Text| texts.push((format!("{id} {field}"), text));
        add("title", probe.title);
        add("explain.what", probe.explain.what);
        add("explain.why", probe.explain.why);
        add("explain.reading", probe.explain.reading);
        add("explain.typical", probe.explain.typical);
        add("explain.causes", probe.explain.causes);
        probe.differs.into_iter().for_each(|text| add("differs", text));
        add("section", probe.section);
        probe.also.iter().for_each(|quantity| add(quantity.name, quantity.title));
    }
    texts
}

/// Every fixed text of the rules that draw findings.
pub fn of_rules(rules: &[&Rule]) -> Vec<Placed> {
    rules.iter().filter_map(|rule| Some((format!("{} cure", rule.id), rule.cure?))).collect()
}

/// Texts that lack a language, or have one in the place of the other.
pub fn wrong(texts: &[Placed]) -> Vec<String> {
    let mut found = Vec::new();
    for (place, text) in texts {
        let mut say = |what: &str| found.push(format!("{place}: {what}"));
        if text.en.trim().is_empty() || text.zh.trim().is_empty() {
            say("a language is missing");
        } else if text.en == text.zh {
            say("both languages say the same");
        } else {
            if text.en.chars().any(is_chinese) {
                say("the English text has Chinese in it");
            }
            if !text.zh.chars().any(is_chinese) {
                say("the Chinese text has none");
            }
        }
    }
    found
}

/// Lines where Chinese is punctuated with the half-width marks of English, which belong between English words and code.
pub fn half_width(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.files().filter(|file| [".rs", ".md", ".po"].iter().any(|ending| file.path.ends_with(ending))) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let chars: Vec<char> = line.chars().collect();
            let touches = chars.windows(2).any(|pair| match pair {
                [one, other] => {
                    is_half_mark(*one) && is_ideograph(*other) || is_ideograph(*one) && is_half_mark(*other)
                }
                _ => false,
            });
            if touches {
                found.push(file.says(format!("line {number}: a half-width mark beside Chinese")));
            }
        }
    }
    found
}

/// Text files beside the code that lack Chinese: pages of one half, sections without text, and rows with an empty last cell.
pub fn untranslated(tree: &Tree) -> Vec<String> {
    // The Chinese of the command line's help is a file of its own, which the tests of the help hold against this one.
    let is_half = |file: &File| file.path.ends_with("src/help/en.md");
    let is_text = |file: &&File| file.path.contains("/src/") && !is_half(file) || file.path.ends_with("/terms.md");
    let mut found = Vec::new();
    for file in tree.with_ending(".md").filter(|file| file.path.starts_with("crates/")).filter(is_text) {
        if !file.text.contains(is_ideograph) {
            found.push(file.says("line 1: the Chinese half is missing"));
            continue;
        }
        let lines: Vec<&str> = file.text.lines().map(str::trim_end).collect();
        for (number, line) in (1..).zip(&lines) {
            let is_empty_cell = line.strip_suffix('|').is_some_and(|row| row.trim_end().ends_with('|'));
            let is_followed =
                lines[number..].iter().find(|line| !line.is_empty()).is_some_and(|next| !next.starts_with('#'));
            if is_empty_cell || line.starts_with("## ") && !is_followed {
                found.push(file.says(format!("line {number}: no Chinese: {line}")));
            }
        }
    }
    found
}

/// The macros whose first argument is the template of a sentence: `say!`, and each that hands what it is given to one of them.
fn sentence_macros(tree: &Tree) -> Vec<String> {
    let defined: Vec<(&str, &str)> = tree
        .sources()
        .filter(|file| file.path.contains("/src/") && file.text.contains("macro_rules!"))
        .flat_map(|file| file.packed().split("macro_rules!").skip(1).filter_map(|rest| rest.split_once('{')))
        .collect();
    let mut all = vec!["say".to_owned()];
    let mut at = 0;
    while let Some(known) = all.get(at) {
        let call = format!("{known}!($($");
        let wrap = defined.iter().filter(|(_, body)| body.contains(&call)).map(|(name, _)| (*name).to_owned());
        let new: Vec<String> = wrap.filter(|name| !all.contains(name)).collect();
        all.extend(new);
        at += 1;
    }
    all
}

/// Where the Chinese of these templates is.
const CATALOGUE: &str = "crates/analysis/zh.po";

/// Templates in the code that have no entry among `known`, and entries that no code has.
pub fn without_counterpart(tree: &Tree, known: &[(String, String)]) -> Vec<String> {
    let macros = sentence_macros(tree);
    let calls: Vec<String> = macros.iter().map(|name| format!("{name}!(")).collect();
    let is_code = |file: &&File| {
        let is_called = || calls.iter().any(|call| file.text.contains(call));
        file.path.contains("/src/") && !file.stem().ends_with("tests") && is_called()
    };
    let (mut found, mut said) = (Vec::new(), HashSet::new());
    for file in tree.sources().filter(is_code) {
        let mut own = Vec::new();
        let code = file.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        templates(&tokens(code), &macros, &mut own);
        let is_missing = |template: &&String| known.iter().all(|(en, _)| en != *template);
        let missing = own.iter().filter(is_missing);
        found.extend(missing.map(|template| {
            let line = line_of(&file.text, template);
            file.says(format!("line {line}: no Chinese in zh.po: {template}"))
        }));
        said.extend(own);
    }
    let unused = known.iter().filter(|(en, _)| !said.contains(en));
    found.extend(unused.map(|(en, _)| format!("{CATALOGUE}: nothing says: {en}")));
    found
}

/// The line of a template by its first words, since a line of code may end within it.
fn line_of(code: &str, template: &str) -> usize {
    let begin: String = template.split(['\n', '"']).next().unwrap_or_default().chars().take(20).collect();
    code.lines().position(|line| line.contains(&begin)).map_or(1, |at| at + 1)
}

fn templates(tokens: &[TokenTree], macros: &[String], found: &mut Vec<String>) {
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let inside: Vec<TokenTree> = group.stream().into_iter().collect();
        let before = |back: usize| at.checked_sub(back).map(|at| tokens[at].to_string()).unwrap_or_default();
        if let Some(TokenTree::Literal(first)) = inside.first()
            && before(1) == "!"
            && macros.contains(&before(2))
        {
            found.extend(text_of(&first.to_string()));
        }
        templates(&inside, macros, found);
    }
}

/// The text of a literal, where it is one.
fn text_of(literal: &str) -> Option<String> {
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

/// Calls of the program that make an error: behind each stands its sentence.
const MAKES_AN_ERROR: [&str; 9] = [
    "bail!(",
    "anyhow!(",
    "ensure!(",
    ".context(",
    ".with_context(||",
    "complain(",
    "lost(",
    "unwritten(&error,",
    "EndsWith(exit,",
];

/// Errors of the program that are told in English alone: a sentence that stands in the call itself, not in `said!`.
pub fn in_one_language(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.files().filter(|file| file.path.starts_with("crates/cli/src/")) {
        let text = file.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for call in MAKES_AN_ERROR {
            for (at, _) in text.match_indices(call) {
                let behind = text[at + call.len()..].trim_start();
                let behind = behind.trim_start_matches('{').trim_start();
                let behind =
                    ["&", "format!("].iter().fold(behind, |rest, lead| rest.strip_prefix(lead).unwrap_or(rest));
                let literal = behind.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
                // Three letters in a row are a word; `{error}` is a value.
                let mut outside = 0;
                let is_word = literal.unwrap_or_default().split(['{', '}']).any(|part| {
                    outside += 1;
                    let letters = part.as_bytes().windows(3).any(|three| three.iter().all(u8::is_ascii_lowercase));
                    outside % 2 == 1 && letters
                });
                if is_word {
                    let line = text[..at].lines().count().max(1);
                    found.push(file.says(format!("line {line}: {call} has its sentence in English alone")));
                }
            }
        }
    }
    found
}

fn is_half_mark(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '(' | ')')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Ideographs, and the punctuation and wide letters that come with them.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

#[test]
fn a_missing_or_misplaced_language_is_found() {
    let placed = |en: &'static str, zh: &'static str| ("a.b title".to_owned(), Text { en, zh });
    let texts = [
        placed("Pipe", "管道"),
        placed("Pipe", ""),
        placed(" ", "管道"),
        placed("Pipe", "Pipe"),
        placed("Pipe", "pipe"),
        placed("管道", "管道 "),
        placed("≈ 3 µs …", "约 3 µs"),
    ];
    let found = wrong(&texts);
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn a_half_width_mark_beside_chinese_is_found() {
    let lines = [
        ("管道\u{2c}带宽", true),
        ("管道\u{3b}hostmark", true),
        ("{pid}\u{3a}带宽", true),
        ("带宽\u{28}pid 3", true),
        ("4 KiB\u{29}的管道", true),
        ("管道，带宽（4 KiB）；见 wait(2)，与 a, b: c 相同", false),
        ("size=4K,1M 与 (a)", false),
    ];
    for (line, is_wrong) in lines {
        let tree = Tree::of(&[("crates/a.rs", line), ("README.zh-CN.md", line), ("a.txt", line)]);
        let found = half_width(&tree);
        assert_eq!(found.len(), if is_wrong { 2 } else { 0 }, "{line}: {found:?}");
    }
}

#[test]
fn a_template_without_chinese_is_found_and_chinese_without_a_template() {
    let code = "//! A.\nmacro_rules! said { ($($s:tt)*) => { told(say!($($s)*)) }; }\n\
                macro_rules! refused { ($($s:tt)*) => { no(a::said!($($s)*)) }; }\n\
                fn f() { said!(\"{a} is \\n \\\n  here\", a = refused!(\"gone\")); other!(\"no sentence\") }\n\
                #[cfg(test)]\nmod tests { fn f() { say!(\"a test\") } }";
    let known = [("{a} is \n here", "x"), ("never", "y")].map(|(en, zh)| (en.to_owned(), zh.to_owned()));
    let found = without_counterpart(&Tree::of(&[("crates/a/src/a.rs", code)]), &known);
    assert_eq!(
        found,
        ["crates/a/src/a.rs: line 5: no Chinese in zh.po: gone", "crates/analysis/zh.po: nothing says: never"]
    );
}

#[test]
fn a_text_without_chinese_is_found() {
    let tree = Tree::of(&[
        ("crates/a/terms.md", "| English | 中文 |\n|---|---|\n| one | 一 |\n| two | |\n"),
        ("crates/a/src/half.md", "# Pipe\n\n## What\n\nA byte.\n"),
        ("crates/a/src/page.md", "# Pipe\n\n## What\n\nA byte.\n\n# 管道\n\n## 做什么\n"),
        ("crates/a/src/whole.md", "# Pipe\n\n## What\n\nA byte.\n\n# 管道\n\n## 做什么\n\n一个字节。\n"),
        ("crates/README.md", "| English | |\n"),
    ]);
    let expected = [
        "crates/a/terms.md: line 4: no Chinese: | two | |",
        "crates/a/src/half.md: line 1: the Chinese half is missing",
        "crates/a/src/page.md: line 9: no Chinese: ## 做什么",
    ];
    assert_eq!(untranslated(&tree), expected);
}

#[test]
fn an_error_in_english_alone_is_found() {
    let lines = [
        ("bail!(\"there is no {name}; give another\")", true),
        ("bail!(\n    \"there is none\"\n)", true),
        ("lost(format!(\"{path} cannot be set\"))", true),
        ("x.with_context(|| format!(\"{path} has no name\"))", true),
        ("output::complain(&format!(\"it is lost\"))", true),
        ("bail!(said!(\"there is none\"))", false),
        ("anyhow!(\"{} {}\", path.display(), of_run(&error))", false),
        ("anyhow!(\"{sentence}\")", false),
        ("refuse!(\"there is none\")", false),
    ];
    for (line, is_wrong) in lines {
        let tree = Tree::of(&[("crates/cli/src/a.rs", line)]);
        let found = in_one_language(&tree);
        assert_eq!(found.len(), usize::from(is_wrong), "{line}: {found:?}");
    }
}

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
