//! Lines of source and of tests of each crate, which `budget.toml` bounds. They may only fall.

use std::collections::{BTreeMap, HashSet};

use super::tree::{File, Tree};

/// The file with the bounds.
pub const BUDGET: &str = "budget.toml";
/// The first lines of the bounds.
const HEAD: &str = "# Lines of Rust of each crate at most; tests are tests/, *_tests.rs and #[cfg(test)].\n\
                    # HOSTMARK_BLESS=1 cargo test -p hostmark --test fast tidy:: lowers them to what is there, and raises none.\n";

/// Lines of source and of tests.
type Lines = [usize; 2];

/// Crates that have more lines than the tree's budget allows, or that it does not have.
pub fn exceeded(tree: &Tree) -> Vec<String> {
    let budget = budget(tree);
    let mut found = Vec::new();
    for (name, lines) in counted(tree) {
        let Some(bounds) = budget.get(&name) else {
            found.push(format!("{BUDGET}: {name} has no line"));
            continue;
        };
        for (kind, (lines, bound)) in ["source", "tests"].into_iter().zip(lines.into_iter().zip(bounds)) {
            if lines > *bound {
                found.push(format!("{name}: {lines} lines of {kind}, and {BUDGET} allows {bound}"));
            }
        }
    }
    found
}

/// The budget as it should be: bounds are lowered to the lines that are there, and none is raised.
pub fn lowered(tree: &Tree) -> String {
    let (old, mut text) = (budget(tree), HEAD.to_owned());
    for (name, mut lines) in counted(tree) {
        if let Some(old) = old.get(&name) {
            lines = [0, 1].map(|kind| lines[kind].min(old[kind]));
        }
        text += &format!("{name} = {{ source = {}, tests = {} }}\n", lines[0], lines[1]);
    }
    text
}

/// The bounds of each crate.
fn budget(tree: &Tree) -> BTreeMap<String, Lines> {
    let text = tree.file(BUDGET).map(|file| file.text.as_str()).unwrap_or_default();
    let number = |part: &str| part.split(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse().ok());
    let line = |line: &str| {
        let (name, rest) = line.split_once(" = ")?;
        let (source, tests) = rest.split_once(',')?;
        Some((name.to_owned(), [number(source)?, number(tests)?]))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

/// The lines of each crate, and of the tests that belong to none.
fn counted(tree: &Tree) -> BTreeMap<String, Lines> {
    let sources: Vec<&File> = tree.sources().collect();
    let of_tests: HashSet<String> = sources.iter().flat_map(|file| modules_of_tests(file)).collect();
    let mut crates: BTreeMap<String, Lines> = BTreeMap::new();
    for file in sources {
        let name = match file.path.split_once('/') {
            Some(("crates", rest)) => rest.split('/').next().unwrap_or(rest),
            Some((folder, _)) => folder,
            None => continue,
        };
        let all = file.text.lines().count();
        let is_test = file.path.split('/').any(|part| part == "tests")
            || file.path.ends_with("_tests.rs")
            || of_tests
                .iter()
                .any(|module| file.path.strip_prefix(&**module).is_some_and(|rest| rest.starts_with(['.', '/'])));
        let tests = if is_test { all } else { parts_of_tests(&file.text).iter().map(|part| part.len()).sum() };
        let lines = crates.entry(name.to_owned()).or_default();
        lines[0] += all - tests;
        lines[1] += tests;
    }
    crates
}

/// Where modules of a file lie that are compiled for tests alone, without extension.
fn modules_of_tests(file: &File) -> Vec<String> {
    let beside = match file.stem() {
        "mod" | "lib" | "main" => file.folder().to_owned(),
        stem => format!("{}/{stem}", file.folder()),
    };
    let module = |part: Vec<&str>| {
        let name = part.last()?.trim().trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';')?;
        Some(format!("{beside}/{name}"))
    };
    parts_of_tests(&file.text).into_iter().filter_map(module).collect()
}

/// The items that are compiled for tests alone, with their attributes, as rustfmt lays them out.
fn parts_of_tests(text: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let item = line.trim_start();
        if !["#[cfg(test)]", "#[cfg(any(test", "#[cfg(all(test"].iter().any(|attribute| item.starts_with(attribute)) {
            continue;
        }
        let indent = line.len() - item.len();
        let mut part = vec![line];
        for line in lines.by_ref() {
            part.push(line);
            let item = line.trim_start();
            let is_of_item = line.len() - item.len() == indent && !item.is_empty() && !item.starts_with("#[");
            if is_of_item && item.ends_with(['}', ';', ',']) {
                break;
            }
        }
        found.push(part);
    }
    found
}

#[test]
fn lines_of_tests_are_told_from_those_of_source() {
    let source = "fn a() {}\n\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n#[cfg(test)]\nmod made;\n\n#[cfg(test)]\nmod c {\n    fn d() {}\n}\nfn e() {}\n";
    let tree = Tree::of(&[
        ("budget.toml", "# of lines\na = { source = 4, tests = 15 }\n"),
        ("crates/a/src/x.rs", source),
        ("crates/a/src/x/made.rs", "one\ntwo\n"),
        ("crates/a/src/x_tests.rs", "one\n"),
        ("crates/a/tests/y.rs", "one\ntwo\nthree\n"),
        ("crates/b/src/lib.rs", "one\n"),
    ]);
    assert_eq!(counted(&tree)["a"], [4, 15]);
    assert_eq!(exceeded(&tree), ["budget.toml: b has no line"]);
    let tree = Tree::of(&[("budget.toml", "a = { source = 3, tests = 9 }\n"), ("crates/a/src/x.rs", source)]);
    assert_eq!(exceeded(&tree), ["a: 4 lines of source, and budget.toml allows 3"]);
}
