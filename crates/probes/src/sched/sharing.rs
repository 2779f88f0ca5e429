//! Probes of what threads and processes get of a CPU, a core or a lock that others want too.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hostmark_engine::prelude::sys::clock::sleep;
use hostmark_engine::prelude::*;
use rustix::io::Errno;
use rustix::thread::{
    CoreSchedulingScope, Pid, core_scheduling_cookie, create_core_scheduling_cookie, gettid,
    pull_core_scheduling_cookie,
};
use sys::control_group::GroupLimit;

use crate::kernels::arith;
use crate::own_group::OwnGroup;
use crate::workloads::handover::request_queue::SleepingLock;
use crate::workloads::processes::hog::{Hog, Priority};

/// Probe sched.fairness: what two busy processes on one CPU get of it, by their nice values or their control groups' weights.
pub static FAIRNESS: Probe = Probe {
    unit: Unit::Ratio,
    better: Better::Neither,
    also: &[DUE],
    axes: &[Axis::choice("by", "nice", Points::quick(&["nice"]).standard(&["cgroup"]))],
    from: Profile::Standard,
    measure: Measure::Run(measure_fairness),
    ..crate::texts::sched::FAIRNESS
};

/// Share that the lighter one is due by the weights.
const DUE: Quantity = Quantity::given("due", Unit::Ratio, Better::Neither, term!("due by the weights"));

/// Increments of the nice value, and the weights in the kernel of 5 and 0; all steps have about the same ratio.
const NICE: [(i32, f64); 2] = [(5, 335.0), (0, 1024.0)];
/// Quarters of an ordinary control group's weight.
const QUARTERS: [u32; 2] = [1, 4];
/// Time by which both are under way.
const BEGINNING: Duration = Duration::from_millis(30);
/// The scheduler gives turns of some ms: of so long a turn is less than a hundredth.
const LEAST: Duration = Duration::from_millis(500);

fn measure_fairness(case: &mut Case) -> Result<()> {
    let [cpu] = case.cpus::<1>()?;
    let is_nice = case.param::<String>("by")? == "nice";
    let (priorities, due) = match is_nice {
        true => (NICE.map(|(nice, _)| nice), share(NICE.map(|(_, weight)| weight))),
        false => ([0, 0], share(QUARTERS.map(|quarters| quarters as f64))),
    };
    let weighed = |quarters| OwnGroup::make(&GroupLimit::CpuWeight { quarters });
    let groups = if is_nice { Vec::new() } else { QUARTERS.into_iter().map(weighed).collect::<Result<_>>()? };
    let none = |error: std::io::Error| RoundError::lacking(say!("cannot keep a CPU busy"), &error);
    // After the groups, so that they end before these are removed.
    let hogs = priorities
        .into_iter()
        .map(|nice| Hog::spawn(cpu, Priority::Nice(nice), 100))
        .collect::<std::io::Result<Vec<Hog>>>()
        .map_err(none)?;
    hogs.iter().zip(&groups).try_for_each(|(hog, group)| group.admit(hog.pid()))?;
    let window = LEAST.max(Duration::from_nanos(case.grant_ns() as u64));
    case.once(|_| {
        hogs.iter().try_for_each(|hog| hog.set(true)).map_err(none)?;
        sleep(BEGINNING);
        let spent =
            || -> Result<[u64; 2]> { Ok([hogs[0].spent_ns().map_err(none)?, hogs[1].spent_ns().map_err(none)?]) };
        let before = spent()?;
        sleep(window);
        let after = spent()?;
        hogs.iter().try_for_each(Hog::has_run).map_err(none)?;
        Ok(share([0, 1].map(|one| (after[one] - before[one]) as f64)))
    })
    .value()?;
    case.also(DUE.name, [due])
}

fn share([first, second]: [f64; 2]) -> f64 {
    first / (first + second)
}

/// Probe sched.core_scheduling: what two threads do together on the siblings of one core, by whether they trust each other.
pub static CORE_SCHEDULING: Probe = Probe {
    axes: &[
        Axis::choice("cookies", "own", Points::quick(&["own"]).standard(&["shared", "none"])),
        Axis::placements("cpus", "smt_sibling", Points::quick(&["smt_sibling"])),
    ],
    needs: &[Need::Kernel(5, 14), Need::Cpus(2)],
    from: Profile::Standard,
    measure: Measure::Run(measure_core_scheduling),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::sched::CORE_SCHEDULING)
};

/// Scope of a thread alone, not of its process.
const SCOPE: CoreSchedulingScope = CoreSchedulingScope::Thread;

fn measure_core_scheduling(case: &mut Case) -> Result<()> {
    let cookies = case.param::<String>("cookies")?;
    let cpus = case.cpus::<2>()?;
    // Without cookies there is nothing that none could be compared with.
    core_scheduling_cookie(gettid(), SCOPE).map_err(lacks)?;
    let first = Mutex::new(None);
    case.workers(&cpus, |_| {
        // Locked until there is the cookie that the other thread takes.
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        Request::of(&cookies, &mut first).map_or(Ok(()), Request::make).map_err(lacks)?;
        Ok(|n: u64| _ = std::hint::black_box(arith::add_chain(n, 1, std::hint::black_box(1))))
    })
    .rate(1)
}

/// Cookie that a thread asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    /// A cookie that no other has.
    Create,
    /// Cookie of another thread of this process.
    Pull(Pid),
}

impl Request {
    /// Returns the request of the calling thread, which is the first where there is none.
    fn of(cookies: &str, first: &mut Option<Pid>) -> Option<Request> {
        match (cookies, *first) {
            ("own", _) => Some(Request::Create),
            ("shared", Some(first)) => Some(Request::Pull(first)),
            ("shared", None) => {
                *first = Some(gettid());
                Some(Request::Create)
            }
            _ => None,
        }
    }

    fn make(self) -> rustix::io::Result<()> {
        match self {
            Request::Create => create_core_scheduling_cookie(gettid(), SCOPE),
            Request::Pull(from) => pull_core_scheduling_cookie(from, SCOPE),
        }
    }
}

fn lacks(error: Errno) -> RoundError {
    RoundError::unable(ReasonCode::Kernel, say!("there is no core scheduling here (PR_SCHED_CORE)"), error.into())
}

const EVENNESS: Quantity =
    Quantity::given("fairness", Unit::Ratio, Better::Higher, term!("least of a thread, of the most"));
/// Average number of times that a thread takes the lock before another gets it.
const IN_A_ROW: Quantity =
    Quantity::given("in_a_row", Unit::Count, Better::Neither, term!("times in a row by one thread"));

/// Probe sched.contended_lock: one lock that all threads of a process want all the time, by their number and by how they wait.
pub static CONTENDED_LOCK: Probe = Probe {
    also: &[EVENNESS, IN_A_ROW],
    axes: &[
        Axis::choice("wait", "spin", Points::quick(&["spin", "sleep"])),
        Axis::threads("threads", Points::OfHost(crate::running::powers_of_two)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["wait", "threads"] }],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure_contended_lock),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::sched::CONTENDED_LOCK)
};

fn measure_contended_lock(case: &mut Case) -> Result<()> {
    if case.param::<String>("wait")? == "sleep" {
        let lock = sys::waits::Alone(SleepingLock::default());
        return contend(case, |work| lock.0.held(work));
    }
    let lock = sys::waits::Alone(Mutex::new(()));
    contend(case, |work| {
        // A lock that is poisoned is locked none the less.
        let guard = lock.0.lock().unwrap_or_else(PoisonError::into_inner);
        work();
        drop(guard);
        Ok(())
    })
}

/// Data that only the owner of the lock writes, apart from the lock and from what anybody else writes.
#[derive(Default)]
#[repr(align(4096))]
struct Guarded {
    total: AtomicU64,
    owner: AtomicU64,
    changes: AtomicU64,
}

impl Guarded {
    /// A step of thread `me`, whose number is not 0. Two at once would lose one.
    #[inline(always)]
    fn step(&self, me: u64) {
        let add_one = |word: &AtomicU64| word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        add_one(&self.total);
        if self.owner.load(Ordering::Relaxed) != me {
            self.owner.store(me, Ordering::Relaxed);
            add_one(&self.changes);
        }
    }
}

/// Measures threads that want the lock, under which `held` does something.
fn contend(case: &mut Case, held: impl Fn(&mut dyn FnMut()) -> io::Result<()> + Sync) -> Result<()> {
    let cpus = case.thread_cpus();
    let (guarded, number) = (Guarded::default(), AtomicU64::new(0));
    let done: Vec<crate::kernels::atomic::Lonely> = cpus.iter().map(|_| Default::default()).collect();
    case.workers(&cpus, |_| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let (me, own) = (number + 1, &done[number as usize].0);
        let (guarded, held) = (&guarded, &held);
        Ok(move |times: u64| {
            own.fetch_add(times, Ordering::Relaxed);
            (0..times).try_for_each(|_| held(&mut || guarded.step(me)))
        })
    })
    .rate(1)?;
    let done: Vec<u64> = done.iter().map(|done| done.0.load(Ordering::Relaxed)).collect();
    let (all, total) = (done.iter().sum::<u64>(), guarded.total.into_inner());
    if all != total {
        let text = say!("{all} times the lock was taken, and the counter behind it came to {total}");
        return Err(RoundError::wrong(text));
    }
    if done.len() < 2 {
        return Ok(());
    }
    case.also(EVENNESS.name, evenness(&done))?;
    case.also(IN_A_ROW.name, [total as f64 / guarded.changes.into_inner().max(1) as f64])
}

fn evenness(done: &[u64]) -> Option<f64> {
    let (least, most) = (done.iter().min()?, done.iter().max().filter(|&&most| most > 0)?);
    Some(*least as f64 / *most as f64)
}

/// Probe sched.noise: the time that a thread which never waits loses to everything else.
pub static NOISE: Probe = Probe {
    also: &[
        Quantity::given("gaps", Unit::Count, Better::Lower, term!("interruptions per second")),
        Quantity::given("longest", Unit::Nanoseconds, Better::Lower, term!("longest interruption")),
        Quantity::given("typical", Unit::Nanoseconds, Better::Lower, term!("mean gap")),
    ],
    measure: Measure::Run(measure_noise),
    ..crate::texts::sched::NOISE
};

/// A stretch has whole ticks of every usual rate: 4, 10, 12 or 40.
const STRETCH_NS: f64 = 40e6;
/// A distance this much above the usual one is a gap: less than any interrupt takes, ten times a reading of the clock.
const GAP_NS: f64 = 500.0;
/// Readings that the usual distance is taken from.
const READINGS: usize = 1001;

/// The usual distance of two readings: the median of many.
fn usual(clock: &Clock) -> Ticks {
    let mut readings = vec![clock.end(); READINGS + 1];
    readings.iter_mut().for_each(|reading| *reading = clock.end());
    let mut distances: Vec<Ticks> = readings.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    distances.sort_unstable();
    distances[READINGS / 2]
}

fn measure_noise(case: &mut Case) -> Result<()> {
    let (mut gaps_a_second, mut lengths_ns, mut longest_ns) = (Vec::new(), Vec::new(), 0.0_f64);
    let mut is_first = true;
    case.search(|clock| {
        let usual = usual(clock);
        let (gap, stretch) = (Ticks(usual.0 + clock.ticks(GAP_NS).0), clock.ticks(STRETCH_NS));
        let (mut gaps, mut lost) = (0_u32, Ticks(0));
        let begin = clock.start();
        let mut last = begin;
        let mut longest = Ticks(0);
        while last.since(begin) < stretch {
            let now = clock.end();
            let distance = now.since(last);
            if distance > gap {
                gaps += 1;
                lost.0 += distance.since(usual).0;
                longest = longest.max(distance.since(usual));
            }
            last = now;
        }
        if std::mem::take(&mut is_first) {
            return Ok(None);
        }
        let seconds = clock.ns(last.since(begin)) / 1e9;
        gaps_a_second.push(f64::from(gaps) / seconds);
        lengths_ns.extend((gaps > 0).then(|| clock.ns(lost) / f64::from(gaps)));
        longest_ns = longest_ns.max(clock.ns(longest));
        Ok(Some(clock.ns(lost) / seconds))
    })?;
    case.also("gaps", gaps_a_second)?;
    case.also("typical", lengths_ns)?;
    case.also("longest", [longest_ns])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_weights_are_those_of_the_kernel() {
        assert!((share(NICE.map(|(_, weight)| weight)) - 0.2465).abs() < 1e-4);
        assert!((share(QUARTERS.map(|quarters| quarters as f64)) - 0.2).abs() < 1e-9);
    }

    fn on_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn each_asks_for_itself_and_takes_from_none_but_the_first() {
        for (cookies, wanted) in [("none", [false; 2]), ("own", [true; 2]), ("shared", [true; 2])] {
            let mut first = None;
            let mut ask = || on_a_thread(|| (gettid(), Request::of(cookies, &mut first)));
            let [(one, asked), (_, next)] = [ask(), ask()];
            assert_eq!([asked, next].map(|request| request.is_some()), wanted, "{cookies}");
            assert!(!matches!(asked, Some(Request::Pull(_))), "{cookies}");
            assert_eq!(next == Some(Request::Pull(one)), cookies == "shared");
        }
    }

    #[test]
    fn a_cookie_is_of_the_thread_that_asked_and_a_kernel_without_them_is_told() {
        let cookie = || core_scheduling_cookie(gettid(), SCOPE);
        let Ok(before) = cookie() else {
            let refused = on_a_thread(|| Request::Create.make()).map_err(lacks);
            return assert!(matches!(refused, Err(RoundError::Skipped(_))), "{refused:?}");
        };
        let mut first = None;
        std::thread::scope(|scope| {
            let (ready, wait) = std::sync::mpsc::channel();
            let (end, until) = std::sync::mpsc::channel::<()>();
            let first = &mut first;
            scope.spawn(move || {
                Request::of("shared", first).unwrap().make().unwrap();
                ready.send((gettid(), cookie().unwrap())).unwrap();
                let _ = until.recv();
            });
            let (holder, shared) = wait.recv().unwrap();
            let given = |request: Request| on_a_thread(|| request.make().and_then(|()| cookie()).unwrap());
            assert_eq!(given(Request::Pull(holder)), shared);
            let own = given(Request::Create);
            assert!(own != shared && own != before && shared != before, "{own} {shared} {before}");
            // Neither this thread nor those that begin later have any of theirs.
            assert_eq!([cookie(), on_a_thread(cookie)], [Ok(before); 2]);
            drop(end);
        });
        assert_eq!(cookie(), Ok(before));
    }

    #[test]
    fn every_kind_of_refusal_skips() {
        for (error, code) in [
            (Errno::INVAL, ReasonCode::Kernel),
            (Errno::NOSYS, ReasonCode::Kernel),
            (Errno::PERM, ReasonCode::Permission),
        ] {
            assert!(matches!(lacks(error), RoundError::Skipped(reason) if reason.code == Some(code)), "{error}");
        }
        assert!(matches!(lacks(Errno::NODEV), RoundError::Skipped(_)));
    }

    #[test]
    fn fairness_is_the_least_over_the_most() {
        assert_eq!(
            [&[3, 4][..], &[5, 5, 5], &[0, 9], &[0, 0], &[]].map(evenness),
            [Some(0.75), Some(1.0), Some(0.0), None, None]
        );
    }

    #[test]
    fn steps_of_one_thread_in_a_row_are_one_change() {
        let guarded = Guarded::default();
        [1, 1, 1, 2, 1, 1].into_iter().for_each(|me| guarded.step(me));
        assert_eq!((guarded.total.into_inner(), guarded.changes.into_inner()), (6, 3));
    }
}
