//! Probes between CPUs: moving a thread to another one, and interrupting the others.

use hostmark_engine::prelude::*;
use rustix::thread::sched_getcpu;

use crate::kernels::chase::Chain;
use crate::running::{Others, beside};
use crate::workloads;
use crate::workloads::processes::hog::{Hog, Priority};

/// Probe sched.migration: what moving a thread to another CPU costs, and its working set with it.
pub static MIGRATION: Probe = Probe {
    also: &[Quantity::WHOLE, Quantity::OVERHEAD, REFILL],
    axes: &[
        Axis::size(
            "footprint",
            "0",
            Points::quick(&["0"]).standard(&["16384", "262144"]).thorough(&["65536", "1048576"]),
        ),
        Axis::choice("destination", "idle", Points::quick(&["idle"]).standard(&["busy"])),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::quick(&["same_cache"]).standard(&["smt_sibling", "other_cache", "other_node"]),
        ),
    ],
    limit: Limit::KernelEntry,
    needs: &[Need::Cpus(2)],
    from: Profile::Standard,
    measure: Measure::Run(measure_migration),
    ..crate::texts::sched::MIGRATION
};

/// Extra time of the first walk after a move.
const REFILL: Quantity = Quantity::given("refill", Unit::Nanoseconds, Better::Lower, term!("refilling the caches"));

/// Idle time of a CPU before a thread moves there, ns: longer than guests and hosts poll before they halt it.
const REST_NS: f64 = 1e6;

fn measure_migration(case: &mut Case) -> Result<()> {
    let [here, there] = case.cpus::<2>()?;
    let footprint: u64 = case.param("footprint")?;
    let none = |error| RoundError::lacking(say!("cannot measure beside a process that yields to all others"), &error);
    let is_busy = case.param::<String>("destination")? == "busy";
    let busy = if is_busy { &[here, there][..] } else { &[] };
    // Before there is memory: what a child shares is copied when it is next written to.
    let _hogs = Hog::on_each(busy, Priority::Idle, 100).map_err(none)?;
    let line = case.line_bytes();
    let buffer = (footprint > 0).then(|| crate::memory::chained(case, footprint, Pages::Base, None));
    let mut buffer = buffer.transpose()?;
    let chain = buffer.as_mut().map(|buffer| Chain::random(buffer.bytes_mut(), line as usize, case.seed()));
    let chain = chain.transpose()?;
    let mut chain = chain.map(|chain| chain.settled(case.llc_bytes(), line, &case.steady()));
    let mut walk = || {
        if let Some(chain) = &mut chain {
            chain.walk_writing(chain.nodes());
        }
    };
    let [here, there] = [Destination::new(here)?, Destination::new(there)?];
    let (mut whole, mut overhead, mut refill) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_first = true;
    let measured = case.search(|clock| {
        let stayed = Trip::by(clock, [&here, &here], &mut walk)?;
        let moved = Trip::by(clock, [&there, &here], &mut walk)?;
        // Thrown away, as every round's first sample is: nothing of this process was on the other CPU before.
        if std::mem::take(&mut is_first) {
            return Ok(None);
        }
        whole.push(moved.whole_ns);
        overhead.push(stayed.whole_ns);
        refill.extend(Some(moved.walk_ns - stayed.walk_ns).filter(|&refill| refill >= 0.0));
        Ok(Some(moved.whole_ns - stayed.whole_ns))
    });
    // Whatever ended it: the next case of this process begins where this one did.
    case.pin(here.cpu)?;
    measured?;
    case.also(Quantity::WHOLE.name, whole)?;
    case.also(Quantity::OVERHEAD.name, overhead)?;
    case.also(REFILL.name, refill.into_iter().filter(|_| footprint > 0))
}

#[derive(Debug)]
struct Destination {
    cpu: Cpu,
    mask: sys::affinity::Mask,
}

/// Times of a move: the thread set out, arrived, and ended its walk.
#[derive(Debug)]
struct Way {
    begin: Ticks,
    arrived: Ticks,
    end: Ticks,
}

/// Two calls and the walk after each, as the time of one.
#[derive(Debug)]
struct Trip {
    whole_ns: f64,
    walk_ns: f64,
}

impl Destination {
    fn new(cpu: Cpu) -> Result<Destination> {
        Ok(Destination { cpu, mask: sys::affinity::Mask::of(&[cpu.0]).map_err(|error| refused(cpu, &error))? })
    }

    /// Rests, and goes there. Only the call and the walk are between the readings: anything else would come from the first CPU's caches.
    fn go(&self, clock: &Clock, walk: &mut dyn FnMut()) -> Result<Way> {
        let (rest, rested) = (clock.ticks(REST_NS), clock.start());
        while clock.start().since(rested) < rest {
            std::hint::spin_loop();
        }
        let begin = clock.start();
        let bound = self.mask.bind();
        let arrived = clock.end();
        walk();
        let end = clock.end();
        bound.map_err(|error| refused(self.cpu, &error))?;
        if sched_getcpu() != self.cpu.0 {
            let text = say!("a thread runs elsewhere than where it was moved");
            return Err(RoundError::wrong(text));
        }
        Ok(Way { begin, arrived, end })
    }
}

impl Trip {
    /// Goes to each of these in turn. It begins on the last.
    fn by(clock: &Clock, ways: [&Destination; 2], walk: &mut dyn FnMut()) -> Result<Trip> {
        let [there, back] = [ways[0].go(clock, walk)?, ways[1].go(clock, walk)?];
        // Times between two readings of one CPU's clock alone: from the first to the last, without the stay there.
        let whole_ns = clock.ns(back.end.since(there.begin)) - clock.ns(back.begin.since(there.end));
        let walks_ns = [there, back].map(|way| clock.ns(way.end.since(way.arrived)));
        Ok(Trip { whole_ns: whole_ns / 2.0, walk_ns: (walks_ns[0] + walks_ns[1]) / 2.0 })
    }
}

fn refused(cpu: Cpu, error: &std::io::Error) -> RoundError {
    RoundError::lacking(say!("cannot bind to CPU {cpu}", cpu = cpu.0), error)
}

/// Probe sched.ipi: interrupting other CPUs and having their answer, by how many run.
pub static IPI: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[Axis { default: "2", ..Axis::threads("threads", Points::OfHost(others)) }],
    limit: Limit::KernelEntry,
    needs: &[Need::Cpus(2)],
    measure: Measure::Run(measure_ipi),
    ..crate::texts::sched::IPI
};

/// Returns the numbers of others: one; from the standard profile on none, powers of two, and all.
fn others(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len().max(2) as u64;
    match profile {
        Profile::Quick => vec![2],
        _ => (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all).chain([2, all]).collect(),
    }
}

fn measure_ipi(case: &mut Case) -> Result<()> {
    let barrier =
        workloads::mappings::protection::Barrier::register().or_lacking(|| say!("membarrier is not available"))?;
    let interrupt = |clock: &Clock, others: &Others| -> Result<Ticks> {
        others.all_run();
        let start = clock.start();
        barrier.everywhere()?;
        Ok(clock.end().since(start))
    };
    beside(case, || {}, |case, others| case.timed(|clock| interrupt(clock, others)).singly().time())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    /// Two CPUs of this thread, which is on the first; none where it has but one.
    fn two() -> Option<[Destination; 2]> {
        let allowed = sys::affinity::allowed().unwrap();
        let cpus = *allowed.first_chunk::<2>()?;
        sys::affinity::bind(&cpus[..1]).unwrap();
        Some(cpus.map(|cpu| Destination::new(Cpu(cpu)).unwrap()))
    }

    #[test]
    fn every_trip_is_two_moves_by_the_kernels_count_and_one_without_a_move_is_none() {
        let moves = || {
            let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
            let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
            line.rsplit(' ').next()?.parse::<u64>().ok()
        };
        std::thread::spawn(move || {
            let (Some([here, there]), Some(before)) = (two(), moves()) else {
                return skipped("there is one CPU, or the kernel does not count moves");
            };
            let trip = |cpus| Trip::by(&Clock::MonotonicRaw, cpus, &mut || {}).unwrap();
            for _ in 0..10 {
                trip([&here, &here]);
            }
            let stayed = moves().unwrap();
            for _ in 0..10 {
                trip([&there, &here]);
            }
            assert_eq!((stayed - before, moves().unwrap() - stayed), (0, 20));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn what_the_first_walk_on_another_cpu_takes_longer_is_in_its_time_and_in_the_whole() {
        const PLANTED_NS: u64 = 2_000_000;
        std::thread::spawn(|| {
            let Some([here, there]) = two() else { return skipped("there is one CPU") };
            let mut last = sched_getcpu();
            let mut walk = || {
                let (begin, now) = (Clock::MonotonicRaw.start(), sched_getcpu());
                while now != last && Clock::MonotonicRaw.start().since(begin) < Ticks(PLANTED_NS) {}
                last = now;
            };
            let mut best = |cpus| {
                let trips = (0..5).map(|_| Trip::by(&Clock::MonotonicRaw, cpus, &mut walk).unwrap());
                trips.min_by(|one, other| one.whole_ns.total_cmp(&other.whole_ns)).unwrap()
            };
            let planted_ns = PLANTED_NS as f64;
            let (stayed, moved) = (best([&here, &here]), best([&there, &here]));
            assert!(moved.walk_ns >= planted_ns && moved.whole_ns >= moved.walk_ns, "{moved:?}");
            // The rest of 1 ms before each call is in none of them.
            assert!(stayed.whole_ns < planted_ns / 4.0 && stayed.walk_ns <= stayed.whole_ns, "{stayed:?}");
        })
        .join()
        .unwrap();
    }
}
