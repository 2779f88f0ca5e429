//! Shell completion: filters with their axes and values, stored runs, tables. Nothing is measured, and of stored runs only the names are
//! read.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use hostmark_analysis::escape;
use hostmark_engine::probe::{Axis, Entry, Points, entries};
use hostmark_model::{AxisKind, Exit, Lang};
use hostmark_probes::CATALOGUE;

use super::page::value_help;
use super::{at, built, examples_of, help, of_each_below, path_of};
use crate::language::said;
use crate::{output, store};

/// Largest number of stored runs offered, the newest first.
const MOST_RUNS: usize = 50;
/// Sizes as people type them.
const SIZES: [&str; 7] = ["4K", "32K", "256K", "1M", "16M", "64M", "256M"];
const TABLES: [&str; 8] =
    ["memory-bandwidth", "size-stride", "pipe", "stream", "lmbench", "answer", "overhead", "data-path"];

/// A command and those below it, each argument with what it completes to.
pub fn attached(command: Command, path: &str, lang: Lang) -> Command {
    let command = command.mut_args(|argument| with_completer(with_values_in(argument, path, lang), path));
    of_each_below(command, path, &|part, path| attached(part, path, lang))
}

/// Adds the help of an argument's values, in this language.
fn with_values_in(argument: Arg, path: &str, lang: Lang) -> Arg {
    let said = |value: &PossibleValue| {
        let help = value.get_help().map(ToString::to_string);
        let help = value_help(path, argument.get_id().as_str(), value.get_name(), help, lang);
        // A process that completes says this once and ends.
        let name: &'static str = Box::leak(value.get_name().into());
        PossibleValue::new(name).help(help).hide(value.is_hide_set())
    };
    let values: Vec<PossibleValue> =
        argument.get_possible_values().iter().filter(|value| value.get_help().is_some()).map(said).collect();
    if values.is_empty() || lang == Lang::En {
        argument
    } else {
        argument.value_parser(PossibleValuesParser::new(values))
    }
}

fn with_completer(argument: Arg, path: &str) -> Arg {
    let id = argument.get_id().as_str().to_owned();
    match (path, id.as_str()) {
        (_, "filters" | "ids") => argument.add(ArgValueCompleter::new(|typed: &OsStr| of(typed, filters))),
        (_, "set") => argument.add(ArgValueCompleter::new(|typed: &OsStr| of(typed, sets))),
        (_, "table") => argument.add(ArgValueCompleter::new(|typed: &OsStr| of(typed, tables))),
        ("run", "resume") => argument.add(ArgValueCompleter::new(|typed: &OsStr| of(typed, journals))),
        ("report", "names") | ("run", "expect") => argument.add(ArgValueCompleter::new(runs_or_files)),
        ("compare", "names") => argument.add(ArgValueCompleter::new(|typed: &OsStr| {
            let mut all = runs_or_files(typed);
            all.extend(of(typed, filters));
            all
        })),
        _ => argument,
    }
}

fn of(typed: &OsStr, offered: fn(&str) -> Vec<String>) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let mut all = offered(typed);
    all.retain(|one| one.starts_with(typed));
    all.into_iter().map(CompletionCandidate::new).collect()
}

fn tables(_: &str) -> Vec<String> {
    TABLES.map(str::to_owned).to_vec()
}

/// Groups, probes and lmbench's programs; behind `@` the axes of what stands before it, behind `=` values.
fn filters(typed: &str) -> Vec<String> {
    let Some((name, axes)) = typed.split_once('@') else { return names_with_at(typed) };
    let matching = named(name);
    let (before, part) = axes.rsplit_once(',').map_or(("", axes), |(before, part)| (before, part));
    let used: Vec<&str> = before.split(',').filter_map(|pair| Some(pair.split_once('=')?.0)).collect();
    let prefix = if before.is_empty() { format!("{name}@") } else { format!("{name}@{before},") };
    of_axes(&matching, part, &used).into_iter().map(|end| format!("{prefix}{end}")).collect()
}

/// `[PROBE:]AXIS=V1,V2`.
fn sets(typed: &str) -> Vec<String> {
    let (name, rest) = typed.split_once(':').map_or((None, typed), |(name, rest)| (Some(name), rest));
    let matching: Vec<Entry> = name.map_or_else(|| entries(CATALOGUE).collect(), named);
    let (before, last) = match rest.split_once('=') {
        Some((axis, values)) => match values.rsplit_once(',') {
            Some((before, last)) => (format!("{axis}={before},"), format!("{axis}={last}")),
            None => (format!("{axis}="), rest.to_owned()),
        },
        None => (String::new(), rest.to_owned()),
    };
    let prefix = name.map_or_else(String::new, |name| format!("{name}:"));
    let of_value = |pair: String| match pair.split_once('=') {
        Some((_, value)) if !before.is_empty() => format!("{prefix}{before}{value}"),
        _ => format!("{prefix}{pair}"),
    };
    of_axes(&matching, &last, &[]).into_iter().map(of_value).collect()
}

fn names() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in entries(CATALOGUE) {
        all.extend([entry.group.to_owned(), entry.id()]);
        all.extend(entry.probe.replaces.iter().map(|&name| name.to_owned()));
    }
    all.sort();
    all.dedup();
    all
}

/// The names; where one alone begins as typed and has axes, also with `@` behind it: of two a shell sets no blank.
fn names_with_at(typed: &str) -> Vec<String> {
    let mut all = names();
    all.retain(|name| name.starts_with(typed));
    if let [name] = &all[..]
        && named(name).iter().any(|entry| !entry.axes().is_empty())
    {
        all.push(format!("{name}@"));
    }
    all
}

fn named(name: &str) -> Vec<Entry> {
    let is_meant = |entry: &Entry| entry.group == name || entry.id() == name || entry.probe.replaces.contains(&name);
    entries(CATALOGUE).filter(is_meant).collect()
}

/// `axis=` of every axis, or `axis=value` once the axis is typed.
fn of_axes(probes: &[Entry], typed: &str, used: &[&str]) -> Vec<String> {
    let axes = probes.iter().flat_map(Entry::axes).filter(|axis| !used.contains(&axis.name));
    let mut all: Vec<String> = match typed.split_once('=') {
        None => axes.map(|axis| format!("{}=", axis.name)).collect(),
        Some((name, _)) => axes.filter(|axis| axis.name == name).flat_map(|axis| values(&axis)).collect(),
    };
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

fn values(axis: &Axis) -> Vec<String> {
    let mut all: Vec<&str> = vec![axis.default];
    if axis.kind == AxisKind::Size {
        all.extend(SIZES);
    }
    if let Points::Listed { quick, standard, thorough } = axis.points {
        all.extend(quick.iter().chain(standard).chain(thorough));
    }
    all.into_iter().map(|value| format!("{}={value}", axis.name)).collect()
}

fn runs_or_files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = of(typed, |_| runs());
    all.extend(PathCompleter::file().complete(typed));
    all
}

/// `last`, `last-1` …, and the names of the newest runs.
fn runs() -> Vec<String> {
    let kept = store::kept().unwrap_or_default();
    let back = |index: usize| if index == 0 { "last".to_owned() } else { format!("last-{index}") };
    let mut all: Vec<String> = (0..kept.len().min(10)).map(back).collect();
    let name = |path: &std::path::PathBuf| Some(store::stem(path.file_name()?.to_str()?)?.to_owned());
    all.extend(kept.iter().rev().take(MOST_RUNS).filter_map(name).filter(|name| is_plain(name)));
    all
}

fn journals(_: &str) -> Vec<String> {
    let all = store::journals().unwrap_or_default();
    let name = |path: &std::path::PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(store::JOURNAL)?.to_owned());
    all.iter().rev().take(MOST_RUNS).filter_map(name).filter(|name| is_plain(name)).collect()
}

/// Names go to a shell: one that it would not take as a plain word is not offered.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

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
        let line = examples_of(&path).find(|example| example.line.contains(wanted)).map(|example| example.line);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(typed: &str, by: fn(&str) -> Vec<String>) -> Vec<String> {
        of(OsStr::new(typed), by).iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_filter_completes_to_groups_probes_axes_and_values() {
        let names = offered("memory", filters);
        assert!(names.contains(&"memory".into()) && names.contains(&"memory.read".into()), "{names:?}");
        assert!(offered("lat_mem", filters).contains(&"lat_mem_rd".into()));
        assert_eq!(offered("memory.hier", filters), ["memory.hierarchy", "memory.hierarchy@"]);
        assert!(!names.iter().any(|one| one.ends_with('@')), "{names:?}");
        let axes = offered("memory.read@", filters);
        assert!(axes.contains(&"memory.read@size=".into()), "{axes:?}");
        let rest = offered("memory.read@size=4096,", filters);
        assert!(!rest.is_empty() && rest.iter().all(|one| !one.contains(",size=")), "{rest:?}");
        assert!(offered("nosuch@", filters).is_empty() && offered("memory.read@nosuch=", filters).is_empty());
    }

    #[test]
    fn every_value_that_is_offered_is_one_that_the_plan_takes() {
        let mut count = 0;
        for entry in entries(CATALOGUE) {
            for axis in entry.axes() {
                for filter in offered(&format!("{}@{}=", entry.id(), axis.name), filters) {
                    let picked = hostmark_engine::plan::pick(CATALOGUE, std::slice::from_ref(&filter));
                    assert!(picked.is_ok(), "{filter}: {:?}", picked.err());
                    count += 1;
                }
            }
        }
        assert!(count > 50, "{count}");
    }

    #[test]
    fn a_set_completes_to_axes_and_each_of_several_values() {
        assert!(offered("si", sets).contains(&"size=".into()));
        let later = offered("memory.read:size=4096,", sets);
        assert!(later.iter().all(|one| one.starts_with("memory.read:size=4096,")), "{later:?}");
    }

    #[test]
    fn the_tables_that_are_offered_are_formats() {
        for table in TABLES {
            assert!(hostmark_present::export::format_named(table).is_some(), "{table}");
        }
    }
}
