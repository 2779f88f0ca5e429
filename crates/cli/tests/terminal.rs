//! What a terminal shows: ids and commands that can be pasted back, widths, colours, and nothing but results where that is asked for.

use std::os::fd::AsFd;

use crate::commands::printed;
use crate::prelude::*;
use crate::support::in_process::{Written, healthy_worker, with_streams};

/// The ids of a plan as JSON has them, exact.
fn exact(home: &Home, arguments: &[&str]) -> Vec<String> {
    let json = printed(home, &[arguments, &["--format", "json"]].concat());
    let plan: Value = serde_json::from_str(&json).unwrap();
    plan["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_id_that_a_plan_shows_is_a_filter_for_the_same_case() {
    let home = Home::new();
    let arguments = ["run", "--dry-run", "--seed", "1"];
    let mut command = home.hostmark(&arguments);
    let (_, shown, _) = ended(command.env("COLUMNS", "200"));
    let ids: Vec<&str> = shown.split_whitespace().filter(|word| word.contains('@')).collect();
    let exact_ids: Vec<String> = exact(&home, &arguments).into_iter().filter(|id| id.contains('@')).collect();
    assert_eq!(ids.len(), exact_ids.len(), "{shown}");
    assert!(ids.iter().any(|id| id.contains("=64M")), "{shown}");
    assert!(!shown.contains("67108864"), "{shown}");
    // All of them typed at once select what was planned, in the plan's order.
    let again = exact(&home, &[&arguments[..], &ids[..]].concat());
    let again: Vec<String> = again.into_iter().filter(|id| id.contains('@')).collect();
    let missing: Vec<&String> = exact_ids.iter().filter(|id| !again.contains(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // And each alone the one in whose place it stands, of those that are possible on any host.
    let is_shortened = |(shown, exact_id): &(&&str, &String)| exact_id.starts_with("memory.read") && *shown != exact_id;
    for (shown, exact_id) in ids.iter().zip(&exact_ids).filter(is_shortened).step_by(3) {
        assert!(exact(&home, &[&arguments[..], &[*shown]].concat()).contains(exact_id), "{shown}");
    }
}

/// The commands that a text suggests behind `more:` and the like.
fn suggested(text: &str) -> Vec<String> {
    // Findings name commands too, which measure or need a root.
    let at = ["saved as", "已存为"].into_iter().find_map(|word| text.find(word)).unwrap_or(0);
    let parts = text[at..].lines().flat_map(|line| line.split("    "));
    let command = |part: &str| Some(part[part.find("hostmark ")?..].trim().to_owned());
    parts.filter(|part| part.contains(": hostmark ") || part.contains("：hostmark ")).filter_map(command).collect()
}

/// Runs a line as a person's shell does.
fn pasted(home: &Home, line: &str) -> (i32, String, String) {
    let directory = home.scratch.path().join("bin");
    fs::create_dir_all(&directory).unwrap();
    let link = directory.join("hostmark");
    if !link.exists() {
        std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    }
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default());
    ended(home.start("sh").args(["-c", line]).env("PATH", path))
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn what_is_suggested_after_a_run_works_when_it_is_pasted() {
    let home = Home::new();
    let strange = home.data.path().join("it's my $run.json").display().to_string();
    for lang in ["en", "zh"] {
        for out in [None, Some(strange.as_str())] {
            let mut arguments = vec!["run", "clock.loop", "--lang", lang];
            arguments.extend(out.iter().flat_map(|out| ["--out", out]));
            let shown = printed(&home, &arguments);
            let commands = suggested(&shown);
            // What was not measured is not explained.
            assert!(commands.len() == 2 && shown.contains("hostmark explain clock.loop"), "{shown}");
            for command in commands {
                let out = succeeded(pasted(&home, &command));
                assert!(out.contains("clock.loop") || out.contains("Empty loop"), "{command}: {out}");
            }
        }
    }
    // The shortest command shows the latest run.
    let shown = printed(&home, &["run", "clock.loop"]);
    let report = suggested(&shown).into_iter().find(|command| command.contains("report")).unwrap();
    assert!(pasted(&home, &report).1.contains("Empty loop"), "{report}");
    // All was shown: there is no more of it.
    assert!(!printed(&home, &["run", "clock.loop", "--verbose"]).contains("hostmark report"));
}

#[test]
fn a_page_is_as_wide_as_the_columns_between_60_and_200() {
    let home = Home::new();
    let widest = |columns: &str| {
        let mut command = home.hostmark(&["explain", "memory.latency", "ipc"]);
        let (_, text, _) = ended(command.env("COLUMNS", columns));
        let rule = text.lines().find(|line| line.starts_with('─')).unwrap().chars().count();
        // An address is pasted as a whole.
        let lines = text.lines().filter(|line| !line.contains("://"));
        (rule, lines.map(|line| line.chars().count()).max().unwrap())
    };
    for (columns, width) in [("10", 60), ("60", 60), ("72", 72), ("100", 100), ("nothing", 100), ("0", 100)] {
        let (rule, line) = widest(columns);
        assert!(rule == width && line <= width, "{columns}: {rule}, {line}");
    }
    // Prose stays where an eye follows it.
    assert_eq!(widest("5000"), widest("200"));
}

#[test]
fn several_runs_are_a_table_of_hosts() {
    let home = Home::new();
    let (one, other) = (home.data.path().join("one.json"), home.data.path().join("other.json"));
    let shown = |path: &Path| path.display().to_string();
    printed(&home, &["run", "clock", "syscall.null", "-q", "--out", &shown(&one)]);
    let mut run = load_run(&fs::read_to_string(&one).unwrap()).unwrap();
    run.name = "other".into();
    run.host.kernel.release = "9.9.9".into();
    fs::File::create(&other).unwrap().write_all(serde_json::to_string(&run).unwrap().as_bytes()).unwrap();
    for (lang, parts) in [
        ("en", ["null call", "clock_gettime", "DIFFERS", "9.9.9"]),
        ("zh", ["空系统调用", "clock_gettime", "差异", "9.9.9"]),
    ] {
        let text = printed(&home, &["report", &shown(&one), &shown(&other), "--lang", lang]);
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(text.contains("one") && text.contains("other"), "{text}");
    }
}

#[test]
fn no_text_counts_one_of_a_thing_as_several() {
    const NOUNS: [&str; 14] = [
        "cases", "CPUs", "runs", "pairs", "workers", "rounds", "samples", "facts", "nodes", "packages", "values",
        "hosts", "turns", "threads",
    ];
    let home = Home::new();
    printed(&home, &["run", "clock.loop", "-q"]);
    let run = printed(&home, &["run", "clock.loop", "--verbose"]);
    let texts = [
        run,
        printed(&home, &["run", "clock.loop", "--dry-run"]),
        printed(&home, &["runs"]),
        printed(&home, &["report", "--full", "--verbose"]),
        printed(&home, &["compare", "last-1", "last"]),
        printed(&home, &["compare", "last-1", "last", "--verbose"]),
        printed(&home, &["report", "last-1", "last"]),
        printed(&home, &["report", "--format", "markdown"]),
        printed(&home, &["host"]),
    ];
    for text in &texts {
        for noun in NOUNS {
            let wrong = format!(" 1 {noun}");
            let is_wrong = format!(" {}", text.replace('\n', " "))
                .split(&wrong)
                .skip(1)
                .any(|rest| !rest.starts_with(char::is_alphanumeric));
            assert!(!is_wrong, "{wrong} in\n{text}");
        }
    }
}

#[test]
fn without_a_terminal_there_is_no_progress() {
    let home = Home::new();
    let null = fs::File::open("/dev/null").unwrap();
    let mut command: Command = home.hostmark(&["run", "clock.loop"]);
    command.stdin(Stdio::from(null.as_fd().try_clone_to_owned().unwrap()));
    succeeded(ended(&mut command));
}

#[test]
fn finished_key_figures_stay_above_the_progress_bar_as_the_first_screen_has_them() {
    const CASES: [&str; 8] = [
        "memory.hierarchy",
        "cpu.frequency",
        "syscall.null",
        "clock.read",
        "ipc.round_trip",
        "disk.fsync",
        "paging.fault",
        "net.round_trip",
    ];
    let home = Home::new();
    let lines = |words: &[&str], term: &str| {
        let (output, errors) = (Written::default(), Written { is_terminal: true, ..Written::default() });
        let mut command = home.hostmark(&["run"]);
        command.args(words).env("TERM", term);
        with_streams(&command, Box::new(output.clone()), errors.clone(), |job, _| healthy_worker(job));
        let (screen, errors) = (output.text(), errors.text());
        let finished = errors.split('\n').filter_map(|line| Some(line.rsplit_once("\u{1b}[2K")?.1.trim().to_owned()));
        (screen, finished.filter(|line| !line.is_empty()).collect::<Vec<String>>())
    };
    for lang in ["en", "zh"] {
        let (screen, finished) = lines(&[&["--lang", lang], &CASES[..]].concat(), "xterm");
        let plain = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let is_on_it = |line: &String| plain(&screen).contains(&plain(line));
        assert!(finished.len() >= 8 && finished.iter().all(is_on_it), "{finished:?}\n{screen}");
    }
    // A table of few cases is no first screen, and a dumb terminal has no bar.
    assert_eq!(lines(&["syscall.null"], "xterm").1, [""; 0]);
    assert_eq!(lines(&CASES, "dumb").1, [""; 0]);
}
