//! Orders of many CPUs, and pairs of many nodes.

use std::collections::BTreeSet;

use hostmark_host::{Order, Placement, domains, in_order, node_pairs, of_caches, pair, single, spread};
use hostmark_model::{HostFacts, Profile};

use crate::machines;
use crate::machines::Tree;

#[test]
fn a_spread_over_1536_cpus_uses_each_core_once_first() {
    let host = machines::large_server().facts();
    let cpus = spread(&host, 768);
    let mut cores: Vec<usize> = cpus.iter().map(|cpu| cpu % 768).collect();
    cores.sort_unstable();
    cores.dedup();
    assert_eq!(cores.len(), 768);
    assert!(cpus[..384].iter().all(|cpu| cpu % 768 < 384), "the first package is filled first");
    let mut all = spread(&host, 5000);
    all.sort_unstable();
    assert_eq!(all, (0..1536).collect::<Vec<_>>());
    let pairs = Placement::ALL.map(|placement| pair(&host, placement).ok());
    assert_eq!(pairs, [Some([1, 1]), Some([1, 769]), Some([1, 2]), Some([1, 8]), None, Some([1, 384])]);
}

#[test]
fn placements_read_back_as_written() {
    for placement in Placement::ALL {
        assert_eq!(placement.to_string().parse(), Ok(placement));
    }
    assert!("far".parse::<Placement>().is_err_and(|reason| reason.to_string().contains("same_cpu, smt_sibling")));
}

const PROFILES: [Profile; 3] = [Profile::Quick, Profile::Standard, Profile::Thorough];

/// `nodes` nodes of one CPU, four to a package, and `more` of memory alone.
fn many_nodes(nodes: usize, more: usize) -> HostFacts {
    let distance = |one: usize, other: usize| match () {
        () if one == other => 10,
        () if one.max(other) >= nodes => 24,
        () if one / 4 == other / 4 => 12,
        () => 32,
    };
    let node = |id: usize| hostmark_model::NodeFact {
        id,
        cpus: (id < nodes).then_some(id).into_iter().collect(),
        memory_bytes: 1 << 30,
        distances: (0..nodes + more).map(|other| distance(id, other)).collect(),
        ..Default::default()
    };
    let cpu = |id: usize| hostmark_model::CpuFact {
        id,
        online: true,
        allowed: true,
        package: Some(id / 4),
        node: Some(id),
        ..Default::default()
    };
    let (nodes, cpus) = ((0..nodes + more).map(node).collect(), (0..nodes).map(cpu).collect());
    HostFacts { nodes, cpus, ..Default::default() }
}

#[test]
fn pairs_of_many_nodes_are_chosen_by_distance_and_fewer_are_part_of_more() {
    let host = many_nodes(16, 4);
    let [quick, standard, thorough] = PROFILES.map(|profile| node_pairs(&host, profile));
    assert!(quick.iter().all(|pair| standard.contains(pair)) && standard.iter().all(|pair| thorough.contains(pair)));
    assert!(standard.len() <= 80, "{}", standard.len());
    let distances = |from: usize, pairs: &[[usize; 2]]| -> BTreeSet<u32> {
        pairs.iter().filter(|pair| pair[0] == from).map(|pair| host.nodes[from].distances[pair[1]]).collect()
    };
    assert_eq!(distances(0, &quick), [10, 12, 24, 32].into());
    for node in 0..16 {
        assert!(standard.contains(&[node, node]));
        assert_eq!(distances(node, &standard), [10, 12, 24, 32].into(), "node {node}");
    }
    // Memory without CPUs is reached from every package, and no far node stands for all.
    for (package, memory) in (0..4).flat_map(|package| (16..20).map(move |memory| (package, memory))) {
        assert!(standard.iter().any(|pair| pair[0] / 4 == package && pair[1] == memory), "{package} {memory}");
    }
    let far: BTreeSet<usize> = standard.iter().filter(|pair| pair[1] < 16).map(|pair| pair[1]).collect();
    assert_eq!(far.len(), 16);
    assert_eq!(node_pairs(&many_nodes(16, 0), Profile::Thorough).len(), 256);
}

#[test]
fn a_node_is_measured_with_itself_also_where_all_distances_are_reported_alike() {
    let mut host = many_nodes(3, 0);
    host.nodes.iter_mut().for_each(|node| node.distances = vec![10; 3]);
    assert_eq!(node_pairs(&host, Profile::Quick), [[0, 0], [0, 1]]);
    host.nodes.iter_mut().for_each(|node| node.distances.clear());
    assert_eq!(node_pairs(&host, Profile::Quick), [[0, 0], [0, 1]]);
}

#[test]
fn scattered_threads_fill_packages_nodes_and_caches_alike() {
    let host = machines::nps4().facts();
    let distinct = |n: usize, of: &dyn Fn(usize) -> usize| {
        in_order(&host, n, Order::Scatter).into_iter().map(of).collect::<BTreeSet<_>>().len()
    };
    let fact = |cpu: usize| host.cpus.iter().find(|fact| fact.id == cpu).unwrap();
    assert_eq!(distinct(2, &|cpu| fact(cpu).package.unwrap()), 2);
    // As many threads as nodes, caches and cores: one to each.
    assert_eq!(domains(&host), [2, 8, 32]);
    assert_eq!(distinct(8, &|cpu| fact(cpu).node.unwrap()), 8);
    assert_eq!(distinct(32, &|cpu| cpu % 32), 32);
    assert_eq!(distinct(64, &|cpu| cpu), 64);
    // Half as many are spread as evenly, where near first fills a package.
    assert_eq!(distinct(4, &|cpu| fact(cpu).node.unwrap()), 4);
    let near: BTreeSet<_> = spread(&host, 16).into_iter().map(|cpu| fact(cpu).package).collect();
    assert_eq!(near.len(), 1);
    let caches: BTreeSet<_> = of_caches(&host).into_iter().map(|cpu| cpu % 32 / 4).collect();
    assert_eq!((of_caches(&host).len(), caches.len()), (8, 8));
}

#[test]
fn siblings_are_taken_core_by_core() {
    let host = machines::nps4().facts();
    assert_eq!(in_order(&host, 4, Order::Siblings), [1, 33, 2, 34]);
    assert_eq!(in_order(&host, 3, Order::Compact), [1, 2, 3]);
    assert_eq!(in_order(&machines::hybrid().facts(), 4, Order::Siblings), [2, 3, 1, 0]);
    for order in Order::ALL {
        assert_eq!(order.name().parse(), Ok(order));
        let mut all = in_order(&host, 1000, order);
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<_>>(), "{order:?}");
        assert!(in_order(&Tree::new().facts(), 2, order).is_empty());
    }
}

#[test]
fn a_busy_cpu_is_the_last_choice_among_its_like() {
    let cpu = |id: usize, busy: Option<f64>| hostmark_model::CpuFact {
        id,
        online: true,
        allowed: true,
        siblings: vec![id],
        busy,
        ..Default::default()
    };
    let host = |busy: &[Option<f64>]| {
        let cpus = busy.iter().enumerate().map(|(id, busy)| cpu(id, *busy)).collect();
        HostFacts { cpus, ..Default::default() }
    };
    let chosen = |busy: &[f64]| single(&host(&busy.iter().copied().map(Some).collect::<Vec<_>>()));
    // CPU 1 is the usual choice; CPU 0 is taken when the other one is clearly busier.
    assert_eq!((single(&host(&[None, None])), chosen(&[0.0, 0.2]), chosen(&[0.05, 0.98])), (Some(1), Some(1), Some(0)));
    assert_eq!(
        (chosen(&[0.9, 0.98]), chosen(&[0.0, 0.9, 0.1]), chosen(&[0.0, 0.9, 0.95])),
        (Some(1), Some(2), Some(0))
    );
    let busy = host(&[Some(0.05), Some(0.98)]);
    assert_eq!((spread(&busy, 1), spread(&busy, 2)), (vec![0], vec![0, 1]));
    assert_eq!(pair(&busy, Placement::SameCpu), Ok([0, 0]));
    // The idle thread of a busy core is not quiet.
    let mut threads = host(&[Some(0.0), Some(0.0), Some(0.0), Some(1.0)]);
    for cpu in &mut threads.cpus {
        cpu.siblings = vec![cpu.id % 2, cpu.id % 2 + 2];
    }
    assert_eq!(single(&threads), Some(2));
}
