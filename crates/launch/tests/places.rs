//! What is started here, and what is copied behind a command and started there: both are told, heard and ended alike.

#[path = "../../../tests/support/skip.rs"]
mod skip;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use hostmark_launch::place::{Place, PlaceError, Started};
use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, Errors, Heard, Membership, Supervised, Terms};
use skip::skipped;
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(20);

/// A root directory of one's own that is the usual one but for /tmp: there what was made outside is not seen.
const APART: &str =
    r#"mount --rbind / "$0" && mount --bind "$1" "$0/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;
/// The same, where nothing in /tmp is executed, and what is in /var/tmp is seen outside.
const WITHOUT_TMP: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o noexec none "$0/tmp" &&
    mount --bind "$1" "$0/var/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;
/// The same, where nothing is executed in any of them.
const WITHOUT_ANY: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o noexec none "$0/tmp" &&
    mount -t tmpfs -o noexec none "$0/var/tmp" && mount -t tmpfs -o noexec none "$0/dev/shm" &&
    root=$0 && shift && exec chroot "$root" "$@""#;

/// A place, and what is seen of it from here.
struct Spot {
    place: Place,
    /// Its directory for temporary files.
    temporary: TempDir,
    /// Where its root directory is, and the programs of this test are.
    outside: TempDir,
}

impl Spot {
    fn new(prefix: impl FnOnce(&Path, &Path) -> Option<Vec<OsString>>) -> Spot {
        let (temporary, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = prefix(outside.path(), temporary.path()).map_or(Place::Here, Place::Command);
        Spot { place, temporary, outside }
    }

    fn here() -> Spot {
        Spot::new(|_, _| None)
    }

    /// Behind these words, of which a shell makes what it likes of the `sh` that follows.
    fn behind(script: &str) -> Spot {
        Spot::new(|_, temporary| {
            let temporary = format!("TMPDIR={}", temporary.display());
            Some(["env", &temporary, "sh", "-c", script, "sh"].map(OsString::from).to_vec())
        })
    }

    /// Below a root directory of its own, made by this script; none where no namespace can be made.
    fn apart(script: &str) -> Option<Spot> {
        let can = Command::new("unshare").args(["-r", "--mount", "chroot", "/", "true"]).output();
        can.ok().filter(|output| output.status.success())?;
        Some(Spot::new(|outside, temporary| {
            let root = outside.join("root");
            fs::create_dir(&root).unwrap();
            let words = ["env", "-u", "TMPDIR", "-u", "HOME", "-u", "XDG_RUNTIME_DIR"];
            let words = words.into_iter().chain(["unshare", "-r", "--mount", "sh", "-c", script]).map(OsString::from);
            Some(words.chain([root.into(), temporary.into()]).collect())
        }))
    }

    /// A program of this text.
    fn program(&self, text: &str) -> PathBuf {
        let file = self.outside.path().join("program");
        // By another process: what this one has open for writing, a child of another thread has open for a moment as well,
        // and nothing that is written to is executed.
        let script = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        assert!(Command::new("sh").args(["-c", script]).arg(&file).arg(text).status().unwrap().success());
        file
    }

    fn start(&self, text: &str, terms: Terms) -> Supervised {
        self.start_file(&self.program(text), &[], terms).unwrap().process
    }

    fn start_file(&self, own: &Path, arguments: &[&str], terms: Terms) -> Result<Started, PlaceError> {
        self.place.start(&Programs::of(own, false, self.outside.path()), arguments, terms)
    }

    /// Why no program can be started there.
    fn refusal(&self) -> String {
        self.start_file(&self.program("exit 0"), &[], terms(Ending::Killed)).unwrap_err().to_string()
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        let left: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty() || std::thread::panicking(), "{left:?}");
    }
}

fn terms(ending: Ending) -> Terms {
    Terms { group: Membership::Own, has_input: true, errors: Errors::Heard, ending, stop: None }
}

#[track_caller]
fn says(process: &mut Supervised, line: &str) {
    assert_eq!(process.hear_line(SOON).unwrap(), Heard::Line(line.into()));
}

/// Each of these is a test here and a test elsewhere.
macro_rules! at_both {
    ($($name:ident)*) => {
        mod here {
            $(#[test] fn $name() { super::$name(&super::Spot::here()); })*
        }
        mod behind_a_command {
            $(#[test] fn $name() {
                match super::Spot::apart(super::APART) {
                    Some(spot) => super::$name(&spot),
                    None => super::skipped("no user and mount namespace can be made here"),
                }
            })*
        }
    };
}

at_both! {
    lines_come_one_by_one_and_then_the_end
    arguments_arrive_as_they_are
    a_program_in_the_machines_own_language_runs
    nothing_has_a_name_while_it_runs
    who_fails_says_why
    silence_times_out_and_nothing_is_left
    who_is_asked_to_stop_may_say_so
    who_is_told_nothing_has_an_empty_input
    a_request_to_stop_is_heard
    a_program_that_is_not_there_is_an_error
}

fn lines_come_one_by_one_and_then_the_end(spot: &Spot) {
    let mut process = spot.start("read -r a; echo \"got $a\"; read -r b; echo \"$b\"; exit 3", terms(Ending::Killed));
    process.tell("one\n").unwrap();
    says(&mut process, "got one");
    process.tell_last("two\n").unwrap();
    says(&mut process, "two");
    assert_eq!(process.hear_line(SOON).unwrap(), Heard::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!(process.end().unwrap().code(), Some(3));
}

fn arguments_arrive_as_they_are(spot: &Spot) {
    let arguments = ["a b", "", "it's", "\"$HOME\" `id` \\", "-n", "two\nlines", "}", "字"];
    let program = spot.program("for a in \"$@\"; do printf '<%s>' \"$a\"; done");
    let mut process = spot.start_file(&program, &arguments, terms(Ending::Killed)).unwrap().process;
    assert_eq!(process.hear_out(SOON, 1000).unwrap(), Heard::Closed);
    let expected: String = arguments.iter().map(|argument| format!("<{argument}>")).collect();
    assert_eq!(String::from_utf8(process.heard()).unwrap(), expected);
}

fn a_program_in_the_machines_own_language_runs(spot: &Spot) {
    let mut process = spot.start_file("/bin/cat".as_ref(), &["-"], terms(Ending::Killed)).unwrap().process;
    process.tell("hostmark\n").unwrap();
    says(&mut process, "hostmark");
    process.tell_last("and no more").unwrap();
    assert_eq!(process.hear_out(SOON, 1000).unwrap(), Heard::Closed);
    assert_eq!(process.heard(), b"and no more");
}

fn nothing_has_a_name_while_it_runs(spot: &Spot) {
    let mut process = spot.start("echo begun; read -r a", terms(Ending::Killed));
    says(&mut process, "begun");
    assert_eq!(fs::read_dir(spot.temporary.path()).unwrap().count(), 0);
}

fn who_fails_says_why(spot: &Spot) {
    let mut process = spot.start("echo first >&2; echo why >&2; exit 5", terms(Ending::Killed));
    assert_eq!(process.hear_line(SOON).unwrap(), Heard::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(5), Some("why")));
}

fn silence_times_out_and_nothing_is_left(spot: &Spot) {
    let mut process = spot.start("sleep 1000 & echo; sleep 1000", terms(Ending::Killed));
    says(&mut process, "");
    assert_eq!(process.hear_line(Duration::from_millis(20)).unwrap(), Heard::TimedOut);
    let group = rustix::process::Pid::from_raw(process.id() as i32).unwrap();
    drop(process);
    // Orphans of it are reaped by init in their own time.
    for _ in 0..2000 {
        if rustix::process::test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a process of the group is left");
}

fn who_is_asked_to_stop_may_say_so(spot: &Spot) {
    let script = "trap 'echo stopped >&2; exit 6' INT; echo; while :; do sleep 0.01; done";
    let mut process = spot.start(script, terms(Ending::Asked(SOON)));
    says(&mut process, "");
    assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(6), Some("stopped")));
}

fn who_is_told_nothing_has_an_empty_input(spot: &Spot) {
    let mut process = spot.start("cat; echo end", Terms { has_input: false, ..terms(Ending::Killed) });
    says(&mut process, "end");
    assert!(process.tell("").is_err());
}

fn a_request_to_stop_is_heard(spot: &Spot) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut process = spot.start("echo; sleep 1000", Terms { stop: Some(Rc::new(read)), ..terms(Ending::Killed) });
    says(&mut process, "");
    rustix::io::write(&write, b"x").unwrap();
    assert_eq!(process.hear_line(Duration::MAX).unwrap(), Heard::Stopped);
}

fn a_program_that_is_not_there_is_an_error(spot: &Spot) {
    let missing = spot.outside.path().join("nothing");
    let error = spot.start_file(&missing, &[], terms(Ending::Killed)).unwrap_err();
    let PlaceError::Io(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_directory_whose_files_are_not_executed_is_passed_over() {
    let Some(spot) = Spot::apart(WITHOUT_TMP) else { return skipped("no user and mount namespace can be made here") };
    let mut process = spot.start("readlink /proc/self/fd/9", terms(Ending::Killed));
    let Heard::Line(path) = process.hear_line(SOON).unwrap() else { panic!() };
    assert!(path.starts_with("/var/tmp/hostmark-") && path.ends_with(" (deleted)"), "{path}");
    let Some(nowhere) = Spot::apart(WITHOUT_ANY) else { return };
    let refusal = nowhere.refusal();
    let expected = "has no directory that takes a program and executes it; set TMPDIR there";
    assert!(refusal.contains(expected) && refusal.contains("/var/tmp (no file can be executed: "), "{refusal}");
}

#[test]
fn every_kind_of_shell_reads_the_script() {
    for shell in ["dash", "bash", "bash --posix", "busybox sh"] {
        let word = shell.split(' ').next().unwrap();
        if !Command::new("sh").args(["-c", &format!("command -v {word}")]).output().unwrap().status.success() {
            skipped(&format!("there is no {word} here"));
            continue;
        }
        let spot = Spot::behind(&format!("exec {shell}"));
        let mut process = spot.start("read -r a; echo \"$a\"", terms(Ending::Killed));
        process.tell_last("told\n").unwrap();
        assert_eq!(process.hear_line(SOON).unwrap(), Heard::Line("told".into()), "{shell}");
    }
}

#[test]
fn what_is_said_before_the_shell_begins_is_dropped() {
    let spot = Spot::behind("yes Welcome | head -n 2000; printf 'last login: '; exec sh");
    says(&mut spot.start("echo begun", terms(Ending::Killed)), "begun");
    let refusal = Spot::behind("yes Welcome | head -n 20000; exec sh").refusal();
    assert!(refusal.contains("prints more than 64 KiB before its shell starts"), "{refusal}");
    let refusal = Spot::behind("exec cat /dev/zero").refusal();
    assert!(refusal.contains("prints more than 64 KiB before its shell starts"), "{refusal}");
}

#[test]
fn what_leads_to_no_shell_is_told_in_one_sentence() {
    let refusal = Spot::behind("echo 'sh: no such file' >&2; exit 127").refusal();
    assert!(
        refusal.contains("has no shell (exit status: 127: sh: no such file); it must lead to where there is sh"),
        "{refusal}"
    );
    // What is typed at a terminal comes back.
    let refusal = Spot::behind("exec cat").refusal();
    assert!(refusal.contains("opens a terminal") && refusal.contains("leave out -t"), "{refusal}");
    let missing = Place::Command(vec!["/nonexistent/ssh".into(), "host".into()]);
    let cat = Programs::of("/bin/cat".as_ref(), false, "/nonexistent".as_ref());
    let error = missing.start(&cat, &[], terms(Ending::Killed)).unwrap_err();
    assert!(matches!(error, PlaceError::NotStarted { .. }), "{error}");
    let expected = "cannot start '/nonexistent/ssh' to reach '/nonexistent/ssh host': No such file or directory";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_program_of_which_only_a_part_arrives_is_not_started() {
    let spot = Spot::behind("dd bs=1 count=20000 2>/dev/null | sh; echo ended");
    let error = spot.start_file("/bin/cat".as_ref(), &[], terms(Ending::Killed)).unwrap_err().to_string();
    assert!(error.contains(" bytes of the program") && error.contains("free space there"), "{error}");
}

#[test]
fn whoever_is_killed_while_it_is_copied_leaves_nothing() {
    let spot = Spot::behind("{ dd bs=1 count=6000 2>/dev/null; kill -9 0; } | sh");
    assert!(spot.start_file("/bin/cat".as_ref(), &[], terms(Ending::Killed)).is_err());
    assert_eq!(fs::read_dir(spot.temporary.path()).unwrap().count(), 0);
}
