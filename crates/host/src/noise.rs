//! Counters of what others do on this machine: steal, context switches, load, and the process that is busiest.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::cpu_list::holds;
use crate::cpus;
use crate::processes::{self, BusyProcess, Process};
use crate::root::Root;

/// The kernel counts CPU time for user space in ticks of 1/100 s (USER_HZ) on both architectures.
const TICK_NS: u64 = 10_000_000;

/// Under ten ticks a share of CPU time has an error of more than 10 %, and says nothing.
const SHORTEST_NS: u64 = 10 * TICK_NS;

/// The machine's counters at one moment. Two of them tell what happened between.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoiseSnapshot {
    /// Time since boot, in steps of 10 ms.
    pub uptime_ns: Option<u64>,
    /// Time that the hypervisor gave to others, of every online CPU, in steps of 10 ms.
    pub steal_ns: BTreeMap<usize, u64>,
    /// Time in which every online CPU ran programs or the kernel for them, without interrupts, in steps of 10 ms.
    pub busy_ns: BTreeMap<usize, u64>,
    /// CPU time of this process and of its children that it waited for, and theirs, in steps of 10 ms.
    pub own_ns: Option<u64>,
    /// Context switches of the whole machine since boot.
    pub context_switches: Option<u64>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Tasks that run or wait for a CPU now, this one included.
    pub running: Option<u64>,
    /// The CPUs that this process may use.
    allowed: Option<Vec<usize>>,
    processes: Vec<Process>,
    /// Whether `processes` holds every process.
    is_complete: bool,
}

impl NoiseSnapshot {
    /// The counters alone: five files, of which one has a row for each CPU.
    pub fn read(root: &Root) -> NoiseSnapshot {
        let stat = root.raw("/proc/stat").unwrap_or_default();
        let counter =
            |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
        NoiseSnapshot {
            uptime_ns: root.text("/proc/uptime").as_deref().and_then(uptime_ns),
            steal_ns: stat.lines().filter_map(|line| steal_of_cpu(line, |_| true)).collect(),
            busy_ns: stat.lines().filter_map(|line| ticks_of_cpu(line, &[USER, NICE, SYSTEM])).collect(),
            own_ns: root.raw("/proc/self/stat").as_deref().and_then(own_ns),
            context_switches: counter("ctxt"),
            load: root.text("/proc/loadavg").as_deref().and_then(crate::activity::load),
            running: counter("procs_running"),
            allowed: cpus::allowed(root),
            processes: Vec::new(),
            is_complete: false,
        }
    }

    /// The counters and the processes; bounded at 2000 processes and 5 ms of CPU time, newest processes first.
    pub fn read_with_processes(root: &Root) -> NoiseSnapshot {
        let (processes, is_complete) = processes::read(root);
        NoiseSnapshot { processes, is_complete, ..NoiseSnapshot::read(root) }
    }

    /// Whether every process of the machine is in this snapshot.
    pub fn has_all_processes(&self) -> bool {
        self.is_complete
    }

    /// Whether the first process is among those that were seen: the kernel may hide others' (hidepid), or there is no /proc.
    pub fn sees_others(&self) -> bool {
        !self.is_complete || self.processes.iter().any(|process| process.pid == 1)
    }

    /// Time from this snapshot to `after`, in steps of 10 ms.
    pub fn elapsed_ns(&self, after: &NoiseSnapshot) -> Option<u64> {
        after.uptime_ns?.checked_sub(self.uptime_ns?)
    }

    /// Steal from this snapshot to `after`, summed over `cpus`. None when a CPU is not counted in both.
    pub fn steal_ns_until(&self, after: &NoiseSnapshot, cpus: &[usize]) -> Option<u64> {
        // Some hypervisors let the counter step back across a migration.
        let steal = |cpu: &usize| Some(after.steal_ns.get(cpu)?.saturating_sub(*self.steal_ns.get(cpu)?));
        cpus.iter().map(steal).sum()
    }

    /// The share of the time of `cpus` that was stolen from this snapshot to `after`: 0.013 is 1.3 %. None under 100 ms.
    pub fn steal_share(&self, after: &NoiseSnapshot, cpus: &[usize]) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_NS)?;
        if cpus.is_empty() {
            return None;
        }
        Some(self.steal_ns_until(after, cpus)? as f64 / (elapsed_ns as f64 * cpus.len() as f64))
    }
}

/// Shorter, the ticks by which the kernel counts say too little of who used a CPU.
const SHORTEST_BLOCK_NS: u64 = 1_000_000_000;

impl NoiseSnapshot {
    /// The share of the time of `cpus` that others used from this snapshot to `after`: neither this process, nor children
    /// that it waited for, nor idle. All of these are taken to have run on `cpus`, so that the share is rather too small.
    /// None under 1 s, or when a CPU is not counted in both.
    pub fn others_share(&self, after: &NoiseSnapshot, cpus: &[usize]) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_BLOCK_NS)?;
        let busy = |cpu: &usize| Some(after.busy_ns.get(cpu)?.saturating_sub(*self.busy_ns.get(cpu)?));
        let busy_ns: u64 = cpus.iter().map(busy).sum::<Option<u64>>().filter(|_| !cpus.is_empty())?;
        let own_ns = after.own_ns?.saturating_sub(self.own_ns?);
        Some(busy_ns.saturating_sub(own_ns) as f64 / (elapsed_ns as f64 * cpus.len() as f64))
    }
}

/// The process that took most CPU time between two snapshots on the CPUs that this process may use, its own descendants
/// apart. None when nobody took any, when the snapshots hold no processes, or when less than 100 ms lie between.
/// A process that ended before `after` leaves no trace.
pub fn busiest_other(before: &NoiseSnapshot, after: &NoiseSnapshot) -> Option<BusyProcess> {
    let elapsed_ns = before.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_NS)?;
    let earlier: HashMap<(u32, u64), u64> =
        before.processes.iter().map(|process| ((process.pid, process.started_ticks), process.cpu_ticks)).collect();
    let begun_ticks = before.uptime_ns.unwrap_or(0) / TICK_NS;
    let own = own_family(&after.processes);
    let used = |process: &Process| {
        let ticks = match earlier.get(&(process.pid, process.started_ticks)) {
            Some(ticks) => process.cpu_ticks.saturating_sub(*ticks),
            // Not seen before: all its time is new if it started since, or if the first look missed nobody.
            None if before.is_complete || process.started_ticks >= begun_ticks => process.cpu_ticks,
            None => 0,
        };
        ticks * TICK_NS
    };
    let is_near = |process: &Process| after.allowed.as_ref().is_none_or(|allowed| holds(allowed, process.cpu));
    let (used_ns, process) = after
        .processes
        .iter()
        .filter(|process| is_near(process) && !own.contains(&process.pid))
        .map(|process| (used(process), process))
        .max_by_key(|(used_ns, process)| (*used_ns, std::cmp::Reverse(process.pid)))
        .filter(|(used_ns, _)| *used_ns > 0)?;
    Some(BusyProcess {
        pid: process.pid,
        name: process.name.clone(),
        cpus: used_ns as f64 / elapsed_ns as f64,
        last_cpu: process.cpu,
    })
}

/// This process and all that descend from it.
fn own_family(all: &[Process]) -> HashSet<u32> {
    let mut family: HashSet<u32> = all.iter().filter(|process| process.is_self).map(|process| process.pid).collect();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut pending: Vec<u32> = family.iter().copied().collect();
    while let Some(pid) = pending.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if family.insert(*child) {
                pending.push(*child);
            }
        }
    }
    family
}

/// `123.45 67.89` in nanoseconds; the kernel writes two decimals.
fn uptime_ns(text: &str) -> Option<u64> {
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| (seconds * 100.0).round() as u64 * TICK_NS)
}

/// Columns of `cpu3 user nice system idle iowait irq softirq steal …`.
const USER: usize = 0;
const NICE: usize = 1;
const SYSTEM: usize = 2;
const STEAL: usize = 7;

/// What was stolen since boot of the CPU that the line tells of, where it is wanted.
pub(crate) fn steal_of_cpu(line: &str, is_wanted: impl Fn(usize) -> bool) -> Option<(usize, u64)> {
    let (number, _) = line.strip_prefix("cpu")?.split_once(' ')?;
    number.parse().ok().filter(|&cpu| is_wanted(cpu)).and_then(|_| ticks_of_cpu(line, &[STEAL]))
}

/// The sum of these columns of a CPU's line.
fn ticks_of_cpu(line: &str, columns: &[usize]) -> Option<(usize, u64)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    let ticks: Vec<&str> = words.collect();
    let sum: Option<u64> = columns.iter().map(|&column| ticks.get(column)?.parse::<u64>().ok()).sum();
    Some((cpu, sum?.checked_mul(TICK_NS)?))
}

/// Fields 14 to 17 of a process' stat: its own time and that of the children it waited for, in user and kernel mode.
fn own_ns(text: &str) -> Option<u64> {
    let (_, tail) = text.rsplit_once(')')?;
    let ticks: Option<u64> = tail.split_whitespace().skip(14 - 3).take(4).map(|word| word.parse::<u64>().ok()).sum();
    ticks?.checked_mul(TICK_NS)
}
