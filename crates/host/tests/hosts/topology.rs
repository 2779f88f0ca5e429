//! CPUs, caches, nodes, memory and kernel.

use hostmark_model::{CacheKind, GroupFact, Resource, Sight};

use crate::machines;
use crate::machines::Tree;

#[test]
fn a_small_guest_is_read_whole() {
    let host = machines::small_guest().facts();
    assert_eq!(host.hostname, "guest-7");
    assert!(host.boot_id.as_deref().is_some_and(|id| id.starts_with("0b1c2d3e")));
    assert_eq!(host.cpu.architecture, "x86_64");
    assert_eq!(host.cpu.vendor.as_deref(), Some("GenuineIntel"));
    assert_eq!(host.cpu.model.as_deref(), Some("Intel(R) Xeon(R) Processor @ 2.50GHz"));
    assert_eq!(host.cpu.microcode.as_deref(), Some("0x1"));
    assert_eq!(host.cpu.features, ["avx2", "fpu", "hypervisor", "rdtscp", "sse2"]);
    assert_eq!((host.cpu.packages, host.cpu.smt_active, host.cpu.governor.clone()), (1, Some(false), None));
    assert_eq!(host.usable_cpus(), [0, 1]);
    assert_eq!((host.cpus[1].package, host.cpus[1].core, host.cpus[1].node), (Some(0), Some(1), Some(0)));
    assert_eq!(
        (host.cpus[1].siblings.clone(), host.cpus[1].capacity, host.cpus[1].max_hz),
        (vec![1], Some(1024), None)
    );
    assert_eq!(host.caches.len(), 7);
    let last = host.last_level_cache(1).unwrap();
    assert_eq!((last.level, last.size_bytes, last.shared_cpus.clone()), (3, 36608 << 10, vec![0, 1]));
    assert_eq!((last.line_bytes, last.ways), (Some(64), Some(16)));
    assert_eq!((host.nodes[0].memory_bytes, host.nodes[0].distances.clone()), (24_684_096 << 10, vec![10]));
    let memory = &host.memory;
    assert_eq!((memory.total_bytes, memory.available_bytes), (24_684_096 << 10, 24_272_276 << 10));
    assert_eq!((memory.swap_total_bytes, memory.swap_used_bytes), (2000 << 10, 500 << 10));
    assert_eq!((memory.page_bytes, memory.pmd_page_bytes), (4096, Some(2 << 20)));
    assert_eq!(memory.transparent_huge_pages.as_deref(), Some("madvise"));
    let kernel = &host.kernel;
    assert_eq!((kernel.release.as_str(), kernel.version.as_str()), ("6.18.5", "#1 SMP"));
    assert_eq!(kernel.command_line.as_deref(), Some("console=ttyS0 quiet"));
    assert_eq!(kernel.clock_source.as_deref(), Some("tsc"));
    assert_eq!(kernel.clock_sources, ["tsc", "kvm-clock"]);
    assert_eq!(kernel.vulnerabilities["meltdown"], "Not affected");
    assert_eq!(kernel.vulnerabilities.len(), 2);
    assert!(kernel.has_run_delay);
}

#[test]
fn sparse_and_offline_cpus_keep_their_ids() {
    let host = machines::two_sockets().facts();
    let ids: Vec<usize> = host.cpus.iter().map(|cpu| cpu.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
    let offline: Vec<usize> = host.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    assert_eq!(offline, [3, 19]);
    assert_eq!(host.usable_cpus().len(), 14);
    let find = |id| host.cpus.iter().find(|cpu| cpu.id == id).unwrap();
    assert_eq!((find(20).package, find(20).core, find(20).node), (Some(1), Some(0), Some(1)));
    assert_eq!((find(20).siblings.clone(), find(20).max_hz), (vec![4, 20], Some(2.1e9)));
    assert_eq!((find(3).package, find(3).siblings.len(), find(3).max_hz), (None, 0, None));
    assert_eq!((host.cpu.packages, host.cpu.smt_active), (2, Some(true)));
    assert_eq!(host.cpu.governor.as_deref(), Some("powersave"));
    // Seven cores with three caches each, and one last-level cache a package.
    assert_eq!(host.caches.len(), 7 * 3 + 2);
    assert_eq!(host.cache(22, 1).map(|cache| (cache.kind, cache.size_bytes)), Some((CacheKind::Data, 48 << 10)));
    assert_eq!(host.last_level_cache(22).unwrap().shared_cpus, [4, 5, 6, 7, 20, 21, 22, 23]);
    assert!(host.last_level_cache(3).is_none());
}

#[test]
fn nodes_without_cpus_are_nodes() {
    let host = machines::two_sockets().facts();
    assert_eq!(host.nodes.len(), 3);
    assert_eq!((host.nodes[2].id, host.nodes[2].cpus.len()), (2, 0));
    assert_eq!((host.nodes[2].memory_bytes, host.nodes[2].distances.clone()), (64_000_000 << 10, vec![14, 24, 10]));
}

#[test]
fn an_arm_server_is_named_by_its_core() {
    let host = machines::arm_server().facts();
    assert_eq!(host.cpu.architecture, "aarch64");
    assert_eq!(host.cpu.vendor.as_deref(), Some("Arm"));
    assert_eq!(host.cpu.model.as_deref(), Some("AWS Graviton3 (Arm Neoverse V1) r1p1"));
    assert_eq!(host.cpu.features, ["asimd", "atomics", "fp", "sve"]);
    assert_eq!((host.cpus[0].package, host.cpu.packages), (None, 0));
    assert_eq!(host.cpu.smt_active, Some(false));
    assert_eq!((host.memory.page_bytes, host.memory.pmd_page_bytes), (64 << 10, Some(512 << 20)));
    assert_eq!(host.memory.transparent_huge_pages.as_deref(), Some("always"));
    assert_eq!(host.virtualization.hypervisor.as_deref(), Some("kvm"));
}

#[test]
fn big_and_little_cores_are_both_named() {
    let tree = Tree::new();
    let core = |cpu, part| format!("processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
    tree.file("/proc/cpuinfo", core(0, "0xd05") + &core(1, "0xd05") + &core(2, "0xd0b"));
    let host = tree.facts();
    assert_eq!(host.cpu.model.as_deref(), Some("Arm Cortex-A55 + Arm Cortex-A76"));
    assert_eq!(host.usable_cpus(), [0, 1, 2]);
}

#[test]
fn an_empty_root_gives_no_facts_and_no_panic() {
    let host = Tree::new().facts();
    let mut expected = hostmark_model::HostFacts::default();
    expected.memory.page_bytes = 4096;
    (expected.limits.unknown, expected.virtualization.container_unknown) = (true, true);
    let unseen = |resource| GroupFact { resource, path: None, sight: Sight::Nothing };
    expected.limits.groups = [Resource::Cpu, Resource::Memory].map(unseen).to_vec();
    assert_eq!(host, expected);
}

#[test]
fn without_sysfs_the_cpus_come_from_proc() {
    let tree = machines::small_guest();
    tree.remove("/sys").file("/proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 1 2\n");
    let host = tree.facts();
    assert_eq!(host.usable_cpus(), [0, 1]);
    assert_eq!((host.cpus[1].package, host.cpus[1].core, host.cpus[1].siblings.clone()), (Some(0), Some(1), vec![1]));
    assert_eq!((host.cpus[1].node, host.cpu.packages), (None, 1));
    assert!(host.caches.is_empty() && host.nodes.is_empty());
    tree.remove("/proc/stat");
    assert_eq!(tree.facts().usable_cpus(), [0, 1]);
}

#[test]
fn the_affinity_decides_where_the_list_of_online_cpus_is_of_other_numbers() {
    let tree = machines::chiplets();
    tree.file("/sys/devices/system/cpu/online", "0\n").status("5", 0);
    assert_eq!(tree.facts().usable_cpus(), [5]);
    // Affinity may name CPUs that are offline.
    tree.file("/sys/devices/system/cpu/online", "0-5\n").status("5-7", 0);
    assert_eq!(tree.facts().usable_cpus(), [5]);
}

#[test]
fn a_cpu_without_topology_stays_a_cpu() {
    let tree = machines::chiplets();
    tree.remove("/sys/devices/system/cpu/cpu5");
    let host = tree.facts();
    let cpu = host.cpus.iter().find(|cpu| cpu.id == 5).unwrap();
    assert!(cpu.online && cpu.allowed && cpu.siblings.is_empty() && cpu.package.is_none());
    assert_eq!(host.last_level_cache(5).map(|cache| cache.shared_cpus.clone()), Some(vec![4, 5]));
}

#[test]
fn more_than_1024_cpus_are_read_each_cache_once() {
    let host = machines::large_server().facts();
    assert_eq!(host.usable_cpus().len(), 1536);
    assert_eq!(host.cpus[1535].siblings, [767, 1535]);
    assert_eq!(host.cpus[1535].node, Some(1));
    assert_eq!(host.caches.len(), 768 + 96);
    assert_eq!(host.last_level_cache(1535).unwrap().shared_cpus.len(), 16);
}

#[test]
fn damaged_files_are_absent_facts() {
    let tree = machines::small_guest();
    tree.file("/sys/devices/system/cpu/cpu0/cache/index0/size", "big\n")
        .file("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "9-1\n")
        .file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", [0xff, 0xfe])
        .file("/sys/devices/system/node/node0/distance", "ten")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always")
        .file("/proc/meminfo", "MemTotal: lots\n")
        .file("/proc/self/schedstat", "0 0 0\n");
    let host = tree.facts();
    // Who shares the cache is told all the same.
    assert_eq!([0, 1].map(|cpu| host.cache(cpu, 1).map(|cache| cache.size_bytes)), [Some(0), Some(32 << 10)]);
    assert_eq!(host.cpus[0].siblings, [0], "from /proc/cpuinfo");
    assert_eq!(host.memory.total_bytes, 0);
    assert!(host.nodes[0].distances.is_empty() && host.memory.transparent_huge_pages.is_none());
    assert!(!host.kernel.has_run_delay);
}

#[test]
fn facts_survive_json() {
    for tree in [machines::small_guest(), machines::two_sockets(), machines::arm_server()] {
        let host = tree.facts();
        let json = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<hostmark_model::HostFacts>(&json).unwrap(), host);
    }
}
