//! Errors of a command line, in one sentence that ends with what to do.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use hostmark_analysis::escape;
use hostmark_model::{Exit, Lang};

use super::{at, built, help, path_of};
use crate::language::said;
use crate::{help, output};

/// Longest part of what was typed that is quoted.
const LONGEST: usize = 200;

/// Prints the help or the version that was asked for, or says what is wrong.
pub fn answer(error: &Error, command: Command, words: &[OsString], lang: Lang) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp => output::print(&help(command, words, lang)),
        // Options of every command and no command, as `-q` alone.
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if path_of(&command, words).is_empty() =>
        {
            output::print(&help(command, words, lang));
        }
        ErrorKind::DisplayVersion => output::print(&error.render().to_string()),
        _ => {
            output::complain(&sentence(error, command, words, lang));
            return Exit::BadInput;
        }
    }
    Exit::Fine
}

pub fn of_completion(error: &Error) -> String {
    let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let why = why.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    said!("COMPLETE is set, but hostmark cannot complete for this shell ({why}); unset COMPLETE")
}

fn sentence(error: &Error, command: Command, words: &[OsString], lang: Lang) -> String {
    let tree = built(command, lang);
    let path = path_of(&tree, words);
    let name = if path.is_empty() { "hostmark".to_owned() } else { format!("hostmark {path}") };
    let see = said!("see {name} --help");
    let argument = strings(error, ContextKind::InvalidArg);
    let first = argument.first().cloned().unwrap_or_default();
    let value = short(&text(error, ContextKind::InvalidValue));
    // The best one comes last; one that begins otherwise is no slip of the fingers.
    let nearest = |kind, typed: &str| {
        let first = |word: &str| word.trim_start_matches('-').chars().next();
        strings(error, kind).last().filter(|nearest| first(nearest) == first(typed)).cloned()
    };
    let example = || {
        // One that has what is missing, where there is one.
        let wanted = first.split_whitespace().next().filter(|word| word.starts_with("--")).unwrap_or_default();
        let line = help::examples_of(&path).find(|example| example.line.contains(wanted)).map(|example| example.line);
        let line = line.map_or_else(|| format!("{name} --help"), str::to_owned);
        said!("as in `{line}`")
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let what = short(&first);
            let remedy = match nearest(ContextKind::SuggestedArg, &what) {
                Some(nearest) => said!("did you mean {nearest}? ({see})"),
                None => see,
            };
            match what.starts_with('-') {
                true => said!("unknown option '{what}'; {remedy}"),
                false => said!("unexpected argument '{what}'; {remedy}"),
            }
        }
        ErrorKind::InvalidSubcommand => {
            let what = short(&text(error, ContextKind::InvalidSubcommand));
            let remedy = match nearest(ContextKind::SuggestedSubcommand, &what) {
                Some(nearest) => said!("did you mean {nearest}? ({see})"),
                None => see,
            };
            said!("unknown command '{what}'; {remedy}")
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let remedy = possible(error).unwrap_or_else(example);
            said!("{first} needs a value; give one, {remedy}")
        }
        ErrorKind::InvalidValue => {
            let nearest = nearest(ContextKind::SuggestedValue, &value);
            let valid = possible(error).unwrap_or(see);
            match nearest {
                Some(nearest) => said!("invalid value '{value}' for {first}; did you mean {nearest}? ({valid})"),
                None => said!("invalid value '{value}' for {first}; {valid}"),
            }
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map_or_else(String::new, ToString::to_string);
            // Ours end with what to do; those of numbers do not.
            let why = match why.contains(['；', ';']) {
                true => why,
                false => {
                    let why = number(&why);
                    said!("{why}; {see}")
                }
            };
            said!("invalid value '{value}' for {first}: {why}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = argument.join(" ");
            let example = example();
            said!("missing {missing}; add it, {example}")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let commands: Vec<&str> = at(&tree, &path)
                .get_subcommands()
                .filter(|part| !part.is_hide_set() && part.get_name() != "help")
                .map(Command::get_name)
                .collect();
            let commands = commands.join(", ");
            let example = example();
            said!("missing command; use one of {commands}, {example}")
        }
        ErrorKind::ArgumentConflict => {
            let others = strings(error, ContextKind::PriorArg);
            if others.is_empty() || others == [first.clone()] {
                return said!("{first} is given twice; give it once");
            }
            let others = others.join(", ");
            said!("{first} cannot be used with {others}; leave one out")
        }
        ErrorKind::TooManyValues => {
            said!("{first} takes no value '{value}'; leave it out")
        }
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            said!("{first} has too few or too many values; {see}")
        }
        ErrorKind::NoEquals => said!("{first} needs its value after =; {see}"),
        ErrorKind::InvalidUtf8 => {
            said!("an argument is not valid UTF-8; type it again, {see}")
        }
        _ => {
            let what = error.to_string();
            let what = what.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!("{what}; {see}")
        }
    }
}

/// Reason why a text is not a valid number, in our languages.
fn number(why: &str) -> String {
    if let Some((value, range)) = why.split_once(" is not in ") {
        let (low, high) = range.split_once("..=").unwrap_or((range, ""));
        return said!("{value} is not between {low} and {high}");
    }
    match why {
        "invalid digit found in string" => said!("it is not a whole number"),
        "cannot parse integer from empty string" => said!("the value is empty"),
        "number too large to fit in target type" => said!("it is too large"),
        "number too small to fit in target type" => said!("it is too small"),
        "invalid IP address syntax" => said!("it is not an IP address"),
        other => other.to_owned(),
    }
}

fn possible(error: &Error) -> Option<String> {
    let values = strings(error, ContextKind::ValidValue);
    if values.is_empty() {
        return None;
    }
    let values = values.join(", ");
    Some(said!("possible values: {values}"))
}

fn text(error: &Error, kind: ContextKind) -> String {
    strings(error, kind).join(" ")
}

fn strings(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// Typed text, shortened, without terminal control characters.
fn short(typed: &str) -> String {
    let shown = escape::visible(typed);
    match shown.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}
