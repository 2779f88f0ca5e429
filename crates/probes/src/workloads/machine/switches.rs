//! How often processes left the CPU: both sides of a transfer.

use std::{fs, io};

/// What the kernel counts of a process' first thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// It slept, and was woken later.
    pub voluntary: u64,
    /// Another one took its place.
    pub involuntary: u64,
}

impl Switches {
    /// Those of a process so far; none is this process. An error where the kernel does not tell.
    pub fn of(pid: Option<u32>) -> io::Result<Switches> {
        let path = pid.map_or_else(|| "/proc/self/status".to_owned(), |pid| format!("/proc/{pid}/status"));
        Switches::parse(&fs::read_to_string(path)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(status: &str) -> Option<Switches> {
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.strip_prefix(':')?.trim().parse().ok()
        };
        Some(Switches {
            voluntary: number("voluntary_ctxt_switches")?,
            involuntary: number("nonvoluntary_ctxt_switches")?,
        })
    }

    /// What was counted since `before`.
    #[must_use]
    pub fn since(self, before: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::process::Peer;
    use crate::workloads::{affinity, process};

    #[test]
    fn the_two_kinds_are_distinguished() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(Switches::parse(status), Some(Switches { voluntary: 7, involuntary: 3 }));
        assert_eq!(Switches::parse("Name:\tx\n"), None);
    }

    #[test]
    fn who_sleeps_ten_times_is_woken_ten_times() {
        process::in_a_child(|| {
            let (begin, begun) = rustix::pipe::pipe()?;
            let (end, ended) = rustix::pipe::pipe()?;
            let peer = Peer::spawn(&affinity::allowed()?, || {
                (0..10).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
                rustix::io::write(&begun, b"x")?;
                rustix::io::read(&end, &mut [0])?;
                Ok(())
            })?;
            rustix::io::read(&begin, &mut [0])?;
            let counted = Switches::of(Some(peer.pid()))?;
            assert!((10..20).contains(&counted.voluntary), "{counted:?}");
            drop(ended);
            Ok(())
        });
    }
}
