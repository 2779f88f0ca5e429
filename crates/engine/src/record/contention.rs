//! Contention for a run's CPUs: the time that neither its own processes nor idle had, judged over blocks of a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use hostmark_host::{CpuSensors, CpuTimes, Root};
use hostmark_model::Others;

use crate::clock::Wall;
use crate::sys::{affinity, netlink, usage};

/// Shorter, the ticks by which the kernel counts say too little of who used a CPU.
const SHORTEST_BLOCK: Duration = Duration::from_secs(1);
/// A whole run that is shorter than a block is judged by what it has, from here on: the error grows as the time shrinks.
const SHORTEST_RUN: Duration = Duration::from_millis(300);
/// Most CPU time of a worker before it is bound to its CPUs, ns: it is started anywhere.
const UNBOUND_NS: f64 = 5e6;
/// A share of a CPU's time under this disturbs no more than the kernel's own work does.
const NOTABLE: f64 = 0.05;
/// A thread that waited less than this share of its samples' time was not disturbed by whoever used its CPU.
const WAITED: f64 = 0.01;

/// The counters that tell of it.
pub trait Meters {
    /// CPU times so far. `None` where the kernel does not tell.
    fn cpus(&self) -> Option<CpuTimes> {
        None
    }
    /// CPU time of this process and of all children that it has waited for, ns.
    fn own_ns(&self) -> Option<u64> {
        None
    }
    /// CPU time of another process so far, ns.
    fn other_ns(&self, _pid: u32) -> Option<u64> {
        None
    }
    /// The CPUs that this process may use now.
    fn allowed_cpus(&self) -> Option<Vec<usize>> {
        None
    }
    /// Tells whether the loopback interface is up now; `None` where unknown.
    fn has_loopback(&self) -> Option<bool> {
        None
    }
    /// Process that traces this one now: `strace (4711)`.
    fn tracer(&self) -> Option<String> {
        None
    }
    /// Process that follows this one now by events of the kernel: `perf trace (4711)`. It takes milliseconds to look.
    fn event_tracer(&self) -> Option<String> {
        None
    }
    /// Temperature of the hottest processor, degrees Celsius.
    fn hottest_celsius(&self) -> Option<f64> {
        None
    }
}

#[derive(Debug)]
pub struct KernelMeters;

impl Meters for KernelMeters {
    fn cpus(&self) -> Option<CpuTimes> {
        CpuTimes::read(&Root::here())
    }

    fn own_ns(&self) -> Option<u64> {
        usage::cpu_ns_of_all_own().ok()
    }

    fn other_ns(&self, pid: u32) -> Option<u64> {
        usage::cpu_ns_of_other(pid).ok()
    }

    fn allowed_cpus(&self) -> Option<Vec<usize>> {
        affinity::allowed().ok()
    }

    fn has_loopback(&self) -> Option<bool> {
        netlink::is_up(netlink::LOOPBACK).ok()
    }

    fn tracer(&self) -> Option<String> {
        hostmark_host::tracer(&Root::here())
    }

    fn event_tracer(&self) -> Option<String> {
        hostmark_host::event_tracer(&Root::here())
    }

    fn hottest_celsius(&self) -> Option<f64> {
        static SENSORS: LazyLock<CpuSensors> = LazyLock::new(|| CpuSensors::find(&Root::here()));
        SENSORS.hottest_celsius()
    }
}

#[derive(Debug)]
struct WorkerRounds {
    /// Case of each round, and its place among the case's rounds.
    rounds: Vec<(usize, usize)>,
    cpus: BTreeSet<usize>,
    own_ns: f64,
    lasted_ns: f64,
}

impl WorkerRounds {
    /// Returns the most of the round's own time that was spent on `cpu`, and what may have been beside that.
    fn own_on(&self, cpu: usize) -> (f64, f64) {
        let here_ns = self.own_ns.min(self.lasted_ns);
        // What the round's CPUs cannot have held ran on others: a thread of the kernel that works for the case.
        let elsewhere_ns = (self.own_ns - self.lasted_ns * self.cpus.len() as f64).clamp(0.0, self.lasted_ns);
        match self.cpus.contains(&cpu) {
            true => (here_ns, 0.0),
            false => (elsewhere_ns, here_ns.min(UNBOUND_NS)),
        }
    }
}

#[derive(Debug)]
struct RoundBlock {
    /// The run's time when it began.
    at: Duration,
    begun: CpuTimes,
    own_ns: u64,
    parts: Vec<WorkerRounds>,
}

/// Judgement of one round: its case, its place among the case's rounds, and the CPU time that others used.
pub(crate) type Judged = (usize, usize, Others);

impl RoundBlock {
    /// Returns the time that others used of `cpu` until `now`, when this process and its children had used `own_ns`.
    fn others(&self, now: &CpuTimes, own_ns: u64, cpu: usize) -> Option<Others> {
        let used = self.begun.used(now, cpu)?;
        let elapsed_ns = self.begun.elapsed_ns(now) as f64;
        let own: Vec<(f64, f64)> = self.parts.iter().map(|part| part.own_on(cpu)).collect();
        let in_rounds_ns: f64 = self.parts.iter().map(|part| part.own_ns).sum();
        // Between rounds this process runs wherever it likes.
        let between_ns = (own_ns.saturating_sub(self.own_ns) as f64 - in_rounds_ns).max(0.0);
        let known_ns = own.iter().map(|(known_ns, _)| known_ns).sum::<f64>() + between_ns;
        let unknown_ns: f64 = own.iter().map(|(_, unknown_ns)| unknown_ns).sum();
        Some(Others {
            share: ((used.ns - known_ns) / elapsed_ns).clamp(0.0, 1.0),
            error: (used.error_ns + unknown_ns) / elapsed_ns,
        })
    }

    /// Returns the time that others used of the worst CPU of each round from the `first` on.
    fn judged(&self, now: &CpuTimes, own_ns: u64, first: usize) -> Vec<Judged> {
        let mut of_cpu: BTreeMap<usize, Option<Others>> = BTreeMap::new();
        let mut judged = Vec::new();
        for part in &self.parts[first..] {
            let all =
                part.cpus.iter().filter_map(|&cpu| *of_cpu.entry(cpu).or_insert_with(|| self.others(now, own_ns, cpu)));
            if let Some(most) = all.max_by(|one, other| certain(one).total_cmp(&certain(other))) {
                judged.extend(part.rounds.iter().map(|&(case, place)| (case, place, most)));
            }
        }
        judged
    }
}

/// The part of a share that no error explains.
fn certain(others: &Others) -> f64 {
    others.share - others.error
}

/// Cuts a run into blocks and judges each.
pub(crate) struct Blocks<'a> {
    meters: &'a dyn Meters,
    block: Option<RoundBlock>,
    /// The one before: what is left at the end of the run and is too short for a block belongs to it.
    before: Option<RoundBlock>,
    /// The run's time and this process' own when the round under way began.
    round: Option<(Duration, u64)>,
    /// The process of a worker that lives on: the kernel does not count it among the children that have ended.
    kept: Option<u32>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(meters: &'a dyn Meters) -> Blocks<'a> {
        Blocks { meters, block: None, before: None, round: None, kept: None }
    }

    /// Notes that this worker waits for another job; or that none does any more.
    pub(crate) fn keep(&mut self, pid: Option<u32>) {
        self.kept = pid;
    }

    /// CPU time of this process, of what has ended, and of the worker that is kept.
    fn own_ns(&self) -> Option<u64> {
        let kept_ns = self.kept.map_or(Some(0), |pid| self.meters.other_ns(pid));
        Some(self.meters.own_ns()? + kept_ns?)
    }

    /// A worker begins: the run's warm-up is in no block.
    pub(crate) fn begin(&mut self, at: Duration) {
        self.round = self.own_ns().map(|own_ns| (at, own_ns));
        if self.block.is_none()
            && let (Some((_, own_ns)), Some(begun)) = (self.round, self.meters.cpus())
        {
            self.block = Some(RoundBlock { at, begun, own_ns, parts: Vec::new() });
        }
    }

    /// The worker that began last has ended, or waits for another job: CPU time is known of such alone. It did these `rounds`, each the case
    /// and the place among the case's rounds. Gives what is known now of them and of those before.
    pub(crate) fn end(&mut self, at: Duration, rounds: Vec<(usize, usize)>, cpus: &[usize]) -> Vec<Judged> {
        let (Some((from, before_ns)), Some(own_ns), Some(block)) = (self.round.take(), self.own_ns(), &mut self.block)
        else {
            return Vec::new();
        };
        block.parts.push(WorkerRounds {
            rounds,
            cpus: cpus.iter().copied().collect(),
            own_ns: own_ns.saturating_sub(before_ns) as f64,
            lasted_ns: at.saturating_sub(from).as_nanos() as f64,
        });
        // The counters of a large host are long to read.
        let is_due = at.saturating_sub(block.at) >= SHORTEST_BLOCK;
        let Some(now) = is_due.then(|| self.meters.cpus()).flatten() else { return Vec::new() };
        let judged = block.judged(&now, own_ns, 0);
        let next = RoundBlock { at, begun: now, own_ns, parts: Vec::new() };
        self.before = self.block.replace(next);
        judged
    }

    /// Judges the rounds since the last block.
    pub(crate) fn rest(self) -> Vec<Judged> {
        let own_ns = self.own_ns();
        let (Some(rest), Some(now), Some(own_ns)) = (self.block, self.meters.cpus(), own_ns) else {
            return Vec::new();
        };
        match self.before {
            Some(mut block) => {
                let first = block.parts.len();
                block.parts.extend(rest.parts);
                block.judged(&now, own_ns, first)
            }
            None if rest.begun.elapsed_ns(&now) >= SHORTEST_RUN.as_nanos() as u64 => rest.judged(&now, own_ns, 0),
            None => Vec::new(),
        }
    }
}

/// Runs `work`; returns its result and others' time on its CPU; `None` where the kernel does not tell or it was too short.
pub fn others_during<T>(
    meters: &dyn Meters,
    wall: &dyn Wall,
    cpu: usize,
    work: impl FnOnce() -> T,
) -> (T, Option<Others>) {
    let mut blocks = Blocks::new(meters);
    blocks.begin(wall.elapsed());
    let given = work();
    let mut judged = blocks.end(wall.elapsed(), vec![(0, 0)], &[cpu]);
    judged.extend(blocks.rest());
    (given, judged.first().map(|(.., others)| *others))
}

/// Tells whether others disturbed a round: they used a CPU of it, beyond what the error of the counters explains, and its
/// thread waited for that CPU. Among several CPUs the thread that waited may be another than the observed one.
pub fn is_contended(cpus: &[usize], others: Option<Others>, waited: Option<f64>) -> bool {
    let has_several = cpus.iter().any(|cpu| Some(cpu) != cpus.first());
    let is_used = others.is_some_and(|others| certain(&others) >= NOTABLE);
    is_used && (has_several || waited.is_none_or(|waited| waited >= WAITED))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A machine of two CPUs whose time goes on as a test says.
    #[derive(Default)]
    struct Fake(RefCell<Counters>);

    #[derive(Default, Clone)]
    struct Counters {
        at: Duration,
        busy: [Duration; 2],
        own: Duration,
        /// CPU time of the worker that lives on.
        kept: Duration,
    }

    impl Meters for Fake {
        fn cpus(&self) -> Option<CpuTimes> {
            let Counters { at, busy, .. } = self.0.borrow().clone();
            let line = |cpu: usize| {
                let (busy, idle) = (busy[cpu].as_millis() / 10, (at - busy[cpu]).as_millis() / 10);
                format!("cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 0 0\n")
            };
            CpuTimes::of(&format!("{}{}", line(0), line(1)), at.as_nanos() as u64)
        }

        fn own_ns(&self) -> Option<u64> {
            Some(self.0.borrow().own.as_nanos() as u64)
        }

        fn other_ns(&self, pid: u32) -> Option<u64> {
            (pid == 7).then(|| self.0.borrow().kept.as_nanos() as u64)
        }
    }

    impl Wall for Fake {
        fn elapsed(&self) -> Duration {
            self.at()
        }
    }

    impl Fake {
        /// Advances by `ms`: `busy_ms` used by anyone on each CPU, and `own_ms` by this run's processes on any.
        fn pass(&self, ms: u64, busy_ms: [u64; 2], own_ms: u64) {
            let mut counters = self.0.borrow_mut();
            counters.at += Duration::from_millis(ms);
            counters.own += Duration::from_millis(own_ms);
            for (busy, ms) in counters.busy.iter_mut().zip(busy_ms) {
                *busy += Duration::from_millis(ms);
            }
        }

        fn at(&self) -> Duration {
            self.0.borrow().at
        }
    }

    /// The CPUs of a round, what anyone used of each CPU, and what was its own.
    type Round = (&'static [usize], [u64; 2], u64);

    /// Rounds of 250 ms of the cases 0, 1, 2 …
    fn judged(rounds: &[Round]) -> Vec<Judged> {
        let fake = Fake::default();
        let mut blocks = Blocks::new(&fake);
        let mut judged = Vec::new();
        for (case, &(cpus, busy_ms, own_ms)) in rounds.iter().enumerate() {
            blocks.begin(fake.at());
            fake.pass(250, busy_ms, own_ms);
            judged.extend(blocks.end(fake.at(), vec![(case, 3)], cpus));
        }
        judged.extend(blocks.rest());
        judged
    }

    fn shares(judged: &[Judged]) -> Vec<(usize, f64)> {
        judged.iter().map(|(case, _, others)| (*case, (others.share * 1e3).round() / 1e3)).collect()
    }

    #[test]
    fn what_others_used_while_something_ran_is_known_unless_that_was_too_short() {
        let fake = Fake::default();
        let during = |ms: u64| others_during(&fake, &fake, 1, || fake.pass(ms, [0, ms * 7 / 10], ms * 4 / 10)).1;
        assert!(during(1000).is_some_and(|others| (others.share - 0.3).abs() < 0.001), "{:?}", during(1000));
        assert_eq!(during(100), None);
    }

    #[test]
    fn what_neither_ours_nor_idle_used_is_that_of_others_for_every_round_of_the_block() {
        let found = judged(&[(&[1, 1][..], [0, 250], 125); 4]);
        assert_eq!(shares(&found), [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5)]);
        assert!(found.iter().all(|(_, place, others)| *place == 3 && others.error < 0.05), "{found:?}");
        // Alone on the machine, busy or not.
        assert!(shares(&judged(&[(&[1][..], [0, 250], 250); 4])).iter().all(|(_, share)| *share == 0.0));
        assert!(shares(&judged(&[(&[1][..], [0, 40], 40); 4])).iter().all(|(_, share)| *share == 0.0));
    }

    #[test]
    fn a_cpu_that_the_case_does_not_use_is_none_of_its_business() {
        let found = judged(&[&[1][..], &[0, 1], &[1], &[1]].map(|cpus| (cpus, [250, 100], 100)));
        let of_pair = found[1].2;
        assert!(of_pair.share > 0.8 && found[0].2.share == 0.0, "{found:?}");
    }

    #[test]
    fn what_one_cpu_cannot_have_held_was_ours_on_another_one() {
        // A thread of the kernel that spins for the case on CPU 0; and a pair that keeps both CPUs busy.
        let polled = judged(&[&[1][..], &[0, 1], &[1], &[0]].map(|cpus| (cpus, [250, 250], 500)));
        assert!(shares(&polled).iter().all(|(_, share)| *share == 0.0), "{polled:?}");
        // What runs before it is bound may have run here: that is in the error and not in the share.
        let elsewhere = judged(&[&[1][..], &[1], &[1], &[0, 1]].map(|cpus| (cpus, [5, 245], 250)));
        let others = elsewhere[3].2;
        assert!(others.share - others.error <= 0.0, "{others:?}");
    }

    #[test]
    fn what_is_left_of_a_run_is_judged_with_the_block_before_and_a_very_short_run_not_at_all() {
        let mut rounds: Vec<Round> = vec![(&[1], [0, 250], 250); 4];
        rounds.push((&[1], [0, 250], 0));
        assert_eq!(shares(&judged(&rounds)), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (4, 0.2)]);
        assert_eq!(shares(&judged(&[(&[1][..], [0, 250], 0); 2])), [(0, 1.0), (1, 1.0)]);
        assert!(judged(&[(&[1], [0, 250], 0)]).is_empty());
    }

    #[test]
    fn time_between_rounds_is_ours_wherever_it_was_spent() {
        let fake = Fake::default();
        let mut blocks = Blocks::new(&fake);
        let mut found = Vec::new();
        for case in 0..4 {
            blocks.begin(fake.at());
            fake.pass(200, [0, 200], 200);
            found.extend(blocks.end(fake.at(), vec![(case, 0)], &[1]));
            fake.pass(100, [0, 100], 100);
        }
        assert!(found.len() == 4 && found.iter().all(|(.., others)| others.share == 0.0), "{found:?}");
    }

    #[test]
    fn what_a_worker_that_is_kept_used_is_ours_until_it_ends_and_afterwards() {
        let fake = Fake::default();
        let mut blocks = Blocks::new(&fake);
        let mut found = Vec::new();
        for case in 0..8 {
            if case == 6 {
                let mut counters = fake.0.borrow_mut();
                let kept = std::mem::take(&mut counters.kept);
                counters.own += kept;
                blocks.keep(None);
            }
            blocks.begin(fake.at());
            let is_kept = case < 6;
            fake.pass(250, [0, 250], if is_kept { 0 } else { 250 });
            if is_kept {
                fake.0.borrow_mut().kept += Duration::from_millis(250);
                blocks.keep(Some(7));
            }
            found.extend(blocks.end(fake.at(), vec![(case, 0)], &[1]));
        }
        assert!(found.len() == 8 && found.iter().all(|(.., others)| others.share == 0.0), "{found:?}");
        // One of which the kernel tells nothing is no other's, and not ours either.
        blocks.keep(Some(8));
        blocks.begin(fake.at());
        fake.pass(2000, [0, 2000], 0);
        assert!(blocks.end(fake.at(), vec![(9, 0)], &[1]).is_empty());
    }

    #[test]
    fn a_round_is_disturbed_when_it_waited_for_what_others_used() {
        let used = |share: f64, error: f64| Some(Others { share, error });
        assert!(is_contended(&[1, 1], used(0.5, 0.1), Some(0.3)));
        assert!(!is_contended(&[1, 1], used(0.14, 0.1), Some(0.3)), "explained by the error");
        assert!(!is_contended(&[1], used(0.5, 0.1), Some(0.001)), "others ran while it slept");
        assert!(is_contended(&[0, 1], used(0.5, 0.1), Some(0.001)), "its other thread may have waited");
        assert!(is_contended(&[1], used(0.5, 0.1), None) && !is_contended(&[1], None, Some(0.5)));
    }
}
