//! Counters of what others do on this machine: steal, context switches, load, and the process that is busiest.

use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_model::{HostFacts, Throttling};
use hostmark_sys::clock::monotonic_ns;
use hostmark_sys::usage;

use crate::cgroups::{self, Groups, Version};
use crate::cpus;
use crate::root::{Root, TICK_NS, cpu_ns, finite_number, holds};
use crate::virtualization;

/// Shortest time whose share is used, ns: under ten ticks a share of CPU time has an error of more than 10 %.
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
    /// True where `processes` holds every process.
    is_complete: bool,
    /// True in a PID namespace below the machine's first one, as in a container: processes outside of it are not seen.
    is_inner: bool,
}

/// The machine's first namespace of processes, a constant of the kernel (PROC_PID_INIT_INO).
const FIRST_PIDS: &str = "pid:[4026531836]";

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
            own_ns: root.raw("/proc/self/stat").and_then(|stat| cpu_ns(&stat, 4)),
            context_switches: counter("ctxt"),
            load: root.text("/proc/loadavg").as_deref().and_then(load),
            running: counter("procs_running"),
            allowed: cpus::allowed(root),
            is_inner: root.link("/proc/self/ns/pid").is_some_and(|link| link != FIRST_PIDS),
            ..NoiseSnapshot::default()
        }
    }

    /// The counters and the processes; bounded at 2000 processes and 5 ms of CPU time, newest processes first.
    pub fn read_with_processes(root: &Root) -> NoiseSnapshot {
        let (processes, is_complete) = read(root);
        NoiseSnapshot { processes, is_complete, ..NoiseSnapshot::read(root) }
    }

    /// Tells whether every process of the machine is in this snapshot.
    pub fn has_all_processes(&self) -> bool {
        self.is_complete
    }

    /// Tells whether the machine's first process was seen: hidepid, a PID namespace or a lack of /proc may hide others.
    pub fn sees_others(&self) -> bool {
        !self.is_inner && (!self.is_complete || self.processes.iter().any(|process| process.pid == 1))
    }

    /// CPU time over elapsed time that processes used until `after` which are not seen, on the CPUs that this process may use. None
    /// where all are seen, or too little is known.
    pub fn unseen_cpus(&self, after: &NoiseSnapshot) -> Option<f64> {
        let elapsed_ns =
            self.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_NS && !after.sees_others())? as f64;
        let cpus = after.allowed.as_ref().filter(|_| self.is_complete && after.is_complete)?;
        let busy_ns = self.busy_until(after, cpus).filter(|_| !self.has_broken_use(after, cpus))? as f64;
        let seen_ns: u64 = used_since(self, after).iter().map(|(used_ns, _)| used_ns).sum();
        Some(((busy_ns - seen_ns as f64 - CUT_NS) / elapsed_ns).clamp(0.0, cpus.len() as f64))
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

    /// Tells whether no CPU's time is counted, or none ran until `after`, as in sandboxes and emulators: this process did.
    pub fn has_standing_counters(&self, after: &NoiseSnapshot) -> bool {
        let is_long = self.elapsed_ns(after).is_some_and(|elapsed| elapsed >= SHORTEST_BLOCK_NS);
        self.busy_ns == after.busy_ns && (after.busy_ns.is_empty() || is_long)
    }

    /// Tells whether more was stolen of one of `cpus` until `after` than time went by: such a counter is broken.
    pub fn has_broken_steal(&self, after: &NoiseSnapshot, cpus: &[usize]) -> bool {
        self.is_broken(after, cpus, |cpu| self.steal_ns_until(after, cpu))
    }

    /// Tells whether one of `cpus` ran programs for longer until `after` than time went by: such a counter is broken.
    pub fn has_broken_use(&self, after: &NoiseSnapshot, cpus: &[usize]) -> bool {
        self.is_broken(after, cpus, |cpu| self.busy_until(after, cpu))
    }

    fn is_broken(&self, after: &NoiseSnapshot, cpus: &[usize], grown_ns: impl Fn(&[usize]) -> Option<u64>) -> bool {
        let is_broken = |cpu: &usize| Some(grown_ns(&[*cpu])? as f64 > self.elapsed_ns(after)? as f64 + CUT_NS);
        cpus.iter().any(|cpu| is_broken(cpu) == Some(true))
    }

    /// The share of the time of `cpus` that was stolen from this snapshot to `after`: 0.013 is 1.3 %. None under 100 ms.
    pub fn steal_share(&self, after: &NoiseSnapshot, cpus: &[usize]) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_NS)?;
        if cpus.is_empty() || self.has_broken_steal(after, cpus) {
            return None;
        }
        Some(self.steal_ns_until(after, cpus)? as f64 / (elapsed_ns as f64 * cpus.len() as f64))
    }
}

/// Shorter, the ticks by which the kernel counts say too little of who used a CPU.
const SHORTEST_BLOCK_NS: u64 = 1_000_000_000;

impl NoiseSnapshot {
    /// Time for which `cpus` ran programs until `after`, ns; none when one is not counted in both.
    fn busy_until(&self, after: &NoiseSnapshot, cpus: &[usize]) -> Option<u64> {
        cpus.iter().map(|cpu| Some(after.busy_ns.get(cpu)?.saturating_sub(*self.busy_ns.get(cpu)?))).sum()
    }

    /// The share of the time of `cpus` that others used until `after`: neither this process, nor its ended children, nor idle. All of these
    /// count as on `cpus`, so it is rather too small. None under 1 s, for a CPU not in both, or a broken counter.
    pub fn others_share(&self, after: &NoiseSnapshot, cpus: &[usize]) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_BLOCK_NS)?;
        let busy_ns = self.busy_until(after, cpus).filter(|_| !cpus.is_empty() && !self.has_broken_use(after, cpus))?;
        let own_ns = after.own_ns?.saturating_sub(self.own_ns?);
        Some(busy_ns.saturating_sub(own_ns) as f64 / (elapsed_ns as f64 * cpus.len() as f64))
    }
}

/// Each process of `after` that may have run on the CPUs that this one may use, with its CPU time since `before`, ns.
fn used_since<'a>(before: &NoiseSnapshot, after: &'a NoiseSnapshot) -> Vec<(u64, &'a Process)> {
    let earlier: HashMap<(u32, u64), u64> =
        before.processes.iter().map(|process| ((process.pid, process.started_ticks), process.cpu_ticks)).collect();
    let begun_ticks = before.uptime_ns.unwrap_or(0) / TICK_NS;
    let used = |process: &Process| {
        let ticks = match earlier.get(&(process.pid, process.started_ticks)) {
            Some(ticks) => process.cpu_ticks.saturating_sub(*ticks),
            // Not seen before: all its time is new if it started since, or if the first look missed nobody.
            None if before.is_complete || process.started_ticks >= begun_ticks => process.cpu_ticks,
            None => 0,
        };
        ticks * TICK_NS
    };
    let is_near = |process: &&Process| after.allowed.as_ref().is_none_or(|allowed| holds(allowed, process.cpu));
    after.processes.iter().filter(is_near).map(|process| (used(process), process)).collect()
}

/// The process, no descendant of this one, that took most CPU time between two snapshots on the CPUs this process may use. None when nobody
/// did, without processes, or within 100 ms. A process that ended before `after` leaves no trace.
pub fn busiest_other(before: &NoiseSnapshot, after: &NoiseSnapshot) -> Option<BusyProcess> {
    let elapsed_ns = before.elapsed_ns(after).filter(|elapsed| *elapsed >= SHORTEST_NS)?;
    let own = own_family(&after.processes);
    let (used_ns, process) = used_since(before, after)
        .into_iter()
        .filter(|(used_ns, process)| *used_ns > 0 && !own.contains(&process.pid))
        .max_by_key(|(used_ns, process)| (*used_ns, std::cmp::Reverse(process.pid)))?;
    Some(BusyProcess {
        pid: process.pid,
        name: process.name.clone(),
        cpus: used_ns as f64 / elapsed_ns as f64,
        last_cpu: process.cpu,
    })
}

/// Returns `perf trace` with its number where it follows this process, an ancestor or all: no file tells who opened events.
pub fn event_tracer(root: &Root) -> Option<String> {
    let (processes, _) = read(root);
    let parent = |pid: &u32| Some(processes.iter().find(|process| process.pid == *pid)?.parent);
    let own = processes.iter().find(|process| process.is_self)?.pid;
    let followed: Vec<u32> = std::iter::successors(Some(own), parent).take(processes.len()).collect();
    let is_one = |word: &str| {
        let numbers = word.trim_start_matches(|c: char| !c.is_ascii_digit()).split(',');
        ["-a", "--all-cpus"].contains(&word) || numbers.flat_map(str::parse::<u32>).any(|pid| followed.contains(&pid))
    };
    let traces = |process: &&Process| {
        let line = root.raw(&format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        let mut words = line.split('\0').skip(1).skip_while(|word| word.starts_with('-'));
        words.next() == Some("trace") && (followed.contains(&process.pid) || words.any(is_one))
    };
    let found = processes.iter().filter(|process| process.name == "perf").find(traces)?;
    Some(format!("perf trace ({})", found.pid))
}

/// Returns this process and all that descend from it.
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

/// `1.03 0.66 0.31 3/93 8824`; a sandbox that does not count has no tasks at all there (`0/0`), not even this one.
pub(crate) fn load(text: &str) -> Option<[f64; 3]> {
    text.split_whitespace().nth(3).is_none_or(|tasks| tasks != "0/0").then_some(())?;
    let mut words = text.split_whitespace().map(finite_number);
    Some([words.next()??, words.next()??, words.next()??])
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

/// Returns the steal time since boot of the line's CPU, where it is wanted.
fn steal_of_cpu(line: &str, is_wanted: impl Fn(usize) -> bool) -> Option<(usize, u64)> {
    let (number, _) = line.strip_prefix("cpu")?.split_once(' ')?;
    number.parse().ok().filter(|&cpu| is_wanted(cpu)).and_then(|_| ticks_of_cpu(line, &[STEAL]))
}

/// The sum of these columns of a CPU's line.
fn ticks_of_cpu(line: &str, columns: &[usize]) -> Option<(usize, u64)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    let ticks: Vec<&str> = words.collect();
    // A CPU has been idle or busy since boot: a sandbox that writes zeros does not count.
    ticks.iter().any(|ticks| *ticks != "0").then_some(())?;
    let sum: Option<u64> = columns.iter().map(|&column| ticks.get(column)?.parse::<u64>().ok()).sum();
    Some((cpu, sum?.checked_mul(TICK_NS)?))
}

/// A pass must stay unnoticed beside a run's start: so many processes, so much CPU time, whichever ends first. Time in which others
/// have the CPU does not count: a pass among busy processes would end before it has seen who they are.
const MOST_PROCESSES: usize = 2000;
const MOST_NS: u64 = 5_000_000;
/// Processes read between two looks at the clock.
const STRIDE: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub struct BusyProcess {
    pub pid: u32,
    /// Name, as the kernel cuts it (15 bytes).
    pub name: String,
    /// CPU time over elapsed time: 0.98 is 98 % of one CPU; several threads can be over 1.
    pub cpus: f64,
    /// The CPU on which its first thread ran last.
    pub last_cpu: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// User and system time of all its threads.
    cpu_ticks: u64,
    /// Start in clock ticks: tells a process from a later one with its number.
    started_ticks: u64,
    pub(crate) cpu: usize,
    is_self: bool,
}

/// The processes, newest first, and whether these are all: the kernel's threads, hundreds on a large machine, have low numbers.
pub(crate) fn read(root: &Root) -> (Vec<Process>, bool) {
    let mut pids: Vec<u32> = root.names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    let own = root.text("/proc/self/stat").and_then(|text| parse(&text)).map(|process| process.pid);
    // Without that clock the number of processes is the only bound.
    let before_ns = usage::cpu_ns_of_thread().ok();
    let is_over = || before_ns.zip(usage::cpu_ns_of_thread().ok()).is_some_and(|(before, now)| now - before > MOST_NS);
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

/// The counters when the round began. The kernel's file on CPUs grows with their number, to 100 KiB and more: it is read up to the
/// last row that is asked for, and not at all where nobody can steal.
#[derive(Debug)]
pub struct RoundCounters {
    root: Root,
    cpus: Vec<usize>,
    groups: Vec<(Version, String)>,
    steal_ns: Option<BTreeMap<usize, u64>>,
    throttled: Option<Throttling>,
    begun_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundLosses {
    /// Time that the hypervisor gave to others, summed over the round's CPUs, in steps of 10 ms. None when a CPU is not counted.
    pub steal_ns: Option<u64>,
    /// Throttling of this process's control groups by CPU quotas. `None` where none is counted.
    pub throttled: Option<Throttling>,
}

impl RoundCounters {
    pub fn begin(root: &Root, cpus: &[usize]) -> RoundCounters {
        let groups: Vec<(Version, String)> = Groups::read(root).chain("cpu").collect();
        RoundCounters {
            steal_ns: steal_ns(root, cpus),
            throttled: cgroups::throttling_of(root, &groups),
            root: root.clone(),
            cpus: cpus.to_vec(),
            groups,
            begun_ns: monotonic_ns(),
        }
    }

    pub fn end(&self) -> RoundLosses {
        let after = steal_ns(&self.root, &self.cpus);
        // Some hypervisors let the counter step back across a migration, and some let it jump by more than there was.
        let most_ns = monotonic_ns().saturating_sub(self.begun_ns) + SHORTEST_NS;
        let stolen = |before: &BTreeMap<usize, u64>, after: &BTreeMap<usize, u64>| -> Option<u64> {
            let of_cpu = |cpu| Some(after.get(cpu)?.saturating_sub(*before.get(cpu)?)).filter(|ns| *ns <= most_ns);
            self.cpus.iter().map(of_cpu).sum()
        };
        // A process that was moved into another group has left the counters of this one.
        let lost = |before: Throttling, after: Throttling| Throttling {
            periods: after.periods.saturating_sub(before.periods),
            ns: (after.ns - before.ns).max(0.0),
        };
        RoundLosses {
            steal_ns: self.steal_ns.as_ref().zip(after.as_ref()).and_then(|(before, after)| stolen(before, after)),
            throttled: self.throttled.zip(cgroups::throttling_of(&self.root, &self.groups)).map(|(a, b)| lost(a, b)),
        }
    }
}

/// Returns the steal time of each of these CPUs since boot, ns.
fn steal_ns(root: &Root, cpus: &[usize]) -> Option<BTreeMap<usize, u64>> {
    if virtualization::is_hardware_for_sure(root) {
        return Some(cpus.iter().map(|&cpu| (cpu, 0)).collect());
    }
    let Some(last) = cpus.iter().copied().max() else { return Some(BTreeMap::new()) };
    let rows = root.raw_until("/proc/stat", |so_far| has_row(so_far, last))?;
    Some(rows.lines().filter_map(|line| steal_of_cpu(line, |cpu| cpus.contains(&cpu))).collect())
}

/// Tells whether the rows of CPUs, which come by number, are complete up to that of `last`.
fn has_row(so_far: &[u8], last: usize) -> bool {
    let mut lines = so_far.rsplitn(3, |&byte| byte == b'\n').skip(1);
    let Some(complete) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) else { return false };
    match complete.strip_prefix("cpu").and_then(|row| row.split(' ').next()) {
        // The first row is the sum of all.
        Some("") => false,
        Some(number) => number.parse().is_ok_and(|number: usize| number >= last),
        None => true,
    }
}

/// A kernel samples who runs at each of its own ticks, of which there are at least so many a second.
const LEAST_HZ: f64 = 100.0;
/// The columns that are summed are each cut to whole ticks, at both looks.
const CUT_NS: f64 = 3.0 * TICK_NS as f64;
/// Error of a sampled share, in deviations: one judgement of 370 lies further off by chance.
const DEVIATIONS: f64 = 3.0;

/// The time that each online CPU has spent on programs and on all else, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// Time of the reading, ns of a clock that nobody sets.
    pub at_ns: u64,
    cpus: BTreeMap<usize, Spent>,
}

/// Time of a CPU since boot, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Spent {
    /// Time for programs, or for the kernel on their behalf.
    busy: u64,
    /// Time idle, in interrupts, or not there.
    rest: u64,
}

/// Time that programs used of a CPU between two looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Time for which they ran, ns.
    pub ns: f64,
    /// Largest error of that, ns: the kernel samples at its ticks and tells whole hundredths of a second.
    pub error_ns: f64,
}

impl CpuTimes {
    /// The counters now. None where the kernel does not tell.
    pub fn read(root: &Root) -> Option<CpuTimes> {
        // Behind the rows of CPUs come those of interrupts, by the thousand.
        let stat = root.raw_until("/proc/stat", |so_far| has_row(so_far, usize::MAX))?;
        CpuTimes::of(&stat, monotonic_ns())
    }

    /// Tells whether no CPU's counters moved until `after`, as in sandboxes that do not count: at least idle time grows elsewhere.
    pub fn stand_until(&self, after: &CpuTimes) -> bool {
        self.cpus == after.cpus && self.elapsed_ns(after) >= SHORTEST_NS
    }

    /// Parses the text of /proc/stat, read at this time.
    pub fn of(stat: &str, at_ns: u64) -> Option<CpuTimes> {
        let cpus: BTreeMap<usize, Spent> = stat.lines().filter_map(of_cpu).collect();
        (!cpus.is_empty()).then_some(CpuTimes { at_ns, cpus })
    }

    pub fn elapsed_ns(&self, after: &CpuTimes) -> u64 {
        after.at_ns.saturating_sub(self.at_ns)
    }

    /// Returns what programs used of `cpu` from this look to `after`: as the kernel's ticks say, and no more than the time
    /// that was neither idle nor an interrupt's, which most kernels count exactly. None when it is not counted in both, or broken.
    pub fn used(&self, after: &CpuTimes, cpu: usize) -> Option<Used> {
        let (before, now) = (self.cpus.get(&cpu)?, after.cpus.get(&cpu)?);
        let elapsed_ns = self.elapsed_ns(after) as f64;
        let since = |now: u64, before: u64| now.saturating_sub(before) as f64;
        // A counter that stands still, or jumps by more than there was, is broken.
        let stands = before == now && elapsed_ns >= SHORTEST_NS as f64;
        if stands || since(now.busy, before.busy) > 2.0 * elapsed_ns + SHORTEST_NS as f64 {
            return None;
        }
        let sampled_ns = since(now.busy, before.busy).min(elapsed_ns);
        let ns = sampled_ns.min((elapsed_ns - since(now.rest, before.rest)).max(0.0));
        let share = if elapsed_ns > 0.0 { sampled_ns / elapsed_ns } else { 0.0 };
        let samples = LEAST_HZ * elapsed_ns / 1e9;
        // A CPU that is never idle is busy at every tick, and one that always is at none.
        let deviation_ns = elapsed_ns * (share * (1.0 - share) / samples.max(1.0)).sqrt();
        Some(Used { ns, error_ns: DEVIATIONS * deviation_ns + CUT_NS })
    }
}

/// Notes how busy each CPU was between two looks, so that a case runs on a quiet one where the host has a choice.
pub fn note_busy(host: &mut HostFacts, before: &CpuTimes, after: &CpuTimes) {
    let elapsed_ns = before.elapsed_ns(after) as f64;
    for cpu in host.cpus.iter_mut().filter(|_| elapsed_ns > 0.0) {
        cpu.busy = before.used(after, cpu.id).map(|used| used.ns / elapsed_ns);
    }
}

/// `cpu3 user nice system idle iowait irq softirq steal …`: the first three are programs' time.
fn of_cpu(line: &str) -> Option<(usize, Spent)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    // Two more columns tell what part of the first two guests had.
    let ticks: Vec<u64> = words.take(8).map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let sum = |ticks: &[u64]| {
        ticks.iter().try_fold(0u64, |sum, ticks| sum.checked_add(*ticks)).and_then(|sum| sum.checked_mul(TICK_NS))
    };
    let (busy, rest) = ticks.split_at_checked(3)?;
    Some((cpu, Spent { busy: sum(busy)?, rest: sum(rest)? }))
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

    /// The kernel's file for so many CPUs.
    fn stat(cpus: usize) -> String {
        let rows: String = (0..cpus).map(|cpu| format!("cpu{cpu} 11 12 13 14 15 16 17 {cpu} 0 0\n")).collect();
        format!("cpu  1 2 3 4 5 6 7 8 0 0\n{rows}intr 5 0 0 0\nctxt 9\n")
    }

    /// Returns how many bytes of it are read, in pages as the kernel gives them, for the row of `last`.
    fn read_for(last: usize, cpus: usize) -> usize {
        let whole = stat(cpus);
        let pages = (1..=whole.len().div_ceil(4096)).map(|pages| (pages * 4096).min(whole.len()));
        pages.clone().find(|&end| has_row(&whole.as_bytes()[..end], last)).unwrap_or(whole.len())
    }

    #[test]
    fn reading_ends_with_the_page_that_completes_the_last_row() {
        let whole = stat(1024).len();
        assert!(whole > 32_000);
        for last in [0, 3, 100] {
            assert_eq!(read_for(last, 1024), 4096, "{last}");
        }
        for last in [127, 128, 500, 1022] {
            let end = stat(1024).find(&format!("cpu{last} ")).unwrap();
            let read = read_for(last, 1024);
            assert!(
                read > end
                    && read <= end + 2 * 4096
                    && stat(1024)[..read].contains(&format!("\ncpu{last} 11 12 13 14 15 16 17 {last} "))
            );
        }
        // A CPU that went away is missed when its turn has passed.
        assert_eq!(read_for(5000, 1024), whole);
        assert!(!has_row(b"", 0) && !has_row(b"cpu  1 2", 0) && !has_row(b"cpu  1 2\ncpu0 1", 0));
    }

    /// Ticks of user, nice, system, idle, iowait, irq, softirq and steal.
    fn at(seconds: u64, ticks: [u64; 8]) -> CpuTimes {
        let columns = ticks.map(|ticks| ticks.to_string()).join(" ");
        let stat = format!("cpu  9 9 9 9 9 9 9 9 0 0\ncpu4 {columns} 0 0\nintr 5 6\n");
        CpuTimes::of(&stat, seconds * 1_000_000_000).unwrap()
    }

    fn used(after: CpuTimes) -> Used {
        at(100, [1000, 10, 20, 4000, 5, 6, 7, 8]).used(&after, 4).unwrap()
    }

    fn is_near(used: Used, ns: f64, error_ns: f64) -> bool {
        (used.ns - ns).abs() < 1.0 && (used.error_ns - error_ns).abs() < 1.0
    }

    #[test]
    fn a_cpu_that_is_never_idle_is_known_to_a_tick_and_a_half_idle_one_as_samples_report() {
        let always = used(at(102, [1100, 60, 70, 4000, 5, 6, 7, 8]));
        assert!(is_near(always, 2e9, 3e7), "{always:?}");
        let half = used(at(102, [1100, 10, 20, 4100, 5, 6, 7, 8]));
        // 200 samples of one half: a deviation of 0.0354 of two seconds.
        assert!(is_near(half, 1e9, 3e7 + 3.0 * 2e9 * (0.25_f64 / 200.0).sqrt()), "{half:?}");
        let never = used(at(102, [1000, 10, 20, 4200, 5, 6, 7, 8]));
        assert!(is_near(never, 0.0, 3e7), "{never:?}");
    }

    #[test]
    fn both_counts_have_to_agree() {
        // By the ticks it was busy for a second, by what is left beside idle time, interrupts and steal for half of one.
        let left = used(at(102, [1100, 10, 20, 4050, 15, 16, 27, 68]));
        assert!((left.ns - 5e8).abs() < 1.0, "{left:?}");
        let idle = used(at(102, [1100, 10, 20, 4150, 5, 6, 7, 8]));
        assert!((idle.ns - 5e8).abs() < 1.0, "{idle:?}");
        // Of a sandbox that counts nothing nothing is known.
        assert_eq!(at(100, [1000; 8]).used(&at(102, [1000; 8]), 4), None);
    }

    #[test]
    fn what_is_not_counted_in_both_is_not_known() {
        let (before, after) = (at(1, [0; 8]), at(2, [1; 8]));
        assert_eq!((before.used(&after, 3), before.elapsed_ns(&after)), (None, 1_000_000_000));
        assert_eq!(
            (CpuTimes::of("", 0), CpuTimes::of("cpu0 1 2\n", 0), CpuTimes::of("intr 1\n", 0)),
            (None, None, None)
        );
    }
}
