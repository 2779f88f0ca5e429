//! What every process has used of the CPUs, from one pass over /proc, bounded in number and time.

use hostmark_sys::cpu_time;

use crate::root::Root;

/// A pass must stay unnoticed beside a run's start: so many processes, so much CPU time, whichever ends first. Time in which others
/// have the CPU does not count: a pass among busy processes would end before it has seen who they are.
const MOST_PROCESSES: usize = 2000;
const MOST_NS: u64 = 5_000_000;
/// Processes read between two looks at the clock.
const STRIDE: usize = 16;

/// The process that disturbs most.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyProcess {
    /// Process id.
    pub pid: u32,
    /// Its name, as the kernel cuts it (15 bytes).
    pub name: String,
    /// CPU time over elapsed time: 0.98 is 98 % of one CPU; several threads can be over 1.
    pub cpus: f64,
    /// The CPU on which its first thread ran last.
    pub last_cpu: usize,
}

/// One process at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// User and system time of all its threads.
    pub(crate) cpu_ticks: u64,
    /// When it started: tells a process from a later one with its number.
    pub(crate) started_ticks: u64,
    pub(crate) cpu: usize,
    pub(crate) is_self: bool,
}

/// The processes, and whether these are all. The newest come first: a kernel's own threads, hundreds on a large machine,
/// have the low numbers.
pub(crate) fn read(root: &Root) -> (Vec<Process>, bool) {
    let mut pids: Vec<u32> = root.names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    let own = root.text("/proc/self/stat").and_then(|text| parse(&text)).map(|process| process.pid);
    // Without that clock the number of processes is the only bound.
    let before_ns = cpu_time::of_thread().ok();
    let is_over = || before_ns.zip(cpu_time::of_thread().ok()).is_some_and(|(before, now)| now - before > MOST_NS);
    let mut processes = Vec::with_capacity(pids.len().min(MOST_PROCESSES));
    for (index, pid) in pids.iter().enumerate() {
        let is_late = index % STRIDE == STRIDE - 1 && is_over();
        if index == MOST_PROCESSES || is_late {
            return (processes, false);
        }
        // A process may end while it is looked at.
        if let Some(mut process) = root.one_read(&format!("/proc/{pid}/stat")).and_then(|text| parse(&text)) {
            process.is_self = Some(process.pid) == own;
            processes.push(process);
        }
    }
    (processes, true)
}

/// Reads `pid (name) state ppid …`; the name may hold spaces and parentheses, so that its end is the last one.
fn parse(text: &str) -> Option<Process> {
    let (head, tail) = text.rsplit_once(')')?;
    let (pid, name) = head.split_once('(')?;
    // Field 3 of proc_pid_stat(5) is the first word here: ppid is 4, utime 14, stime 15, starttime 22, processor 39.
    let words: Vec<&str> = tail.split_whitespace().collect();
    let field = |number: usize| words.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        pid: pid.trim().parse().ok()?,
        name: name.to_owned(),
        parent: u32::try_from(field(4)?).ok()?,
        cpu_ticks: field(14)?.checked_add(field(15)?)?,
        started_ticks: field(22)?,
        cpu: usize::try_from(field(39)?).ok()?,
        is_self: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_do_not_shift_the_fields() {
        let line = "4711 (a) b (c) R 17 4711 17 0 -1 4194304 9 0 0 0 300 98 0 0 20 0 1 0 5555 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 3 0 0 0 0 0";
        let process = parse(line).unwrap();
        assert_eq!((process.pid, process.name.as_str(), process.parent), (4711, "a) b (c", 17));
        assert_eq!((process.cpu_ticks, process.started_ticks, process.cpu), (398, 5555, 3));
        for damaged in ["", "1", "1 (x", "1 (x) R", "x (y) R 1 2 3"] {
            assert!(parse(damaged).is_none(), "{damaged}");
        }
    }
}
