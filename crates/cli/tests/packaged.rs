//! What packages carry besides the program: the man page and the completions, made from the command tree.

use std::io::{Seek, Write};
use std::process::Command;

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_hostmark")).args(arguments).output().expect("a program that starts");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

const COMMANDS: [&str; 6] = ["run", "list", "explain", "host", "report", "runs"];

#[test]
fn the_man_page_reports_every_command_and_option() {
    let page = printed(&["man"]);
    assert!(page.starts_with(".") && page.contains(".TH"));
    for command in COMMANDS {
        assert!(page.contains(command), "{command}");
    }
    for option in ["profile", "seed", "cpu", "resume", "check"] {
        assert!(page.contains(option), "{option}");
    }
}

#[test]
fn every_shell_gets_what_asks_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("COMPLETE=") && script.contains("hostmark"), "{shell}: {script}");
    }
}

#[test]
fn each_command_has_its_manual_page_in_both_languages() {
    let page = printed(&["man", "vm", "run"]);
    assert!(page.contains("HOSTMARK") && page.contains("EXIT CODES") && page.contains("EXAMPLES"), "{page}");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("text");
    printed(&["--lang", "zh", "man", "--dir", path]);
    for command in ["hostmark", "hostmark-run", "hostmark-vm-run"] {
        let page = std::fs::read_to_string(directory.path().join(format!("{command}.1"))).expect("a page");
        assert!(page.contains("退出码") && page.contains("示例") && page.contains("选项"), "{command}");
    }
}

#[test]
fn the_bash_completion_is_a_script_that_bash_reads() {
    let script = printed(&["completions", "bash"]);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(script.as_bytes()).and_then(|()| file.rewind()).expect("a file that takes the script");
    match Command::new("bash").arg("-n").stdin(file).output() {
        Ok(output) => assert!(output.status.success()),
        Err(_) => {
            // A machine without bash completes nothing in it.
        }
    }
}

#[test]
fn help_shows_no_command_that_is_not_for_people() {
    let help = printed(&["--help"]);
    for hidden in ["worker", "janitor"] {
        assert!(!help.contains(hidden), "{hidden}");
    }
}
