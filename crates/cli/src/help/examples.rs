//! Examples of every command. A test runs each of them as far as it measures nothing.

use hostmark_model::{Lang, Text};

use super::entry::HelpEntry;
use crate::texts::help::EXAMPLES;

/// A command line that works, and what it does.
pub struct Example {
    /// The path of its command.
    pub path: &'static str,
    /// As it is typed.
    pub line: &'static str,
    /// What it does.
    pub what: Text,
}

/// The examples of a command.
pub fn of(path: &str) -> impl Iterator<Item = &'static Example> {
    EXAMPLES.iter().filter(move |example| example.path == path)
}

/// The examples of a command as entries of its page.
pub fn entries(path: &str, lang: Lang) -> Vec<HelpEntry> {
    let entry = |example: &'static Example| {
        let what = example.what.get(lang).to_owned();
        HelpEntry { term: example.line.to_owned(), short: what.clone(), text: vec![what] }
    };
    of(path).map(entry).collect()
}
