//! Probes of a cache line that CPUs share: handed from one to another, and added to by all.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::atomic::{self, Lonely};
use crate::kernels::random_access::Random;
use crate::kernels::restartable::{CpuCounters, Restartable, add_alone};
use crate::kernels::words::{ByStore, BySwap, HandOver};

/// Pages that a round chooses one of, so that rounds differ in where the line's home is.
const PAGES: u64 = 64;

/// Pages that a round goes over once more, round trips of one timing there, and timings of which the fastest counts: 4 ms in all.
const SWEPT: u64 = 32;
const TRIPS: u64 = 200;
const TIMINGS: usize = 5;

/// Difference between addresses: a mesh has a home for each line, nearer to some cores than to others.
const SPREAD: Quantity =
    Quantity::given("spread", Unit::Nanoseconds, Better::Lower, term!("slowest less fastest of 32 addresses"));

/// Probe cpu.core_to_core: how long a cache line takes from one CPU to another.
pub static CORE_TO_CORE: Probe = Probe {
    also: &[SPREAD],
    axes: &[
        Axis::placements("cpus", "same_cache", Points::NamesOfHost(places)),
        Axis::choice("method", "compare_and_swap", Points::quick(&["compare_and_swap"]).standard(&["load_store"])),
    ],
    needs: &[Need::Cpus(2)],
    measure: Measure::Run(measure_core_to_core),
    ..crate::texts::cpu::CORE_TO_CORE
};

fn measure_core_to_core(case: &mut Case) -> Result<()> {
    match case.param::<String>("method")?.as_str() {
        "load_store" => to_and_fro(case, &ByStore),
        _ => {
            let method = atomic::method("best").ok_or_else(|| {
                RoundError::skipped(ReasonCode::Architecture, say!("no atomic operation is known here"))
            })?;
            case.note("method", method.name);
            to_and_fro(case, &BySwap(method))
        }
    }
}

fn to_and_fro(case: &mut Case, way: &impl HandOver) -> Result<()> {
    /// States of the other thread, on a line that changes with the page and at the end. A ready one is told a page beside the state, and its
    /// own turn from which on the word lies there.
    const STARTING: u64 = 0;
    const READY: u64 = 1;
    const LOST: u64 = 2;
    const END: u64 = 3;
    let at = |page: u64, turn: u64| READY | page << 2 | turn << 16;
    let [_, there] = case.cpus::<2>()?;
    let clock = case.clock();
    let pages: Vec<Lonely> = (0..PAGES).map(|_| Lonely::default()).collect();
    let (first, state) = (case.seed() % PAGES, Lonely::default());
    let word = |page: u64| &pages[(page % PAGES) as usize].0;
    std::thread::scope(|scope| {
        let other = || {
            let bound = threads::bind(there);
            state.0.store(if bound.is_ok() { at(first, 1) } else { LOST }, Ordering::Release);
            bound?;
            let (mut turn, mut here) = (1, word(first));
            loop {
                match state.0.load(Ordering::Relaxed) {
                    END => return Ok(()),
                    told if turn >= told >> 16 => here = word(told >> 2),
                    _ => {}
                }
                way.hand_over(here, turn, turn + 1);
                turn += 2;
            }
        };
        let others = threads::start(scope, [other])?;
        while state.0.load(Ordering::Acquire) == STARTING {}
        if state.0.load(Ordering::Acquire) == LOST {
            return threads::join(others).map(drop);
        }
        let (mut turn, mut halves, here) = (0, 0, Cell::new(word(first)));
        let mut round_trip = || {
            way.hand_over(here.get(), turn, turn + 1);
            turn += 2;
            turn
        };
        let measured = case
            .loops(|n| {
                halves += n;
                (0..halves / 2).for_each(|_| _ = round_trip());
                halves %= 2;
            })
            .time();
        let mut fastest_ns = Vec::new();
        for page in first + 1..=first + SWEPT {
            // The other sees this with its next turn, which is the last on the old page.
            let next = round_trip();
            word(page).store(next + 2, Ordering::Release);
            state.0.store(at(page % PAGES, next + 3), Ordering::Release);
            round_trip();
            here.set(word(page));
            let timing = |_| clock.time(|| (0..TRIPS).for_each(|_| _ = round_trip())) / (2 * TRIPS) as f64;
            fastest_ns.push((0..TIMINGS).map(timing).fold(f64::INFINITY, f64::min));
        }
        // The other sees the end after its next turn, which it gets once more.
        state.0.store(END, Ordering::Release);
        round_trip();
        let most = fastest_ns.iter().copied().fold(0.0, f64::max);
        let least = fastest_ns.iter().copied().fold(f64::INFINITY, f64::min);
        measured.and_then(|()| case.also(SPREAD.name, [most - least]))
    })
}

/// Pairs of CPUs at most, of each kind.
struct Most {
    /// Pairs of the whole matrix: a host with no more has them all.
    matrix: usize,
    /// Pairs between CPUs of different last-level caches, one CPU each.
    caches: usize,
    inside: usize,
    siblings: usize,
}

const STANDARD: Most = Most { matrix: 64, caches: 32, inside: 24, siblings: 8 };
/// The matrix of 32 CPUs, and the pairs of as many caches.
const THOROUGH: Most = Most { matrix: 496, caches: 496, inside: 120, siblings: 64 };

type Pair = (usize, usize);

/// Returns one pair a placement; from the standard profile on pairs of CPUs. A small host has its whole matrix. A larger one
/// has one CPU of each last-level cache with those of the others, one whole cache, and threads of one core: by what the
/// pairs share, as of all its pairs hardly any share more than the machine.
pub fn places(host: &HostFacts, profile: Profile) -> Vec<String> {
    let classes = ["smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node"];
    let mut pairs = match profile {
        Profile::Glance | Profile::Quick => Vec::new(),
        Profile::Standard => chosen(host, &STANDARD),
        Profile::Thorough => chosen(host, &THOROUGH),
    };
    pairs.sort_unstable();
    pairs.dedup();
    let named = pairs.into_iter().map(|(one, other)| format!("{one}-{other}"));
    classes.map(str::to_owned).into_iter().chain(named).collect()
}

fn chosen(host: &HostFacts, most: &Most) -> Vec<Pair> {
    let usable = host.usable_cpus();
    let all = all_of(&usable);
    let heads = of_caches(host);
    let Some(cache) = heads.first().and_then(|&head| host.last_level_cache(head)) else {
        // Nobody knows who shares what: any pair tells as much as any other.
        return sample(all, most.matrix);
    };
    if all.len() <= most.matrix {
        return all;
    }
    let fact = |id: usize| host.cpus.iter().find(|cpu| cpu.id == id);
    let siblings = |id: usize| -> Vec<usize> {
        let siblings = fact(id).map_or(&[][..], |cpu| &cpu.siblings);
        siblings.iter().copied().filter(|other| usable.contains(other)).collect()
    };
    let is_first = |id: usize| siblings(id).first().is_none_or(|&first| first == id);
    let inside: Vec<usize> =
        cache.shared_cpus.iter().copied().filter(|&id| usable.contains(&id) && is_first(id)).collect();
    let threads = heads.iter().filter_map(|&head| Some((head, siblings(head).into_iter().find(|&id| id != head)?)));
    let threads = threads.map(|(one, other)| (one.min(other), one.max(other))).collect();
    let mut pairs = by_class(host, all_of(&heads), most.caches);
    pairs.extend(sample(all_of(&inside), most.inside));
    pairs.extend(sample(threads, most.siblings));
    pairs
}

/// All of them where there is room, else as many of each class: on one node, on two of one package, on two packages.
fn by_class(host: &HostFacts, pairs: Vec<Pair>, most: usize) -> Vec<Pair> {
    if pairs.len() <= most {
        return pairs;
    }
    let place = |id: usize| host.cpus.iter().find(|cpu| cpu.id == id).map(|cpu| (cpu.package, cpu.node));
    let mut classes: [Vec<Pair>; 3] = Default::default();
    for (one, other) in pairs {
        let class = match (place(one), place(other)) {
            (one, other) if one == other => 0,
            (Some((one, _)), Some((other, _))) if one == other => 1,
            _ => 2,
        };
        classes[class].push((one, other));
    }
    let count = classes.iter().filter(|class| !class.is_empty()).count().max(1);
    classes.into_iter().flat_map(|class| sample(class, most / count)).collect()
}

fn all_of(cpus: &[usize]) -> Vec<Pair> {
    let pair = |(one, other): (usize, usize)| (one.min(other), one.max(other));
    let with_others =
        |(index, &one): (usize, &usize)| cpus[index + 1..].iter().map(move |&other| (one, other)).collect();
    cpus.iter().enumerate().flat_map(|one| -> Vec<Pair> { with_others(one) }).map(pair).collect()
}

/// A sample that is always the same; a smaller one is part of every larger one.
fn sample(mut pairs: Vec<Pair>, most: usize) -> Vec<Pair> {
    pairs.sort_by_cached_key(|&(one, other)| (Random::new((one as u64) << 32 | other as u64).next(), one, other));
    pairs.truncate(most);
    pairs
}

/// Probe cpu.atomic: how long an increment of a word takes, by an atomic operation alone on its line and with others after the same line,
/// and of a counter that each CPU or thread has for itself.
pub static ATOMIC: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::choice("op", "fetch_add", Points::quick(&["fetch_add"]).standard(&["compare_and_swap", "rseq", "plain"])),
        Axis::choice("method", "best", Points::quick(&["best"]).standard(&["lse", "ll_sc"])),
        Axis::threads("threads", Points::OfHost(threads)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "threads"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_atomic),
    ..crate::texts::cpu::ATOMIC
};

/// 1 and all; from the standard profile on the powers of two between.
fn threads(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len().max(1) as u64;
    let between = (1..).map(|power| 1 << power).take_while(|&threads| threads < all);
    let between: Vec<u64> = if profile >= Profile::Standard { between.collect() } else { Vec::new() };
    [1, all].into_iter().chain(between).collect()
}

fn measure_atomic(case: &mut Case) -> Result<()> {
    match case.param::<String>("op")?.as_str() {
        "fetch_add" => shared(case, true),
        "compare_and_swap" => shared(case, false),
        op => apart(case, op == "rseq"),
    }
}

/// Measures increments of one word by all threads.
fn shared(case: &mut Case, is_add: bool) -> Result<()> {
    let name: String = case.param("method")?;
    let method = atomic::method(&name)
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name}")))?;
    if !(method.is_available)() {
        return Err(RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no {name}")));
    }
    case.note("method", method.name);
    let word = Lonely::default();
    let increase = |n| match is_add {
        true => method.fetch_add(&word.0, n),
        false => method.compare_and_swap(&word.0, n),
    };
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(increase).time(),
        cpus => case.workers(cpus, |_| Ok(increase)).time(),
    }
}

/// Measures increments of a counter of the CPU's own, or of the thread's, none of which may be lost.
fn apart(case: &mut Case, is_of_cpu: bool) -> Result<()> {
    let (counters, due) = (CpuCounters::default(), AtomicU64::new(0));
    let make = |cpu: Cpu| {
        let thread = is_of_cpu.then(Restartable::of_this_thread).transpose();
        let none = |error| RoundError::lacking(say!("there are no restartable sequences here"), &error);
        let (thread, counters, due) = (thread.map_err(none)?, &counters, &due);
        Ok::<_, RoundError>(move |n: u64| {
            match &thread {
                Some(thread) => _ = thread.add(counters, n),
                None => add_alone(counters.of(cpu.0), n),
            }
            due.fetch_add(n, Ordering::Relaxed);
        })
    };
    let [here] = case.cpus::<1>()?;
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(make(here)?).time()?,
        cpus => case.workers(cpus, make).time()?,
    }
    match (due.load(Ordering::Relaxed), counters.sum()) {
        (due, sum) if due == sum => Ok(()),
        (due, sum) => {
            let text = say!("{due} increments were made, and the counters came to {sum}");
            Err(RoundError::wrong(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A host that tells nothing of its caches.
    fn host(cpus: usize) -> HostFacts {
        let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
        HostFacts { cpus: (0..cpus).map(cpu).collect(), ..HostFacts::default() }
    }

    /// Two packages of `nodes` nodes with two threads to a core, `cores` cores to a last-level cache and three caches to a node.
    fn server(nodes: usize, cores: usize) -> HostFacts {
        let (caches, all) = (2 * nodes * 3, 2 * nodes * 3 * cores);
        let cpu = |id: usize| CpuFact {
            id,
            online: true,
            allowed: true,
            package: Some(id % all / (nodes * 3 * cores)),
            node: Some(id % all / (3 * cores)),
            siblings: vec![id % all, id % all + all],
            ..CpuFact::default()
        };
        let cache = |nth: usize| CacheFact {
            level: 3,
            size_bytes: 32 << 20,
            shared_cpus: (0..2 * all).filter(|id| id % all / cores == nth).collect(),
            ..CacheFact::default()
        };
        HostFacts {
            cpus: (0..2 * all).map(cpu).collect(),
            caches: (0..caches).map(cache).collect(),
            ..HostFacts::default()
        }
    }

    fn pairs_of(host: &HostFacts, profile: Profile) -> Vec<(usize, usize)> {
        let pair = |place: String| {
            let (one, other) = place.split_once('-')?;
            Some((one.parse().ok()?, other.parse().ok()?))
        };
        places(host, profile).into_iter().filter_map(pair).collect()
    }

    #[test]
    fn a_small_hosts_matrix_is_whole_from_the_standard_profile_on() {
        assert!(pairs_of(&host(4), Profile::Quick).is_empty());
        assert_eq!(pairs_of(&host(4), Profile::Standard), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(pairs_of(&host(32), Profile::Thorough).len(), 32 * 31 / 2);
        assert!(pairs_of(&host(1), Profile::Thorough).is_empty());
    }

    #[test]
    fn pairs_of_a_large_host_that_hides_its_caches_are_a_sample_over_all_cpus() {
        let host = host(512);
        let (standard, thorough) = (pairs_of(&host, Profile::Standard), pairs_of(&host, Profile::Thorough));
        assert_eq!((standard.len(), thorough.len()), (64, 496));
        assert_eq!(standard, pairs_of(&host, Profile::Standard));
        assert!(standard.iter().all(|pair| thorough.contains(pair)));
        let low = thorough.iter().filter(|pair| pair.0 < 128).count();
        // Of the pairs of 512 CPUs, 44 % have their first in the first quarter.
        assert!((180..260).contains(&low), "{low}");
    }

    #[test]
    fn pairs_of_a_large_host_are_drawn_by_what_they_share() {
        let host = server(4, 8);
        let all = host.cpus.len() / 2;
        let cache = |cpu: usize| cpu % all / 8;
        let place = |cpu: usize| (host.cpus[cpu].package, host.cpus[cpu].node);
        for (profile, least) in [(Profile::Standard, 8), (Profile::Thorough, 24)] {
            let pairs = pairs_of(&host, profile);
            let count = |of: &dyn Fn(usize, usize) -> bool| pairs.iter().filter(|pair| of(pair.0, pair.1)).count();
            let is_sibling = |one: usize, other: usize| one % all == other % all;
            let within = count(&|one, other| cache(one) == cache(other) && !is_sibling(one, other));
            assert!(count(&is_sibling) >= least, "{profile:?}");
            assert!(within >= 24, "{profile:?}: {within} within a cache");
            let same_node = count(&|one, other| cache(one) != cache(other) && place(one) == place(other));
            let same_package = count(&|one, other| place(one).0 == place(other).0 && place(one).1 != place(other).1);
            let other_package = count(&|one, other| place(one).0 != place(other).0);
            assert!(same_node.min(same_package).min(other_package) >= 10, "{same_node} {same_package} {other_package}");
            assert!(pairs.len() <= 700, "{}", pairs.len());
        }
        let thorough = pairs_of(&host, Profile::Thorough);
        assert!(pairs_of(&host, Profile::Standard).iter().all(|pair| thorough.contains(pair)));
        // Every pair of the 24 caches, and all of one.
        let caches: BTreeSet<(usize, usize)> =
            thorough.iter().map(|pair| (cache(pair.0), cache(pair.1))).filter(|pair| pair.0 != pair.1).collect();
        assert_eq!(
            caches.into_iter().map(|(one, other)| (one.min(other), one.max(other))).collect::<BTreeSet<_>>().len(),
            276
        );
        assert_eq!(thorough.iter().filter(|pair| cache(pair.0) == 0 && pair.1 < 8).count(), 8 * 7 / 2);
    }
}
