//! Errors in both languages: one sentence in one line, with the same exit code, and each language in its own.

use std::fs;

use crate::support::{Home, files, in_process};

/// What a person may type that is wrong.
const WRONG: &[&[&str]] = &[
    &["run", "nosuch"],
    &["run", "memory.latnecy"],
    &["run", "lat_pmake"],
    &["run", "memory.latency@nosuch=1"],
    &["run", "clock.loop@size=4096"],
    &["run", "memory.latency@pattern=nosuch"],
    &["run", "memory.latency@size=4096,size=8192"],
    &["run", "memory..latency"],
    &["run", "memory.latency@size"],
    &["run", "--cpu", "none"],
    &["run", "--cpu", "4095"],
    &["run", "--set", "nosuch=1", "clock.loop"],
    &["run", "--set", "size", "memory.latency"],
    &["run", "--set", "memory.read:size=4K", "clock.loop"],
    &["run", "--set", "size=4K", "--set", "size=8K", "memory.latency"],
    &["run", "--table", "nosuch"],
    &["run", "--command", "true", "clock.loop"],
    &["run", "external.time"],
    &["run", "--command", "'true"],
    &["run", "--command", "true", "--value", "(", "--unit", "us"],
    &["run", "--command", "true", "--value", "a", "--unit", "parsec"],
    &["run", "--out", "nosuch/run.json", "clock.loop"],
    &["run", "--out", "/dev/null", "clock.loop"],
    &["run", "--scratch", "/dev/null", "clock.loop"],
    &["run", "--resume", "nosuch"],
    &["run", "--on", "", "clock.loop"],
    &["run", "--on", "tcp:", "clock.loop"],
    &["run", "--on", "tcp:127.0.0.1", "clock.loop"],
    &["run", "--token-file", "token", "clock.loop"],
    &["run", "--nosuch"],
    &["run", "--profile", "nosuch"],
    &["run", "--dry-run", "--format", "html", "clock.loop"],
    &["report", "nosuch"],
    &["report", "last"],
    &["report", "last-300"],
    &["report", "torn.json"],
    &["report", "other.json"],
    &["report", "newer.json"],
    &["report", "empty.json"],
    &["report", "--format", "nosuch", "torn.json"],
    &["compare", "last"],
    &["compare", "nosuch", "last"],
    &["compare", "nosuch*", "nothing*"],
    &["compare", "--against", "nosuch", "torn.json"],
    &["compare", "--interleave", "", "true"],
    &["explain", "nosuch"],
    &["explain", "nosuch-kvm"],
    &["import", "--from", "nosuch", "torn.json"],
    &["import", "--from", "stream", "nosuch.txt"],
    &["try", "nosuch"],
    &["try", "pipe-size", "--command", "true"],
    &["try", "pipe-size", "clock.loop"],
    &["fleet", "report", "nosuch"],
    &["fleet", "report", "."],
    &["vm", "run", "--smp", "0"],
    &["serve", "--bind", "192.0.2.1:7417"],
    &["nosuch"],
    &["runs"],
];

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
    for typed in WRONG {
        let at = |word: &&str| if *word == "." { folder.clone() } else { folder.join(word) };
        let there = |word: &&str| if at(word).exists() { at(word).display().to_string() } else { (*word).to_owned() };
        let words: Vec<String> = typed.iter().map(there).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = ["en", "zh"].map(|lang| {
            let (code, out, errors) = in_process(&home.hostmark(&[&words[..], &["--lang", lang][..]].concat()));
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
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), WRONG.len(), wrong.join("\n"));
    assert!(files(home.scratch.path()).is_empty());
}
