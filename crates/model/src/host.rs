//! What a machine is: read by `host`, kept in every run, compared by `compare`. Absent facts are `None`, never a guess.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine that a run measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The host's name.
    pub hostname: String,
    /// Random id of the current boot, where the kernel tells it.
    pub boot_id: Option<String>,
    /// The processor's model.
    pub cpu: CpuFacts,
    /// Every present logical CPU, by ascending id.
    pub cpus: Vec<CpuFact>,
    /// Every cache instance.
    pub caches: Vec<CacheFact>,
    /// Every memory node.
    pub nodes: Vec<NodeFact>,
    /// Memory and its pages.
    pub memory: MemoryFacts,
    /// The kernel.
    pub kernel: KernelFacts,
    /// What it runs in.
    pub virtualization: VirtualizationFacts,
    /// What it may use.
    pub limits: LimitFacts,
}

impl HostFacts {
    /// Ids of the CPUs that are online and that this process may use.
    pub fn usable_cpus(&self) -> Vec<usize> {
        self.cpus.iter().filter(|cpu| cpu.online && cpu.allowed).map(|cpu| cpu.id).collect()
    }

    /// The data or unified cache of `level` that serves `cpu`.
    pub fn cache(&self, cpu: usize, level: u8) -> Option<&CacheFact> {
        let serves = |cache: &&CacheFact| {
            cache.level == level && cache.kind != CacheKind::Instruction && cache.shared_cpus.contains(&cpu)
        };
        self.caches.iter().find(serves)
    }

    /// The largest-level data or unified cache that serves `cpu`.
    pub fn last_level_cache(&self, cpu: usize) -> Option<&CacheFact> {
        (1..=5).rev().find_map(|level| self.cache(cpu, level))
    }
}

/// The processor's model and abilities.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuFacts {
    /// `x86_64` or `aarch64`.
    pub architecture: String,
    /// Vendor, as the CPU says it.
    pub vendor: Option<String>,
    /// Model name; on aarch64 implementer and part where the firmware gives no name.
    pub model: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Feature names as in /proc/cpuinfo, sorted.
    pub features: Vec<String>,
    /// Packages (sockets) among the online CPUs.
    pub packages: usize,
    /// Frequency governor of the first usable CPU, where there is one.
    pub governor: Option<String>,
    /// Whether SMT is active, where the kernel tells.
    pub smt_active: Option<bool>,
}

/// One logical CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuFact {
    /// The kernel's id.
    pub id: usize,
    /// Whether it is online.
    pub online: bool,
    /// Whether this process may run on it.
    pub allowed: bool,
    /// Package (socket).
    pub package: Option<usize>,
    /// Core within the package.
    pub core: Option<usize>,
    /// Memory node.
    pub node: Option<usize>,
    /// All threads of its core, itself included.
    pub siblings: Vec<usize>,
    /// Highest frequency that the driver names, hertz.
    pub max_hz: Option<f64>,
    /// Computing capacity relative to the host's fastest CPU, which has 1024, where the kernel tells.
    pub capacity: Option<u32>,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    #[default]
    Unified,
}

/// One cache, with the CPUs it serves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheFact {
    /// 1, 2, 3 …
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size.
    pub size_bytes: u64,
    /// Its line.
    pub line_bytes: Option<u64>,
    /// Its ways.
    pub ways: Option<u32>,
    /// The CPUs it serves.
    pub shared_cpus: Vec<usize>,
}

/// One memory node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFact {
    /// The kernel's id.
    pub id: usize,
    /// Its CPUs.
    pub cpus: Vec<usize>,
    /// Its memory.
    pub memory_bytes: u64,
    /// Distance to each online node, in the order of node ids, 10 = local.
    pub distances: Vec<u32>,
}

/// Memory and its pages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryFacts {
    /// All memory of the kernel.
    pub total_bytes: u64,
    /// What the kernel thinks can be used without swapping.
    pub available_bytes: u64,
    /// Swap, all.
    pub swap_total_bytes: u64,
    /// Swap in use.
    pub swap_used_bytes: u64,
    /// The base page.
    pub page_bytes: u64,
    /// The transparent huge page (PMD), where there is one.
    pub pmd_page_bytes: Option<u64>,
    /// Transparent huge pages: always, madvise or never.
    pub transparent_huge_pages: Option<String>,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelFacts {
    /// As `uname -r`.
    pub release: String,
    /// As `uname -v`.
    pub version: String,
    /// Its command line, where readable.
    pub command_line: Option<String>,
    /// The clock source in use.
    pub clock_source: Option<String>,
    /// The clock sources it could use.
    pub clock_sources: Vec<String>,
    /// What it says of each CPU vulnerability.
    pub vulnerabilities: BTreeMap<String, String>,
    /// Whether the scheduler tells run delay.
    pub has_run_delay: bool,
}

/// What the machine runs in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VirtualizationFacts {
    /// The hypervisor: kvm, xen, vmware, microsoft …; none on bare metal.
    pub hypervisor: Option<String>,
    /// The container: docker, podman, lxc, kubernetes …; none outside one.
    pub container: Option<String>,
}

/// What the process may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitFacts {
    /// 1 or 2, where control groups are mounted.
    pub cgroup_version: Option<u8>,
    /// CPU quota of the tightest group, in CPUs (0.5 is half a CPU).
    pub cpu_quota: Option<f64>,
    /// Memory limit of the tightest group.
    pub memory_limit_bytes: Option<u64>,
    /// Memory already charged to that group.
    pub memory_used_bytes: Option<u64>,
    /// Whether the process has root's rights (effective user id 0).
    pub is_root: bool,
}

impl HostFacts {
    /// Memory that a run may fill without pushing the host into swap: what is available and what the tightest limit
    /// leaves, whichever is less. Bytes.
    pub fn fillable_bytes(&self) -> u64 {
        let limit = self
            .limits
            .memory_limit_bytes
            .map(|limit| limit.saturating_sub(self.limits.memory_used_bytes.unwrap_or(0)));
        self.memory.available_bytes.min(limit.unwrap_or(u64::MAX))
    }
}
