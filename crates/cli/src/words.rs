//! Splits a command into words as a shell does it, without a shell: nothing is expanded and nothing is run.
//!
//! Libraries for this only say that a command is wrong, and shlex takes what follows a `#` for a comment: what a person typed
//! would be run in part.

use hostmark_analysis::escape::steers;

use crate::language::said;

/// The words of a command: separated by blanks, which quotes and backslashes make part of a word.
pub fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => single_quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or_else(|| said!("it ends with a backslash"))?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// One word as a shell takes it; none where it would steer a terminal that shows it.
pub fn quoted(word: &str) -> Option<String> {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c) || (!c.is_ascii() && c.is_alphanumeric());
    match word {
        _ if word.contains(steers) => None,
        word if !word.is_empty() && word.chars().all(is_plain) => Some(word.to_owned()),
        word => Some(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

/// Up to the next single quote, everything is as it stands.
fn single_quoted(chars: &mut std::str::Chars, word: &mut String) -> Result<(), String> {
    for c in chars.by_ref() {
        match c {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
    Err(said!("a single quote is not closed"))
}

/// Up to the next double quote; a backslash stands for itself but before another, a double quote, `$` and a backtick.
fn double_quoted(chars: &mut std::str::Chars, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(said!("a double quote is not closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_split_into_itself() {
        for word in ["a", "", "my run.json", "it's", "'", "$HOME", "a`b`", "*", "a\\b", "\"", "~x", "运行", "a;b", "#a"]
        {
            assert_eq!(split(&quoted(word).unwrap()), Ok(vec![word.to_owned()]), "{word}");
        }
        assert_eq!(quoted("run-1.json").as_deref(), Some("run-1.json"));
        assert_eq!(quoted("my run.json").as_deref(), Some("'my run.json'"));
        assert_eq!(quoted("a\u{1b}[31m"), None);
    }

    #[track_caller]
    fn words(command: &str, expected: &[&str]) {
        assert_eq!(split(command).unwrap(), expected);
    }

    #[test]
    fn words_are_those_of_a_shell() {
        words("taskset -c 0  ./old/hostmark ", &["taskset", "-c", "0", "./old/hostmark"]);
        words("'/srv/my tools/hostmark'", &["/srv/my tools/hostmark"]);
        words(r#"env A="x y" B=\"z hostmark"#, &["env", "A=x y", "B=\"z", "hostmark"]);
        words(r#"a"b"'c'd "" '\' "\n\\""#, &["abcd", "", "\\", "\\n\\"]);
        words("", &[]);
    }

    #[test]
    fn nothing_is_expanded() {
        words("a $HOME `b` *.json ; c | d ~", &["a", "$HOME", "`b`", "*.json", ";", "c", "|", "d", "~"]);
    }

    #[test]
    fn what_has_no_end_is_refused() {
        for open in ["'a", "\"a", "a\\", "\"a\\"] {
            assert!(split(open).is_err(), "{open}");
        }
    }
}
