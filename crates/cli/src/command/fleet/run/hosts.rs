//! Hosts by their names, from a list or an engine: which name may be one, and how each host is got to.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Result;
use hostmark_engine::sys::regular;

use crate::language::{refuse, refused, said};
use crate::{language, store};

const HOST: &str = "{host}";
/// Bytes of a list at most: a hundred thousand long names.
const MOST_BYTES: u64 = 32 << 20;

pub struct Listed {
    hosts: Vec<Registered>,
    each: Vec<String>,
}

impl Listed {
    pub fn read(file: &Path, each: &str) -> Result<Listed> {
        let each = words_of(each)?;
        Ok(Listed { hosts: names(file)?.into_iter().map(Registered::named).collect(), each })
    }
}

impl Places for Listed {
    fn hosts(&self) -> &[Registered] {
        &self.hosts
    }

    fn way(&mut self, host: usize) -> HostAccess {
        HostAccess::Open(self.each.iter().map(|word| word.replace(HOST, &self.hosts[host].name)).collect())
    }

    fn leave(&mut self, _host: usize) {}

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The words of the command that leads to each host; the name is put into a word, and makes no further one.
pub fn words_of(each: &str) -> Result<Vec<String>> {
    match language::split(each) {
        Ok(words) if !words.iter().any(|word| word.contains(HOST)) => refuse!(
            "--each '{each}' leads every host to the same place; write {HOST} where its name belongs, as 'ssh {HOST}'"
        ),
        Ok(words) if words[0].contains(HOST) => {
            refuse!("--each '{each}' begins with the host's name; begin with a command, as 'ssh {HOST}'")
        }
        Ok(words) => Ok(words),
        Err(why) => refuse!("--each '{each}': {why}; quote it as for a shell"),
    }
}

pub fn names(file: &Path) -> Result<Vec<String>> {
    let shown = file.display();
    let cannot = |error: std::io::Error| refused!("{shown} cannot be read ({error}); give a file with one host a line");
    let mut text = String::new();
    let opened: File = regular::open_to_read(file).map_err(cannot)?;
    opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > MOST_BYTES {
        refuse!("{shown} is too large for a list of hosts; give another");
    }
    of_list(&text).map_err(|(line, why)| refused!("{shown}, line {line}: {why}; write one host a line"))
}

/// The names in a text; or the line that is none, and why.
fn of_list(text: &str) -> Result<Vec<String>, (usize, String)> {
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for (line, typed) in (1..).zip(text.lines()) {
        let host = without_comment(typed).trim();
        if host.is_empty() {
            continue;
        }
        if let Some(why) = refused(host) {
            return Err((line, said!("'{host}' is no host: {why}")));
        }
        // Names of hosts do not tell capitals from small letters.
        if let Some(before) = lines.insert(host.to_ascii_lowercase(), line) {
            return Err((line, said!("'{host}' is in line {before} already")));
        }
        names.push(host.to_owned());
    }
    Ok(names)
}

/// A comment begins a line, or stands behind a blank.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &line[..at];
        }
        before = c;
    }
    line
}

/// A host that an engine has.
#[derive(Debug, Clone)]
pub struct Registered {
    pub name: String,
    /// Reason why it cannot be measured, where that is known from the start.
    pub refused: Option<String>,
}

impl Registered {
    /// One that can be measured, as far as one knows.
    pub fn named(name: String) -> Registered {
        Registered { name, refused: None }
    }
}

/// State of the access to a host.
#[derive(Debug)]
pub enum HostAccess {
    /// The words of a command that gives a shell there with one more word, `sh`.
    Open(Vec<String>),
    NotYet,
    /// There is none, and why.
    Closed(String),
}

/// Source of hosts. A host is given by its number in [`Places::hosts`].
pub trait Places {
    fn hosts(&self) -> &[Registered];

    /// The way to a host whose turn has come; asked again until it is open or there is none.
    fn way(&mut self, host: usize) -> HostAccess;

    /// The turn of a host is over.
    fn leave(&mut self, host: usize);

    /// Reason why a host broke off, where the engine knows better.
    fn why_lost(&mut self, _host: usize) -> Option<String> {
        None
    }

    /// Reason why there is no way to a host yet, where the engine says.
    fn why_waiting(&mut self, _host: usize) -> Option<String> {
        None
    }

    /// Gives back what the engine lent; an error where that did not work.
    fn finish(&mut self) -> Result<()>;
}

/// Characters of a name at most: those of a name in DNS, and of a user before it.
const LONGEST: usize = 300;
/// Characters of a file's name at most, before its ending.
const LONGEST_FILE: usize = 100;

/// Reason why this is no name of a host; none if it is one. It becomes a word of a command, there and perhaps on a further host, so it has
/// no character that a shell or a terminal would take for anything else, and does not begin as an option.
pub fn refused(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:@%+/".contains(c);
    let starts_option = |part: &str| part.starts_with('-');
    match name {
        "" => Some(said!("it is empty")),
        name if name.len() > LONGEST => Some(said!("it has more than {LONGEST} characters")),
        name if name.split('@').any(starts_option) => {
            Some(said!("it begins with a dash, which a command takes for an option"))
        }
        name if !name.chars().all(is_plain) => Some(said!("a name has letters, digits and . _ - : @ % + / alone")),
        _ => None,
    }
}

/// The name of its run's file, which no other has: letters, digits, dashes, underscores and dots, of which none is the first.
pub fn file_of(host: &str, taken: &mut HashSet<String>) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = host.chars().take(LONGEST_FILE).map(keep).collect();
    let stem = stem.trim_start_matches(['.', '-']);
    let stem = if stem.is_empty() { store::file_part("") } else { stem.to_owned() };
    let names = (1..).map(|number| match number {
        1 => format!("{stem}.json"),
        _ => format!("{stem}-{number}.json"),
    });
    // On filesystems that do not tell capitals from small letters, two names may be one.
    let free = names.into_iter().find(|name| !taken.contains(&name.to_ascii_lowercase())).unwrap_or_default();
    taken.insert(free.to_ascii_lowercase());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_or_a_terminal_would_take_for_something_else_is_no_name() {
        for name in ["db-17", "db-17.example.org", "me@db_17", "10.0.0.7", "fe80::1%eth0", "pod/db-0", "a+b"] {
            assert_eq!(refused(name), None, "{name}");
        }
        let long = "x".repeat(LONGEST + 1);
        for name in [
            "",
            "-oProxyCommand=touch",
            "me@-oProxyCommand",
            "a b",
            "a\u{1b}[2J",
            "a;b",
            "$(b)",
            "`b`",
            "a'b",
            "a\"b",
            "a&b",
            "a\nb",
            "a\\b",
            "主机",
            "a*",
            "~b",
            "{host}",
            "\u{202e}a",
            &long,
        ] {
            assert!(refused(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn no_two_hosts_have_one_file_and_none_leaves_the_directory() {
        let mut taken = HashSet::from(["fleet.json".to_owned()]);
        let mut of = |host: &str| file_of(host, &mut taken);
        assert_eq!(of("db-17.example.org"), "db-17.example.org.json");
        assert_eq!(of("me@db"), "me-db.json");
        assert_eq!(of("me:db"), "me-db-2.json");
        assert_eq!(of("ME/db"), "ME-db-3.json");
        assert_eq!(of("../../etc/passwd"), "..-etc-passwd.json".trim_start_matches(['.', '-']));
        assert_eq!(of("..").as_str(), "host.json");
        assert_eq!(of("fleet"), "fleet-2.json");
        assert_eq!(of(&"x".repeat(299)).len(), LONGEST_FILE + 5);
    }
}
