//! The commands that measure nothing, and what bad commands, bad files and runs without a value are answered with.

use std::sync::LazyLock;

use hostmark_model::Lang;

use crate::prelude::*;
use crate::support;

/// The text of a whole run file.
static RUN: LazyLock<String> = LazyLock::new(|| {
    let home = Home::new();
    succeeded(home.mocked(&["run", "clock.loop", "--format", "json"]))
});

fn hostmark(arguments: &[&str]) -> (i32, String, String) {
    Home::new().mocked(arguments)
}

/// What `report` says of a file with this content.
fn refusal_of(content: &[u8]) -> String {
    let home = Home::new();
    let file = home.data.path().join("given.json");
    fs::write(&file, content).unwrap();
    let (code, out, errors) = ended(home.hostmark(&["report"]).arg(&file));
    assert_eq!((code, out.as_str(), errors.lines().count()), (2, "", 1), "{errors}");
    let rest = errors.strip_prefix(&format!("hostmark: {} ", file.display())).unwrap_or_else(|| panic!("{errors}"));
    rest.trim_end().to_owned()
}

#[test]
fn a_list_has_a_line_for_each_probe() {
    // Wide enough that none goes on in another line.
    let table = succeeded(ended(support::Home::new().hostmark(&["list"]).env("COLUMNS", "200")));
    let json = succeeded(hostmark(&["list", "--format", "json"]));
    let probes: Vec<hostmark_model::ProbeInfo> = serde_json::from_str(&json).unwrap();
    assert!(!probes.is_empty());
    for probe in &probes {
        let line = table.lines().find(|line| line.split_whitespace().next() == Some(&probe.id));
        let line = line.unwrap_or_else(|| panic!("{}: {table}", probe.id));
        let says = |word: &str| line.split_whitespace().any(|found| found == word);
        let words = probe.axes.iter().map(|axis| &axis.name).chain(&probe.needs);
        assert!(words.into_iter().all(|word| says(word)) && says("needs") != probe.needs.is_empty(), "{line}");
    }
    let known: Vec<_> = entries(CATALOGUE).map(|entry| entry.info()).collect();
    assert_eq!(probes, known);
    let (_, group, _) = hostmark(&["list", "clock", "--format", "json"]);
    let group: Vec<hostmark_model::ProbeInfo> = serde_json::from_str(&group).unwrap();
    assert!(!group.is_empty() && group.iter().all(|probe| probe.id.starts_with("clock.")));
}

#[test]
fn a_group_is_explained_page_by_page_and_nothing_by_the_contents() {
    let pages = succeeded(hostmark(&["explain", "clock"]));
    let of_group: Vec<String> =
        entries(CATALOGUE).filter(|entry| entry.group == "clock").map(|entry| entry.id()).collect();
    let begins = |line: &str, id: &str| line.strip_prefix(id).is_some_and(|rest| rest.starts_with("   "));
    for id in &of_group {
        assert_eq!(pages.lines().filter(|line| begins(line, id)).count(), 1, "{id}");
    }
    let causes = pages.lines().filter(|line| *line == "Usual causes of a bad value").count();
    assert_eq!(causes, of_group.len(), "{pages}");
    assert_eq!(hostmark(&["explain"]), hostmark(&["list"]));
}

#[test]
fn the_contents_have_a_heading_for_each_section() {
    for (lang, text) in [(Lang::En, hostmark(&["list"]).1), (Lang::Zh, hostmark(&["list", "--lang", "zh"]).1)] {
        let sections: BTreeSet<String> =
            entries(CATALOGUE).map(|entry| entry.probe.section.get(lang).to_uppercase()).collect();
        for section in sections {
            assert_eq!(text.lines().filter(|line| *line == section).count(), 1, "{section}: {text}");
        }
    }
}

#[test]
fn a_file_past_the_limit_of_sizes_is_an_error_and_nothing_of_it_is_left() {
    let home = Home::new();
    let (run, directory) = (home.data.path().join("run.json"), home.data.path().join("out"));
    fs::write(&run, &*RUN).unwrap();
    fs::create_dir(&directory).unwrap();
    // The limit is reached before a tenth is written. By default the kernel would end the program by SIGXFSZ.
    assert!(RUN.len() > 10 << 10);
    let copy = directory.join("copy.json");
    let mut command = home.start("sh");
    command.args(["-c", "ulimit -c 0; ulimit -f 1; exec \"$0\" \"$@\"", PROGRAM, "report", "--format", "json"]);
    let (code, out, errors) = ended(command.arg(&run).arg("--out").arg(&copy));
    let sentence = format!(
        "hostmark: {} cannot be written (write: File too large (os error 27)); raise the limit of file sizes (ulimit -f)\n",
        copy.display()
    );
    assert_eq!((code, out, errors), (5, String::new(), sentence));
    assert!(files(&directory).is_empty(), "{:?}", files(&directory));
}

#[test]
fn a_file_that_is_no_run_is_refused_with_the_reason() {
    assert_eq!(refusal_of(b""), "is empty; restore it, or measure again");
    assert_eq!(
        refusal_of(b"\x7fELF\xff\xfe\0\x01"),
        "is no text, and so no hostmark run; give a file that `hostmark run` wrote"
    );
    assert_eq!(
        refusal_of(br#"{"schema":"hostmark.run/2","cases":{}}"#),
        "was written by a newer hostmark (schema hostmark.run/2, this one reads up to /1); update hostmark to read it"
    );
    let nested = "[".repeat(1_000_000);
    let in_a_field = format!("{{\"schema\":\"hostmark.run/1\",\"host\":{nested}");
    let in_an_unknown_field = format!("{{\"schema\":\"hostmark.run/1\",\"x\":{nested}{}}}", "]".repeat(1_000_000));
    let others = ["plain text", "[1, 2]", "{}", "7", "null", r#"{"schema":7}"#, r#"{"schema":"hostmark.run/1"}"#];
    let others = others.iter().copied().chain([nested.as_str(), &in_a_field, &in_an_unknown_field]);
    for content in others.chain([r#"{"schema":"a\nb\u001b[2J"}"#, "\u{feff}{}", "\0\0\0\0"]) {
        let refusal = refusal_of(content.as_bytes());
        let start = &content[..content.len().min(40)];
        assert!(refusal.len() < 300, "{start}: {refusal}");
        assert!(
            refusal.starts_with("is not a hostmark run (")
                && refusal.ends_with("); give a file that `hostmark run` wrote")
                || refusal.starts_with("is truncated (") && refusal.ends_with("); restore it, or measure again"),
            "{start}: {refusal}"
        );
    }
}

#[test]
fn a_run_that_was_cut_off_anywhere_is_said_to_be_truncated() {
    let run = RUN.as_bytes();
    let end = RUN.trim_end().len();
    let inside_a_character = run.iter().position(|&byte| byte >= 0x80).unwrap() + 1;
    let inside_a_number = RUN.rfind("0.").unwrap() + 2;
    for length in
        [1, 2, inside_a_number, 10, 100, inside_a_character, end / 4, end / 3, end / 2, end * 3 / 4, end - 2, end - 1]
    {
        let refusal = refusal_of(&run[..length]);
        assert!(
            refusal.starts_with("is truncated (it ends at line ")
                && refusal.ends_with("); restore it, or measure again"),
            "{length} bytes: {refusal}"
        );
    }
}

#[test]
fn a_report_goes_into_a_file_whole_or_not_at_all() {
    let home = Home::new();
    let at = |name: &str| home.data.path().join(name).display().to_string();
    fs::write(at("run.json"), RUN.as_bytes()).unwrap();
    let report = |out: &str| home.says(&["report", &at("run.json"), "--format", "json", "--out", out]);

    fs::write(at("old"), "old").unwrap();
    std::os::unix::fs::symlink(at("old"), at("link")).unwrap();
    assert_eq!(report(&at("link")), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(at("old")).unwrap(), *RUN);
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());

    let refused = |out: &str, why: &str| {
        let sentence = format!("hostmark: {out} cannot be written ({why}); give another file\n");
        assert_eq!(report(out), (2, String::new(), sentence));
    };
    refused(&at("missing/file"), &format!("there is no directory {}", at("missing")));
    refused(&at(""), "Is a directory (os error 21)");
    assert_eq!(report("/dev/null"), (0, String::new(), String::new()));
    let full = "hostmark: /dev/full cannot be written (write: No space left on device (os error 28)); make room, or name another file by --out\n";
    assert_eq!(report("/dev/full"), (5, String::new(), full.into()));
    assert_eq!(files(home.data.path()).len(), 3, "{:?}", files(home.data.path()));
}

#[test]
fn an_error_that_nobody_can_receive_still_has_its_exit_code() {
    let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    let code = |command: &mut Command| command.status().unwrap().code();
    assert_eq!(code(Home::new().hostmark(&["run", "qqqq"]).stderr(full())), Some(4));
    assert_eq!(code(Home::new().hostmark(&["frobnicate"]).stderr(full())), Some(2));
    let both = Home::new().hostmark(&["list"]).stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(both.code(), Some(5));
}

#[test]
fn a_worker_or_a_service_started_by_hand_says_who_starts_it() {
    for word in ["worker", "service"] {
        let errors = refusal(ended(Home::new().hostmark(&[word]).stdin(Stdio::null())));
        let says =
            errors.contains(&format!("a {word} is started by a run")) && errors.ends_with("; use hostmark run\n");
        assert!(says, "{errors}");
    }
    assert_eq!(ended(Home::new().hostmark(&["janitor"]).stdin(Stdio::null())), (0, "\n".into(), String::new()));
}

#[test]
fn a_file_or_a_directory_of_another_user_is_refused_and_not_said_to_be_empty() {
    let home = Home::new();
    let Some(as_nobody) = home.answers_nobody() else {
        return skipped("no other user is available here, or it cannot start the program");
    };
    let runs = home.data.path().join("hostmark/runs");
    fs::create_dir_all(&runs).unwrap();
    fs::write(runs.join("mine.json"), RUN.as_bytes()).unwrap();
    let set = |directory: &Path, mode| {
        fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
    };
    set(home.data.path(), 0o755);
    // A file of another user.
    let file = home.data.path().join("run.json");
    fs::write(&file, RUN.as_bytes()).unwrap();
    set(&file, 0o600);
    let file = file.display().to_string();
    let why = format!("hostmark: {file} cannot be read: Permission denied (os error 13); give another file\n");
    assert_eq!(as_nobody(&["report", &file]), (2, String::new(), why));
    set(&runs, 0o700);
    let directory = runs.display();
    let sentence = format!(
        "hostmark: the directory of runs {directory} cannot be read (Permission denied (os error 13)); \
         become its owner, or set XDG_DATA_HOME to another place\n"
    );
    for arguments in
        [&["runs"][..], &["runs", "--format", "json"], &["report"], &["report", "mine"], &["run", "--resume"]]
    {
        assert_eq!(as_nobody(arguments), (2, String::new(), sentence.clone()), "{arguments:?}");
    }
    let errors = refusal(as_nobody(&["compare", &directory.to_string(), "mine"]));
    assert!(errors.contains("cannot be read (Permission denied"), "{errors}");
    // The directory above it is closed too: nothing can be said of what lies there.
    set(home.data.path(), 0o700);
    assert_eq!(as_nobody(&["runs"]), (2, String::new(), sentence));
}

#[test]
fn names_and_hosts_of_runs_that_are_kept_steer_no_terminal() {
    const EVIL: &str = "\u{1b}[31m\u{9b}31m\u{7}\u{202e}\u{2066}\u{200f}\u{61c}x";
    let home = Home::new();
    let runs = home.data.path().join("hostmark/runs");
    fs::create_dir_all(&runs).unwrap();
    let mut run = hostmark_model::load_run(&RUN).unwrap();
    (run.name, run.host.hostname, run.interrupted) = (EVIL.into(), EVIL.into(), Some(EVIL.into()));
    (run.started, run.settings.filters) = (EVIL.into(), vec![EVIL.into()]);
    fs::write(runs.join("a.json"), serde_json::to_string(&run).unwrap()).unwrap();
    fs::write(runs.join(format!("{EVIL}.json")), "{}").unwrap();
    fs::write(runs.join("b.json"), format!("{{\"schema\":\"{EVIL}\"}}")).unwrap();
    let steers = |c: char| c != '\n' && hostmark_analysis::escape::steers(c);
    for arguments in
        [&["runs"][..], &["runs", "--format", "json"], &["report", "a"], &["report", EVIL], &["report", "b"]]
    {
        let (_, out, errors) = home.says(arguments);
        assert!(!out.contains(steers) && !errors.contains(steers), "{arguments:?}: {out:?} {errors:?}");
    }
    let (code, _, errors) = home.mocked(&["run", &format!("--{EVIL}")]);
    assert!(code == 2 && !errors.contains(steers), "{errors:?}");
    // Heads, three runs and their size: what goes on in another line is further in.
    let table = home.says(&["runs"]).1;
    assert_eq!(table.lines().filter(|line| !line.starts_with(' ')).count(), 5, "{table}");
}

#[test]
fn a_named_pipe_or_a_device_is_refused_at_once_and_a_shells_pipe_is_read() {
    let home = Home::new();
    let at = |name: &str| home.scratch.path().join(name).display().to_string();
    let (pipe, link, file) = (at("pipe"), at("link.json"), at("run.json"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    let named = "it is a named pipe, which might be waited for without end";
    for (path, why) in [(pipe.as_str(), named), (&link, named), ("/dev/zero", "it is a device")] {
        let sentence = format!("hostmark: {path} cannot be read: {why}; give another file\n");
        for arguments in [&["report", path][..], &["compare", path, path], &["import", "fio", path]] {
            // Whoever waits is ended, and has another code.
            let mut command = home.start("timeout");
            let said = ended(command.args(["-s", "KILL", "20", PROGRAM]).args(arguments));
            assert_eq!(said, (2, String::new(), sentence.clone()), "{arguments:?}");
        }
    }
    fs::write(&file, &*RUN).unwrap();
    let mut command = home.start("sh");
    command.args(["-c", "(sleep 0.1; cat \"$1\") | \"$0\" report /dev/stdin", PROGRAM, &file]);
    let (code, table, errors) = ended(&mut command);
    assert!(code == 0 && !table.is_empty(), "{code} {errors}");
}

#[test]
fn a_view_that_would_be_empty_says_so_and_ends_with_2() {
    let home = Home::new();
    // A run of one case that no table has.
    let measured = home.mocked(&["run", "clock.loop"]);
    assert_eq!(measured.0, 0, "{measured:?}");
    let mut empty = Vec::new();
    for format in hostmark_present::export::FORMATS {
        let (code, out, errors) = home.says(&["report", "--format", format.name]);
        match code {
            0 => assert!(!out.trim().is_empty() && errors.is_empty(), "{} {errors}", format.name),
            2 => {
                assert!(out.is_empty() && errors.contains("--table") && errors.lines().count() == 1, "{out} {errors}");
                empty.push(format.name);
            }
            other => panic!("{} ended with {other}: {errors}", format.name),
        }
    }
    let tables =
        ["memory-bandwidth", "size-stride", "pipe", "stream", "lmbench", "lmbench-result", "overhead", "data-path"];
    assert_eq!(empty, tables);
    // Nothing in common.
    let measured = home.mocked(&["run", "syscall.null@copies=1"]);
    assert_eq!(measured.0, 0, "{measured:?}");
    let (code, out, errors) = home.says(&["compare", "last-1", "last"]);
    assert!(code == 2 && out.contains("only the base has it") && errors.contains("no case"), "{code} {out} {errors}");
    assert!(files(home.scratch.path()).is_empty());
}

/// Each round starts a process: one that may lie anywhere corrects over a hundred thousand pointers first.
#[test]
fn the_program_lies_at_a_fixed_address_where_glibc_links_it() {
    const EXECUTABLE: [u8; 2] = 2_u16.to_le_bytes();
    let head = fs::read(PROGRAM).unwrap();
    assert_eq!(head[..4], *b"\x7fELF");
    // The ELF header's e_type: ET_EXEC, not ET_DYN.
    assert!(head[16..18] == EXECUTABLE || cfg!(not(target_env = "gnu")), "{:?}", &head[16..18]);
}

/// What a command prints that goes well.
#[track_caller]
pub fn printed(home: &Home, arguments: &[&str]) -> String {
    succeeded(home.mocked(arguments))
}

/// Exit code 2, nothing on standard output, and this one sentence on standard error.
pub fn assert_refused(home: &Home, arguments: &[&str], sentence: &str) {
    let refused = home.mocked(arguments);
    assert_eq!(refused, (2, String::new(), format!("hostmark: {sentence}\n")), "{arguments:?}");
}
