//! Rules on what people read: links that lead somewhere, and no word about the machine it was written on.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use hostmark_analysis::findings::{self, Demonstration, Rule};
use hostmark_model::{
    BusyTask, CalibratedClock, Disturbed, FarEnd, HostFacts, HostFinding, HostReport, HostWeight, Job, Nonce, PROTOCOL,
    Params, PathBytes, Scratch, ServiceJob, Text,
};
use serde_json::{Value, json};

use super::layout::ours;
use super::modules::{Modules, crates};
use super::sources::words;
use super::{File, Tree};

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
        let (shown, doubt) = (Demonstration::Host, findings::Doubt { spoiled_by: &[], rivals: &[] });
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

/// The document with the picture.
pub const DOCUMENT: &str = "docs/modules.md";
/// What stands before the picture and behind it.
const BEGIN: &str = "<!-- made by HOSTMARK_BLESS=1 cargo test -p hostmark --test fast tidy:: -->\n";
const END: &str = "<!-- end of what is made -->\n";

type Arrows<'a> = BTreeSet<(&'a str, &'a str)>;

/// The document as manifests and code have it now; an error where there is no place for the picture.
pub fn drawn(tree: &Tree) -> Result<String, String> {
    let text = tree.file(DOCUMENT).map(|file| file.text.as_str()).unwrap_or_default();
    let around = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = around.ok_or(format!("{DOCUMENT} has no place for the picture: {BEGIN}{END}"))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", picture(tree)))
}

/// A graph of the crates, and a list of each crate's modules.
fn picture(tree: &Tree) -> String {
    let names: Vec<&str> = crates(tree).into_iter().collect();
    let manifest = |name: &str| tree.file(&format!("crates/{name}/Cargo.toml")).map(|file| ours(&file.text));
    let imports: Vec<(&str, String)> =
        names.iter().flat_map(|name| manifest(name).unwrap_or_default().into_iter().map(|to| (*name, to))).collect();
    let arrows: Arrows = imports.iter().map(|(from, to)| (*from, to.as_str())).collect();
    let mut text = String::from("\n```mermaid\ngraph TD\n");
    for (from, to) in arrows.iter().filter(|arrow| !follows(arrow, &arrows)) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {from} --> {to}");
    }
    text.push_str("```\n");
    for name in layers(&names, &arrows).into_iter().rev().flatten() {
        let modules = Modules::of(tree, name);
        let imports = modules.imports(&[]);
        let arrows: Arrows = imports.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let _ = writeln!(text, "\n`{name}`\n\n```text");
        let inside = modules.inside(&[]);
        let width = inside.iter().map(|name| name.len()).max().unwrap_or_default();
        for (layer, names) in layers(&inside, &arrows).iter().enumerate().rev() {
            if layer == 0 {
                let _ = writeln!(text, "1  {}", names.join(" "));
                continue;
            }
            for name in names {
                let to: Vec<&str> = arrows.iter().filter(|(from, _)| from == name).map(|(_, to)| *to).collect();
                let _ = writeln!(text, "{}  {name:<width$} → {}", layer + 1, to.join(" "));
            }
        }
        text.push_str("```\n");
    }
    text + "\n"
}

/// Whether one who follows other arrows comes from the arrow's begin to its end as well.
fn follows(arrow: &(&str, &str), arrows: &Arrows) -> bool {
    let mut reached: BTreeSet<&str> =
        arrows.iter().filter(|(from, to)| *from == arrow.0 && *to != arrow.1).map(|(_, to)| *to).collect();
    loop {
        let next: Vec<&str> = arrows
            .iter()
            .filter(|(from, to)| reached.contains(from) && !reached.contains(to))
            .map(|(_, to)| *to)
            .collect();
        if next.is_empty() {
            return reached.contains(arrow.1);
        }
        reached.extend(next);
    }
}

/// Names in layers, the lowest first: each imports of those below it alone. What stands in a circle is one layer.
fn layers<'a>(names: &[&'a str], arrows: &Arrows) -> Vec<Vec<&'a str>> {
    let mut layers: Vec<Vec<&str>> = Vec::new();
    let mut left: BTreeSet<&str> = names.iter().copied().collect();
    while !left.is_empty() {
        let is_free = |name: &&str| !arrows.iter().any(|(from, to)| from == name && left.contains(to));
        let free: Vec<&str> = left.iter().copied().filter(is_free).collect();
        let layer = if free.is_empty() { left.iter().copied().collect() } else { free };
        left.retain(|name| !layer.contains(name));
        layers.push(layer);
    }
    layers
}

#[test]
fn the_picture_shows_who_imports_whom() {
    let tree = Tree::of(&[
        ("docs/modules.md", &format!("# A\n{BEGIN}old\n{END}rest\n")),
        ("crates/a/Cargo.toml", "[dependencies]\nhostmark-b.workspace = true\nhostmark-c.workspace = true"),
        ("crates/a/src/main.rs", "//! A."),
        (
            "crates/b/Cargo.toml",
            "[dependencies]\nhostmark-c.workspace = true\n[dev-dependencies]\nhostmark-a.workspace = true",
        ),
        ("crates/b/src/lib.rs", "//! B.\nmod top;\nmod low;\nmod other;"),
        ("crates/b/src/top.rs", "//! T.\nuse crate::{low, other};"),
        ("crates/b/src/low.rs", "//! L."),
        ("crates/b/src/other.rs", "//! O.\nuse crate::low::Thing;"),
        ("crates/c/src/lib.rs", "//! C."),
    ]);
    let drawn = drawn(&tree).unwrap();
    let graph = "\n```mermaid\ngraph TD\n    a --> b\n    b --> c\n```\n";
    let list = "3  top   → low other\n2  other → low\n1  low\n";
    let lists = format!("\n`a`\n\n```text\n```\n\n`b`\n\n```text\n{list}```\n\n`c`\n\n```text\n```\n\n");
    assert_eq!(drawn, format!("# A\n{BEGIN}{graph}{lists}{END}rest\n"));
}

/// Fields that programs read and `document` does not name between backquotes: those of run files by their schema, and of jobs and of a
/// host's report by examples.
pub fn undescribed(document: &str, schema: &Value, examples: &[Value]) -> Vec<String> {
    let described: HashSet<&str> = document.split('`').skip(1).step_by(2).flat_map(words).collect();
    let mut names = BTreeSet::new();
    properties(schema, &mut names);
    examples.iter().for_each(|example| fields(example, &mut names));
    let missing = names.into_iter().filter(|name| !described.contains(name));
    missing.map(|name| format!("docs/schema.md does not name `{name}`")).collect()
}

/// The names of the fields that a schema describes, of all types in it.
fn properties<'a>(schema: &'a Value, names: &mut BTreeSet<&'a str>) {
    if let Some(own) = schema.get("properties").and_then(Value::as_object) {
        names.extend(own.keys().map(String::as_str));
    }
    parts(schema).for_each(|part| properties(part, names));
}

/// The names of the fields of an example.
fn fields<'a>(example: &'a Value, names: &mut BTreeSet<&'a str>) {
    names.extend(example.as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str)));
    parts(example).for_each(|part| fields(part, names));
}

fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    let (list, map) = (value.as_array(), value.as_object());
    list.into_iter().flatten().chain(map.into_iter().flat_map(|map| map.values()))
}

/// A job of either kind, and a host's report, with one of everything that no run file has.
pub fn examples() -> [Value; 3] {
    let far = FarEnd { address: ([127, 0, 0, 1], 1).into(), nonce: Nonce::of([0; 16]) };
    let job = Job::bare("a.b", vec![0]).with(|job| {
        (job.look_at_cache, job.look_at_memory) = (Some(0), true);
        job.environment.clock = CalibratedClock::Counter { hz: 1e9, synchronized: true };
        job.environment.scratch = Scratch::Made { path: PathBytes(Vec::new()), device: 0, inode: 0 };
        job.cases[0].far = vec![far.clone()];
    });
    let service = ServiceJob {
        protocol: PROTOCOL,
        parent: 1,
        service: "echo".into(),
        params: Params::default(),
        at: Vec::new(),
        nonce: far.nonce,
        cpus: vec![0],
        memory_bytes: 1,
        copies: 1,
        setup_ns: 0,
        scratch: job.environment.scratch.clone(),
        folder: String::new(),
    };
    let text = Text::default;
    let finding = HostFinding { id: String::new(), weight: HostWeight::Disturbs, effect: text(), cure: text() };
    let disturbed = Disturbed { busy: Some(BusyTask::default()), unseen_cpus: Some(0.1), ..Disturbed::default() };
    let schema = HostReport::SCHEMA.into();
    let report = HostReport { schema, host: HostFacts::default(), disturbed, findings: vec![finding] };
    [json!(job), json!(service), json!(report)]
}

#[test]
fn a_field_that_is_not_described_is_found() {
    let schema = json!({ "properties": { "id": {}, "cases": { "items": { "properties": { "late": {} } } } } });
    let found = undescribed("`id`, `cases[]` late `", &schema, &[json!({ "job": [{ "id": 1 }] })]);
    assert_eq!(found, ["docs/schema.md does not name `job`", "docs/schema.md does not name `late`"]);
}
