//! The commands of the documents: each is a command line, and does in a fresh clone what its document says.

use std::os::unix::fs::symlink;

use hostmark_analysis::constants::{ConstantGroup, LINES};
use hostmark_analysis::fleet::planted::MadeUp;

use crate::help::{hostmark, words};
use crate::prelude::*;
use crate::tables::FILE as OF_LMBENCH;

/// The documents below a directory, by their paths there, and their texts.
fn documents(root: &Path) -> Vec<(String, String)> {
    let of = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let documents = of("").chain(of("docs")).filter(|path| path.extension().is_some_and(|end| end == "md"));
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let mut all: Vec<(String, String)> = documents.map(read).collect();
    all.sort();
    all
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Every command of hostmark in a document, without what a shell does with its output.
fn commands(document: &str) -> Vec<String> {
    let all = snippets(document);
    let parts = all.iter().flat_map(|one| one.line.split(" && ").flat_map(|part| part.split("; ")));
    let of_ours =
        parts.filter_map(|part| part.trim().strip_prefix("hostmark ")).filter(|rest| !rest.contains(" FORMAT"));
    let alone =
        |line: &str| [" | ", " > ", ";"].iter().fold(line, |line, end| line.split(end).next().unwrap()).to_owned();
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
        let fits = |(codes, begins): &(Vec<i32>, Vec<&str>)| {
            codes.contains(&code) && begins.iter().any(|start| first.starts_with(start))
        };
        if !shape.as_ref().is_some_and(fits) {
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

/// Values of a kind, each with what stands behind it.
fn values(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = include_str!("support/documents.tsv").lines().filter(|row| !row.starts_with('#'));
    let columns = rows.map(|row| row.splitn(3, '\t').collect::<Vec<_>>());
    columns.filter(move |columns| columns[0] == kind).map(|columns| (columns[1], columns[2]))
}

/// Why a command is not executed.
fn why_not(line: &str) -> Option<String> {
    if line.starts_with("hostmark ") && line.contains("--dry-run") && !line.contains("vm run") {
        return None;
    }
    let reason = values("not").find(|(sign, _)| line.contains(sign));
    let lacks = |name: &&str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == *name) && !is_there(name)
    };
    let lacking = || values("program").map(|(name, _)| name).find(lacks).map(|name| format!("there is no {name}"));
    reason.map(|(_, why)| why.to_owned()).or_else(lacking)
}

fn is_there(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

pub struct FreshClone {
    clone: TempDir,
    programs: TempDir,
    home: Home,
    /// What the store of runs has before each command.
    stored: Vec<(Vec<u8>, PathBuf)>,
}

impl FreshClone {
    /// None where the repository cannot be cloned: this is an archive of it, or there is no git.
    pub fn cloned(root: &Path) -> Option<FreshClone> {
        let [clone, programs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let place = FreshClone { clone, programs, home: Home::new(), stored: Vec::new() };
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--no-hardlinks"]).arg(root).arg(place.directory());
        git.output().is_ok_and(|output| output.status.success()).then(|| place.prepare())
    }

    pub fn directory(&self) -> &Path {
        self.clone.path()
    }

    /// The program, two runs, and copies of the last where the documents have files.
    fn prepare(mut self) -> FreshClone {
        let at = |name: &str| self.clone.path().join(name);
        symlink(PROGRAM, self.programs.path().join("hostmark")).unwrap();
        for folder in ["runs", "vm", "cloud-a", "cloud-b", "results/x86_64-linux-gnu"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (name, text) in values("script") {
            fs::write(at(name), format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::copy(at("crates/present/tests/fixtures/import/fio.json"), at("fio.json")).unwrap();
        fs::write(at("results/x86_64-linux-gnu/db-17.0"), OF_LMBENCH).unwrap();
        fs::write(at("big"), "some text").unwrap();
        let fleet = MadeUp::usual(5, 1);
        (0..5).for_each(|host| fs::write(at(&format!("runs/{host}.json")), fleet.run(host, 0)).unwrap());
        let tables = ["overhead", "data-path"].map(|table| format!("hostmark run --table {table} --out {table}.json"));
        // A glance has less to say than the documents show.
        for line in
            ["hostmark run", "hostmark run --profile quick"].into_iter().chain(tables.iter().map(String::as_str))
        {
            with_code(0, self.execute(line, "C"));
        }
        self.stored = files(&self.runs()).into_iter().map(|file| (fs::read(&file).unwrap(), file)).collect();
        // Each copy is a run of its own.
        let copy = |run: &str, name: &str| {
            let id = serde_json::from_str::<serde_json::Value>(run).unwrap()["id"].as_str().unwrap().to_owned();
            fs::write(at(&format!("{name}.json")), run.replace(&id, &uuid::Uuid::now_v7().to_string())).unwrap();
        };
        let run = self.stored.iter().find(|(_, file)| file.extension().is_some_and(|end| end == "json")).unwrap();
        let run = String::from_utf8(run.0.clone()).unwrap();
        ["base", "db-17", "db-18", "before-1", "after-1", "cloud-a/1", "cloud-b/1"]
            .iter()
            .for_each(|name| copy(&run, name));
        let overhead = fs::read_to_string(at("overhead.json")).unwrap();
        ["native-1", "guest-1", "vm/native-1", "vm/guest-1"].iter().for_each(|name| copy(&overhead, name));
        self
    }

    fn runs(&self) -> PathBuf {
        self.home.data.path().join("hostmark/runs")
    }

    /// Executes a command of a document, in a store of the two runs. What it prints, or the file that it writes, and its errors.
    pub fn execute(&self, line: &str, locale: &str) -> (i32, String, String) {
        let mut line = line.to_owned();
        for (word, stands_for) in values("stand_in") {
            line = replace_words(&line, word, stands_for);
        }
        // The last in the time of one screen.
        if !line.contains("--profile") {
            line = replace_words(&line, "hostmark run", "hostmark run --profile glance");
        }
        if !self.stored.is_empty() {
            let _ = fs::remove_dir_all(self.runs());
            fs::create_dir_all(self.runs()).unwrap();
            self.stored.iter().for_each(|(bytes, file)| fs::write(file, bytes).unwrap());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
        let mut shell = self.home.start("sh");
        shell.args(["-c", &line]).current_dir(self.directory()).env("LC_ALL", locale);
        let (code, printed, errors) =
            said(&shell.env("PATH", std::env::join_paths(folders).unwrap()).output().unwrap());
        let file = |sign: &str| line.split_once(sign)?.1.split_whitespace().next();
        let written = file(" --out ").or_else(|| file(" > ")).map(|file| self.directory().join(file));
        let written = written
            .and_then(|file| fs::read_to_string(file).ok())
            .filter(|_| printed.is_empty() || line.contains(".json"));
        (code, written.unwrap_or(printed), errors)
    }
}

/// A line in which `word` is another, wherever it stands between others.
fn replace_words(line: &str, word: &str, stands_for: &str) -> String {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let begins = is_edge(before.chars().next_back().or(out.chars().next_back()));
        let ends = word.ends_with('/') || is_edge(after.chars().next());
        out += before;
        out += if begins && ends { stands_for } else { word };
        rest = after;
    }
    out + rest
}

/// Exit codes that a command may end with, and beginnings of the first line of its output, by what the command has in it.
const SHAPES: &str = include_str!("support/shapes.tsv");

/// The exit codes that a command may have, and the beginnings of its output; none where the list above lacks it.
fn shape_of(line: &str) -> Option<(Vec<i32>, Vec<&'static str>)> {
    SHAPES.lines().filter(|row| !row.starts_with('#')).find_map(|row| {
        let mut columns = row.split('\t');
        let [part, codes, begins] = std::array::from_fn(|_| columns.next().unwrap_or_default());
        let shape = || (codes.split(',').flat_map(str::parse).collect(), begins.split('|').collect());
        line.contains(part).then(shape)
    })
}

/// Beginnings of those lines that are headings or have a name before their columns: `TRUST`, `NEXT`, `pipe, 1 CPU`.
pub fn headings<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let heading = |line: &'a str| {
        let (named, _) = line.split_once("  ")?;
        // The grade is that of one run.
        let named = named.strip_suffix(" C").unwrap_or(named);
        let is_name = named.starts_with(char::is_alphabetic) && !line.contains(": ") && !line.contains('：');
        (is_name && values("of_some").all(|(row, _)| row != named)).then_some(named)
    };
    lines.filter_map(heading).collect()
}

/// Tells whether a line of an output, or its right half, begins so; for a row of the first screen, one of its kind: how much else a
/// screen has to hold decides whether key figures have rows, or follow each other behind the name of their kind.
fn has_heading(output: &str, heading: &str) -> bool {
    let begins = |name: &str| {
        let in_right_half = format!("  {name}");
        let rest = |line| str::strip_prefix(line, name).or_else(|| Some(line.split_once(&in_right_half)?.1));
        output.lines().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with([' ', '（']))
    };
    let of_kind = LINES.iter().map(names).find(|names| names.contains(&heading)).unwrap_or_default();
    begins(heading) || of_kind.into_iter().any(begins)
}

/// What a line of the first screen may begin with that holds constants of a kind.
fn names(kind: &ConstantGroup) -> Vec<&'static str> {
    let rows = kind.constants.iter().map(|constant| constant.row);
    std::iter::once(kind.name).chain(rows).flat_map(|name| [name.en, name.zh]).collect()
}

#[test]
fn a_first_screen_holds_its_constants_in_any_of_its_forms() {
    let rows = "L1d latency  1.24 ns   1.2 … 1.3   TCP stream  2.73 GB/s  2.7 … 2.8\n";
    let flow = "memory latency      L1d 1.24 ns\nTCP over loopback   round trip 4.34 µs   stream 2.73 GB/s\n";
    let alone = "L1d latency       1.24 ns\nTCP round trip    4.34 µs\n";
    let [of_latency, of_tcp] = ["L1d latency", "TCP round trip"];
    for screen in [rows, flow, alone] {
        assert!(has_heading(screen, of_latency) && has_heading(screen, of_tcp), "{screen}");
        assert!(!has_heading(screen, "pipe, 1 CPU") && !has_heading(screen, "NEXT"), "{screen}");
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The whole line, without its comment.
    pub line: String,
    /// What the document shows below it.
    pub shown: Vec<String>,
}

/// Every command of a document. A block of code that has none shows the output of the first command since the last heading or block.
fn snippets(document: &str) -> Vec<Snippet> {
    let (mut all, mut owner, mut block) = (Vec::<Snippet>::new(), None, None);
    let mut goes_on = false;
    for line in document.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(language), None) => block = Some(["", "sh"].contains(&language)),
            (Some(_), Some(_)) => (block, owner) = (None, None),
            (None, Some(false)) => {}
            (None, Some(true)) => {
                let typed = line.strip_prefix("$ ");
                let command = without_comment(typed.unwrap_or(line));
                let continues = std::mem::replace(&mut goes_on, command.ends_with("&&"));
                match all.last_mut() {
                    Some(last) if continues => last.line = format!("{} {}", last.line, command.trim_start()),
                    _ if is_command(command) => {
                        owner = typed.map(|_| all.len());
                        all.push(Snippet { line: command.to_owned(), shown: Vec::new() });
                    }
                    _ => owner.iter().for_each(|&at: &usize| all[at].shown.push(line.to_owned())),
                }
            }
            (None, None) => {
                if line.starts_with('#') {
                    owner = None;
                }
                for code in line.split('`').skip(1).step_by(2).filter(|code| is_command(code)) {
                    owner.get_or_insert(all.len());
                    all.push(Snippet { line: code.to_owned(), shown: Vec::new() });
                }
            }
        }
    }
    let is_open = |line: &str| {
        values("open").any(|(sign, _)| line.contains(sign)) || values("option").any(|(end, _)| line.ends_with(end))
    };
    all.retain(|snippet| !is_open(&snippet.line));
    all
}

fn is_command(line: &str) -> bool {
    // Not the first line of a report.
    values("begins").any(|(start, _)| line.starts_with(start)) && !line.starts_with("hostmark 0.")
}

fn without_comment(line: &str) -> &str {
    line.split("  #").next().unwrap_or_default().trim_end()
}

#[test]
fn a_commands_output_is_the_block_below_it() {
    let text = "# A `hostmark a`\nand `hostmark b`, `hostmark c …`, `other`\n\n```\nOUT   x\n```\n`hostmark d`\n```sh\nhostmark e &&  # f\n  mv g h\nI\n```\n\
                ```\n$ hostmark j\nK\nL\n```\n```json\nhostmark m\n```\n";
    let reported: Vec<(String, Vec<String>)> = snippets(text).into_iter().map(|one| (one.line, one.shown)).collect();
    let none = Vec::<String>::new;
    let wanted = [
        ("hostmark a", vec!["OUT   x".to_owned()]),
        ("hostmark b", none()),
        ("hostmark d", none()),
        ("hostmark e && mv g h", none()),
        ("hostmark j", vec!["K".to_owned(), "L".to_owned()]),
    ];
    assert_eq!(reported, wanted.map(|(line, shown)| (line.to_owned(), shown)));
}
