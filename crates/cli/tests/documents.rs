//! The commands of the documents: each is a command line, and does in a fresh clone what its document says.

mod place;
mod shape;
mod snippets;

use std::io::Write;
use std::path::Path;

use place::{FreshClone, why_not};
use shape::{Shape, has_heading, headings, shape_of};
use snippets::{Snippet, snippets};

use crate::alone::alone;
use crate::help::{hostmark, words};
use crate::skip::skipped;

/// The documents below a directory, by their paths there, and their texts.
fn documents(root: &Path) -> Vec<(String, String)> {
    let of = |folder: &str| std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let documents = of("").chain(of("docs")).filter(|path| path.extension().is_some_and(|end| end == "md"));
    let read = |path: std::path::PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    let mut all: Vec<(String, String)> = documents.map(read).collect();
    all.sort();
    all
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Every command of hostmark in a document: lines of code, and what stands between backquotes.
fn commands(document: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            found.push(line.trim_start().trim_start_matches("$ "));
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    let ends = ["  #", " | ", " > ", " && ", ";"];
    let alone = |line: &str| ends.iter().fold(line.to_owned(), |line, end| line.split(end).next().unwrap().to_owned());
    let open = ["…", "<", " [", " FORMAT"];
    let is_whole = |line: &&str| !open.iter().any(|sign| line.contains(sign));
    let parts =
        found.into_iter().filter(is_whole).flat_map(|line| line.split(" && ").flat_map(|part| part.split("; ")));
    let of_ours = parts.filter_map(|part| part.strip_prefix("hostmark ")).filter(|rest| !rest.starts_with("0."));
    of_ours.map(alone).collect()
}

#[test]
fn every_command_in_the_documents_is_a_command_line() {
    let of = |(name, text): (String, String)| commands(&text).into_iter().map(move |line| (name.clone(), line));
    let all: Vec<(String, String)> = documents(root()).into_iter().flat_map(of).collect();
    assert!(all.len() > 200, "{} commands", all.len());
    // Started by the program itself.
    let internal = ["agent", "worker", "service"];
    let mut wrong = Vec::new();
    for (document, line) in all.iter().filter(|(_, line)| !internal.contains(&line.as_str())) {
        let mut words = words(line);
        // A word that follows what was taken in shows that it took the rest; behind `--` all are taken.
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        words.insert(end, "--no-such-option".into());
        let (code, _, errors) = hostmark(&words);
        let is_help = code == 0 && line.contains("--help");
        if !is_help && (code != 2 || !errors.contains("--no-such-option")) {
            wrong.push(format!("{document}: {line}: {errors}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(""));
}

#[test]
fn a_command_of_a_document_ends_where_the_shell_says_so() {
    let text =
        "`hostmark a b` and `hostmark c …`\n```sh\n$ hostmark d 'e f' | wc   # g\nhostmark h && hostmark i\nfoo\n```\n";
    assert_eq!(commands(text), ["a b", "d 'e f'", "h", "i"]);
}

/// Says a line past what libtest captures.
fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("documents: {line}\n").as_bytes());
}

/// A command, and where it stands with which output.
struct DocumentedCommand {
    line: String,
    /// Of the language that it is executed in: the document's, where this shows its output.
    is_chinese: bool,
    documents: Vec<String>,
    shown: Vec<String>,
}

/// Each command of README and docs once, in the order in which it comes first.
fn each_once(documents: Vec<(String, String)>) -> Vec<DocumentedCommand> {
    let mut all: Vec<DocumentedCommand> = Vec::new();
    let is_read = |name: &str| name.starts_with("README") || name.starts_with("docs/");
    for (name, text) in documents.into_iter().filter(|(name, _)| is_read(name)) {
        for Snippet { line, shown } in snippets(&text) {
            let is_chinese = name.ends_with(".zh-CN.md") && !shown.is_empty();
            let at = all.iter().position(|reported| reported.line == line && reported.is_chinese == is_chinese);
            let at = at.unwrap_or_else(|| {
                all.push(DocumentedCommand { line, is_chinese, documents: Vec::new(), shown: Vec::new() });
                all.len() - 1
            });
            all[at].documents.push(name.clone());
            all[at].shown.extend(shown);
        }
    }
    all
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn every_command_of_every_document_does_in_a_fresh_clone_what_the_document_says() {
    let _alone = alone();
    let Some(place) = FreshClone::cloned(root()) else { return skipped("the repository cannot be cloned") };
    let all = each_once(documents(place.directory()));
    let (mut executed, mut compared, mut wrong) = (0, 0, Vec::new());
    for reported in &all {
        let (line, mut at) = (&reported.line, reported.documents.clone());
        at.dedup();
        let at = at.join(", ");
        if let Some(why) = why_not(line) {
            say(&format!("not executed, {why}: {line} ({at})"));
            continue;
        }
        let (code, output, errors) = place.execute(line, if reported.is_chinese { "zh_CN.UTF-8" } else { "C.UTF-8" });
        executed += 1;
        let shape = shape_of(line);
        let first = output.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let fits =
            |shape: &Shape| shape.codes.contains(&code) && shape.begins.iter().any(|start| first.starts_with(start));
        if !shape.is_some_and(fits) {
            wrong.push(format!("{line} ({at}) ended with {code}, not as {shape:?}: {first} {errors}"));
        }
        for heading in headings(reported.shown.iter().map(String::as_str)) {
            compared += 1;
            if !has_heading(&output, heading) {
                wrong.push(format!("{line} ({at}) prints no '{heading}':\n{output}"));
            }
        }
    }
    let (count, rest) = (all.len(), all.len() - executed);
    say(&format!(
        "{count} commands: {executed} executed, {compared} headings of their outputs compared; {rest} not executed"
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(executed > 60 && compared > 20, "{executed} {compared}");
}
