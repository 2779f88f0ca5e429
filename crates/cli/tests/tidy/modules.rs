//! The modules of a crate and which of them import which, from the code. Tests are left out: they import what they test.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use proc_macro2::{Delimiter, TokenTree};

use super::sources::tokens;
use super::{File, Tree};

/// A module's names from the root of its crate on; the root has none.
type Place = Vec<String>;
/// An import, and what shows it: a file and the path that it names.
type Imports = BTreeMap<(String, String), String>;

/// Circles at most that are named of one folder: each that is mended shows the next.
const MOST_CIRCLES: usize = 5;

pub fn crates(tree: &Tree) -> BTreeSet<&str> {
    tree.sources()
        .filter_map(|file| file.path.strip_prefix("crates/")?.split_once("/src/"))
        .map(|(name, _)| name)
        .collect()
}

/// Modules that import each other in a circle. A module is taken with all its parts, so that a part may name what it is a
/// part of: at each level only neighbours are held against each other.
pub fn circles(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for name in crates(tree) {
        let modules = Modules::of(tree, name);
        for place in modules.all.keys().filter(|place| modules.inside(place).len() > 1) {
            let imports = modules.imports(place);
            let folder = [&["crates".to_owned(), name.to_owned(), "src".to_owned()], &place[..]].concat().join("/");
            let mut seen = BTreeSet::new();
            for (from, to) in imports.keys() {
                let Some(mut circle) = way(&imports, to, from) else { continue };
                let first = (0..circle.len()).min_by_key(|&index| circle[index]).unwrap_or_default();
                circle.rotate_left(first);
                if seen.insert(circle.iter().copied().collect::<BTreeSet<_>>()) && seen.len() <= MOST_CIRCLES {
                    found.push(format!("{folder}: {}", shown(&imports, &circle)));
                }
            }
        }
    }
    found
}

fn way<'a>(imports: &'a Imports, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::from([from]);
    while let Some(way) = ways.pop_front() {
        let last = way[way.len() - 1];
        if last == to {
            return Some(way);
        }
        for next in imports.keys().filter(|(from, _)| from == last).map(|(_, to)| to.as_str()) {
            if seen.insert(next) {
                ways.push_back([&way[..], &[next]].concat());
            }
        }
    }
    None
}

fn shown(imports: &Imports, circle: &[&str]) -> String {
    let round: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
    let steps = round.windows(2).map(|step| imports[&(step[0].to_owned(), step[1].to_owned())].as_str());
    format!("{} ({})", round.join(" → "), steps.collect::<Vec<_>>().join("; "))
}

pub struct Modules {
    all: BTreeMap<Place, Module>,
    /// Which module names something of which, and what shows it.
    arrows: Vec<(Place, Place, String)>,
}

#[derive(Default)]
struct Module {
    /// What `use` brings into its scope: a name and the path behind it.
    names: Vec<(String, Place)>,
    /// The paths that its code names, as they stand there, each with its file.
    named: Vec<(Place, String)>,
}

impl Modules {
    pub fn of(tree: &Tree, name: &str) -> Modules {
        let mut modules = Modules { all: BTreeMap::new(), arrows: Vec::new() };
        let roots = ["lib.rs", "main.rs"].map(|root| format!("crates/{name}/src/{root}"));
        for root in roots.iter().filter_map(|root| tree.file(root)) {
            modules.read(tree, root, &tokens(&root.text), &[]);
        }
        let mut arrows = Vec::new();
        for (own, module) in &modules.all {
            for (path, file) in &module.named {
                let target = modules.target(own, path, 0).filter(|target| target != own);
                arrows.extend(target.map(|target| (own.clone(), target, format!("{file} names {}", path.join("::")))));
            }
        }
        modules.arrows = arrows;
        modules
    }

    /// The modules right inside of one.
    pub fn inside(&self, place: &[String]) -> Vec<&str> {
        let is_inside = |other: &&Place| other.len() == place.len() + 1 && other.starts_with(place);
        self.all.keys().filter(is_inside).map(|other| other[place.len()].as_str()).collect()
    }

    /// Which modules right inside of one import which.
    pub fn imports(&self, place: &[String]) -> Imports {
        let depth = place.len();
        let is_inside = |other: &Place| other.len() > depth && other.starts_with(place);
        let mut imports = Imports::new();
        for (from, to, shown) in self.arrows.iter().filter(|(from, to, _)| is_inside(from) && is_inside(to)) {
            if from[depth] != to[depth] {
                imports.entry((from[depth].clone(), to[depth].clone())).or_insert(shown.clone());
            }
        }
        imports
    }

    /// The module that holds what a path means; none where it leads out of the crate.
    fn target(&self, place: &[String], path: &[String], hops: usize) -> Option<Place> {
        let mut rest = path.iter().peekable();
        let mut at: Place = match path.first()?.as_str() {
            "crate" => rest.next().map(|_| Vec::new())?,
            _ => place.to_vec(),
        };
        while let Some(step) = rest.next_if(|step| ["self", "super"].contains(&step.as_str())) {
            let _ = step == "super" && at.pop().is_some();
        }
        let is_relative = at == place && path.first().is_some_and(|first| first != "self");
        let mut steps = 0;
        for step in rest.clone() {
            let inner = [&at[..], std::slice::from_ref(step)].concat();
            if self.all.contains_key(&inner) {
                at = inner;
            } else if let Some((_, behind)) = self.all.get(&at)?.names.iter().find(|(name, _)| name == step) {
                // A name that is handed on; one that leads back to itself is another crate's.
                let path = [behind, &rest.skip(steps + 1).cloned().collect::<Vec<_>>()[..]].concat();
                return (hops < 8).then(|| self.target(&at, &path, hops + 1))?;
            } else {
                break;
            }
            steps += 1;
        }
        (steps > 0 || !is_relative).then_some(at)
    }

    fn read(&mut self, tree: &Tree, file: &File, code: &[TokenTree], place: &[String]) {
        let mut module = self.all.remove(place).unwrap_or_default();
        let mut at = 0;
        while at < code.len() {
            let item = &code[at..at + length(&code[at..])];
            at += item.len();
            let (attributes, item) = item.split_at(attributes(item));
            if is_of_tests(attributes) {
                continue;
            }
            match item {
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(inside)] if word == "mod" => {
                    let inside: Vec<TokenTree> = inside.stream().into_iter().collect();
                    self.read(tree, file, &inside, &[place, &[name.to_string()]].concat());
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), ..] if word == "mod" => {
                    let name = name.to_string().replace("r#", "");
                    for part in files(tree, file, &name, attributes) {
                        self.read(tree, part, &tokens(&part.text), &[place, std::slice::from_ref(&name)].concat());
                    }
                }
                [TokenTree::Ident(word), names @ ..] if word == "use" => {
                    let names = imported(names);
                    module.named.extend(names.iter().map(|(_, path)| (path.clone(), file.path.clone())));
                    module.names.extend(names);
                }
                _ => {
                    let mut found = Vec::new();
                    paths(item, &mut found);
                    module.named.extend(found.into_iter().map(|path| (path, file.path.clone())));
                }
            }
        }
        self.all.insert(place.to_vec(), module);
    }
}

/// How many tokens the first item has, its attributes included.
fn length(code: &[TokenTree]) -> usize {
    let begin = attributes(code);
    let is_import = matches!(code.get(begin), Some(TokenTree::Ident(word)) if word == "use");
    let is_end = |token: &TokenTree| match token {
        TokenTree::Punct(mark) => mark.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_import,
        _ => false,
    };
    code[begin..].iter().position(is_end).map_or(code.len(), |end| begin + end + 1)
}

/// How many tokens the attributes and the visibility before an item have.
fn attributes(code: &[TokenTree]) -> usize {
    let mut count = 0;
    loop {
        count += match &code[count..] {
            [TokenTree::Punct(mark), TokenTree::Group(_), ..] if mark.as_char() == '#' => 2,
            [TokenTree::Punct(mark), TokenTree::Punct(_), TokenTree::Group(_), ..] if mark.as_char() == '#' => 3,
            [TokenTree::Ident(word), TokenTree::Group(to), ..]
                if word == "pub" && to.delimiter() == Delimiter::Parenthesis =>
            {
                2
            }
            [TokenTree::Ident(word), ..] if word == "pub" => 1,
            _ => return count,
        };
    }
}

/// Whether an item is compiled for tests alone: by `cfg(test)`, or for those of other crates by the feature `tests`.
fn is_of_tests(attributes: &[TokenTree]) -> bool {
    let is_so = |token: &TokenTree| {
        let text = token.to_string();
        let has = |word: &str| super::sources::words(&text).any(|other| other == word);
        has("cfg") && !has("not") && (has("test") || has("feature") && has("tests"))
    };
    attributes.iter().any(is_so)
}

/// The files of a module that another file declares: more than one where the architecture chooses.
fn files<'a>(tree: &'a Tree, file: &File, name: &str, attributes: &[TokenTree]) -> Vec<&'a File> {
    let shown: Vec<String> = attributes.iter().map(TokenTree::to_string).collect();
    let named: Vec<&str> =
        shown.iter().flat_map(|shown| shown.split('"')).filter(|part| part.ends_with(".rs")).collect();
    let folder = match file.stem() {
        "lib" | "main" | "mod" => file.folder().to_owned(),
        stem => format!("{}/{stem}", file.folder()),
    };
    let paths: Vec<String> = match named.is_empty() {
        true => [".rs", "/mod.rs"].iter().map(|ending| format!("{folder}/{name}{ending}")).collect(),
        false => named.iter().map(|named| format!("{}/{named}", file.folder())).collect(),
    };
    paths.iter().filter_map(|path| tree.file(path)).collect()
}

fn imported(code: &[TokenTree]) -> Vec<(String, Place)> {
    let mut found = Vec::new();
    let _ = branch(code, &[], &mut |path, alias| {
        let name = alias.or(path.last().filter(|last| *last != "self").cloned());
        let path: Place = path.iter().filter(|step| *step != "*").cloned().collect();
        found.push((name.or(path.last().cloned()).unwrap_or_default(), path));
    });
    found
}

/// Every path of two steps or more in a piece of code.
fn paths(code: &[TokenTree], found: &mut Vec<Place>) {
    let mut at = 0;
    while at < code.len() {
        at += match &code[at] {
            TokenTree::Group(group) => {
                paths(&group.stream().into_iter().collect::<Vec<_>>(), found);
                1
            }
            TokenTree::Ident(_) => branch(&code[at..], &[], &mut |path, _| {
                if path.len() > 1 {
                    found.push(path.to_vec());
                }
            }),
            _ => 1,
        };
    }
}

/// Follows a path from its first step, into each branch of its braces; tells how many tokens it has.
fn branch(code: &[TokenTree], before: &[String], found: &mut dyn FnMut(&[String], Option<String>)) -> usize {
    let mut path = before.to_vec();
    let mut at = 0;
    loop {
        match code.get(at) {
            Some(TokenTree::Ident(step)) => path.push(step.to_string().replace("r#", "")),
            Some(TokenTree::Punct(mark)) if mark.as_char() == '*' => path.push("*".into()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                for part in inside.split(is_comma).filter(|part| !part.is_empty()) {
                    branch(part, &path, found);
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        match &code[at..] {
            [TokenTree::Punct(one), TokenTree::Punct(two), ..] if one.as_char() == ':' && two.as_char() == ':' => {
                at += 2
            }
            [TokenTree::Ident(word), TokenTree::Ident(alias), ..] if word == "as" => {
                found(&path, Some(alias.to_string()));
                return at + 2;
            }
            _ => break,
        }
    }
    found(&path, None);
    at.max(1)
}

#[cfg(test)]
const SOUND: [(&str, &str); 7] = [
    ("crates/a/src/lib.rs", "//! L.\nmod b;\nmod c;\nmod d;\npub use d::inner::Deep;"),
    ("crates/a/src/b.rs", "//! B.\nmod part;\nuse crate::{Deep, c::{self, E as F}};"),
    ("crates/a/src/b/part.rs", "//! P.\nuse super::Whole;"),
    ("crates/a/src/c.rs", "//! C.\n#[cfg(test)]\nmod tests { use crate::b::X; }\nfn f() { vec![super::d::X] }"),
    ("crates/a/src/d/mod.rs", "//! D.\nmod inner;\nmod other;\n#[cfg(test)]\nuse crate::b::Y;"),
    ("crates/a/src/d/inner.rs", "//! I.\n// crate::b is no import here, nor is \"crate::c\""),
    ("crates/a/src/d/other.rs", "//! O.\nuse super::inner::Deep;"),
];

#[test]
fn imports_are_read_from_the_code() {
    let tree = Tree::of(&SOUND);
    assert_eq!(circles(&tree), Vec::<String>::new());
    let found: Vec<String> =
        Modules::of(&tree, "a").imports(&[]).keys().map(|(from, to)| format!("{from} → {to}")).collect();
    assert_eq!(found, ["b → c", "b → d", "c → d"]);
}

#[test]
fn a_circle_of_imports_is_found() {
    let with = |place: usize, text: &'static str| {
        let mut files = SOUND;
        files[place].1 = text;
        circles(&Tree::of(&files))
    };
    let found = with(5, "//! I.\nfn f() { matches!(x, super::super::b::Y) }");
    assert_eq!(
        found,
        [
            "crates/a/src: b → c → d → b (crates/a/src/b.rs names crate::c::self; crates/a/src/c.rs names super::d::X; \
             crates/a/src/d/inner.rs names super::super::b::Y)",
            "crates/a/src: b → d → b (crates/a/src/b.rs names crate::Deep; crates/a/src/d/inner.rs names \
             super::super::b::Y)",
        ]
    );
    assert_eq!(with(5, "//! I.\nuse super::other as neighbour;").len(), 1);
    assert_eq!(with(3, "//! C.\nmod inner { use super::super::b::Y; }").len(), 1);
}

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
