//! Help, errors of the command line, and completion, as a person meets them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::skip;
use crate::support::{Home, PROGRAM, in_process};

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

/// Every example that the help shows.
fn examples() -> Vec<String> {
    let mut all = Vec::new();
    for path in [
        "",
        "run",
        "list",
        "explain",
        "host",
        "report",
        "compare",
        "fleet",
        "fleet report",
        "fleet run",
        "try",
        "import",
        "runs",
        "vm",
        "vm run",
        "serve",
    ] {
        let asked: Vec<&str> = path.split_whitespace().chain(["--help"]).collect();
        let (code, help, errors) = hostmark(&asked);
        assert_eq!((code, errors.as_str()), (0, ""), "{path}");
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
fn a_bad_command_line_is_reported_in_one_sentence_in_both_languages() {
    let cases: [(&[&str], &str, &str); 9] = [
        (&["run", "--profil", "quick"], "did you mean --profile?", "是否要写 --profile？"),
        (&["rum"], "did you mean run?", "是否要写 run？"),
        (&["frobnicate"], "unknown command 'frobnicate'; see hostmark --help", "未知命令“frobnicate”"),
        (&["import"], "missing <FORMAT> <FILE>; add it, as in `hostmark import", "缺少 <格式> <文件>"),
        (&["compare", "--pairs", "3"], "missing --interleave <A> <B>; add it, as in `hostmark compare --inter", "缺少"),
        (&["report", "--format", "nosuch"], "possible values: table, ", "可取值：table, "),
        (&["run", "--format"], "needs a value", "需要取值"),
        (&["run", "--seed", "x"], "it is no seed; give", "不是种子；请"),
        (&["run", "--full", "--format", "json"], "cannot be used with", "不能与"),
    ];
    for (words, en, zh) in cases {
        for (lang, wanted) in [("en", en), ("zh", zh)] {
            let all: Vec<&str> = ["--lang", lang].into_iter().chain(words.iter().copied()).collect();
            let (code, out, errors) = hostmark(&all);
            assert_eq!((code, out.as_str(), errors.lines().count()), (2, "", 1), "{all:?} {errors}");
            assert!(errors.starts_with("hostmark: ") && errors.contains(wanted), "{all:?} {errors}");
            assert!(errors.contains([';', '；']), "{errors}");
        }
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
            let (code, _, errors) = hostmark(&words);
            assert_eq!(code, 2, "{words:?}");
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
    std::fs::create_dir_all(&store).expect("a store");
    std::fs::write(store.join("20260101T000000Z-host-0000.json"), "{}").expect("a file");
    let folder = std::path::Path::new(PROGRAM).parent().expect("a folder");
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
