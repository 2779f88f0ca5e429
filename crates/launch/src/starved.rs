//! Whether a process group waits for what others hold: a CPU, or a device.

use std::fs;
use std::time::Duration;

/// Looks before an answer is believed, and the time between two: between two waits a thread is asleep for a moment, and the
/// kernel takes a CPU from a real-time program for 50 ms of each second, in which who had waited runs, and may sleep.
const LOOKS: u32 = 16;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Who waited for a CPU for this part of the time in which it should have been done would have been done without waiting.
const MOST_WAITED: u32 = 2;

/// Whether a thread of the group is ready to run, or waits for a device, or has waited for a CPU for long, and has had less
/// than `enough` of a CPU so far. False where the kernel does not tell.
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
    tasks.filter_map(|task| {
        let path = task.ok()?.path();
        let waited = fs::read_to_string(path.join("schedstat")).ok().as_deref().and_then(waited);
        Some(Thread { waited: waited.unwrap_or_default(), ..Thread::of(&fs::read_to_string(path.join("stat")).ok()?)? })
    })
}

/// The second number of a thread's schedstat: for how long it was ready to run and did not, without the wait under way.
fn waited(schedstat: &str) -> Option<Duration> {
    Some(Duration::from_nanos(schedstat.split_whitespace().nth(1)?.parse().ok()?))
}

/// What the kernel tells of a thread.
#[derive(Debug, PartialEq)]
struct Thread {
    state: char,
    group: u32,
    used: Duration,
    waited: Duration,
}

impl Thread {
    /// From a line of /proc/PID/stat; the name in it may hold anything.
    fn of(stat: &str) -> Option<Thread> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ticks = words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?;
        let used = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        let (state, group) = (words[0].chars().next()?, words[2].parse().ok()?);
        Some(Thread { state, group, used, waited: Duration::ZERO })
    }

    fn waits_for_others(&self, enough: Duration) -> bool {
        let has_waited = !enough.is_zero() && self.waited >= enough / MOST_WAITED;
        (matches!(self.state, 'R' | 'D') || has_waited) && self.used < enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
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
    fn who_waited_for_long_is_starved_also_while_it_sleeps() {
        let thread = |state: char, used: u64, waited: u64| {
            let (used, waited) = (Duration::from_secs(used), Duration::from_secs(waited));
            Thread { state, group: 1, used, waited }
        };
        let enough = Duration::from_secs(7);
        assert!(thread('S', 0, 4).waits_for_others(enough) && thread('R', 0, 0).waits_for_others(enough));
        assert!(!thread('S', 0, 3).waits_for_others(enough) && !thread('S', 8, 30).waits_for_others(enough));
        assert_eq!(waited("123 4000000000 7\n"), Some(Duration::from_secs(4)));
        assert_eq!((waited(""), waited("123\n"), waited("1 x 2")), (None, None, None));
    }

    #[test]
    fn a_shell_that_shared_its_cpu_is_seen_to_have_waited() {
        let set = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..1024).find(|cpu| set.is_set(*cpu)).unwrap();
        let on_one = |script: &str| Shell::of(&format!("taskset -pc {cpu} $$ > /dev/null || exit 7; {script}"));
        let _busy = on_one("while :; do :; done");
        let mut other = on_one("i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exec sleep 600");
        let pid = other.0.id();
        let asleep = || {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            threads(&pid.to_string()).find(|thread| name.trim() == "sleep" && thread.state == 'S')
        };
        let Thread { used, waited, .. } = loop {
            if let Some(thread) = asleep() {
                break thread;
            }
            if other.0.try_wait().unwrap().is_some() {
                return skipped("there is no taskset here");
            }
            std::thread::sleep(BETWEEN_LOOKS);
        };
        if used >= MOST_WAITED * waited {
            return skipped("it hardly waited here, or the kernel does not tell for how long");
        }
        assert!(is_starved(pid, MOST_WAITED * waited), "{waited:?}");
        assert!(!is_starved(pid, 4 * MOST_WAITED * waited), "{waited:?}");
    }

    #[test]
    fn a_line_of_a_thread_is_read_past_its_name() {
        let stat = "77 (a) R 1 (b) D 1 44 44 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 5 6 7";
        let expected = Thread { state: 'D', group: 44, used: Duration::from_secs(2), waited: Duration::ZERO };
        assert_eq!(Thread::of(stat), Some(expected));
        assert_eq!(Thread::of("77 (a"), None);
    }
}
