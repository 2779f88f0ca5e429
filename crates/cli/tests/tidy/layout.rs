//! Rules on where files lie, what they are called, and what may import what.

use std::collections::BTreeSet;

use super::sources::words;
use super::{File, Tree};

const PROBES: &str = "crates/probes/src";
/// The folders beside the groups: what the groups' probes run, and what they drive.
pub const BESIDE_GROUPS: [&str; 2] = ["kernels", "workloads"];
/// Names that say nothing of what is in a file.
const EMPTY_NAMES: [&str; 6] = ["utils", "util", "common", "helpers", "manager", "imp"];
/// What the compiler is told of by a manifest.
const ROOTS: [&str; 4] = ["lib", "main", "fast", "system"];
/// Crates of ours that each may import; the command line may import all. `say!` makes a type of `model`, also for probes, which else know the
/// engine's prelude alone.
const MAY_IMPORT: [(&str, &[&str]); 12] = [
    ("say", &["texts"]),
    ("texts", &[]),
    ("model", &["say", "texts"]),
    ("stats", &[]),
    ("analysis", &["model", "say", "stats", "texts"]),
    ("import", &["model", "say", "stats", "texts"]),
    ("present", &["analysis", "model", "say", "stats", "texts"]),
    ("launch", &["model", "say"]),
    ("host", &["model", "say", "sys"]),
    ("sys", &["model", "say"]),
    ("engine", &["model", "stats", "host", "sys", "launch", "say", "texts"]),
    ("probes", &["engine", "model", "texts"]),
];

/// The modules that a file declares by `mod name;`.
pub fn modules(code: &str) -> BTreeSet<String> {
    let code = code.replace("r#", "");
    let after = code.split(';').filter_map(|statement| {
        let mut last = statement.split_whitespace().rev();
        let name = last.next()?;
        (last.next() == Some("mod")).then(|| name.to_owned())
    });
    after.collect()
}

fn declares(code: &str, name: &str) -> bool {
    modules(code).contains(name)
}

/// Source files that no other file makes a module: the compiler never sees them.
pub fn orphans(tree: &Tree) -> Vec<String> {
    let is_inside = |file: &&File| file.path.contains("/src/") || file.path.contains("/tests/");
    let inside = tree.sources().filter(|file| file.path.starts_with("crates/")).filter(is_inside);
    let is_root = |file: &File| ROOTS.contains(&file.stem());
    let is_orphan = |file: &&File| !is_root(file) && !has_parent(tree, file);
    inside.filter(is_orphan).map(|file| file.says("no file declares it as a module")).collect()
}

fn has_parent(tree: &Tree, file: &File) -> bool {
    let (folder, name) = match file.stem() {
        "mod" => file.folder().rsplit_once('/').unwrap_or(("", file.folder())),
        stem => (file.folder(), stem),
    };
    let beside = ROOTS.into_iter().chain(["mod"]).map(|stem| format!("{folder}/{stem}.rs"));
    let mut parents = beside.chain([format!("{folder}.rs")]).filter_map(|parent| tree.file(&parent));
    let by_path = |other: &File| {
        let path = file.path.strip_prefix(other.folder()).and_then(|path| path.strip_prefix('/'));
        path.is_some_and(|path| other.text.contains(&format!("path = \"{path}\"")))
    };
    parents.any(|parent| declares(parent.code(), name)) || tree.sources().any(by_path)
}

pub fn empty_names(tree: &Tree) -> Vec<String> {
    let is_empty = |file: &&File| {
        let mut folders = file.folder().split('/');
        EMPTY_NAMES.contains(&file.stem()) || folders.any(|folder| EMPTY_NAMES.contains(&folder))
    };
    let empty = tree.sources().filter(is_empty).map(|file| file.says("is named after nothing that is in it"));
    // What an editor or a shell left behind.
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_left = |file: &&File| !file.path.chars().all(is_of_a_name);
    empty.chain(tree.files().filter(is_left).map(|file| file.says("is no name of a file of ours"))).collect()
}

/// Crates that import what they may not, by their manifests; test-only imports are free.
pub fn imports(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (name, may) in MAY_IMPORT {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(manifest) = tree.file(&path) else {
            found.push(format!("{path}: is not there"));
            continue;
        };
        for import in ours(&manifest.text) {
            if !may.contains(&import.as_str()) {
                found.push(manifest.says(format!("imports {import}, and may import {may:?} of ours")));
            }
        }
    }
    let named = |name: &str| name == "cli" || MAY_IMPORT.iter().any(|(known, _)| *known == name);
    let manifests = tree.with_ending("/Cargo.toml").filter(|file| file.path.split('/').count() == 3);
    let unknown = manifests.filter(|file| !named(file.folder().rsplit('/').next().unwrap_or_default()));
    found.extend(unknown.map(|file| file.says("no rule says what this crate may import")));
    found
}

/// Dependencies whose version a crate's manifest names by itself: all stand in the workspace's, once.
pub fn own_versions(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for manifest in tree.with_ending("/Cargo.toml").filter(|file| file.path.starts_with("crates/")) {
        let mut counts = false;
        for line in manifest.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(section) = line.strip_prefix('[') {
                counts = section.contains("dependencies");
            } else if counts && !line.contains("workspace = true") {
                found.push(manifest.says(format!("{line}: its version belongs into the workspace's manifest")));
            }
        }
    }
    found
}

/// Manifests by which the program would have what is for tests alone: the feature of that name.
pub fn tests_in_the_program(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for manifest in tree.with_ending("Cargo.toml") {
        let mut counts = false;
        for line in manifest.text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                counts = section.contains("dependencies") && !section.contains("dev-dependencies");
            } else if counts && line.contains("\"tests\"") {
                found.push(manifest.says(format!("{line}: what is for tests alone is no part of the program")));
            }
        }
    }
    found
}

/// Our crates among the imports of a manifest that are not for tests.
pub fn ours(manifest: &str) -> Vec<String> {
    let mut counts = false;
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            counts = section.contains("dependencies") && !section.contains("dev-dependencies");
        }
        let name = line.trim_start_matches('[').split("dependencies.").last().unwrap_or_default();
        if let Some(name) = name.strip_prefix("hostmark-").filter(|_| counts) {
            found.push(words(name).next().unwrap_or_default().to_owned());
        }
    }
    found
}

pub fn past_the_prelude(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.sources().filter(|file| file.path.starts_with(&format!("{PROBES}/")) && file.folder() != PROBES) {
        let code = file.packed();
        let reaches = code.split("hostmark_").skip(1).any(|rest| !rest.starts_with("engine::prelude"));
        if reaches {
            found.push(file.says("imports more of ours than the engine's prelude"));
        }
    }
    found
}

finds! {
    a_file_that_nothing_declares_is_found: orphans finds 4 in [
        ("crates/a/src/lib.rs", "//! L.\nmod b;\npub mod c;\n// mod lost;"),
        ("crates/a/src/b.rs", "//! B.\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;"),
        ("crates/a/src/b_tests.rs", "//! T."),
        ("crates/a/src/c/mod.rs", "//! C.\nmod d;"),
        ("crates/a/src/c/d.rs", "//! D.\nmod e;"),
        ("crates/a/src/c/d/e.rs", "//! E."),
        ("crates/a/src/c/lost.rs", "//! X."),
        ("crates/a/src/lost.rs", "//! X."),
        ("crates/a/tests/fast.rs", "//! F.\nmod f;\n#[path = \"support/g.rs\"]\nmod g;"),
        ("crates/a/tests/f.rs", "//! F."),
        ("crates/a/tests/support/g.rs", "//! G."),
        ("crates/a/tests/support/lost.rs", "//! X."),
        ("crates/a/tests/lost.rs", "//! X."),
    ];
    a_probe_that_reaches_past_the_prelude_is_found: past_the_prelude finds 3 in [
        ("crates/probes/src/ipc/pipe.rs", "//! P.\nuse hostmark_engine::prelude::*;"),
        ("crates/probes/src/ipc/fifo.rs", "//! F.\nuse hostmark_engine::\n  clock::Clock;"),
        ("crates/probes/src/ipc/futex.rs", "//! F.\nuse hostmark_model::Run;"),
        ("crates/probes/src/workloads/ring.rs", "//! R.\nuse hostmark_sys::call::Call;"),
    ];
}

#[test]
fn a_name_that_says_nothing_is_found() {
    let tree = Tree::of(
        &["crates/a/src/utils.rs", "crates/a/src/common/pipe.rs", "crates/a/src/pipe.rs", "Left(0)"]
            .map(|path| (path, "")),
    );
    assert_eq!(empty_names(&tree).len(), 3, "{:?}", empty_names(&tree));
}

#[test]
fn an_import_against_the_rules_is_found() {
    let manifest = |name: &str| format!("crates/{name}/Cargo.toml");
    let paths: Vec<String> = MAY_IMPORT.iter().map(|(name, _)| manifest(name)).collect();
    let mut files: Vec<(&str, &str)> =
        paths.iter().map(|path| (path.as_str(), "[dependencies]\nserde = \"1\"")).collect();
    assert_eq!(imports(&Tree::of(&files)), Vec::<String>::new());
    files[0].1 = "[dev-dependencies]\nhostmark-stats.workspace = true";
    assert_eq!(imports(&Tree::of(&files)), Vec::<String>::new());
    files[0].1 = "[dependencies]\nhostmark-stats.workspace = true";
    files[2].1 = "[target.'cfg(unix)'.dependencies]\nhostmark-engine = { path = \"../engine\" }";
    files[3].1 = "[dependencies.hostmark-host]\npath = \"../host\"";
    files.push(("crates/cloud/Cargo.toml", "[dependencies]"));
    let found = imports(&Tree::of(&files));
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn a_version_that_a_crate_names_is_found() {
    let manifest = "[package]\nversion = \"1\"\n[dependencies]\na.workspace = true\nb = { workspace = true, features = [] }\n\
                    [dev-dependencies]\nc = \"0.2\"";
    assert_eq!(own_versions(&Tree::of(&[("crates/a/Cargo.toml", manifest)])).len(), 1);
}

#[test]
fn a_program_with_what_is_for_tests_is_found() {
    let a_dependency = "hostmark-sys = { workspace = true, features = [\"tests\"] }";
    let found = |section: &str| {
        let manifest = format!("[{section}]\n{a_dependency}\n");
        tests_in_the_program(&Tree::of(&[("crates/a/Cargo.toml", &manifest)])).len()
    };
    assert_eq!((found("dependencies"), found("workspace.dependencies"), found("dev-dependencies")), (1, 1, 0));
}
