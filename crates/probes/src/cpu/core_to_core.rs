//! Probe cpu.core_to_core: how long a cache line takes from one CPU to another.

use std::sync::atomic::Ordering;

use hostmark_engine::prelude::*;

use crate::kernels::atomic::{self, Lonely};
use crate::kernels::random_access::Random;
use crate::kernels::words::{ByStore, BySwap, HandOver};

/// Pages that a round chooses one of, so that rounds differ in where the line's home is.
const PAGES: u64 = 64;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::placements("cpus", "same_cache", Points::NamesOfHost(places)),
        Axis::choice("method", "compare_and_swap", Points::quick(&["compare_and_swap"]).standard(&["load_store"])),
    ],
    needs: &[Need::Cpus(2)],
    measure: Measure::Run(measure),
    ..crate::texts::cpu::CORE_TO_CORE
};

fn measure(case: &mut Case) -> Result<()> {
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
    /// States of the other thread, on a line that only changes at the beginning and at the end.
    const STARTING: u64 = 0;
    const READY: u64 = 1;
    const LOST: u64 = 2;
    const END: u64 = 3;
    let [_, there] = case.cpus::<2>()?;
    let pages: Vec<Lonely> = (0..PAGES).map(|_| Lonely::default()).collect();
    let (word, state) = (&pages[(case.seed() % PAGES) as usize].0, Lonely::default());
    std::thread::scope(|scope| {
        let other = || {
            let bound = threads::bind(there);
            state.0.store(if bound.is_ok() { READY } else { LOST }, Ordering::Release);
            bound?;
            let mut turn = 1;
            while state.0.load(Ordering::Relaxed) != END {
                way.hand_over(word, turn, turn + 1);
                turn += 2;
            }
            Ok(())
        };
        let others = threads::start(scope, [other])?;
        while state.0.load(Ordering::Acquire) == STARTING {}
        if state.0.load(Ordering::Acquire) == LOST {
            return threads::join(others).map(drop);
        }
        let (mut turn, mut halves) = (0, 0);
        let mut round_trip = || {
            way.hand_over(word, turn, turn + 1);
            turn += 2;
        };
        let measured = case
            .loops(|n| {
                halves += n;
                (0..halves / 2).for_each(|_| round_trip());
                halves %= 2;
            })
            .time();
        // The other sees the end after its next turn, which it gets once more.
        state.0.store(END, Ordering::Release);
        round_trip();
        measured
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

#[cfg(test)]
#[path = "core_to_core_tests.rs"]
mod tests;
