//! Which pairs of memory nodes are measured: all of a few, of many a choice by distance.

use std::collections::{BTreeMap, BTreeSet};

use hostmark_model::{HostFacts, NodeFact, Profile};

/// So many nodes have all their pairs measured in the standard profile, and so many in the thorough one.
const STANDARD_NODES: usize = 8;
const THOROUGH_NODES: usize = 16;
/// The distance to a node where the kernel does not tell it.
const UNKNOWN: u32 = u32::MAX;

/// Pairs of a node with usable CPUs and a node with memory, each at most once. Quick has the first node with itself, with one
/// node of each distance, and with one without CPUs; the longer profiles have all pairs of a few nodes, and of many each node
/// with itself, each with one of each distance, and every node without CPUs from each package.
pub fn node_pairs(host: &HostFacts, profile: Profile) -> Vec<[usize; 2]> {
    let usable = host.usable_cpus();
    let has_cpus = |node: &&NodeFact| node.cpus.iter().any(|cpu| usable.contains(cpu));
    let sources: Vec<&NodeFact> = host.nodes.iter().filter(has_cpus).collect();
    let targets: Vec<(usize, &NodeFact)> =
        host.nodes.iter().enumerate().filter(|(_, node)| node.memory_bytes > 0).collect();
    let mut pairs = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |from: &NodeFact, to: &NodeFact| {
        if seen.insert([from.id, to.id]) {
            pairs.push([from.id, to.id]);
        }
    };
    let Some(first) = sources.first() else { return Vec::new() };
    one_of_each_distance(first, &targets, 0).into_iter().for_each(|to| add(first, to));
    targets.iter().find(|(_, to)| to.cpus.is_empty()).into_iter().for_each(|(_, to)| add(first, to));
    let most = match profile {
        Profile::Glance | Profile::Quick => return pairs,
        Profile::Standard => STANDARD_NODES,
        Profile::Thorough => THOROUGH_NODES,
    };
    for (nth, from) in sources.iter().enumerate() {
        one_of_each_distance(from, &targets, nth).into_iter().for_each(|to| add(from, to));
    }
    let package = |node: &NodeFact| {
        let of_node = |cpu: &&hostmark_model::CpuFact| node.cpus.contains(&cpu.id);
        host.cpus.iter().find(of_node).and_then(|cpu| cpu.package)
    };
    let mut packages = BTreeSet::new();
    for from in sources.iter().filter(|from| packages.insert(package(from))) {
        targets.iter().filter(|(_, to)| to.cpus.is_empty()).for_each(|(_, to)| add(from, to));
    }
    if sources.len().max(targets.len()) <= most {
        sources.iter().for_each(|from| targets.iter().for_each(|(_, to)| add(from, to)));
    }
    pairs
}

/// The node itself, and of the others one of each distance from near to far; `turn` says which, so that no node stands for
/// all.
fn one_of_each_distance<'a>(from: &NodeFact, targets: &[(usize, &'a NodeFact)], turn: usize) -> Vec<&'a NodeFact> {
    let own = targets.iter().map(|(_, to)| *to).filter(|to| to.id == from.id);
    let mut by_distance: BTreeMap<u32, Vec<&NodeFact>> = BTreeMap::new();
    for &(index, to) in targets.iter().filter(|(_, to)| to.id != from.id) {
        by_distance.entry(from.distances.get(index).copied().unwrap_or(UNKNOWN)).or_default().push(to);
    }
    own.chain(by_distance.into_values().map(|nodes| nodes[turn % nodes.len()])).collect()
}
