//! The help says everything in both languages, and the short one fits a screen.

use std::ffi::OsString;

use clap::{Command, CommandFactory};
use hostmark_analysis::findings::RULES;
use hostmark_analysis::findings::host::HOST_RULES;
use hostmark_model::{Lang, Text};
use unicode_width::UnicodeWidthStr;

use super::page::{HelpPage, PageStyle, SectionKind, of, value_help};
use super::*;
use crate::command::Arguments;

const SCREEN: PageStyle = PageStyle { width: 80, color: false };

fn pages(lang: Lang) -> Vec<(String, HelpPage)> {
    let built = built(Arguments::command(), lang);
    paths(&built).into_iter().map(|path| (path.clone(), of(at(&built, &path), &path, lang))).collect()
}

fn has_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// Texts without Chinese, each as an instruction what to add to which table.
fn untranslated(command: &Command, path: &str) -> Vec<String> {
    let mut all = Vec::new();
    if !has_chinese(&command.get_about().map(ToString::to_string).unwrap_or_default()) {
        all.push(format!("command '{path}': add its section to help/zh.md"));
    }
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let id = argument.get_id().as_str();
        if of_every_command(id).is_some() || argument.is_global_set() && !path.is_empty() {
            continue;
        }
        if !has_chinese(&argument.get_help().map(ToString::to_string).unwrap_or_default()) {
            all.push(format!("argument {id} of '{path}': add its section to help/zh.md"));
        }
        if argument.get_action().takes_values() {
            for name in argument.get_value_names().unwrap_or_default() {
                if !zh::VALUE_NAMES.iter().any(|(_, zh)| *zh == name.as_str()) {
                    all.push(format!("value name of {path} {id}: add {name} to help/words.md"));
                }
            }
            for value in argument.get_possible_values().iter().filter(|value| value.get_help().is_some()) {
                if !has_chinese(&value_help(path, id, value.get_name(), None, Lang::Zh)) {
                    let name = value.get_name();
                    all.push(format!("value {name} of {path} {id}: add its row to help/zh.md"));
                }
            }
        }
        if argument.get_help_heading().is_some_and(|heading| !is_known(heading)) {
            all.push(format!("heading of {path} {id}: add it to help/words.md"));
        }
    }
    for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
        all.extend(untranslated(part, &join(path, part.get_name())));
    }
    all
}

#[test]
fn every_command_argument_and_value_is_in_chinese() {
    let missing = untranslated(&built(Arguments::command(), Lang::Zh), "");
    assert!(missing.is_empty(), "in crates/cli/src/:\n{}", missing.join("\n"));
    for (path, id, _) in DETAILS {
        let known = zh::ARGUMENTS.iter().find(|(of, name, _)| (of, name) == (path, id));
        assert!(known.is_some_and(|(.., text)| text.contains("\n\n")), "{path} {id}: add its details to help/zh.md");
    }
}

#[test]
fn the_tables_of_chinese_name_nothing_that_is_not_there() {
    let built = built(Arguments::command(), Lang::En);
    let has = |path: &str, id: &str| {
        at_exactly(&built, path).is_some_and(|command| command.get_arguments().any(|a| a.get_id() == id))
    };
    for (path, id, _) in zh::ARGUMENTS.iter().chain(DETAILS) {
        assert!(has(path, id), "remove {path} {id} from help/zh.md or en.md");
    }
    for (path, id, value, _) in zh::VALUES {
        let command = at_exactly(&built, path).expect("a command");
        let values = command.get_arguments().filter(|a| a.get_id() == id).flat_map(|a| a.get_possible_values());
        assert!(values.into_iter().any(|v| v.get_name() == *value), "remove {path} {id} {value} from help/zh.md");
    }
    for (path, _) in zh::COMMANDS {
        assert!(at_exactly(&built, path).is_some(), "remove {path} from help/zh.md");
    }
}

fn at_exactly<'a>(built: &'a Command, path: &str) -> Option<&'a Command> {
    path.split_whitespace().try_fold(built, |at, name| at.find_subcommand(name))
}

#[test]
fn every_page_has_examples_exit_codes_and_environment_in_both_languages() {
    for (path, page) in pages(Lang::En).into_iter().chain(pages(Lang::Zh)) {
        assert!(
            page.sections.iter().any(|s| s.kind == SectionKind::Examples),
            "add examples of '{path}' to help/examples.md"
        );
        let topics = page.sections.iter().filter(|s| s.kind == SectionKind::Topic).count();
        assert!(topics >= 2, "{path}");
    }
    for (path, page) in pages(Lang::Zh) {
        for entry in page.sections.iter().flat_map(|section| &section.entries) {
            let is_list = |line: &String| line.starts_with('[');
            for line in entry.text.iter().filter(|line| !is_list(line)) {
                assert!(has_chinese(line), "{path} {}: {line}", entry.term);
            }
        }
    }
}

#[test]
fn no_english_of_the_library_is_in_the_chinese_help() {
    for (path, page) in pages(Lang::Zh) {
        let text = page.long(SCREEN) + &page.short(SCREEN);
        for word in ["Usage", "Options", "OPTIONS", "Commands", "default", "possible values", "Print help", "aliases"] {
            assert!(!text.contains(word), "{path}: {word}");
        }
    }
}

#[test]
fn the_short_help_fits_one_screen() {
    for (path, page) in pages(Lang::En).into_iter().chain(pages(Lang::Zh)) {
        let text = page.short(SCREEN);
        assert!(text.lines().count() <= 26, "{path}: {} lines\n{text}", text.lines().count());
        for line in text.lines() {
            assert!(line.width() <= SCREEN.width || line.contains("hostmark "), "{path}: {line}");
        }
    }
}

#[test]
fn the_command_of_a_line_is_found_before_it_is_parsed() {
    let tree = tree(Arguments::command(), Lang::En);
    let path = |words: &[&str]| path_of(&tree, &words.iter().map(OsString::from).collect::<Vec<_>>());
    assert_eq!(path(&["vm", "run", "--help"]), "vm run");
    assert_eq!(path(&["help", "report"]), "report");
    assert_eq!(path(&["--lang", "zh", "runs"]), "runs");
    assert_eq!(path(&["--help"]), "");
}

/// Commands in a text, without those that name a command alone.
fn commands_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|quoted| quoted.starts_with("hostmark ") && quoted.split(' ').count() > 2)
}

#[test]
fn every_command_that_a_finding_tells_to_give_is_one() {
    let of_runs = RULES.iter().filter_map(|rule| Some((rule.id, rule.cure?)));
    let texts: Vec<(&str, Text)> = of_runs.chain(HOST_RULES.iter().map(|rule| (rule.id, rule.cure))).collect();
    let mut given = 0;
    for (id, command) in texts
        .iter()
        .flat_map(|(id, text)| [text.en, text.zh].into_iter().flat_map(commands_in).map(move |command| (id, command)))
    {
        given += 1;
        let parsed = Arguments::command().try_get_matches_from(command.split(' '));
        assert!(parsed.is_ok(), "{id}: {command}: {}", parsed.err().map(|error| error.to_string()).unwrap_or_default());
    }
    assert!(given > 0);
    // The word that the finding about slow machines gives is known where a person may give it.
    for words in [&["compare", "--against", "usual"][..], &["run", "--against", "usual"], &["explain", "usual"]] {
        assert!(
            Arguments::command().try_get_matches_from(std::iter::once(&"hostmark").chain(words)).is_ok(),
            "{words:?}"
        );
    }
}

#[test]
fn every_exit_code_is_reported_once() {
    // A new code has to be added to EXITS: this match does not compile without it.
    let known = |exit: Exit| match exit {
        Exit::Fine | Exit::Found | Exit::Undecided | Exit::BadInput => true,
        Exit::CaseFailed | Exit::NothingSelected | Exit::ResourceLost => true,
        Exit::Signal(_) => false,
    };
    let codes: Vec<String> = EXITS.iter().filter(|exit| known(**exit)).map(|exit| exit.code().to_string()).collect();
    let told: Vec<&str> = EXIT_CODES.rows.iter().map(|(code, _)| *code).collect();
    assert_eq!(told[..7], codes);
}
