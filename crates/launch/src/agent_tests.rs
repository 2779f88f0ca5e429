//! An agent that says anything, for ever, or nothing.

use super::*;
use std::process::Command;
use std::rc::Rc;

use crate::mutated::{self, Mutator, trials};
use crate::supervise::{Ending, Errors, Membership};
use garbled::garbled;

#[path = "../../../tests/support/garbled.rs"]
mod garbled;

const SOON: Duration = Duration::from_secs(120);

/// A link to what this script says; `said` lines are counted as heard before.
fn link(script: &str, lines_taken: Option<u64>, stop: Option<Rc<rustix::fd::OwnedFd>>) -> AgentLink {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let (group, errors, ending) = (Membership::Own, Errors::Captured, Ending::Killed);
    let process = Supervised::start(command, Terms { group, has_input: true, errors, ending, stop }).unwrap();
    let (name, digest) = ("there".to_owned(), String::new());
    AgentLink { process, name, digest, lease: timing().lease, until: None, taken: 0, lines_taken }
}

fn step() -> String {
    let step = AgentAnswer::Step { case: "clock.loop".into(), done: 1, all: u64::MAX, left_ms: u64::MAX };
    step.to_line().unwrap().trim_end().to_owned()
}

#[test]
fn who_speaks_for_ever_is_ended_by_the_time_that_a_run_has() {
    for line in [step(), r#"{"silent":{"ms":18446744073709551615}}"#.to_owned()] {
        let mut link = link(&format!("yes '{line}' & exec cat > /dev/null"), Some(0), None);
        link.ends_within(Duration::from_millis(300));
        let begin = now();
        let error = loop {
            match link.receive() {
                Ok(_) => assert!(begin.elapsed() < SOON),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, AgentError::Endless { .. }), "{error}");
        // What it says is taken no faster than it is heard.
        assert!(link.process.buffered_bytes() < 1 << 20);
    }
}

#[test]
fn who_asks_for_a_long_lease_has_no_longer_than_a_run() {
    let mut link = link(r#"echo '{"silent":{"ms":18446744073709551615}}'; exec sleep 1000"#, Some(0), None);
    link.ends_within(Duration::from_millis(300));
    assert!(matches!(link.receive(), Err(AgentError::Endless { .. })));
}

#[test]
fn what_was_said_before_a_request_to_stop_is_received() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut link = link("exec sleep 1000", Some(0), Some(Rc::new(read)));
    link.process.put_back(format!("{}\n", step()).into_bytes());
    rustix::io::write(&write, b"x").unwrap();
    assert!(matches!(link.receive(), Ok(AgentAnswer::Step { .. })));
    assert!(matches!(link.receive(), Err(AgentError::Stopped)));
}

#[test]
fn a_long_line_on_a_slow_link_is_no_silence() {
    let mut link = link("exec sleep 1000", Some(0), None);
    assert!(!link.has_come(0, Duration::from_secs(40)));
    link.process.put_back(vec![b' '; 40 * SLOWEST_LINK]);
    assert!(link.has_come(0, Duration::from_secs(40)));
    assert!(!link.has_come(1, Duration::from_secs(40)));
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_long_line_is_waited_for_while_it_comes_and_no_longer() {
    let part = "head -c 200000 /dev/zero | tr '\\0' ' '; sleep 0.4";
    let whole = format!("for part in 1 2 3 4 5 6 7 8; do {part}; done; echo '{}'; exec sleep 1000", step());
    for (script, comes) in [(whole, true), (format!("{part}; exec sleep 1000"), false)] {
        let mut link = link(&script, Some(0), None);
        link.lease = Duration::from_secs(1);
        match link.receive() {
            Ok(AgentAnswer::Step { .. }) => assert!(comes),
            other => assert!(!comes && matches!(other, Err(AgentError::Silent { .. })), "{other:?}"),
        }
    }
}

#[test]
fn more_than_a_run_has_is_not_received() {
    let mut link = link(&format!("yes '{}' & exec cat > /dev/null", step()), Some(0), None);
    assert!(link.receive().is_ok());
    link.taken = MOST_RECEIVED;
    let error = link.receive().unwrap_err().to_string();
    assert!(error.contains("more than a run has"), "{error}");
}

#[test]
fn nothing_is_counted_before_a_plan() {
    let mut link = link(r#"echo '{"silent":{"ms":1}}'; exec sleep 1000"#, None, None);
    let error = link.receive().unwrap_err().to_string();
    assert!(error.contains("'there' said what no hostmark says (what follows a plan"), "{error}");
}

/// Lines as both sides say them.
fn lines() -> (Vec<String>, Vec<String>) {
    let round = r#"{"case":"clock.loop","round":0,"cpus":[0],"until_ns":5,"spent_ns":4,"granted_ns":3,"events":[{"event":"hello","protocol":9,"pid":3},{"event":"note","key":"a","value":"b"},{"event":"samples","ns":[1.5,2.5],"iterations":[10,10],"amount":0,"taints":[0,1]},{"event":"histogram","values":[1,2],"counts":[3,4]},{"event":"also","name":"p99","values":[1.0]},{"event":"failed","reason":"r"}]}"#;
    let run = r#"{"filters":["clock"],"profile":"quick","seed":7,"set":["size=4K"],"table":null,"inputs":{"cpus":"0","command":["a"],"isolate":[]},"via":[],"begun":null}"#;
    let requests = [
        r#"{"hello":{"protocol":3}}"#.to_owned(),
        r#""facts""#.into(),
        r#"{"kept":{"run":"last"}}"#.into(),
        format!(r#"{{"run":{run}}}"#),
        format!(r#"{{"past":{round}}}"#),
        r#"{"heard":{"lines":3}}"#.into(),
        r#""stop""#.into(),
        r#""bye""#.into(),
    ];
    let answers = [
        r#"{"hello":{"protocol":2,"version":"1","target":"x","digest":"00"}}"#.to_owned(),
        r#"{"silent":{"ms":20000}}"#.into(),
        step(),
        format!(r#"{{"round":{round}}}"#),
        r#"{"error":{"sentence":"no; do","exit":2}}"#.into(),
    ];
    (requests.to_vec(), answers.to_vec())
}

#[test]
fn whatever_comes_on_a_line_is_read_or_refused_with_a_short_sentence() {
    let (requests, answers) = lines();
    for line in &requests {
        assert!(parse_request(line).is_ok(), "{line}: {:?}", parse_request(line));
    }
    for line in &answers {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
    }
    let mut draw = Mutator::new(0x11fe);
    let mut read = [0; 2];
    for _ in 0..trials(2000) {
        let line = garbled(&mut draw, &requests);
        read[0] += usize::from(parse_request(&String::from_utf8_lossy(&line)).is_ok());
        let line = garbled(&mut draw, &answers);
        match parse(&String::from_utf8_lossy(&line)) {
            Ok(_) => read[1] += 1,
            Err(what) => assert!(what.to_string().chars().count() <= LONGEST_QUOTE),
        }
    }
    assert!(read.iter().all(|&read| read > trials(2000) / 20), "{read:?}");
}

#[test]
fn whatever_a_session_is_it_ends_with_a_sentence() {
    let (_, answers) = lines();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("said");
    let mut draw = Mutator::new(0xa9e7);
    for trial in 0..trials(2000) / 20 {
        let count = 1 + draw.below(20);
        let said: Vec<Vec<u8>> = (0..count).map(|_| [garbled(&mut draw, &answers), b"\n".to_vec()].concat()).collect();
        std::fs::write(&file, said.concat()).unwrap();
        let mut link = link(&format!("exec cat {}", file.display()), Some(0), None);
        let mut taken = 0;
        let error = loop {
            match link.receive() {
                Ok(_) => taken += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert!(taken <= count, "{trial}");
        assert!(!error.contains('\n') && error.chars().count() < 2 * LONGEST_QUOTE, "{trial} {error}");
    }
}

#[test]
fn a_line_makes_no_more_of_memory_than_a_run_does() {
    for (byte, most) in MOST_OF {
        let line = |count| char::from(byte).to_string().repeat(count);
        assert!(!parse(&line(most)).unwrap_err().to_string().contains("more values than a run has"));
        assert!(parse(&line(most + 1)).unwrap_err().to_string().contains("more values than a run has"));
    }
    // What is not passed over is nested no deeper than a stack bears.
    let nested = r#"{"round":{"events":[{"event":"measuring","x":"#.to_owned() + &"[".repeat(1 << 18);
    assert!(parse(&nested).unwrap_err().to_string().contains("recursion limit"));
}
