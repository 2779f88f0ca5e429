//! Rules on one Rust file at a time.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::layout::{BESIDE_GROUPS, modules};
use super::{File, Tree};

const UNSAFE_FOLDERS: [&str; 4] =
    ["crates/sys/src/", "crates/engine/src/clock/", "crates/probes/src/kernels/", "crates/probes/src/workloads/"];

pub fn unsafe_elsewhere(tree: &Tree) -> Vec<String> {
    let elsewhere = tree.sources().filter(|file| !UNSAFE_FOLDERS.iter().any(|folder| file.path.starts_with(folder)));
    let has_unsafe = |file: &&File| words(file.code()).any(|word| word == "unsafe");
    elsewhere
        .filter(has_unsafe)
        .map(|file| file.says("unsafe outside of sys, engine/clock, kernels and workloads"))
        .collect()
}

/// Probes that read clocks: the standard library's, or those that workloads and tests may read.
pub fn clocks_in_probes(tree: &Tree) -> Vec<String> {
    let probes = tree.sources().filter(|file| file.path.starts_with("crates/probes/src/"));
    let reads = |file: &&File| {
        let code = file.code();
        let is_ours = |word: &str| ["monotonic_ns", "monotonic_raw_ns", "read_counter"].contains(&word);
        // How long a stranger may be silent at the door of a far end is no value.
        let is_door = file.path == "crates/probes/src/authenticated.rs";
        let may_read_ours = beside_groups(file) || is_door || file.stem().ends_with("_tests");
        file.packed().contains("Instant::now")
            || file.packed().contains("SystemTime::now")
            || !may_read_ours && words(code).any(is_ours)
    };
    probes.filter(reads).map(|file| file.says("reads a clock; time through Case")).collect()
}

/// Probes that map memory without asking whether it can be spared: `Case::buffer` and allotments ask.
pub fn memory_unasked(tree: &Tree) -> Vec<String> {
    let probes = tree.sources().filter(|file| file.path.starts_with("crates/probes/src/") && !beside_groups(file));
    let maps = |file: &&File| {
        let code = file.packed();
        code.contains("Buffer::map(") || code.contains("Buffer::reserve(")
    };
    probes.filter(maps).map(|file| file.says("maps memory unasked; get it from Case")).collect()
}

/// Files of what people read that take another value of an estimate than the leading one: each of them names it.
const SAY_WHICH: [&str; 14] = [
    "analysis/src/compare/reason.rs",
    "analysis/src/compare/scatter.rs",
    "analysis/src/compare/side.rs",
    "analysis/src/consistency.rs",
    "present/src/export/csv.rs",
    "analysis/src/findings/disk.rs",
    "analysis/src/findings/evidence.rs",
    "analysis/src/findings/steal.rs",
    "analysis/src/format/mod.rs",
    "present/src/html/figures/generic.rs",
    "analysis/src/overhead/value.rs",
    "analysis/src/redact/leaves.rs",
    "present/src/render/console/hierarchy.rs",
    "present/src/render/console/remarks.rs",
];

/// Numbers of an estimate that are read elsewhere than through its leading value, and such values that are called a median.
pub fn beside_the_leading_value(tree: &Tree) -> Vec<String> {
    let ends_word = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let reads = |code: &str| {
        let own = code.replace("explain.typical", "");
        own.contains("ci_low") || own.contains("ci_high") || own.split(".typical").skip(1).any(ends_word)
    };
    let calls = |statement: &str| {
        let bound = statement.rsplit_once("let").and_then(|(_, bound)| bound.split_once('='));
        bound.is_some_and(|(names, value)| names.contains("median") && value.contains("estimate.value()"))
    };
    let is_of_people = |file: &&File| {
        let folders = ["crates/analysis/src/", "crates/present/src/", "crates/cli/src/"];
        folders.iter().any(|folder| file.path.starts_with(folder)) && !file.stem().ends_with("_tests")
    };
    let mut found = Vec::new();
    for file in tree.sources().filter(is_of_people) {
        let code = file.packed().split("#[cfg(test)]").next().unwrap_or_default();
        let may_read = SAY_WHICH.iter().any(|known| file.path.ends_with(known));
        if !may_read && reads(code) {
            found.push(file.says("reads a value beside the leading one; use Estimate::stated, or name the other"));
        }
        if code.split(';').any(calls) {
            found.push(file.says("calls a leading value a median, which a quiet one is not"));
        }
    }
    found
}

/// Whether a file of the crate of probes lies in a folder that is no group.
fn beside_groups(file: &File) -> bool {
    BESIDE_GROUPS.iter().any(|folder| file.path.starts_with(&format!("crates/probes/src/{folder}/")))
}

/// Files that do not begin by saying what they are for.
pub fn without_purpose(tree: &Tree) -> Vec<String> {
    let has_purpose = |file: &File| {
        file.text.lines().next().and_then(|line| line.strip_prefix("//! ")).is_some_and(|text| !text.trim().is_empty())
    };
    let without = tree.sources().filter(|file| !has_purpose(file));
    without.map(|file| file.says("its first line is not `//!` and what the file is for")).collect()
}

/// First words of a comment that names nothing.
const VAGUE: [&str; 6] = ["What", "How", "Whether", "Why", "Which", "Who"];

/// Doc comments that begin with neither a noun nor a verb. Help of the command line, which has no full stop, may, and descriptions in schemas.
pub fn comments_without_a_subject(tree: &Tree) -> Vec<String> {
    let is_ours = |file: &&File| file.path.contains("/src/") && !file.path.starts_with("crates/model/");
    let mut found = Vec::new();
    for file in tree.sources().filter(is_ours) {
        let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| *at == 0 || !lines[at - 1].starts_with("///")) {
            let first = line.strip_prefix("/// ").and_then(|text| text.split(' ').next());
            let goes_on = lines.get(at + 1).is_some_and(|next| next.starts_with("/// "));
            if first.is_some_and(|word| VAGUE.contains(&word)) && (goes_on || line.ends_with('.')) {
                found.push(file.says(format!("line {}: the comment has no subject: {line}", at + 1)));
            }
        }
    }
    found
}

pub fn unfinished(tree: &Tree) -> Vec<String> {
    let prose = [concat!("FIX", "ME"), concat!("XX", "X")];
    let mut found = Vec::new();
    for file in tree.sources() {
        let code = file.packed();
        let marks = ["todo!(", "unimplemented!("].into_iter().filter(|mark| code.contains(mark));
        let said = prose.into_iter().filter(|mark| words(&file.text).any(|word| word == *mark));
        // The second tier runs what takes long.
        let ignores = code.matches("#[ignore").count() > file.text.matches("#[ignore = \"takes long\"]").count();
        found.extend(
            marks.chain(said).chain(ignores.then_some("#[ignore")).map(|mark| file.says(format!("not done: {mark}"))),
        );
    }
    found
}

/// Files that say in words of their own that a test is skipped: it is counted by its one form.
pub fn skips_unprepared(tree: &Tree) -> Vec<String> {
    let own = |file: &&File| {
        let says = file.text.contains(concat!("\"skip", "ped: ")) && file.packed().contains("stderr()");
        says && file.path != "tests/support/skip.rs"
    };
    tree.sources().filter(own).map(|file| file.says("use `skipped` of tests/support/skip.rs")).collect()
}

/// Tests that pass where they could not look: what ends one early says why, itself or in what it calls.
pub fn silent(tree: &Tree) -> Vec<String> {
    let says = |name: &str| {
        let begin = format!("fn {name}(");
        tree.sources().any(|file| file.text.contains(&begin) && file.text.contains("skipped("))
    };
    let mut found = Vec::new();
    for file in tree.sources() {
        for test in file.text.split("#[test]\n").skip(1) {
            let lines = test.lines().take_while(|line| !["}", "    }"].contains(line));
            let body =
                lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").replace("return; }", "return }");
            for (before, _) in body.match_indices("else { return }").map(|(at, _)| body.split_at(at)) {
                let asked = before.rsplit(" = ").next().unwrap_or_default();
                if !says(asked.split('(').next().unwrap_or_default()) {
                    found.push(file.says(format!("a test ends without a word: {asked}")));
                }
            }
        }
    }
    found
}

/// Tests of the second tier that may disturb each other: none says whether others may run beside it.
pub fn disturbed(tree: &Tree) -> Vec<String> {
    let tier = tree.file("crates/cli/tests/system.rs").map(|file| file.code()).unwrap_or_default();
    let modules = modules(tier);
    let of_tier = |file: &&File| file.folder() == "crates/cli/tests" && modules.contains(file.stem());
    let mut found = Vec::new();
    for file in tree.sources().filter(of_tier) {
        let code = file.packed();
        let tests = code.split("#[test]").skip(1);
        let unprepared = tests.filter(|test| !["alone()", "beside()"].iter().any(|word| test.contains(word))).count();
        found.extend(
            (unprepared > 0).then(|| file.says(format!("{unprepared} tests begin with neither alone() nor beside()"))),
        );
    }
    found
}

/// Lints switched off without a reason that the compiler holds against the code.
pub fn lints_off(tree: &Tree) -> Vec<String> {
    let is_off = |file: &&File| {
        let code = file.packed();
        let conditional = code
            .split("cfg_attr(")
            .skip(1)
            .any(|rest| rest.split(']').next().is_some_and(|attribute| attribute.contains(",allow(")));
        code.contains("#[allow(") || code.contains("#![allow(") || conditional
    };
    tree.sources().filter(is_off).map(|file| file.says("`allow` of a lint; use `expect` with a reason")).collect()
}

/// Crates whose files are named by people, or lie where others may write.
const NAMED: [&str; 7] = ["cli", "launch", "present", "analysis", "import", "host", "engine"];
/// What makes, changes or removes what has a name, or finds out beforehand where a name leads.
const BY_NAME: [&str; 14] = [
    "File::create",
    "fs::write(",
    "fs::rename(",
    "fs::copy(",
    "fs::create_dir",
    "fs::remove_",
    "fs::hard_link(",
    "fs::set_permissions(",
    "canonicalize(",
    ".create(true)",
    ".create_new(true)",
    ".append(true)",
    ".tempfile_in(",
    "NamedTempFile",
];
/// Files that may do so: nobody else is there, or no more than a fact comes of it.
const MAY_NAME: [(&str, &str); 4] = [
    ("crates/cli/src/command/guest.rs", "the only program of a guest"),
    ("crates/cli/src/command/self_check/limits.rs", "a link of /sys"),
    (
        "crates/cli/src/command/measure/inputs.rs",
        "what is made in --scratch is made by descriptors (sys/src/scratch.rs)",
    ),
    ("crates/host/src/storage.rs", "where a fact is looked up"),
];

/// Files of people that are written by name: between a look and the use another may have put a link there.
pub fn written_by_name(tree: &Tree) -> Vec<String> {
    let is_held = |file: &&File| {
        let in_crate = NAMED.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/")));
        let may = MAY_NAME.iter().any(|(path, _)| file.path.starts_with(path));
        in_crate && !may && !file.stem().ends_with("tests")
    };
    let mut found = Vec::new();
    for file in tree.sources().filter(is_held) {
        let code = file.packed().split("#[cfg(test)]mod").next().unwrap_or_default();
        let named = BY_NAME.iter().filter(|call| code.contains(**call));
        found.extend(named.map(|call| file.says(format!("{call} goes by name; write through sys::place"))));
    }
    found
}

/// Functions of the standard library that panic where the kernel refuses.
const PANICS: [&str; 2] = ["thread::sleep(", "thread::spawn("];

/// Sources of the program, without tests, that call one: sys::clock::sleep and thread::Builder take the error.
pub fn panics_on_refusal(tree: &Tree) -> Vec<String> {
    let is_program = |file: &&File| file.path.contains("/src/") && !file.stem().ends_with("tests");
    let mut found = Vec::new();
    for file in tree.sources().filter(is_program) {
        let is_module = |part: &str| part.starts_with("mod") || part.starts_with("pub(super)mod");
        let code = file.packed().split("#[cfg(test)]").filter(|part| !is_module(part));
        let called = code.flat_map(|part| PANICS.iter().filter(|call| part.contains(**call)));
        found.extend(called.map(|call| file.says(format!("{call} panics where the kernel refuses"))));
    }
    found
}

finds! {
    a_call_that_panics_where_the_kernel_refuses_is_found: panics_on_refusal finds 2 in [
        ("crates/cli/src/a.rs", "//! A.\nstd::thread::sleep(TURN);\n#[cfg(test)]\nuse a;\nthread::spawn(f);"),
        ("crates/cli/src/b.rs", "//! B.\nsleep(TURN);\n#[cfg(test)]\nmod tests { thread::sleep(TURN) }"),
    ];
    unsafe_code_elsewhere_is_found: unsafe_elsewhere finds 2 in [
        ("crates/cli/src/a.rs", "//! A.\nfn f() { unsafe { g() } }"),
        ("crates/probes/src/ipc/pipe.rs", "//! P.\n// unsafe is not needed here\n#![deny(unsafe_code)]"),
        ("crates/engine/src/b.rs", "//! B.\nunsafe fn f() {}"),
        ("crates/sys/src/b.rs", "//! B.\nunsafe fn f() {}"),
        ("crates/probes/src/workloads/b.rs", "//! B.\nunsafe fn f() {}"),
    ];
    a_probe_with_a_clock_is_found: clocks_in_probes finds 2 in [
        ("crates/probes/src/ipc/pipe.rs", "//! P.\nlet begin = std::time::Instant::\n  now();"),
        ("crates/probes/src/ipc/fifo.rs", "//! F.\n// Instant::now is for others"),
        ("crates/probes/src/ipc/futex.rs", "//! F.\nlet begin = sys::clock::monotonic_ns();"),
        ("crates/probes/src/workloads/turns.rs", "//! T.\nlet begin = monotonic_ns();"),
        ("crates/cli/src/wall.rs", "//! W.\nInstant::now();"),
    ];
    a_probe_that_maps_memory_unasked_is_found: memory_unasked finds 1 in [
        ("crates/probes/src/ipc/pipe.rs", "//! P.\nlet big = Buffer::map(bytes, Pages::Base, None)?;"),
        ("crates/probes/src/ipc/fifo.rs", "//! F.\nlet asked = case.buffer(bytes, Pages::Base, None)?;"),
        ("crates/probes/src/workloads/ring.rs", "//! R.\nlet small = Buffer::map(bytes, Pages::Base, None)?;"),
    ];
    a_value_beside_the_leading_one_is_found: beside_the_leading_value finds 2 in [
        ("crates/analysis/src/a.rs", "//! A.\nlet value = measured.estimate.typical;"),
        ("crates/cli/src/b.rs", "//! B.\nlet median = estimate.value();"),
        (
            "crates/analysis/src/c.rs",
            "//! C.\nlet value = estimate.value();\n#[cfg(test)]\nmod tests { estimate.typical }",
        ),
        ("crates/analysis/src/d.rs", "//! D.\nlet text = info.explain.typical.en;"),
        ("crates/analysis/src/overhead/value.rs", "//! V.\nlet value = estimate.typical;"),
    ];
    a_file_that_is_written_by_its_name_is_found: written_by_name finds 4 in [
        ("crates/cli/src/a.rs", "//! A.\nstd::fs::write(path, text)?;"),
        ("crates/cli/src/b.rs", "//! B.\nlet file = File::options().append(true).open(path)?;"),
        ("crates/launch/src/c.rs", "//! C.\nlet path = fs::canonicalize(path)?;\nfs::rename(one, path)?;"),
        ("crates/cli/src/command/guest.rs", "//! D.\nfs::create_dir(place)?;"),
        (
            "crates/cli/src/e.rs",
            "//! E.\nPlace::find(path)?.write(text, true)?;\n#[cfg(test)]\nmod tests { fs::write(a, b) }",
        ),
        ("crates/sys/src/f.rs", "//! F.\nfs::write(path, text)?;"),
    ];
    a_file_without_a_purpose_is_found: without_purpose finds 3 in [
        ("a.rs", "use b;\n//! Late."), ("b.rs", "//! "), ("c.rs", ""), ("d.rs", "//! For a thing."),
    ];
    a_test_that_does_not_say_whether_others_may_run_beside_it_is_found: disturbed finds 1 in [
        ("crates/cli/tests/system.rs", "//! S.\nmod a;\nmod b;"),
        ("crates/cli/tests/a.rs", "//! A.\n#[test]\nfn f() {\nlet _alone = alone();\n}\n#[test]\nfn g() {}"),
        ("crates/cli/tests/b.rs", "//! B.\n#[test]\nfn f() {\nlet _beside = beside();\n}"),
        ("crates/cli/tests/c.rs", "//! C.\n#[test]\nfn f() {}"),
    ];
    a_lint_that_is_switched_off_is_found: lints_off finds 3 in [
        ("a.rs", "//! A.\n#[ allow(dead_code) ]\nfn f() {}"),
        ("b.rs", "//! B.\n#![allow(missing_docs)]"),
        ("c.rs", "//! C.\n#[cfg_attr(test, allow(unused))]"),
        ("d.rs", "//! D.\n#[expect(unused, reason = \"shown\")]\nfn allow(a: u32) {}"),
    ];
}

#[test]
fn work_that_is_not_done_is_found() {
    let late = concat!("//! A.\n// FIX", "ME later");
    let tree = Tree::of(&[
        ("a.rs", late),
        ("b.rs", "//! B.\nfn f() { todo!() }\n#[ignore = \"slow\"]\nfn g() {}\n#[ignore = \"takes long\"]\nfn h() {}"),
        ("c.rs", "//! C.\nlet names = [\"todo!()\"];"),
    ]);
    assert_eq!(unfinished(&tree).len(), 3, "{:?}", unfinished(&tree));
}

#[test]
fn a_test_that_skips_in_its_own_words_is_found() {
    let own = concat!("//! A.\nwriteln!(io::stderr(), \"skip", "ped: {why}\");");
    let tree = Tree::of(&[("a.rs", own), ("tests/support/skip.rs", own), ("b.rs", "//! B.\nskipped(\"no c\");")]);
    assert_eq!(skips_unprepared(&tree).len(), 1);
}

#[test]
fn a_test_that_ends_early_without_a_word_is_found() {
    let of = |body: &str| {
        format!("//! A.\n#[test]\nfn a() {{\n    {body}\n}}\nfn b() {{\n    let c = d else {{ return }};\n}}\n")
    };
    let helper = "//! H.\nfn made() -> Option<u8> {\n    skipped(\"no h\");\n    None\n}\n";
    let found = |body: &str| silent(&Tree::of(&[("a.rs", &of(body)), ("h.rs", helper)])).len();
    assert_eq!(found("let Some(a) = asked() else { return };"), 1);
    assert_eq!(found("let Some(a) = asked() else {\n        return;\n    };"), 1);
    assert_eq!(found("let Some(a) = made() else { return };"), 0);
    assert_eq!(found("let Some(a) = asked() else { return skipped(\"no a\") };"), 0);
}

/// Where what is measured is made of system calls.
const FOLDERS: [&str; 3] = ["crates/sys/src/", "crates/engine/src/case", "crates/probes/src/"];
/// How calls of libraries that make system calls end before their arguments. Those of rustix are all such.
const CALLS: &str = "\
    File::open File::create File::create_new fs::write fs::read fs::create_dir fs::create_dir_all \
    fs::set_permissions env::current_dir env::set_current_dir Listener::bind Socket::bind Datagram::bind \
    Stream::connect .accept .local_addr .metadata .read_exact .recv .recv_from .send_to .set_nonblocking \
    .try_clone .write_all";
/// Errors of the kernel as they are, given away.
const BARE: [&str; 2] = ["Err(io::Error::last_os_error())", "Err(io::Error::from_raw_os_error("];

/// Errors of system calls that are passed on without the call's name.
pub fn unnamed(tree: &Tree) -> Vec<String> {
    let is_held =
        |file: &&File| FOLDERS.iter().any(|folder| file.path.starts_with(folder)) && !file.stem().ends_with("tests");
    tree.sources().filter(is_held).flat_map(|file| in_file(file).into_iter().map(|what| file.says(what))).collect()
}

fn in_file(file: &File) -> Vec<String> {
    let code = file.packed();
    // Tests stand at the end.
    let code = code.split("#[cfg(test)]modtests{").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]pub(super)modtests{").next().unwrap_or_default();
    let bare = BARE.iter().filter(|bare| code.contains(**bare)).map(|bare| format!("{bare}: name the call"));
    let called = code.match_indices('(').filter_map(|(open, _)| {
        let before = &code[..open];
        let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next().unwrap_or_default();
        let makes_calls = name.starts_with("rustix::") || CALLS.split_whitespace().any(|call| before.ends_with(call));
        let after = code[open + length(&code[open..])..].chars().next()?;
        // With `?`, or as the last of a block, the error leaves as it came.
        (makes_calls && ['?', '}'].contains(&after)).then(|| format!("{name}: add .call(…) with the call's name"))
    });
    bare.chain(called).collect()
}

/// How far it is from an opening parenthesis to behind its closing one.
fn length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in code.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[test]
fn a_call_without_a_name_is_found() {
    let of = |text: &str| unnamed(&Tree::of(&[("crates/probes/src/workloads/a.rs", text)])).len();
    assert_eq!(of("//! A.\nlet (stream, _) = listener.accept()?;"), 1);
    assert_eq!(of("//! A.\nfn f() { rustix::fs::fstat(g(&file)?) }"), 1);
    assert_eq!(of("//! A.\nreturn Err(io::Error::last_os_error());"), 1);
    assert_eq!(of("//! A.\nlistener\n  .accept()\n  .call(\"accept4\")?;"), 0);
    assert_eq!(of("//! A.\nlet _ = rustix::fs::fchdir(&home);"), 0);
    assert_eq!(of("//! A.\n#[cfg(test)]\nmod tests { fn f() { listener.accept()? } }"), 0);
    assert_eq!(unnamed(&Tree::of(&[("crates/sys/src/a.rs", "//! A.\nlistener.accept()?;")])).len(), 1);
    assert_eq!(unnamed(&Tree::of(&[("crates/cli/src/a.rs", "//! A.\nlistener.accept()?;")])).len(), 0);
}

/// The tokens of a file or a piece of one.
pub fn tokens(text: &str) -> Vec<TokenTree> {
    let parsed: Result<TokenStream, _> = text.parse();
    let first = text.lines().next().unwrap_or_default();
    parsed.unwrap_or_else(|error| panic!("this is no Rust ({error}): {first}")).into_iter().collect()
}

/// The code of `text`: its tokens one behind the other, without comments and without what is in strings and characters.
pub fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    write(&tokens(text), &mut code);
    code
}

fn write(tokens: &[TokenTree], code: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                code.push_str(open);
                write(&group.stream().into_iter().collect::<Vec<_>>(), code);
                code.push_str(close);
            }
            TokenTree::Punct(mark) => code.push(mark.as_char()),
            // A lifetime's name follows its mark.
            TokenTree::Ident(word) if code.ends_with('\'') => code.push_str(&word.to_string()),
            TokenTree::Ident(word) => *code += &format!(" {word}"),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_number = text.starts_with(|c: char| c.is_ascii_digit());
                code.push_str(if is_number { &text } else { " " });
            }
        }
    }
}

/// The words of a code: names and keywords.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A code without its white space, so that a rule need not guess how it was laid out.
pub fn packed(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn prose_is_no_code() {
    let text =
        "// one unsafe\nlet a = \"two \\\" unsafe\"; /* three /* unsafe */ unsafe */ let b = r#\"four \" unsafe\"#;";
    assert!(words(&code_of(text)).all(|word| word != "unsafe"), "{}", code_of(text));
}

#[test]
fn code_between_literals_is_code() {
    let text = "fn f<'a>(c: &'a char) -> bool { *c == '\"' || *c == '\\'' || br\"\\\".len() == 1 } unsafe {}";
    let code = code_of(text);
    assert!(words(&code).any(|word| word == "unsafe"), "{code}");
    assert!(code.contains("&'a char") && !code.contains('"'), "{code}");
}
