//! The picture of crates and modules that docs/modules.md shows, made from manifests and code.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::layout::ours;
use super::modules::{Modules, crates};
use super::tree::Tree;

/// The document with the picture.
pub const DOCUMENT: &str = "docs/modules.md";
/// What stands before the picture and behind it.
const BEGIN: &str = "<!-- made by HOSTMARK_BLESS=1 cargo test -p hostmark --test fast tidy:: -->\n";
const END: &str = "<!-- end of what is made -->\n";

/// Who imports whom.
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
