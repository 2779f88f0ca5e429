//! Which CPUs are chosen, on every kind of machine.

use hostmark_host::{Placement, pair, single, spread};
use hostmark_model::HostFacts;

use crate::machines;
use crate::tree::Tree;

fn all_pairs(host: &HostFacts) -> [Option<[usize; 2]>; 5] {
    Placement::ALL.map(|placement| pair(host, placement).ok())
}

#[test]
fn a_guest_of_two_cores_leaves_cpu_0_to_interrupts() {
    let host = machines::small_guest().facts();
    assert_eq!(single(&host), Some(1));
    assert_eq!(all_pairs(&host), [Some([1, 1]), None, Some([1, 0]), None, None]);
    assert_eq!(spread(&host, 1), [1]);
    assert_eq!(spread(&host, 9), [1, 0]);
}

#[test]
fn a_server_of_two_sockets_has_all_placements_but_one() {
    let host = machines::two_sockets().facts();
    assert_eq!(single(&host), Some(1));
    assert_eq!(all_pairs(&host), [Some([1, 1]), Some([1, 17]), Some([1, 2]), None, Some([1, 4])]);
    // CPU 16 shares CPU 0's core and stands for it; the second socket follows the first, then the second threads.
    assert_eq!(spread(&host, 3), [1, 2, 16]);
    assert_eq!(spread(&host, 14), [1, 2, 16, 4, 5, 6, 7, 17, 18, 0, 20, 21, 22, 23]);
}

#[test]
fn chiplets_have_another_cache_on_the_same_node() {
    let host = machines::chiplets().facts();
    assert_eq!(all_pairs(&host), [Some([1, 1]), None, Some([1, 0]), Some([1, 2]), None]);
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
        assert_eq!(pair(&host, *placement), Err("only one CPU is usable".to_owned()));
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
    assert_eq!(pair(&host, Placement::SameCache), Err("no two usable cores share a last-level cache".to_owned()));
    assert_eq!(spread(&host, 3), [20, 16, 0]);
}

#[test]
fn without_any_cpu_nothing_is_chosen() {
    let host = Tree::new().facts();
    assert_eq!((single(&host), spread(&host, 2)), (None, vec![]));
    for placement in Placement::ALL {
        assert_eq!(pair(&host, placement), Err("no CPU is usable".to_owned()));
    }
}

#[test]
fn untold_caches_are_a_reason_of_their_own() {
    let host = machines::small_container().facts();
    assert_eq!(host.usable_cpus(), [2, 3]);
    for placement in [Placement::SameCache, Placement::OtherCache] {
        assert!(pair(&host, placement).is_err_and(|reason| reason.contains("does not tell")));
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
    assert_eq!(all_pairs(&host), [Some([1, 1]), Some([1, 769]), Some([1, 2]), Some([1, 8]), Some([1, 384])]);
}

#[test]
fn placements_read_back_as_written() {
    for placement in Placement::ALL {
        assert_eq!(placement.to_string().parse(), Ok(placement));
    }
    assert!("far".parse::<Placement>().is_err_and(|reason| reason.contains("same_cpu, smt_sibling")));
}
