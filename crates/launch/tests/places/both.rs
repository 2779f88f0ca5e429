//! What holds here and behind a command alike.

use std::fs;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use hostmark_launch::supervise::{Ending, ReadOutcome, Terms};
use hostmark_launch::transport::TransportError;

use super::spot::Spot;
use super::{SOON, says, terms};
use crate::skip::skipped;

/// A root directory of one's own that is the usual one but for /tmp: there what was made outside is not seen.
const APART: &str =
    r#"mount --rbind / "$0" && mount --bind "$1" "$0/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;
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
    files_are_made_as_the_caller_has_it
    who_fails_says_why
    silence_times_out_and_nothing_is_left
    who_is_asked_to_stop_may_say_so
    who_is_reported_nothing_has_an_empty_input
    a_request_to_stop_is_received
    a_program_that_is_not_there_is_an_error
}

fn lines_come_one_by_one_and_then_the_end(spot: &Spot) {
    let mut process = spot.start("read -r a; echo \"got $a\"; read -r b; echo \"$b\"; exit 3", terms(Ending::Killed));
    process.send("one\n").unwrap();
    says(&mut process, "got one");
    process.send_last("two\n").unwrap();
    says(&mut process, "two");
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!(process.end().unwrap().code(), Some(3));
}

fn arguments_arrive_as_they_are(spot: &Spot) {
    let arguments = ["a b", "", "it's", "\"$HOME\" `id` \\", "-n", "two\nlines", "}", "字"];
    let program = spot.program("for a in \"$@\"; do printf '<%s>' \"$a\"; done");
    let mut process = spot.start_file(&program, &arguments, terms(Ending::Killed)).unwrap().process;
    assert_eq!(process.drain(SOON, 1000).unwrap(), ReadOutcome::Closed);
    let expected: String = arguments.iter().map(|argument| format!("<{argument}>")).collect();
    assert_eq!(String::from_utf8(process.take_buffered()).unwrap(), expected);
}

fn a_program_in_the_machines_own_language_runs(spot: &Spot) {
    let mut process = spot.start_file("/bin/cat".as_ref(), &["-"], terms(Ending::Killed)).unwrap().process;
    process.send("hostmark\n").unwrap();
    says(&mut process, "hostmark");
    process.send_last("and no more").unwrap();
    assert_eq!(process.drain(SOON, 1000).unwrap(), ReadOutcome::Closed);
    assert_eq!(process.take_buffered(), b"and no more");
}

fn nothing_has_a_name_while_it_runs(spot: &Spot) {
    let mut process = spot.start("echo begun; read -r a", terms(Ending::Killed));
    says(&mut process, "begun");
    assert_eq!(fs::read_dir(spot.temporary.path()).unwrap().count(), 0);
}

fn files_are_made_as_the_caller_has_it(spot: &Spot) {
    let ours = Command::new("sh").args(["-c", "umask"]).output().unwrap().stdout;
    let mut process = spot.start("umask", terms(Ending::Killed));
    says(&mut process, String::from_utf8(ours).unwrap().trim());
}

fn who_fails_says_why(spot: &Spot) {
    let mut process = spot.start("echo first >&2; echo why >&2; exit 5", terms(Ending::Killed));
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(5), Some("why")));
}

fn silence_times_out_and_nothing_is_left(spot: &Spot) {
    let mut process = spot.start("sleep 1000 & echo; sleep 1000", terms(Ending::Killed));
    says(&mut process, "");
    assert_eq!(process.read_line_within(Duration::from_millis(20)).unwrap(), ReadOutcome::TimedOut);
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
    let script = "trap 'echo stopped >&2; exit 6' INT TERM; echo; while :; do sleep 0.01; done";
    let mut process = spot.start(script, terms(Ending::Asked(SOON)));
    says(&mut process, "");
    assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(6), Some("stopped")));
}

fn who_is_reported_nothing_has_an_empty_input(spot: &Spot) {
    let mut process = spot.start("cat; echo end", Terms { has_input: false, ..terms(Ending::Killed) });
    says(&mut process, "end");
    assert!(process.send("").is_err());
}

fn a_request_to_stop_is_received(spot: &Spot) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut process = spot.start("echo; sleep 1000", Terms { stop: Some(Rc::new(read)), ..terms(Ending::Killed) });
    says(&mut process, "");
    rustix::io::write(&write, b"x").unwrap();
    assert_eq!(process.read_line_within(Duration::MAX).unwrap(), ReadOutcome::Stopped);
}

fn a_program_that_is_not_there_is_an_error(spot: &Spot) {
    let missing = spot.outside.path().join("nothing");
    let error = spot.start_file(&missing, &[], terms(Ending::Killed)).unwrap_err();
    let TransportError::Io(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
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
        process.send_last("told\n").unwrap();
        assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Line("told".into()), "{shell}");
    }
}
