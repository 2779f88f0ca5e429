//! Rules on what people read: links that lead somewhere, and no word about the machine it was written on.

use hostmark_analysis::findings::{Demonstration, Doubt, Rule};

use super::tree::{File, Tree};

/// Where one machine has something that others have not.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/op", "t/")];

/// Links of documents to files that are not there.
pub fn dead_links(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.with_ending(".md") {
        for link in links(&file.text) {
            let path = link.split('#').next().unwrap_or_default();
            let is_elsewhere = link.contains("://") || link.starts_with("mailto:");
            if !path.is_empty() && !is_elsewhere && !resolve(file.folder(), path).is_some_and(|path| tree.has(&path)) {
                found.push(file.says(format!("leads to {link}, which is not there")));
            }
        }
    }
    found
}

/// The targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        // Every second part between backquotes is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let prose = if is_code { "" } else { &prose };
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        found.extend(targets.map(str::to_owned));
    }
    found
}

/// Where a table of findings and the rules that draw them part: what either has alone, or the table has twice.
pub fn findings_apart(document: &str, rules: &[&Rule]) -> Vec<String> {
    let rows = document.lines().skip_while(|line| !line.starts_with("| finding |")).skip(2);
    let listed: Vec<&str> = rows.map_while(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    let count = |id: &str| listed.iter().filter(|other| **other == id).count();
    let missing =
        rules.iter().filter(|rule| count(rule.id) == 0).map(|rule| format!("{}: the table lacks it", rule.id));
    let strange = listed.iter().filter(|id| rules.iter().all(|rule| rule.id != **id));
    let strange = strange.map(|id| format!("{id}: no rule draws it"));
    let twice = listed.iter().filter(|id| count(id) > 1).map(|id| format!("{id}: the table has it twice"));
    missing.chain(strange).chain(twice).collect()
}

/// `path` as seen from `folder`, without `.` and `..`; none when it leads out of the repository.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Text files that name a path of the machine they were written on.
pub fn machine_paths(tree: &Tree) -> Vec<String> {
    let named = |file: &File| {
        let path = MACHINE_PATHS.into_iter().find(|path| file.text.contains(path))?;
        Some(file.says(format!("names {path}, which other machines have not")))
    };
    tree.files().filter_map(named).collect()
}

#[test]
fn a_dead_link_is_found() {
    let tree = Tree::of(&[
        ("README.md", "[a](docs/a.md#part) [b](docs/b.md) [c](docs) [d](https://d.example/x) [e](#part) `[f](g.md)`"),
        ("docs/a.md", "[up](../README.md) [out](../../a.md) [there](./a.md)\n```\n[code](no.md)\n```\n[late](no.md)"),
    ]);
    let found = dead_links(&tree);
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn a_machine_path_is_found() {
    let bad = format!("cd {}main", MACHINE_PATHS[0]);
    let tree = Tree::of(&[("a.sh", &bad), ("docs/network/b.md", "see crates/host/src/root.rs and /tmp")]);
    assert_eq!(machine_paths(&tree).len(), 1, "{:?}", machine_paths(&tree));
}

#[test]
fn a_table_of_findings_that_is_not_that_of_the_rules_is_found() {
    const fn rule(id: &'static str) -> Rule {
        let (shown, doubt) = (Demonstration::Host, Doubt { spoiled_by: &[], rivals: &[] });
        Rule { id, shown, probes: &[], cure: None, doubt, draw: |_| Vec::new() }
    }
    let (one, two) = (&rule("run.one"), &rule("run.two"));
    let table = |rows: &str| {
        format!("| other |\n|---|\n| `run.x` |\n\n| finding | condition |\n|---|---|\n{rows}\n\n| `run.y` |")
    };
    assert_eq!(findings_apart(&table("| `run.two` | a |\n| `run.one` | b |"), &[one, two]), Vec::<String>::new());
    assert_eq!(findings_apart(&table("| `run.one` | a |"), &[one, two]), ["run.two: the table lacks it"]);
    assert_eq!(findings_apart(&table("| `run.one` | a |\n| `run.old` | b |"), &[one]), ["run.old: no rule draws it"]);
    assert_eq!(findings_apart(&table("| `run.one` | a |\n| `run.one` | b |"), &[one]).len(), 2);
    assert_eq!(findings_apart("", &[one]).len(), 1);
}
