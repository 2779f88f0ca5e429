//! Hosts from a list, each behind the same command.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Result;
use hostmark_engine::sys::regular;

use super::name;
use super::places::{HostAccess, Places, Registered};
use crate::language::{refuse, refused, said};
use crate::words;

/// What stands for the host's name.
const HOST: &str = "{host}";
/// Bytes of a list at most: a hundred thousand long names.
const MOST_BYTES: u64 = 32 << 20;

/// The hosts of a list.
pub struct Listed {
    hosts: Vec<Registered>,
    each: Vec<String>,
}

impl Listed {
    /// Reads the list.
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
    match words::split(each) {
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

/// The names in a list, in its order.
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
        if let Some(why) = name::refused(host) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_names_and_comments_and_nothing_else() {
        let text = "# racks\n\ndb-1\r\n  db-2\t# slow?\nme@db-3\n#db-4\n";
        assert_eq!(of_list(text).unwrap(), ["db-1", "db-2", "me@db-3"]);
        for (text, line, part) in [
            ("a\nb c\n", 2, "'b c' is no host"),
            ("-oProxyCommand=x", 1, "dash"),
            ("a\n\nb\nA\n", 4, "'A' is in line 1 already"),
            ("a#b", 1, "is no host"),
            ("\u{1b}[2J", 1, "is no host"),
        ] {
            let (found, why) = of_list(text).unwrap_err();
            assert!(found == line && why.contains(part), "{text:?}: {found} {why}");
        }
    }

    #[test]
    fn a_name_stays_in_its_word() {
        assert_eq!(words_of("ssh -J 'gate {host}' {host}").unwrap(), ["ssh", "-J", "gate {host}", "{host}"]);
        for (each, part) in
            [("ssh db", "same place"), ("{host}", "begins with"), ("ssh '{host}", "quote"), ("", "same place")]
        {
            assert!(words_of(each).unwrap_err().to_string().contains(part), "{each}");
        }
        let mut listed =
            Listed { hosts: vec![Registered::named("db".into())], each: words_of("ssh -l a {host}").unwrap() };
        assert!(matches!(listed.way(0), HostAccess::Open(words) if words == ["ssh", "-l", "a", "db"]));
    }
}
