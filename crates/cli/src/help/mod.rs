//! The help of every command, in English and Chinese: the command line's own texts, examples, and what a manual page adds.

pub mod complete;
pub mod page;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;

use std::ffi::OsString;

use clap::{Arg, Command};
use hostmark_model::{Exit, Lang, Text};

use crate::texts::help as zh;
use crate::texts::help::{DETAILS, ENVIRONMENT, EXAMPLES, EXIT_CODES, FILES, FILTERS, HEADINGS};

pub fn tree(command: Command, lang: Lang) -> Command {
    match lang {
        Lang::En => detailed(command, ""),
        Lang::Zh => translated(command.about(zh::ABOUT), ""),
    }
}

/// The command line with what each argument completes to. It parses nothing: values are names with what is said of them.
pub fn tree_that_completes(command: Command, lang: Lang) -> Command {
    complete::attached(tree(command, lang), "", lang)
}

fn detailed(command: Command, path: &str) -> Command {
    let command = command.mut_args(|argument| {
        let details = DETAILS.iter().find(|(command, id, _)| *command == path && argument.get_id() == *id);
        match (argument.get_help(), details) {
            (Some(line), Some((.., details))) => {
                let whole = format!("{line}\n\n{details}");
                argument.long_help(whole)
            }
            _ => argument,
        }
    });
    of_each_below(command, path, &detailed)
}

/// The command with those below it changed.
fn of_each_below(command: Command, path: &str, changed: &dyn Fn(Command, &str) -> Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|part| part.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let path = join(path, &name);
        command.mut_subcommand(name, |part| changed(part, &path))
    })
}

fn translated(command: Command, path: &str) -> Command {
    let about = zh::COMMANDS.iter().find(|(command, _)| *command == path).map(|(_, about)| *about);
    let command = match about {
        Some(about) => command.about(about),
        None => command,
    };
    of_each_below(command.mut_args(|argument| translated_argument(argument, path)), path, &translated)
}

fn translated_argument(argument: Arg, path: &str) -> Arg {
    let texts = zh::ARGUMENTS;
    let text =
        texts.iter().find(|(command, id, _)| *command == path && argument.get_id() == *id).map(|(.., text)| *text);
    let argument = match text {
        Some(text) => argument.help(text.split("\n\n").next().unwrap_or(text)).long_help(text),
        None => argument,
    };
    let heading = argument.get_help_heading().and_then(chinese);
    let argument = match heading {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    };
    let chinese =
        |name: &clap::builder::Str| zh::VALUE_NAMES.iter().find(|(en, _)| name.as_str() == *en).map(|(_, zh)| *zh);
    let names: Vec<&'static str> = argument.get_value_names().unwrap_or_default().iter().filter_map(chinese).collect();
    if names.is_empty() { argument } else { argument.value_names(names) }
}

/// The path of a command below another.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path} {name}") }
}

/// The path of the command that these words call, as far as they name one.
pub fn path_of(tree: &Command, words: &[OsString]) -> String {
    let mut at = tree;
    let mut path = String::new();
    for word in words.iter().filter_map(|word| word.to_str()) {
        if word == "help" && path.is_empty() {
            continue;
        }
        let Some(part) = at.find_subcommand(word) else { continue };
        path = join(&path, part.get_name());
        at = part;
    }
    path
}

pub fn at<'a>(built: &'a Command, path: &str) -> &'a Command {
    path.split_whitespace().fold(built, |at, name| at.find_subcommand(name).unwrap_or(at))
}

/// A tree in which every command knows its options and its whole name.
pub fn built(command: Command, lang: Lang) -> Command {
    let mut tree = tree(command, lang);
    tree.build();
    tree
}

/// Every command for people, by path, the program's own first.
pub fn paths(built: &Command) -> Vec<String> {
    fn below(command: &Command, path: &str, all: &mut Vec<String>) {
        all.push(path.to_owned());
        for part in command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help") {
            below(part, &join(path, part.get_name()), all);
        }
    }
    let mut all = Vec::new();
    below(built, "", &mut all);
    all
}

/// Summary of every command, by its path.
pub fn abouts(command: &Command) -> impl Iterator<Item = (String, Text<String>)> {
    zh::COMMANDS.iter().map(|(path, zh)| {
        let en = at(command, path).get_about().map(ToString::to_string).unwrap_or_default();
        ((*path).to_owned(), Text { en, zh: (*zh).to_owned() })
    })
}

/// The help that these words ask for: all of it where they say `--help` or `help`, else one screen.
pub fn help(command: Command, words: &[OsString], lang: Lang) -> String {
    let built = built(command, lang);
    let path = path_of(&built, words);
    let page = page::of(at(&built, &path), &path, lang);
    let is_long = words.iter().any(|word| word == "--help") || words.first().is_some_and(|word| word == "help");
    let options = crate::output::options(lang, false);
    let look = page::PageStyle { width: page::width(Some(options.width)), color: options.color };
    if is_long { page.long(look) } else { page.short(look) }
}

/// A term and what is said of it.
#[derive(Debug, Clone, Default)]
pub struct HelpEntry {
    pub term: String,
    pub short: String,
    pub text: Vec<String>,
}

/// A command line that works, and what it does.
pub struct Example {
    pub path: &'static str,
    pub line: &'static str,
    pub what: Text,
}

pub fn examples_of(path: &str) -> impl Iterator<Item = &'static Example> {
    EXAMPLES.iter().filter(move |example| example.path == path)
}

/// The examples of a command as entries of its page.
pub fn entries(path: &str, lang: Lang) -> Vec<HelpEntry> {
    let entry = |example: &'static Example| {
        let what = example.what.get(lang).to_owned();
        HelpEntry { term: example.line.to_owned(), short: what.clone(), text: vec![what] }
    };
    examples_of(path).map(entry).collect()
}

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
