//! Facts of a machine: read by `host`, kept in every run, compared by `compare`. Absent facts are `None`, never a guess.

mod devices;
mod processor;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use devices::{
    BlockDevice, Channels, DirectoryFact, FirmwareFacts, InterfaceLosses, InterruptModeration, LoopbackFacts,
    MemoryModule, NetworkInterface, NetworkPath, Offloads, Purpose, QueueingDiscipline, Rings, StorageFacts,
};
pub use processor::{
    Activity, AroundCache, BusyTask, Disturbed, HostFinding, HostReport, HostWeight, Pressure, ProcessFacts,
    design_that_can,
};

/// The machine that a run measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// What a run found of memory before it was planned; none where none has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_look: Option<MemoryLook>,
    /// The kernel.
    pub kernel: KernelFacts,
    /// What it runs in.
    pub virtualization: VirtualizationFacts,
    /// What it may use.
    pub limits: LimitFacts,
    /// How the kernel treats this process and all that it starts.
    #[serde(default, skip_serializing_if = "ProcessFacts::is_unknown")]
    pub process: ProcessFacts,
    /// Maker, model, firmware and memory modules, where readable.
    pub firmware: FirmwareFacts,
    /// Block devices, and the directories that a run writes to.
    pub storage: StorageFacts,
    /// Network interfaces.
    pub network: Vec<NetworkInterface>,
    /// What a packet meets that the machine sends to itself.
    #[serde(default, skip_serializing_if = "LoopbackFacts::is_unknown")]
    pub loopback: LoopbackFacts,
    /// What the machine was doing when it was read.
    pub activity: Activity,
}

impl HostFacts {
    /// Returns which of [`CpuFacts::kinds`] the core of `cpu` is; `None` where all are alike.
    pub fn kind_of_core(&self, cpu: usize) -> Option<usize> {
        self.cpu.kinds.iter().position(|kind| kind.cpus.contains(&cpu))
    }

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

    /// The largest-level data or unified cache that serves `cpu`; of some guests its size is untold.
    pub fn last_level_cache(&self, cpu: usize) -> Option<&CacheFact> {
        (1..=5).rev().find_map(|level| self.cache(cpu, level))
    }

    /// The largest last-level cache of a usable CPU, bytes; 0 where the host tells of none.
    pub fn largest_last_level_cache_bytes(&self) -> u64 {
        let caches = self.usable_cpus().into_iter().filter_map(|cpu| self.last_level_cache(cpu));
        caches.map(|cache| self.effective_bytes(cache)).max().unwrap_or(0)
    }

    /// The sizes of the last-level caches of `cpus` together, each cache once, bytes.
    pub fn last_level_caches_bytes(&self, cpus: &[usize]) -> u64 {
        let mut caches: Vec<&CacheFact> = Vec::new();
        for cache in cpus.iter().filter_map(|&cpu| self.last_level_cache(cpu)) {
            if !caches.iter().any(|known| std::ptr::eq(*known, cache)) {
                caches.push(cache);
            }
        }
        caches.iter().map(|cache| self.effective_bytes(cache)).fold(0, u64::saturating_add)
    }

    /// Bytes of a cache that sizes are planned by: those reported, and of a last-level cache no more than a run found there.
    pub fn effective_bytes(&self, cache: &CacheFact) -> u64 {
        let found = self.memory_look.as_ref().and_then(|look| look.last_cache_bytes);
        found.filter(|_| cache.level >= 3).map_or(cache.size_bytes, |found| cache.size_bytes.min(found))
    }
}

/// What a run found of memory before it was planned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryLook {
    /// Rate at which one CPU touches memory for the first time, bytes a second.
    pub first_touch_bytes_per_s: f64,
    /// A power of two that the last-level cache certainly does not hold, where the reported size is larger; none where it holds all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_cache_bytes: Option<u64>,
}

/// The processor's model and abilities.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuFacts {
    /// `x86_64` or `aarch64`.
    pub architecture: String,
    /// Vendor, as the CPU says it.
    pub vendor: Option<String>,
    /// Model name; on aarch64 implementer and part where the firmware gives no name.
    pub model: Option<String>,
    /// What the design is called, as it was recorded: `Emerald Rapids`, `Zen 3, Milan`; [`CpuFacts::design`] looks at the features too.
    /// `≥ Sapphire Rapids` where it can do what the design of its numbers cannot: a hypervisor gives those of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microarchitecture: Option<String>,
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
    /// Frequency driver of the first usable CPU, where there is one.
    pub frequency_driver: Option<String>,
    /// Whether the CPUs may exceed their nominal frequency (turbo, boost), where the kernel tells.
    pub turbo: Option<bool>,
    /// CPUs kept out of the scheduler's balancing (isolcpus).
    pub isolated: Option<Vec<usize>>,
    /// CPUs without a periodic tick while one task runs there (nohz_full).
    pub tickless: Option<Vec<usize>>,
    /// CPUs whose RCU callbacks run elsewhere (rcu_nocbs), as the kernel's command line names them.
    pub callback_free: Option<Vec<usize>>,
    /// The kinds of core, from fast to slow; empty where all usable cores are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<CoreKindFact>,
}

impl CpuFacts {
    /// The model's name without the marks of a trade name, which tell nobody anything.
    pub fn plain_model(&self) -> Option<String> {
        self.model.as_ref().map(|model| model.replace("(R)", "").replace("(TM)", ""))
    }
}

/// The usable cores of one kind, on a processor that has several.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoreKindFact {
    /// `performance`, `efficiency` or `low_power`, as the values of the axis `core`.
    pub name: String,
    /// Its usable CPUs.
    pub cpus: Vec<usize>,
    /// Highest frequency that the driver names for its fastest CPU, hertz.
    pub max_hz: Option<f64>,
    /// The frequency up to which the governor may go on that CPU now, hertz.
    pub limit_hz: Option<f64>,
    /// Frequency governor of that CPU.
    pub governor: Option<String>,
}

/// One logical CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Frequency that it is limited to (scaling_max_freq), hertz, where that is below `max_hz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hz: Option<f64>,
    /// Computing capacity relative to the host's fastest CPU, which has 1024, where the kernel tells.
    pub capacity: Option<u32>,
    /// The share of its time that programs used just before the run, 0 to 1; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CacheFact {
    /// 1, 2, 3 …
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size; 0 where the host tells who shares it and not how large it is.
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeFact {
    /// The kernel's id.
    pub id: usize,
    /// Its CPUs.
    pub cpus: Vec<usize>,
    /// Its memory.
    pub memory_bytes: u64,
    /// Distance to each online node, in the order of node ids, 10 = local.
    pub distances: Vec<u32>,
    /// Its reserved huge pages, the sizes without any left out.
    pub huge_pages: Vec<HugePages>,
}

/// Huge pages that were reserved (hugetlbfs).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HugePages {
    /// The size of each.
    pub page_bytes: u64,
    /// How many there are.
    pub count: u64,
}

/// Memory and its pages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Whether transparent huge pages are kept from this process and all that it starts (prctl PR_SET_THP_DISABLE), whatever the
    /// mode is; none where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent_huge_pages_forbidden: Option<bool>,
    /// When a page fault waits for a huge page to be made: always, defer, defer+madvise, madvise or never.
    pub transparent_huge_page_defrag: Option<String>,
    /// Reserved huge pages of the whole machine (nr_hugepages); none when the kernel does not tell.
    pub huge_pages: Option<Vec<HugePages>>,
    /// Kernel same-page merging (/sys/kernel/mm/ksm/run): 0 stopped, 1 running, 2 stopped and unmerged.
    pub same_page_merging: Option<u32>,
    /// Automatic NUMA balancing: 0 off; bit 0 places pages near their users, bit 1 moves them between memory tiers.
    pub numa_balancing: Option<u32>,
    /// Whether a node is emptied before another is used (vm.zone_reclaim_mode).
    pub zone_reclaim_mode: Option<u32>,
    /// vm.swappiness.
    pub swappiness: Option<u32>,
    /// vm.overcommit_memory: 0 by estimate, 1 always, 2 never.
    pub overcommit: Option<u32>,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelFacts {
    /// Which it is, as `uname -s`, in a run of another tool; empty for Linux.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
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
    /// kernel.perf_event_paranoid: up to 2 a user may count in user space, up to 1 in the kernel too.
    pub perf_event_paranoid: Option<i32>,
    /// kernel.io_uring_disabled: 0 allowed, 1 for privileged users only, 2 for nobody.
    pub io_uring_disabled: Option<u32>,
    /// Whether its audit follows system calls, where that can be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// The rules of its audit, where they are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_rules: Option<u64>,
    /// The version of the project's kernel module, where it is loaded.
    pub module_version: Option<String>,
    /// Further settings by name: `sched_rt_runtime_us`, `dirty_ratio` …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
}

/// Whether the kernel's audit follows system calls: every call then takes the slow way into the kernel and out, with rules or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Audit {
    /// It is off or not there.
    Off,
    /// It is on, and a rule exempts all processes (-a never,task).
    Exempt,
    /// It is on.
    On,
    /// Only who has CAP_AUDIT_CONTROL outside of containers is told.
    Untold,
}

impl Audit {
    /// Returns its name; `None` where it is unknown.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Audit::Off => Some("off"),
            Audit::Exempt => Some("on, all processes exempt"),
            Audit::On => Some("on"),
            Audit::Untold => None,
        }
    }
}

const LINUX: &str = "Linux";

impl KernelFacts {
    /// Takes what `uname -s` says.
    pub fn system_is(&mut self, system: &str) {
        self.system = if system == LINUX { "" } else { system }.into();
    }

    /// Returns the name that `uname -s` prints.
    pub fn system(&self) -> &str {
        if self.system.is_empty() { LINUX } else { &self.system }
    }

    /// The system and its release, where that is known.
    pub fn named(&self) -> Option<String> {
        (!self.release.is_empty()).then(|| format!("{} {}", self.system(), self.release))
    }
}

/// Default for what a file does not say: unknown.
fn untold() -> bool {
    true
}

/// What the machine runs in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VirtualizationFacts {
    /// The hypervisor: kvm, xen, vmware, microsoft …; none on bare metal.
    pub hypervisor: Option<String>,
    /// The container: docker, podman, lxc, kubernetes …; none outside one.
    pub container: Option<String>,
    /// Whether /proc does not tell if this is a container; files of older versions do not say whether it did.
    #[serde(default = "untold")]
    pub container_unknown: bool,
    /// The processor's virtualization extension as this kernel sees it: vmx, svm.
    pub extension: Option<String>,
    /// Whether guests' page tables are walked by the processor (EPT, NPT): KVM's own word where it is loaded, else the
    /// processor's flag. In a guest the flag is what its hypervisor passes on; none says nothing of what it uses.
    pub nested_paging: Option<bool>,
    /// Whether TLB entries carry the guest's number (VPID, ASID), by the same words.
    pub tagged_tlb: Option<bool>,
    /// Whether KVM lets guests run guests of their own, where it is loaded.
    pub nested_guests: Option<bool>,
    /// Whether this user may open /dev/kvm, through which guests are made; none where there is no such file.
    pub kvm_permitted: Option<bool>,
}

/// What the process may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LimitFacts {
    /// 1 or 2, where control groups are mounted.
    pub cgroup_version: Option<u8>,
    /// CPU quota of the tightest group, in CPUs (0.5 is half a CPU).
    pub cpu_quota: Option<f64>,
    /// Memory limit of the tightest group.
    pub memory_limit_bytes: Option<u64>,
    /// Memory already charged to that group.
    pub memory_used_bytes: Option<u64>,
    /// Whether the process has root's rights (effective user id 0); none where nothing tells.
    pub is_root: Option<bool>,
    /// Whether neither limit could be looked for: that there are none above says nothing then. Files of older versions do not say.
    #[serde(default = "untold")]
    pub unknown: bool,
    /// The control groups that can set these limits, and how much of them could be seen; none in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFact>,
    /// Seccomp mode of this process: off, strict or filter.
    pub seccomp: Option<String>,
    /// What else its control groups set, by kind (`cpu.weight`, `io.limit` …): file and value, or `default`; unknown kinds are missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub group_settings: BTreeMap<String, String>,
}

/// What a control group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// CPU time.
    #[default]
    Cpu,
    /// Memory.
    Memory,
}

/// How much could be seen of the control groups that can limit a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// All of them: where no limit was found there is none.
    #[default]
    Whole,
    /// This process's own group and not all of those above it, which may have tighter limits, as in a container.
    NotAbove,
    /// Not even this process's own group: whether it has a limit is unknown.
    Nothing,
}

/// This process's control group for one resource.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupFact {
    /// What it limits.
    pub resource: Resource,
    /// The group, as /proc/self/cgroup names it; none where that does not tell.
    pub path: Option<String>,
    /// How much of it and of those above could be seen.
    pub sight: Sight,
}

impl LimitFacts {
    /// Returns how much of what can limit `resource` could be seen.
    pub fn sight(&self, resource: Resource) -> Sight {
        let group = self.groups.iter().find(|group| group.resource == resource);
        match group {
            Some(group) => group.sight,
            None if self.unknown => Sight::Nothing,
            None => Sight::Whole,
        }
    }

    /// The control groups of which not even this process's own limits could be seen, each once.
    pub fn unseen_groups(&self) -> Vec<&str> {
        let unseen = self.groups.iter().filter(|group| group.sight == Sight::Nothing);
        let mut paths: Vec<&str> = unseen.filter_map(|group| group.path.as_deref()).collect();
        paths.dedup();
        paths
    }
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
