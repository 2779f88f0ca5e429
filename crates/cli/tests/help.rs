//! Help, explanations, errors of the command line, and completion, as a person meets them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use hostmark_analysis::findings::RULES;
use hostmark_analysis::findings::host::HOST_RULES;
use hostmark_analysis::lmbench::{TABLES, probes_of_column, programs};

use crate::prelude::*;
use crate::skip;

pub fn hostmark(words: &[impl AsRef<OsStr>]) -> (i32, String, String) {
    in_process(Home::new().hostmark(&[]).args(words))
}

/// The words of an example, as its quotes group them.
pub fn words(line: &str) -> Vec<String> {
    let mut parts = line.split('\'');
    let mut all = Vec::new();
    while let Some(bare) = parts.next() {
        all.extend(bare.split_whitespace().map(str::to_owned));
        let is_glued = bare.ends_with(|c: char| !c.is_whitespace());
        match (parts.next(), all.last_mut()) {
            (Some(quoted), Some(last)) if is_glued => last.push_str(quoted),
            (quoted, _) => all.extend(quoted.map(str::to_owned)),
        }
    }
    all
}

fn examples() -> Vec<String> {
    let mut all = Vec::new();
    const COMMANDS: &str =
        ",run,list,explain,host,report,compare,fleet,fleet report,fleet run,try,import,runs,vm,vm run,serve";
    for path in COMMANDS.split(',') {
        let asked: Vec<&str> = path.split_whitespace().chain(["--help"]).collect();
        let help = succeeded(hostmark(&asked));
        let (_, rest) = help.split_once("\nExamples\n").expect("examples");
        let section = rest.split("\n\n").next().unwrap_or_default();
        all.extend(section.lines().filter_map(|line| line.strip_prefix("  hostmark ")).map(str::to_owned));
    }
    all
}

#[test]
fn every_example_is_a_command_line_that_works() {
    let all = examples();
    assert!(all.len() >= 20, "{}", all.len());
    let unparsed = ["unknown", "unexpected", "missing", "invalid", "cannot be used", "needs a value"];
    for line in all {
        let mut words = words(&line);
        match words[0].as_str() {
            // Measured elsewhere, or served until it is ended: that the words are right is seen by its help.
            "run" if !line.contains("--on") && !line.contains("--peer") => words.push("--dry-run".into()),
            "list" | "explain" | "host" => {}
            "runs" => {
                let (code, _, errors) = hostmark(&words);
                assert!(code == 2 && errors.contains("no run is kept"), "{line}: {errors}");
                continue;
            }
            // There is no run and no file: but that is all that is wrong.
            "report" | "import" | "fleet" if !line.starts_with("fleet run") => {
                let (code, _, errors) = hostmark(&words);
                assert!(code == 2 && !unparsed.iter().any(|word| errors.contains(word)), "{line}: {errors}");
                continue;
            }
            _ => {
                // A word that follows what clap has taken in shows that it took the rest.
                words.push("--no-such-option".into());
                let (code, _, errors) = hostmark(&words);
                assert!(code == 2 && errors.contains("'--no-such-option'"), "{line}: {errors}");
                continue;
            }
        }
        words.dedup_by(|one, other| one == "--dry-run" && other == "--dry-run");
        let (code, out, errors) = hostmark(&words);
        assert!((code == 0 || words[0] == "host" && code == 1) && !out.is_empty(), "{line}: {code} {errors}");
    }
}

#[test]
fn hostile_words_are_refused_cleanly() {
    let long = "x".repeat(100_000);
    let hostile: [&[u8]; 7] =
        [b"\x1b[2J", b"--\x1b]0;x\x07", b"\xff\xfe", b"--\xff", b"", long.as_bytes(), "\u{202e}evil".as_bytes()];
    for word in hostile {
        for before in [&["run", "--profile"][..], &["report", "--format"], &[], &["--lang", "zh"], &["run", "--seed"]] {
            let words: Vec<&OsStr> = before.iter().map(OsStr::new).chain([OsStr::from_bytes(word)]).collect();
            let (_, errors) = with_code(2, hostmark(&words));
            assert!(errors.len() < 2000 && errors.lines().count() == 1, "{} {errors:.300}", errors.len());
            assert!(!errors.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'), "{errors:?}");
        }
    }
}

#[test]
fn a_variable_of_completion_that_names_no_shell_is_reported() {
    let output = Command::new(PROGRAM).args(["list"]).env("COMPLETE", "1").output().expect("a program that starts");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(2) && errors.contains("unset COMPLETE"), "{errors}");
}

/// What a shell offers behind a line.
fn offered(shell: &str, line: &str, locale: &str) -> Option<String> {
    if Command::new(shell).arg("-c").arg("true").output().is_err() {
        return None;
    }
    let home = tempfile::tempdir().expect("a directory");
    let store = home.path().join("hostmark/runs");
    fs::create_dir_all(&store).expect("a store");
    fs::write(store.join("20260101T000000Z-host-0000.json"), "{}").expect("a file");
    let folder = Path::new(PROGRAM).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let script = match shell {
        "bash" => format!(
            "source <(hostmark completions bash); COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; _hostmark; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ),
        "fish" => format!("hostmark completions fish | source; complete -C '{line}'"),
        // Without a terminal zsh runs no widgets: what the script adds is shown by a stand-in.
        _ => format!(
            "compdef() {{ :; }}; _describe() {{ print -l -- ${{(P)@[-1]}}; }}; _files() {{ :; }}; \
             source <(hostmark completions zsh); words=({}); CURRENT=${{#words}}; _clap_dynamic_completer_hostmark",
            if line.ends_with(' ') { format!("{line}''") } else { line.to_owned() }
        ),
    };
    let mut command = Command::new(shell);
    command.arg("-c").arg(script).env("PATH", path).env("XDG_DATA_HOME", home.path()).env("HOME", home.path());
    let output = command.env("LC_ALL", locale).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn shells_complete_filters_values_runs_and_formats() {
    let cases = [
        ("hostmark com", "compare"),
        ("hostmark run memory.re", "memory.read"),
        ("hostmark run memory.read@", "size="),
        ("hostmark run memory.read@size=", "size="),
        ("hostmark report la", "last"),
        ("hostmark report 2026", "20260101T000000Z-host-0000"),
        ("hostmark report --format mark", "markdown"),
        ("hostmark run --profile st", "standard"),
        ("hostmark try hu", "huge-pages"),
    ];
    for shell in ["bash", "zsh", "fish"] {
        for (line, wanted) in cases {
            // Bash puts in what stands behind the last of its breaks; an at sign belongs to the word behind it.
            let wanted = match (shell, line.chars().last()) {
                ("bash", Some('=')) => "\n64M",
                ("bash", Some('@')) => "\n@size=",
                _ => wanted,
            };
            let Some(shown) = offered(shell, line, "C.UTF-8") else {
                skip::skipped(&format!("there is no {shell}"));
                break;
            };
            let shown = format!("\n{shown}");
            assert!(shown.contains(wanted), "{shell}: {line}: {shown}");
        }
    }
    // Fish shows what is said of each, in the language of its locale.
    for (line, said) in [
        ("hostmark run --profile st", "不超过 5 分钟"),
        ("hostmark run --color al", "总是使用"),
        ("hostmark try pip", "管道"),
    ] {
        let Some(shown) = offered("fish", line, "zh_CN.UTF-8") else { break };
        assert!(shown.contains(said), "{line}: {shown}");
    }
}

/// What an answer of `explain` opens, or lists first.
pub fn first_found(out: &str) -> &str {
    let is_list = ["Best matches", "“"].iter().any(|start| out.starts_with(start));
    let line = out.lines().nth(usize::from(is_list)).unwrap_or_default();
    line.trim_start().split("  ").next().unwrap_or_default()
}

#[test]
fn every_column_and_program_of_lmbench_is_found() {
    for head in TABLES.iter().flat_map(|table| table.columns).flat_map(|column| [column.head.en, column.head.zh]) {
        let out = succeeded(hostmark(&["explain", &head.replace('\n', " ")]));
        let probes = probes_of_column(head);
        assert!(probes.is_empty() || probes.contains(&first_found(&out)), "{head}: {out}");
    }
    let of_catalogue = programs().filter(|program| hostmark(&["list", program]).0 == 0);
    assert!(of_catalogue.count() > 35);
}

#[test]
fn every_finding_has_a_page() {
    for id in RULES.iter().map(|rule| rule.id).chain(HOST_RULES.iter().map(|rule| rule.id)) {
        assert_eq!(first_found(&succeeded(hostmark(&["explain", id]))), id);
    }
}

/// Wrong command lines that a person may type: one a line, whose words a tab parts.
const WRONG: &str = include_str!("support/wrong.tsv");

#[test]
fn what_is_wrong_is_reported_in_the_language_that_was_asked_for() {
    let home = Home::new();
    let folder = home.data.path().join("work");
    fs::create_dir(&folder).unwrap();
    for (name, text) in [
        ("torn.json", r#"{"schema":"hostmark.run/1","cases":["#),
        ("other.json", r#"{"colour":"red"}"#),
        ("newer.json", r#"{"schema":"hostmark.run/9"}"#),
        ("empty.json", ""),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let mut wrong = Vec::new();
    for typed in WRONG.lines() {
        let at = |word: &str| if word == "." { folder.clone() } else { folder.join(word) };
        let there = |word: &str| if at(word).exists() { at(word).display().to_string() } else { word.to_owned() };
        let words: Vec<String> = typed.split('\t').map(there).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = ["en", "zh"].map(|lang| {
            let (code, out, errors) = home.mocked(&[&words[..], &["--lang", lang][..]].concat());
            if code == 0 || is_chinese(&errors) != (lang == "zh") || (lang == "en" && is_chinese(&out)) {
                wrong.push(format!("{words:?} {lang} {code}: {errors}{out}"));
            }
            // What the command line itself refuses shows how it is used; a sentence is one line.
            let lines = errors.lines().filter(|line| !line.trim().is_empty()).count();
            (code, lines)
        });
        let [english, chinese] = said;
        if english != chinese {
            wrong.push(format!("{words:?}: {english:?} in English, {chinese:?} in Chinese"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), WRONG.lines().count(), wrong.join("\n"));
    assert!(files(home.scratch.path()).is_empty());
}
