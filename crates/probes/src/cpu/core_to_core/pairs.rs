//! Which pairs of CPUs are measured.

use hostmark_engine::prelude::*;

use crate::kernels::random::Random;

/// Pairs of CPUs at most, of each kind.
struct Most {
    /// Of the whole matrix: a host with no more has them all.
    matrix: usize,
    /// Of one CPU of each last-level cache.
    caches: usize,
    /// Within one cache.
    inside: usize,
    /// Of threads of one core.
    siblings: usize,
}

const STANDARD: Most = Most { matrix: 64, caches: 32, inside: 24, siblings: 8 };
/// The matrix of 32 CPUs, and the pairs of as many caches.
const THOROUGH: Most = Most { matrix: 496, caches: 496, inside: 120, siblings: 64 };

type Pair = (usize, usize);

/// One pair a placement; from the standard profile on pairs of CPUs. A small host has its whole matrix. A larger one has one
/// CPU of each last-level cache with those of the others, one whole cache, and threads of one core: by what the pairs share,
/// as of all its pairs hardly any share more than the machine.
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
