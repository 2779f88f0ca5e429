//! Shells that are heard and ended in every way there is.

use std::os::unix::process::ExitStatusExt;

use super::*;

const SOON: Duration = Duration::from_secs(120);

fn terms(ending: Ending) -> Terms {
    Terms { group: Membership::Own, has_input: true, errors: Errors::Captured, ending, stop: None }
}

fn shell(script: &str, terms: Terms) -> Supervised {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Supervised::start(command, terms).unwrap()
}

/// Waits until one has said this line.
#[track_caller]
fn says(process: &mut Supervised, line: &str) {
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Line(line.into()));
}

#[test]
fn what_is_reported_arrives_line_by_line() {
    let mut process = shell("read -r a; echo \"$a\"; read -r b; echo \"$b\"; cat", terms(Ending::Killed));
    process.send("one\n").unwrap();
    says(&mut process, "one");
    process.send("two\n").unwrap();
    says(&mut process, "two");
    process.send_last("three").unwrap();
    assert_eq!(process.drain(SOON, 100).unwrap(), ReadOutcome::Closed);
    assert_eq!(process.take_buffered(), b"three");
    assert_eq!(process.send("four").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn one_that_ended_before_it_had_read_is_reported_by_its_end() {
    let mut process = shell("exit 4", terms(Ending::Killed));
    assert!(process.ends_within(SOON));
    process.send_last("order\n").unwrap();
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert_eq!(process.end().unwrap().code(), Some(4));
}

#[test]
fn all_of_an_output_is_bounded_in_bytes_and_in_time() {
    let mut process = shell("printf 12345; exec sleep 60", terms(Ending::Killed));
    assert_eq!(process.drain(SOON, 4).unwrap(), ReadOutcome::TooLong);
    assert_eq!(process.drain(Duration::from_millis(20), 5).unwrap(), ReadOutcome::TimedOut);
    assert_eq!(process.take_buffered(), b"12345");
}

#[test]
fn who_complains_at_length_is_read_and_its_last_line_is_kept() {
    let script = "head -c 3000000 /dev/zero >&2; echo said >&2; echo done; exec sleep 60";
    let mut process = shell(script, terms(Ending::Killed));
    says(&mut process, "done");
    assert_eq!(process.last_word().as_deref(), Some("said"));
    assert!(process.tail.len() <= MOST_TAIL);
}

#[test]
fn complaints_without_end_do_not_put_the_end_of_a_wait_off() {
    let mut process = shell("yes >&2 & echo; exec sleep 600", terms(Ending::Killed));
    says(&mut process, "");
    let has_complained = |process: &mut Supervised| {
        std::thread::sleep(TURN);
        process.last_word().as_deref() == Some("y")
    };
    assert!((0..10_000).any(|_| has_complained(&mut process)));
    assert_eq!(process.read_line_within(Duration::from_millis(50)).unwrap(), ReadOutcome::TimedOut);
    assert!(!process.ends_within(Duration::from_millis(50)));
    assert_eq!(process.end().unwrap().signal(), Some(9));
}

#[test]
fn who_complains_while_nobody_listens_is_kept_waiting_only_where_that_is_wanted() {
    for (errors, is_kept) in [(Errors::Captured, true), (Errors::CapturedAtLeisure, false)] {
        let script = "head -c 3000000 /dev/zero 1>&2 2>/dev/null; exit 7";
        let process = shell(script, Terms { errors, ..terms(Ending::Killed) });
        let until = now() + if is_kept { Duration::from_millis(300) } else { SOON };
        while !process.has_ended().unwrap() && now() < until {
            std::thread::sleep(TURN);
        }
        assert_eq!(process.has_ended().unwrap(), !is_kept, "{errors:?}");
    }
}

#[test]
fn who_is_asked_to_stop_may_say_why_and_who_does_not_is_killed() {
    let script =
        "trap 'head -c 200000 /dev/zero >&2; echo stopped >&2; exit 5' INT TERM; echo; while :; do sleep 0.01; done";
    let mut process = shell(script, terms(Ending::Asked(SOON)));
    says(&mut process, "");
    assert_eq!(process.end().unwrap().code(), Some(5));
    assert_eq!(process.last_word().as_deref(), Some("stopped"));
    let mut deaf = shell("trap '' INT TERM; echo; while :; do sleep 0.01; done", terms(Ending::Asked(TURN)));
    says(&mut deaf, "");
    assert_eq!(deaf.end().unwrap().signal(), Some(9));
    let mut patient = shell("trap '' INT; echo; while :; do sleep 0.01; done", terms(Ending::Asked(SOON)));
    says(&mut patient, "");
    assert_eq!(patient.end().unwrap().signal(), Some(15));
}

#[test]
fn who_asks_is_received_also_where_a_background_job_of_a_script_ignores_interrupts() {
    let mut again = Command::new("env");
    again.arg("--ignore-signal=INT").arg(std::env::current_exe().unwrap());
    again.args(["--exact", "supervise::tests::who_is_asked_to_stop_may_say_why_and_who_does_not_is_killed"]);
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn who_is_awaited_has_its_time_also_when_it_was_stopped() {
    let mut process = shell("echo; cat; sleep 0.2; exit 6", terms(Ending::Awaited));
    says(&mut process, "");
    process.group.signal(Signal::STOP).unwrap();
    assert_eq!(process.end().unwrap().code(), Some(6));
    // It is not waited for twice, and what is over is not killed.
    assert_eq!(process.kill().unwrap().code(), Some(6));
}

#[test]
fn whoever_is_forgotten_ends_with_its_group() {
    for ending in [Ending::Killed, Ending::Asked(TURN)] {
        let mut process = shell("(trap '' INT; exec sleep 1000) & echo; sleep 1000", terms(ending));
        says(&mut process, "");
        let mut output = process.streams().stdout.take().unwrap();
        drop(process);
        // Ends when nobody holds the other end.
        assert_eq!(output.read(&mut [0]).unwrap(), 0, "{ending:?}");
    }
}

#[test]
fn a_request_to_stop_ends_every_wait() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let stop = Some(Rc::new(read));
    let mut process = shell("echo one; exec sleep 60", Terms { stop, ..terms(Ending::Killed) });
    says(&mut process, "one");
    rustix::io::write(&write, b"x").unwrap();
    assert_eq!(process.read_line_within(Duration::MAX).unwrap(), ReadOutcome::Stopped);
    assert_eq!(process.drain(Duration::MAX, 1).unwrap(), ReadOutcome::Stopped);
}

#[test]
fn much_is_reported_while_as_much_is_received() {
    let mut process = shell("cat", terms(Ending::Killed));
    let text = "0123456789abcde\n".repeat(60_000);
    assert_eq!(process.send_within(&text, SOON).unwrap(), WriteOutcome::All);
    process.close_stdin();
    assert_eq!(process.drain(SOON, 1 << 20).unwrap(), ReadOutcome::Closed);
    assert!(process.take_buffered() == text.as_bytes());
}

#[test]
fn who_reads_nothing_stands_still_whatever_it_says_meanwhile() {
    for script in ["exec sleep 60", "while :; do echo; echo >&2; sleep 0.01; done"] {
        let mut process = shell(script, terms(Ending::Killed));
        let text = "x".repeat(1 << 20);
        assert_eq!(process.send_within(&text, Duration::from_millis(100)).unwrap(), WriteOutcome::TimedOut, "{script}");
    }
    let mut process = shell("exec yes", terms(Ending::Killed));
    process.buffered = vec![b'x'; LONGEST_LINE];
    assert_eq!(process.send_within(&"x".repeat(1 << 20), Duration::from_millis(100)).unwrap(), WriteOutcome::TimedOut);
    assert_eq!(process.buffered.len(), LONGEST_LINE);
}

#[test]
fn who_has_ended_or_reads_no_more_is_sent_nothing_more() {
    for script in ["exit 3", "exec 0<&-; echo; exec sleep 60", "exec 1>&-; exec sleep 60"] {
        let mut process = shell(script, terms(Ending::Killed));
        assert_eq!(process.send_within(&"x".repeat(1 << 20), SOON).unwrap(), WriteOutcome::Closed, "{script}");
    }
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut process = shell("exec sleep 60", Terms { stop: Some(Rc::new(read)), ..terms(Ending::Killed) });
    rustix::io::write(&write, b"x").unwrap();
    assert_eq!(process.send_within("x", SOON).unwrap(), WriteOutcome::Stopped);
}
