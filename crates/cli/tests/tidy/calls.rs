//! A rule on system calls: an error says which call failed where the call is made, since nobody further up knows.

use super::tree::{File, Tree};

/// Where what is measured is made of system calls.
const FOLDERS: [&str; 3] = ["crates/sys/src/", "crates/engine/src/case", "crates/probes/src/"];
/// How calls of libraries that make system calls end before their arguments. Those of rustix are all such.
const CALLS: [&str; 24] = [
    "File::open",
    "File::create",
    "File::create_new",
    "fs::write",
    "fs::read",
    "fs::create_dir",
    "fs::create_dir_all",
    "fs::set_permissions",
    "env::current_dir",
    "env::set_current_dir",
    "Listener::bind",
    "Socket::bind",
    "Datagram::bind",
    "Stream::connect",
    ".accept",
    ".local_addr",
    ".metadata",
    ".read_exact",
    ".recv",
    ".recv_from",
    ".send_to",
    ".set_nonblocking",
    ".try_clone",
    ".write_all",
];
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
        let makes_calls = name.starts_with("rustix::") || CALLS.iter().any(|call| before.ends_with(call));
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
