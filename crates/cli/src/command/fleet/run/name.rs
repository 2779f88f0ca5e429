//! Names of hosts, as lists and engines give them: what may be one, and which file its run gets.

use std::collections::HashSet;

use crate::language::said;
use crate::store;

/// Characters of a name at most: those of a name in DNS, and of a user before it.
const LONGEST: usize = 300;
/// Characters of a file's name at most, before its ending.
const LONGEST_FILE: usize = 100;

/// Why this is no name of a host; nothing if it is one. It becomes a word of a command, there and perhaps on a further host, so it
/// has no character that a shell or a terminal would take for anything else, and does not begin as an option.
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
