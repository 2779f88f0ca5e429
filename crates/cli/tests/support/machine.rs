//! Machines by what their makers say of them, from guests of two CPUs to servers of a thousand.

use hostmark_model::{CacheFact, CacheKind, CpuFact, HostFacts, MemoryFacts, NodeFact};

/// A machine by what its maker says: of a package the cores and nodes, of a cache size in KiB.
pub struct Machine {
    pub name: &'static str,
    pub packages: usize,
    pub cores: usize,
    pub threads: usize,
    pub nodes: usize,
    pub cores_of_l3: usize,
    pub l3_kib: u64,
    pub gib: u64,
}

/// Packages; of each cores, threads a core and nodes; cores of a last cache.
pub const fn machine(
    name: &'static str,
    [packages, cores, threads, nodes, cores_of_l3]: [usize; 5],
    l3_kib: u64,
    gib: u64,
) -> Machine {
    Machine { name, packages, cores, threads, nodes, cores_of_l3, l3_kib, gib }
}

/// `l3_kib` of 0: the second level is the last.
pub const MACHINES: &[Machine] = &[
    machine("one CPU", [1, 1, 1, 1, 1], 32 << 10, 2),
    machine("guest of 2", [1, 2, 1, 1, 2], 36 << 10, 24),
    machine("guest of 2 told of 260 MiB", [1, 2, 1, 1, 2], 260 << 10, 16),
    machine("guest of 2 told of 504 MiB", [1, 2, 1, 1, 2], 504 << 10, 16),
    machine("desktop", [1, 8, 2, 1, 8], 32 << 10, 32),
    machine("64 CPUs", [2, 16, 2, 1, 16], 32 << 10, 128),
    machine("160 cores without L3", [2, 80, 1, 1, 80], 0, 512),
    machine("16 caches, NPS4", [1, 128, 2, 4, 8], 16 << 10, 384),
    machine("320 MiB caches", [2, 64, 2, 1, 64], 320 << 10, 1024),
    machine("three clusters a package", [2, 48, 2, 3, 48], 216 << 10, 768),
    machine("768 CPUs, NPS4", [2, 192, 2, 4, 16], 32 << 10, 1536),
    machine("1024 CPUs on 8 packages", [8, 128, 1, 1, 16], 32 << 10, 4096),
];

impl Machine {
    pub fn named(name: &str) -> &'static Machine {
        MACHINES.iter().find(|machine| machine.name == name).unwrap()
    }

    pub fn facts(&self) -> HostFacts {
        let (all, nodes) = (self.packages * self.cores, self.packages * self.nodes);
        let cpus = |cores: std::ops::Range<usize>| -> Vec<usize> {
            (0..self.threads).flat_map(|thread| cores.clone().map(move |core| thread * all + core)).collect()
        };
        let node = |core: usize| core / (self.cores / self.nodes);
        let cache = |level: u8, kib: u64, of: usize| {
            (0..all).step_by(of).map(move |core| CacheFact {
                level,
                kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
                size_bytes: kib << 10,
                line_bytes: Some(64),
                ways: Some(16),
                shared_cpus: cpus(core..core + of),
            })
        };
        let mut caches: Vec<CacheFact> = cache(1, 48, 1).chain(cache(2, 2048, 1)).collect();
        if self.l3_kib > 0 {
            caches.extend(cache(3, self.l3_kib, self.cores_of_l3));
        }
        let distance = |one: usize, other: usize| match (one == other, one / self.nodes == other / self.nodes) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 32,
        };
        let mut host = HostFacts {
            cpus: (0..all * self.threads)
                .map(|id| CpuFact {
                    id,
                    online: true,
                    allowed: true,
                    package: Some(id % all / self.cores),
                    core: Some(id % all),
                    node: Some(node(id % all)),
                    siblings: cpus(id % all..id % all + 1),
                    ..CpuFact::default()
                })
                .collect(),
            caches,
            nodes: (0..nodes)
                .map(|id| NodeFact {
                    id,
                    cpus: (0..all * self.threads).filter(|cpu| node(cpu % all) == id).collect(),
                    memory_bytes: (self.gib << 30) / nodes as u64,
                    distances: (0..nodes).map(|other| distance(id, other)).collect(),
                    ..NodeFact::default()
                })
                .collect(),
            memory: MemoryFacts {
                total_bytes: self.gib << 30,
                available_bytes: (self.gib << 30) / 10 * 9,
                page_bytes: 4096,
                pmd_page_bytes: Some(2 << 20),
                ..MemoryFacts::default()
            },
            ..HostFacts::default()
        };
        host.kernel.release = "6.12.0".into();
        host
    }
}
