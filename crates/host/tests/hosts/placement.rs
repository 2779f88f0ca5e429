//! Which CPUs are chosen, on every kind of machine.

use std::collections::BTreeSet;

use hostmark_host::{
    Order, Placement, core_kinds, domains, in_order, node_pairs, of_caches, of_node, pair, single, spread,
};
use hostmark_model::{HostFacts, Profile};
use hostmark_say::say;

use crate::machines;
use crate::machines::Tree;

fn all_pairs(host: &HostFacts) -> [Option<[usize; 2]>; 6] {
    Placement::ALL.map(|placement| pair(host, placement).ok())
}

#[test]
fn a_guest_of_two_cores_leaves_cpu_0_to_interrupts() {
    let host = machines::small_guest().facts();
    assert_eq!(single(&host), Some(1));
    assert_eq!(all_pairs(&host), [Some([1, 1]), None, Some([1, 0]), None, None, None]);
    assert_eq!(spread(&host, 1), [1]);
    assert_eq!(spread(&host, 9), [1, 0]);
}

#[test]
fn a_server_of_two_sockets_has_no_second_cache_or_node_in_either() {
    let host = machines::two_sockets().facts();
    assert_eq!(single(&host), Some(1));
    assert_eq!(all_pairs(&host), [Some([1, 1]), Some([1, 17]), Some([1, 2]), None, None, Some([1, 4])]);
    // CPU 16 shares CPU 0's core and stands for it; the second socket follows the first, then the second threads.
    assert_eq!(spread(&host, 3), [1, 2, 16]);
    assert_eq!(spread(&host, 14), [1, 2, 16, 4, 5, 6, 7, 17, 18, 0, 20, 21, 22, 23]);
}

#[test]
fn chiplets_have_another_cache_on_the_same_node() {
    let host = machines::chiplets().facts();
    assert_eq!(all_pairs(&host), [Some([1, 1]), None, Some([1, 0]), Some([1, 2]), None, None]);
    assert_eq!(spread(&host, 5), [1, 0, 2, 3, 4]);
}

#[test]
fn the_own_node_is_nearer_than_the_next_cache() {
    let tree = machines::chiplets();
    tree.nodes_online("0-1").node(0, "0-1,4-5", 32_000_000, "10 12").node(1, "2-3,6-7", 32_000_000, "12 10");
    let host = tree.facts();
    assert_eq!(spread(&host, 8), [1, 0, 4, 5, 2, 3, 6, 7]);
    assert_eq!(pair(&host, Placement::OtherCache), Ok([1, 4]));
}

#[test]
fn slow_cores_come_last() {
    let host = machines::hybrid().facts();
    assert_eq!(single(&host), Some(2));
    assert_eq!(pair(&host, Placement::SmtSibling), Ok([2, 3]));
    assert_eq!(pair(&host, Placement::SameCache), Ok([2, 1]));
    assert_eq!(spread(&host, 8), [1, 2, 4, 5, 6, 7, 3, 0]);
}

#[test]
fn the_kinds_of_core_are_recognized_by_their_speed() {
    let names = |host: &HostFacts| -> Vec<(&str, Vec<usize>)> {
        core_kinds(host).into_iter().map(|(kind, cpus)| (kind.name(), cpus)).collect()
    };
    let host = machines::hybrid().facts();
    assert_eq!(names(&host), [("performance", vec![2, 1, 3, 0]), ("efficiency", vec![4, 5, 6, 7])]);
    let tree = machines::hybrid();
    for cpu in 0..8 {
        tree.cpu_file(cpu, "cpufreq/scaling_governor", if cpu < 4 { "performance\n" } else { "powersave\n" });
        tree.cpu_file(cpu, "cpufreq/scaling_max_freq", if cpu < 4 { "5100000\n" } else { "2000000\n" });
    }
    let kinds = tree.facts().cpu.kinds;
    let clocks = |at: usize| (kinds[at].max_hz, kinds[at].limit_hz, kinds[at].governor.as_deref());
    assert_eq!(clocks(0), (Some(5.1e9), Some(5.1e9), Some("performance")));
    assert_eq!(clocks(1), (Some(3.9e9), Some(2e9), Some("powersave")));
    assert_eq!((kinds.len(), &*kinds[1].name, kinds[1].cpus.clone()), (2, "efficiency", vec![4, 5, 6, 7]));
    assert_eq!(machines::chiplets().facts().cpu.kinds, []);
    // Little, big and prime cores; the slowest of more than three are one kind.
    let tree = machines::chiplets();
    for (cpu, capacity) in [280, 280, 280, 280, 760, 760, 1024, 200].into_iter().enumerate() {
        tree.cpu_file(cpu, "cpu_capacity", &format!("{capacity}\n"));
    }
    let kinds = names(&tree.facts());
    assert_eq!(kinds[0], ("performance", vec![6]));
    assert_eq!((kinds[1].0, kinds[1].1.len(), kinds[2].0, kinds[2].1.len()), ("efficiency", 2, "low_power", 5));
    // Favoured cores are of no kind of their own, and where nothing is told all are alike.
    for (cpu, mhz) in [5200, 5200, 5100, 5000, 4900, 4900, 4900, 4900].into_iter().enumerate() {
        tree.remove(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"));
        tree.cpu_file(cpu, "cpufreq/cpuinfo_max_freq", &format!("{mhz}000\n"));
    }
    assert_eq!(names(&tree.facts()).len(), 1);
    assert_eq!(names(&machines::chiplets().facts()).len(), 1);
    assert_eq!(names(&HostFacts::default()), []);
    // Kept to slow cores, a run has one kind.
    let mut host = host;
    host.cpus.iter_mut().for_each(|cpu| cpu.allowed = cpu.id > 3);
    assert_eq!(names(&host), [("performance", vec![4, 5, 6, 7])]);
}

#[test]
fn capacity_outweighs_frequency() {
    let tree = machines::chiplets();
    for cpu in 0..8 {
        tree.cpu_file(cpu, "cpu_capacity", if cpu < 6 { "446\n" } else { "1024\n" });
    }
    let host = tree.facts();
    assert_eq!(single(&host), Some(6));
    assert_eq!(spread(&host, 4), [6, 7, 1, 0]);
}

#[test]
fn one_cpu_has_only_itself() {
    let host = machines::one_cpu().facts();
    assert_eq!(single(&host), Some(0));
    assert_eq!(pair(&host, Placement::SameCpu), Ok([0, 0]));
    for placement in &Placement::ALL[1..] {
        assert_eq!(pair(&host, *placement), Err(say!("only one CPU is usable")));
    }
    assert_eq!(spread(&host, 4), [0]);
}

#[test]
fn the_affinity_mask_is_kept() {
    let tree = machines::two_sockets();
    tree.status("0,16,20", 1000);
    let host = tree.facts();
    assert_eq!(single(&host), Some(20));
    assert_eq!(pair(&host, Placement::SmtSibling), Ok([16, 0]));
    assert_eq!(pair(&host, Placement::OtherNode), Ok([20, 16]));
    assert_eq!(pair(&host, Placement::SameCache), Err(say!("no two usable cores share a last-level cache")));
    assert_eq!(spread(&host, 3), [20, 16, 0]);
}

#[test]
fn without_any_cpu_nothing_is_chosen() {
    let host = Tree::new().facts();
    assert_eq!((single(&host), spread(&host, 2)), (None, vec![]));
    for placement in Placement::ALL {
        assert_eq!(pair(&host, placement), Err(say!("no CPU is usable")));
    }
}

#[test]
fn untold_caches_are_a_reason_of_their_own() {
    let host = machines::small_container().facts();
    assert_eq!(host.usable_cpus(), [2, 3]);
    for placement in [Placement::SameCache, Placement::OtherCache] {
        assert!(pair(&host, placement).is_err_and(|reason| reason.to_string().contains("does not tell")));
    }
}

#[test]
fn a_node_without_memory_is_no_home() {
    let tree = machines::chiplets();
    tree.nodes_online("0-1").node(0, "0-3", 0, "10 20").node(1, "4-7", 64_000_000, "20 10");
    let host = tree.facts();
    assert_eq!(single(&host), Some(4));
    assert_eq!(pair(&host, Placement::OtherNode), Ok([4, 1]));
}

#[test]
fn the_other_node_is_in_another_package_where_there_is_one() {
    let tree = machines::chiplets();
    for cpu in 0..8 {
        tree.core(cpu, cpu / 4, cpu, &cpu.to_string());
    }
    tree.nodes_online("0-3");
    for node in 0..4 {
        let distances = ["10 12 32 33", "12 10 33 32", "32 33 10 12", "33 32 12 10"][node];
        tree.node(node, &format!("{}-{}", node * 2, node * 2 + 1), 16_000_000, distances);
    }
    let host = tree.facts();
    assert_eq!(pair(&host, Placement::OtherNode), Ok([1, 4]));
    assert_eq!(pair(&host, Placement::SamePackageOtherNode), Ok([1, 2]));
    assert_eq!(spread(&host, 8), [1, 0, 2, 3, 4, 5, 6, 7]);
}

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
    assert_eq!(all_pairs(&host), [Some([1, 1]), Some([1, 769]), Some([1, 2]), Some([1, 8]), None, Some([1, 384])]);
}

#[test]
fn placements_read_back_as_written() {
    for placement in Placement::ALL {
        assert_eq!(placement.to_string().parse(), Ok(placement));
    }
    assert!("far".parse::<Placement>().is_err_and(|reason| reason.to_string().contains("same_cpu, smt_sibling")));
}

#[test]
fn the_matrix_of_two_sockets_has_the_near_and_the_far_pair_first() {
    let host = machines::two_sockets().facts();
    // Node 2 has memory alone: CPU-less memory is measured from both sockets, and from nowhere else.
    let all = node_pairs(&host, Profile::Standard);
    assert_eq!(all.len(), 6);
    assert_eq!(all[..3], [[0, 0], [0, 2], [0, 1]]);
    assert!([[1, 0], [1, 1], [1, 2]].iter().all(|pair| all.contains(pair)), "{all:?}");
    assert_eq!(node_pairs(&host, Profile::Quick), all[..3]);
    assert_eq!(of_node(&host, 0), [1, 2, 16, 17, 18, 0]);
    assert_eq!(of_node(&host, 1)[..4], [4, 5, 6, 7]);
    assert!(of_node(&host, 2).is_empty());
}

#[test]
fn a_node_without_memory_or_usable_cpus_has_no_part_in_the_matrix() {
    let host = machines::small_guest().facts();
    assert_eq!(node_pairs(&host, Profile::Thorough), [[0, 0]]);
    let tree = machines::two_sockets();
    tree.status("0-2", 1000);
    let pairs = node_pairs(&tree.facts(), Profile::Thorough);
    assert!(pairs.len() == 3 && pairs.iter().all(|pair| pair[0] == 0), "{pairs:?}");
    tree.node(0, "0-2,16-18", 0, "10 21 14");
    assert!(node_pairs(&tree.facts(), Profile::Thorough).iter().all(|pair| pair[1] != 0));
}

const PROFILES: [Profile; 3] = [Profile::Quick, Profile::Standard, Profile::Thorough];

#[test]
fn eight_nodes_have_all_their_pairs_from_the_standard_profile_on() {
    let host = machines::nps4().facts();
    let [quick, standard, thorough] = PROFILES.map(|profile| node_pairs(&host, profile));
    // The own node, one of the own package, one of the other.
    assert_eq!(quick, [[0, 0], [0, 1], [0, 4]]);
    assert_eq!((standard.len(), thorough.len()), (64, 64));
    assert!(quick.iter().all(|pair| standard.contains(pair)));
}

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
fn a_package_of_several_nodes_has_a_placement_of_its_own() {
    let host = machines::nps4().facts();
    let placements = Placement::ALL.map(|placement| pair(&host, placement).ok());
    let near = [Some([1, 1]), Some([1, 33]), Some([1, 2]), None, Some([1, 4]), Some([1, 16])];
    assert_eq!(placements, near);
    let one = pair(&machines::two_sockets().facts(), Placement::SamePackageOtherNode);
    assert_eq!(one, Err(say!("no package has usable CPUs on two memory nodes")));
}

#[test]
fn sharing_is_used_where_no_size_is_reported() {
    let host = machines::arm_guest().facts();
    assert_eq!(host.last_level_cache(1).map(|cache| (cache.level, cache.size_bytes)), Some((2, 0)));
    assert_eq!(pair(&host, Placement::SameCache), Ok([1, 2]));
    assert_eq!(pair(&host, Placement::OtherCache), Err(say!("the usable CPUs of a node share one last-level cache")));
    assert_eq!((host.largest_last_level_cache_bytes(), spread(&host, 4)), (0, vec![1, 2, 3, 0]));
}

#[test]
fn cpu_0_is_the_last_of_its_node_also_where_each_core_has_the_last_cache_for_itself() {
    let host = machines::no_l3().facts();
    assert_eq!(spread(&host, 9), [1, 2, 3, 4, 5, 6, 7, 0, 8]);
    assert_eq!(pair(&host, Placement::OtherCache), Ok([1, 2]));
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
