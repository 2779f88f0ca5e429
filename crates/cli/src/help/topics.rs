//! Topics of a manual page beside options: filters, exit codes, files and environment, in English and Chinese.

use hostmark_model::{Exit, Lang, Text};

use super::HelpEntry;
use crate::texts::help::{ENVIRONMENT, EXIT_CODES, FILES, FILTERS, HEADINGS};

/// The command that clap adds.
pub const HELP_COMMAND: Text = term!("Print the help of a command");

/// A heading of ours, or of the command line, in this language; as it is where there is none.
pub fn heading(en: &str, lang: Lang) -> &str {
    let found = HEADINGS.iter().find(|heading| heading.en == en);
    found.map_or(en, |heading| heading.say(lang))
}

pub fn chinese(en: &str) -> Option<&'static str> {
    HEADINGS.iter().find(|heading| heading.en == en).map(|heading| heading.zh)
}

/// Tells whether a heading has its Chinese.
#[cfg(test)]
pub fn is_known(zh: &str) -> bool {
    HEADINGS.iter().any(|heading| heading.zh == zh)
}

/// A usage line with its placeholders in this language.
pub fn usage(en: &str, lang: Lang) -> String {
    let places = [term!("[OPTIONS]"), term!("<COMMAND>"), term!("[COMMAND]")];
    places.iter().fold(en.to_owned(), |line, place| line.replace(place.en, place.say(lang)))
}

/// The help of options that clap adds to every command.
pub fn of_every_command(id: &str) -> Option<Text> {
    Some(match id {
        "help" => term!("Print help: -h one screen, --help everything"),
        "version" => term!("Print the version"),
        _ => return None,
    })
}

pub struct Topic {
    pub heading: Text,
    rows: Vec<(&'static str, Text)>,
}

/// All that there is of a topic.
pub struct WholeTopic {
    pub heading: Text,
    pub rows: &'static [(&'static str, Text)],
}

impl WholeTopic {
    /// The rows of the terms that apply.
    fn of(&self, applies: impl Fn(&str) -> bool) -> Topic {
        Topic { heading: self.heading, rows: self.rows.iter().filter(|(term, _)| applies(term)).copied().collect() }
    }
}

impl Topic {
    pub fn entries(&self, lang: Lang) -> Vec<HelpEntry> {
        let entry = |(term, text): &(&str, Text)| {
            let text = text.get(lang).to_owned();
            HelpEntry { term: (*term).to_owned(), short: text.clone(), text: vec![text] }
        };
        self.rows.iter().map(entry).collect()
    }
}

/// Topics of a command's page.
pub fn of(path: &str) -> Vec<Topic> {
    let mut topics = Vec::new();
    if ["", "run", "list", "report", "compare", "watch", "vm run"].contains(&path) {
        topics.push(FILTERS.of(|_| true));
    }
    topics.push(exits(path));
    if ["", "run", "report", "compare", "runs", "import", "watch", "vm run"].contains(&path) {
        topics.push(FILES.of(|_| true));
    }
    topics.push(environment(path));
    topics
}

/// Every [`Exit`] but signals.
const EXITS: &[Exit] = &[
    Exit::Fine,
    Exit::Found,
    Exit::BadInput,
    Exit::CaseFailed,
    Exit::NothingSelected,
    Exit::ResourceLost,
    Exit::Undecided,
];

fn exits(path: &str) -> Topic {
    let measures = ["run", "compare", "watch", "vm run", ""].contains(&path);
    let applies = |exit: Exit| match exit {
        Exit::Found => ["", "run", "compare", "host", "self-check", "fleet report", "reference check"].contains(&path),
        Exit::Undecided => ["", "run", "compare"].contains(&path),
        Exit::CaseFailed => measures || path == "self-check",
        Exit::NothingSelected => measures || ["list", "explain", "report"].contains(&path),
        _ => true,
    };
    EXIT_CODES.of(|code| EXITS.iter().all(|exit| exit.code().to_string() != code || applies(*exit)))
}

fn environment(path: &str) -> Topic {
    ENVIRONMENT.of(|name| match name {
        "TMPDIR" => ["", "run", "host", "watch", "vm run"].contains(&path),
        "COMPLETE" => path.is_empty(),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_reported_once() {
        // A new code has to be added to EXITS: this match does not compile without it.
        let known = |exit: Exit| match exit {
            Exit::Fine | Exit::Found | Exit::Undecided | Exit::BadInput => true,
            Exit::CaseFailed | Exit::NothingSelected | Exit::ResourceLost => true,
            Exit::Signal(_) => false,
        };
        let codes: Vec<String> =
            EXITS.iter().filter(|exit| known(**exit)).map(|exit| exit.code().to_string()).collect();
        let told: Vec<&str> = EXIT_CODES.rows.iter().map(|(code, _)| *code).collect();
        assert_eq!(told[..7], codes);
    }
}
