//! Whether a process group waits for what others hold: a CPU, or a device.

use std::fs;
use std::time::Duration;

/// Looks before an answer is believed, and the time between two: between two waits a thread is asleep for a moment.
const LOOKS: u32 = 4;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Whether a thread of the group is ready to run, or waits for a device, and has had less than `enough` of a CPU so far.
/// False where the kernel does not tell.
pub(crate) fn is_starved(group: u32, enough: Duration) -> bool {
    (0..LOOKS).any(|look| {
        if look > 0 {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        members(group).any(|pid| threads(&pid).any(|thread| thread.waits_for_others(enough)))
    })
}

/// The process ids of the group's processes.
fn members(group: u32) -> impl Iterator<Item = String> {
    let names = fs::read_dir("/proc").into_iter().flatten();
    let pids = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(move |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Thread::of(&stat).is_some_and(|thread| thread.group == group)
    })
}

fn threads(pid: &str) -> impl Iterator<Item = Thread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    tasks.filter_map(|task| Thread::of(&fs::read_to_string(task.ok()?.path().join("stat")).ok()?))
}

/// What the kernel tells of a thread.
#[derive(Debug, PartialEq)]
struct Thread {
    state: char,
    group: u32,
    used: Duration,
}

impl Thread {
    /// From a line of /proc/PID/stat; the name in it may hold anything.
    fn of(stat: &str) -> Option<Thread> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ticks = words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?;
        let used = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        Some(Thread { state: words[0].chars().next()?, group: words[2].parse().ok()?, used })
    }

    fn waits_for_others(&self, enough: Duration) -> bool {
        matches!(self.state, 'R' | 'D') && self.used < enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    /// A shell in a group of its own, ended when dropped.
    struct Shell(Child);

    impl Shell {
        fn of(script: &str) -> Shell {
            Shell(Command::new("/bin/sh").args(["-c", script]).process_group(0).spawn().unwrap())
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn who_sleeps_is_not_starved_and_who_runs_is_until_it_has_had_enough() {
        let asleep = Shell::of("exec sleep 60");
        let busy = Shell::of("while :; do :; done");
        while !is_starved(busy.0.id(), Duration::from_secs(3600)) {
            std::thread::yield_now();
        }
        assert!((0..100).any(|_| !is_starved(asleep.0.id(), Duration::from_secs(3600))));
        while is_starved(busy.0.id(), Duration::from_millis(20)) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_line_of_a_thread_is_read_past_its_name() {
        let stat = "77 (a) R 1 (b) D 1 44 44 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 5 6 7";
        let expected = Thread { state: 'D', group: 44, used: Duration::from_secs(2) };
        assert_eq!(Thread::of(stat), Some(expected));
        assert_eq!(Thread::of("77 (a"), None);
    }
}
