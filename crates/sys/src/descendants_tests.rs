//! Tests of ending groups: members of a leader that is gone, and numbers that others have by then.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;
use crate::process::in_a_child;
use crate::skip::skipped;

const PATIENCE: Duration = Duration::from_secs(20);

fn shell(script: &str) -> io::Result<std::process::Child> {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

#[test]
fn who_has_left_parents_group_and_session_is_ended_too() {
    in_a_child(|| {
        adopt()?;
        shell("setsid sh -c '(sleep 1000 &) ; sleep 1000 &'; setsid setsid sleep 1000 & sleep 1000")?;
        let set = |list: Vec<_>| list.into_iter().collect::<std::collections::BTreeSet<_>>();
        // Between the two lists one of them may still fork or end.
        let mut lists = (set(numbers()?), set(all()?));
        for _ in 0..PATIENCE.as_millis() / TURN.as_millis() {
            if lists.0.len() >= 3 && lists.0 == lists.1 {
                break;
            }
            std::thread::sleep(TURN);
            lists = (set(numbers()?), set(all()?));
        }
        assert!(lists.0.len() >= 3);
        assert_eq!(lists.0, lists.1);
        end_all(&[], Duration::ZERO, PATIENCE)?;
        assert!(!has_children()?);
        Ok(())
    });
}

#[test]
fn who_forks_and_ends_again_and_again_is_caught() {
    in_a_child(|| {
        adopt()?;
        // Each hands over to its child and ends: a list is always of those who were there before.
        shell("f() { sleep 0.001; f & }; f")?;
        std::thread::sleep(Duration::from_millis(50));
        end_all(&[], Duration::ZERO, PATIENCE)
    });
}

#[test]
fn who_is_spared_lives_and_is_not_reaped() {
    in_a_child(|| {
        adopt()?;
        let mut spared = shell("exec sleep 1000")?;
        let mut ended = shell("exit 3")?;
        shell("setsid sleep 1000 &")?;
        end_all(&[spared.id(), ended.id()], Duration::ZERO, PATIENCE)?;
        assert_eq!(numbers()?.len(), 2);
        assert!(spared.try_wait()?.is_none());
        assert_eq!(ended.wait()?.code(), Some(3));
        spared.kill()?;
        spared.wait().map(drop)
    });
}

#[test]
fn who_ends_within_its_grace_is_not_killed() {
    in_a_child(|| {
        let directory = tempfile::tempdir()?;
        let mark = directory.path().join("mark");
        shell(&format!("sleep 0.1; : > {}", mark.display()))?;
        end_all(&[], PATIENCE, PATIENCE)?;
        assert!(mark.exists());
        Ok(())
    });
}

/// Set for the copy of a test that runs in a process namespace of its own.
const INSIDE: &str = "HOSTMARK_TEST_INSIDE";

/// The same by another way: without a descriptor that can signal groups, as on kernels before 6.9.
fn without_descriptor(group: ProcessGroup) -> ProcessGroup {
    ProcessGroup { descriptor: None, ..group }
}

type Way = fn(ProcessGroup) -> ProcessGroup;
const WAYS: [Way; 2] = [|group| group, without_descriptor];

fn lives(number: u32) -> bool {
    GroupProcess::of(number).is_some_and(|process| !process.is_over)
}

#[test]
fn what_is_left_of_a_group_whose_leader_was_waited_for_is_ended() {
    let family = Lineage::own().unwrap();
    for way in WAYS {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 100 & echo $!; exec sleep 100"]).process_group(0).stdout(Stdio::piped());
        let mut leader = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let member: u32 = line.trim().parse().unwrap();
        let group = family.group(leader.id()).unwrap();
        leader.kill().unwrap();
        leader.wait().unwrap();
        assert!(lives(member));
        // Who is told of now could be another program's.
        assert!(family.group(leader.id()).is_none());
        way(group).end();
        assert!(!lives(member));
    }
}

#[test]
fn what_leads_no_group_or_is_of_another_session_is_left_alone() {
    let family = Lineage::own().unwrap();
    for number in [0, 1, u32::MAX, i32::MAX as u32 + 1] {
        assert!(family.group(number).is_none(), "{number}");
    }
    // Of this test's own group.
    let mut member = Command::new("sleep").arg("100").spawn().unwrap();
    assert!(family.group(member.id()).is_none());
    let mut apart = Command::new("setsid").args(["sleep", "100"]).spawn().unwrap();
    while GroupProcess::of(apart.id()).unwrap().session == family.session {
        std::thread::yield_now();
    }
    assert!(family.group(apart.id()).is_none());
    for child in [&mut member, &mut apart] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Runs the test of this name once more, in a process namespace of its own.
fn run_in_a_namespace(test: &str) {
    let unshare = |of: &[&str]| Command::new("unshare").args(of).args(["-pf", "--mount-proc"]).arg("true").output();
    let way = [&[][..], &["-Ur"]].into_iter().find(|of| unshare(of).is_ok_and(|output| output.status.success()));
    let Some(way) = way else {
        return skipped("no process namespace can be made here");
    };
    let mut inside = Command::new("unshare");
    inside.args(way).args(["-pf", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    let output = inside.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    if let Some((_, why)) = said.split_once(&format!("skipped: test {test}: ")) {
        skipped(why.lines().next().unwrap_or_default());
    }
}

/// A process that leads a group, has a number that another one had before, and gives back what it reads. None where numbers
/// cannot be chosen.
fn with_number(number: u32) -> Option<Child> {
    for _ in 0..50 {
        fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).ok()?;
        let mut command = Command::new("cat");
        let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        if child.id() == number {
            return Some(child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    None
}

#[test]
fn a_number_that_another_one_has_by_now_is_left_alone() {
    if std::env::var_os(INSIDE).is_none() {
        return run_in_a_namespace("descendants::tests::a_number_that_another_one_has_by_now_is_left_alone");
    }
    let family = Lineage::own().unwrap();
    for way in WAYS {
        let mut leader = Command::new("sleep").arg("100").process_group(0).stdout(Stdio::null()).spawn().unwrap();
        let group = family.group(leader.id()).unwrap();
        leader.kill().unwrap();
        leader.wait().unwrap();
        // Ticks are what start times are told in.
        std::thread::sleep(Duration::from_millis(30));
        let Some(mut another) = with_number(leader.id()) else {
            return skipped("numbers of processes cannot be chosen here");
        };
        way(group).end();
        // One that has been killed never answers, even if it has not ended yet.
        let _ = another.stdin.as_mut().unwrap().write_all(b"x");
        let mut answer = [0];
        assert_eq!((another.stdout.as_mut().unwrap().read(&mut answer).unwrap(), answer), (1, *b"x"));
        another.kill().unwrap();
        another.wait().unwrap();
    }
}
