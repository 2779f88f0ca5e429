//! What this process has started and what those have started in turn: ended to the last one, also who has left its parents,
//! its group and its session.

use std::fs;
use std::io;
use std::time::Duration;

use hostmark_say::say;
use rustix::process::{WaitId, WaitIdOptions};

use super::call::{Call, named};
use super::child::{ChildId, LOOK};
use super::clock;
use super::group::parent_of;

/// How long is waited for who has been killed, before it is looked at again.
const TURN: Duration = Duration::from_millis(1);

/// From now on a descendant whose parent has ended is a child of this process, whatever group or session it is in. That is
/// not handed on to children.
pub fn adopt() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).call("prctl")
}

/// Does [`adopt`] where all children of this process, but those `known`, will be its own descendants: not where it has taken
/// the place of a program that had started others (a shell's `exec`), nor where orphans of others come to it already, as to
/// the first process of a namespace. Tells whether it did.
pub fn adopt_if_all_are_own(known: &[u32]) -> io::Result<bool> {
    let is_adopting = rustix::process::child_subreaper().call("prctl")?.is_some();
    if std::process::id() == 1 || is_adopting || numbers()?.iter().any(|child| !known.contains(child)) {
        return Ok(false);
    }
    adopt().map(|()| true)
}

/// Kills and reaps every child but `spared`, and whoever becomes one by that, until there is none; an error says who is left
/// after `patience`, and why. Children get `grace` to end by themselves first.
///
/// A list of children is old when it has been read: who is in it may have forked since. But the child of one that ends comes
/// to this process before its end is told here (see [`adopt`]), so that it is in the next list, and there is a next list for
/// as long as one has had anybody in it. The end is the kernel's word that there is no child, where nobody is spared. Who is
/// killed is a child that only this process waits for: its number is nobody else's.
pub fn end(spared: &[u32], grace: Duration, patience: Duration) -> io::Result<()> {
    let began_ns = clock::monotonic_ns();
    let is_over = |limit: Duration| u128::from(clock::monotonic_ns() - began_ns) >= limit.as_nanos();
    let mut was_empty = false;
    loop {
        if spared.is_empty() && !has_children()? {
            return Ok(());
        }
        let children: Vec<ChildId> =
            numbers()?.into_iter().filter(|child| !spared.contains(child)).filter_map(ChildId::adopted).collect();
        // Where somebody is spared, one list alone could have been read while one left it and another came.
        if !spared.is_empty() && children.is_empty() {
            if was_empty {
                return Ok(());
            }
            was_empty = true;
            continue;
        }
        was_empty = false;
        let mut left = None;
        let mut has_one_ended = false;
        for child in children {
            let killed = if is_over(grace) { child.kill() } else { Ok(()) };
            match child.reap() {
                Ok(None) => has_one_ended = true,
                Ok(Some(child)) => left = Some((child.number(), killed)),
                Err(error) => return Err(error),
            }
        }
        if let Some((number, killed)) = left.filter(|_| is_over(grace + patience)) {
            let why = killed.err().unwrap_or_else(|| named("kill", io::ErrorKind::TimedOut.into()));
            return Err(io::Error::other(say!("process {number} cannot be ended ({why})")));
        }
        // Whoever one has left behind is looked for at once.
        if !has_one_ended {
            std::thread::sleep(TURN);
        }
    }
}

/// Reaps every child that has ended; whether there is one that has not. Only for who waits for no child by itself any more.
pub fn reap_ended() -> io::Result<bool> {
    loop {
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(true),
            Err(rustix::io::Errno::CHILD) => return Ok(false),
            Err(error) => return Err(named("waitid", error.into())),
        }
    }
}

/// Whether this process has a child, ended or not.
fn has_children() -> io::Result<bool> {
    match rustix::process::waitid(WaitId::All, LOOK) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::CHILD) => Ok(false),
        Err(error) => Err(named("waitid", error.into())),
    }
}

/// The numbers of the children of all threads of this process.
fn numbers() -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        match fs::read_to_string(task?.path().join("children")) {
            Ok(text) => numbers.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok())),
            // A thread that has ended, or a kernel that keeps no such list.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return all(),
            Err(error) => return Err(error),
        }
    }
    Ok(numbers)
}

/// The same from every process that there is.
fn all() -> io::Result<Vec<u32>> {
    let is_child = |&number: &u32| parent_of(number) == Some(std::process::id());
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse().ok()).filter(is_child));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process::in_a_child;

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
            end(&[], Duration::ZERO, PATIENCE)?;
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
            end(&[], Duration::ZERO, PATIENCE)
        });
    }

    #[test]
    fn who_is_spared_lives_and_is_not_reaped() {
        in_a_child(|| {
            adopt()?;
            let mut spared = shell("exec sleep 1000")?;
            let mut ended = shell("exit 3")?;
            shell("setsid sleep 1000 &")?;
            end(&[spared.id(), ended.id()], Duration::ZERO, PATIENCE)?;
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
            end(&[], PATIENCE, PATIENCE)?;
            assert!(mark.exists());
            Ok(())
        });
    }
}
