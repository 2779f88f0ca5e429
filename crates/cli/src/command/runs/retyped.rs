//! What a person types again for a run that goes on: its journal says what is executed and where is written, and decides nothing
//! of it, since anybody may have written that file.

use std::path::Path;

use anyhow::Result;
use hostmark_launch::transport::TCP;
use hostmark_model::{Elsewhere, Inputs, PathBytes};

use crate::language::refuse;
use crate::words;

/// The command line that goes on with a run; none of one that cannot go on, as at a server, or that nobody can type.
pub fn line(journal: &Path, inputs: &Inputs, elsewhere: Option<&Elsewhere>) -> Option<String> {
    let Inputs { command, scratch, isolate, .. } = inputs;
    let mut typed = vec!["--resume".to_owned(), journal.to_str()?.to_owned()];
    let mut option = |name: &str, value: String| typed.extend([name.to_owned(), value]);
    if let Some(elsewhere) = elsewhere {
        let place = one_word(&words_of(elsewhere)?)?;
        if place.starts_with(TCP) {
            return None;
        }
        option("--on", place);
    }
    if !command.is_empty() {
        option("--command", one_word(command)?);
    }
    if let Some(PathBytes(path)) = scratch {
        option("--scratch", String::from_utf8(path.clone()).ok()?);
    }
    if !isolate.is_empty() {
        option("--isolate", isolate.join(","));
    }
    let quoted: Option<Vec<String>> = typed.iter().map(|word| words::quoted(word)).collect();
    Some(format!("hostmark run {}", quoted?.join(" ")))
}

/// Refuses to go on with the journal that is `shown` so, unless the person has typed what it says: the place behind `--on`, and in
/// `inputs` the command and the directory.
pub fn check(
    shown: &str,
    (before, elsewhere): (&Inputs, Option<&Elsewhere>),
    on: Option<&str>,
    inputs: &Inputs,
    line: Option<&str>,
) -> Result<()> {
    let is_place = match (on, elsewhere) {
        (None, None) => true,
        (Some(typed), Some(elsewhere)) => {
            words::split(typed).ok().is_some_and(|typed| Some(typed) == words_of(elsewhere))
        }
        _ => false,
    };
    match line {
        _ if is_place && inputs.command == before.command && inputs.scratch == before.scratch => Ok(()),
        Some(line) => refuse!("{shown} alone decides on no command and no directory; if these are yours, type: {line}"),
        None => refuse!("{shown} has a command or a directory that cannot be typed; measure anew"),
    }
}

/// The words of the command that leads to a place, where they are text.
fn words_of(elsewhere: &Elsewhere) -> Option<Vec<String>> {
    elsewhere.place.iter().map(|word| String::from_utf8(word.0.clone()).ok()).collect()
}

/// Words as one that is split into them.
fn one_word(words: &[String]) -> Option<String> {
    words.iter().map(|word| words::quoted(word)).collect::<Option<Vec<String>>>().map(|words| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(words: &[&str]) -> Elsewhere {
        let place = words.iter().map(|word| PathBytes(word.as_bytes().to_vec())).collect();
        Elsewhere { place, digest: String::new() }
    }

    #[test]
    fn the_line_says_all_that_is_executed_and_written_to_and_is_split_into_it() {
        let inputs = Inputs {
            command: ["make", "a b"].map(str::to_owned).to_vec(),
            scratch: Some(PathBytes(b"/mnt/$x".to_vec())),
            isolate: vec!["seccomp".into()],
            ..Inputs::default()
        };
        let place = at(&["sh", "-c", "touch it; exec \"$@\""]);
        let line = line(Path::new("a.partial.jsonl"), &inputs, Some(&place)).unwrap();
        let words = words::split(&line).unwrap();
        assert_eq!(words[..5], ["hostmark", "run", "--resume", "a.partial.jsonl", "--on"]);
        assert_eq!(words[6..], ["--command", "make 'a b'", "--scratch", "/mnt/$x", "--isolate", "seccomp"]);
        let is_refused =
            |on: Option<&str>, typed: &Inputs| check("a", (&inputs, Some(&place)), on, typed, None).is_err();
        assert!(!is_refused(Some(&words[5]), &inputs));
        assert!(is_refused(None, &inputs) && is_refused(Some("sh -c touch"), &inputs));
        assert!(is_refused(Some(&words[5]), &Inputs { scratch: None, ..inputs.clone() }));
        assert!(is_refused(Some(&words[5]), &Inputs { command: Vec::new(), ..inputs.clone() }));
    }

    #[test]
    fn there_is_no_line_for_what_steers_a_terminal_or_a_server_measures() {
        for words in [&["ssh", "a\u{1b}[2J"][..], &["tcp:db-17"]] {
            assert_eq!(line(Path::new("a.partial.jsonl"), &Inputs::default(), Some(&at(words))), None, "{words:?}");
        }
    }
}
