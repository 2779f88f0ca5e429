//! Processors as the kernel numbers them, their nodes and their caches.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_model::{CacheFact, CacheKind, CpuFact, NodeFact};

use crate::root::{Root, field, holds, parse_cpu_list};

const CPU_DIR: &str = "/sys/devices/system/cpu";

/// Every present CPU by ascending id; empty when nothing tells of any.
pub(crate) fn read_cpus(root: &Root, cpuinfo: &CpuInfo) -> Vec<CpuFact> {
    let mut online = online_cpus(root, cpuinfo);
    let present = root.id_list(&format!("{CPU_DIR}/present"));
    let allowed = allowed(root);
    // LXCFS shows a container CPUs of other numbers, where the kernel's affinity holds online ones. The text may name others as well.
    let runs_on = match root.is_this_machine() {
        true => hostmark_sys::affinity::allowed().ok(),
        false => allowed.clone().filter(|allowed| !allowed.iter().any(|id| holds(&online, *id))),
    };
    online.extend(runs_on.into_iter().flatten());
    online.sort_unstable();
    online.dedup();
    let mut ids: Vec<usize> = present.into_iter().flatten().chain(online.iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut cpus: Vec<CpuFact> = ids
        .into_iter()
        .map(|id| CpuFact {
            id,
            online: holds(&online, id),
            allowed: allowed.as_ref().is_none_or(|allowed| holds(allowed, id)),
            ..CpuFact::default()
        })
        .collect();
    read_cores(root, cpuinfo, &mut cpus);
    read_speeds(root, &mut cpus);
    cpus
}

/// The CPUs of this process's affinity mask. The text form has no limit, where the CPU sets of C libraries end at 1024.
pub(crate) fn allowed(root: &Root) -> Option<Vec<usize>> {
    parse_cpu_list(field(&root.raw("/proc/self/status")?, "Cpus_allowed_list")?)
}

/// sysfs knows best; sandboxes without it still list processors in /proc.
fn online_cpus(root: &Root, cpuinfo: &CpuInfo) -> Vec<usize> {
    if let Some(ids) = root.id_list(&format!("{CPU_DIR}/online")) {
        return ids;
    }
    let mut ids: Vec<usize> = root
        .raw("/proc/stat")
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok())
        .collect();
    if ids.is_empty() {
        ids = cpuinfo.processors().iter().filter_map(|stanza| stanza_number(stanza, "processor")).collect();
    }
    ids.sort_unstable();
    ids
}

/// Package, core and siblings. A core's files are read once, for its first thread.
fn read_cores(root: &Root, cpuinfo: &CpuInfo, cpus: &mut [CpuFact]) {
    let position: BTreeMap<usize, usize> = cpus.iter().enumerate().map(|(index, cpu)| (cpu.id, index)).collect();
    let mut unplaced = Vec::new();
    for index in 0..cpus.len() {
        if !cpus[index].online || !cpus[index].siblings.is_empty() {
            continue;
        }
        let id = cpus[index].id;
        let topology = format!("{CPU_DIR}/cpu{id}/topology");
        let siblings = root
            .id_list(&format!("{topology}/thread_siblings_list"))
            .filter(|siblings| holds(siblings, id))
            .map(|siblings| siblings.into_iter().filter(|id| position.contains_key(id)).collect::<Vec<_>>());
        let Some(siblings) = siblings else {
            unplaced.push(index);
            continue;
        };
        // The kernel writes -1 where the firmware does not say; that is no number of this type, so it is None.
        let package = root.number(&format!("{topology}/physical_package_id"));
        let core = root.number(&format!("{topology}/core_id"));
        for sibling in siblings.iter().filter_map(|id| position.get(id)) {
            let cpu = &mut cpus[*sibling];
            (cpu.package, cpu.core, cpu.siblings) = (package, core, siblings.clone());
        }
    }
    if !unplaced.is_empty() {
        cores_from_cpuinfo(cpuinfo, cpus, &unplaced);
    }
}

/// Fills in package and core from x86's /proc/cpuinfo where sysfs has no topology.
fn cores_from_cpuinfo(cpuinfo: &CpuInfo, cpus: &mut [CpuFact], unplaced: &[usize]) {
    let places: BTreeMap<usize, (usize, usize)> = cpuinfo
        .processors()
        .iter()
        .filter_map(|stanza| {
            let place = (stanza_number(stanza, "physical id")?, stanza_number(stanza, "core id")?);
            Some((stanza_number(stanza, "processor")?, place))
        })
        .collect();
    let mut threads: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (id, place) in &places {
        threads.entry(*place).or_default().push(*id);
    }
    for index in unplaced {
        let cpu = &mut cpus[*index];
        if let Some(place) = places.get(&cpu.id) {
            (cpu.package, cpu.core) = (Some(place.0), Some(place.1));
            cpu.siblings = threads.get(place).cloned().unwrap_or_default();
        }
    }
}

/// Frequency and capacity; where the first online CPU has no such file, no other is asked.
fn read_speeds(root: &Root, cpus: &mut [CpuFact]) {
    let mut asks_hz = true;
    let mut asks_capacity = true;
    for cpu in cpus.iter_mut().filter(|cpu| cpu.online) {
        let dir = format!("{CPU_DIR}/cpu{}", cpu.id);
        if asks_hz {
            let file_hz = |name: &str| root.number::<f64>(&format!("{dir}/cpufreq/{name}")).map(|khz| khz * 1e3);
            cpu.max_hz = file_hz("cpuinfo_max_freq");
            cpu.limit_hz = file_hz("scaling_max_freq").filter(|limit| cpu.max_hz.is_some_and(|most| *limit < most));
            asks_hz = cpu.max_hz.is_some();
        }
        if asks_capacity {
            cpu.capacity = root.number(&format!("{dir}/cpu_capacity"));
            asks_capacity = cpu.capacity.is_some();
        }
    }
}

pub(crate) type Stanza = BTreeMap<String, String>;

/// The file; the whole of it is read only when someone asks (the kernel writes 1.5 KB for each x86 CPU).
pub(crate) struct CpuInfo<'a> {
    root: &'a Root,
    first: Stanza,
    all: OnceCell<Vec<Stanza>>,
}

impl<'a> CpuInfo<'a> {
    pub(crate) fn read(root: &'a Root) -> Self {
        let first = root.first_stanza("/proc/cpuinfo").map(|text| stanza(&text)).unwrap_or_default();
        CpuInfo { root, first, all: OnceCell::new() }
    }

    /// Returns the first processor's value of `key`.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.first.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The first processor's list of words (`flags`, `Features`).
    pub(crate) fn words(&self, key: &str) -> impl Iterator<Item = &str> {
        self.first(key).into_iter().flat_map(str::split_whitespace)
    }

    /// Every processor that the file lists.
    pub(crate) fn processors(&self) -> &[Stanza] {
        self.all.get_or_init(|| {
            let text = self.root.raw("/proc/cpuinfo").unwrap_or_default();
            text.split("\n\n").map(stanza).filter(|stanza| stanza.contains_key("processor")).collect()
        })
    }
}

fn stanza(text: &str) -> Stanza {
    let pair = |line: &str| line.split_once(':').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    text.lines().filter_map(pair).collect()
}

/// A number of a processor's lines.
fn stanza_number(stanza: &Stanza, key: &str) -> Option<usize> {
    stanza.get(key)?.parse().ok()
}

const NODE_DIR: &str = "/sys/devices/system/node";

/// Every online node by ascending id; empty when the kernel has no notion of nodes.
pub(crate) fn read_nodes(root: &Root) -> Vec<NodeFact> {
    let online = root.id_list(&format!("{NODE_DIR}/online")).unwrap_or_else(|| listed_nodes(root));
    online.into_iter().filter_map(|id| node(root, id)).collect()
}

fn listed_nodes(root: &Root) -> Vec<usize> {
    let mut ids: Vec<usize> =
        root.names(NODE_DIR).iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

fn node(root: &Root, id: usize) -> Option<NodeFact> {
    let dir = format!("{NODE_DIR}/node{id}");
    let cpus = root.id_list(&format!("{dir}/cpulist"));
    let meminfo = root.raw(&format!("{dir}/meminfo"));
    if cpus.is_none() && meminfo.is_none() {
        return None;
    }
    let distances = root.text(&format!("{dir}/distance")).unwrap_or_default();
    Some(NodeFact {
        id,
        cpus: cpus.unwrap_or_default(),
        memory_bytes: meminfo.as_deref().and_then(total_bytes).unwrap_or(0),
        distances: distances.split_whitespace().map_while(|distance| distance.parse().ok()).collect(),
        huge_pages: crate::memory::huge_pages(root, &format!("{dir}/hugepages")),
    })
}

/// Parses `Node 0 MemTotal:  24684096 kB`.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let mut words = meminfo.lines().find(|line| line.contains(" MemTotal:"))?.split_whitespace().skip(3);
    words.next()?.parse::<u64>().ok()?.checked_mul(1024)
}

pub(crate) fn assign_nodes(nodes: &[NodeFact], cpus: &mut [CpuFact]) {
    let of: HashMap<usize, usize> = nodes.iter().flat_map(|node| node.cpus.iter().map(|cpu| (*cpu, node.id))).collect();
    for cpu in cpus {
        cpu.node = of.get(&cpu.id).copied();
    }
}

/// Reads the caches by level, kind and first CPU; empty when nothing tells of any.
pub(crate) fn read_caches(root: &Root, cpuinfo: &CpuInfo, cpus: &[CpuFact]) -> Vec<CacheFact> {
    let mut caches = from_sysfs(root, cpus);
    if caches.iter().all(|cache| cache.size_bytes == 0) && root.is_this_machine() {
        let asked = from_cpuid(cpuinfo, cpus);
        if !asked.is_empty() {
            caches = asked;
        }
    }
    caches.sort_by(|a, b| order(a).cmp(&order(b)));
    caches
}

fn order(cache: &CacheFact) -> (u8, u8, Option<&usize>) {
    let kind = match cache.kind {
        CacheKind::Data => 0,
        CacheKind::Instruction => 1,
        CacheKind::Unified => 2,
    };
    (cache.level, kind, cache.shared_cpus.first())
}

/// A cache is read once, at its first CPU: the others that share it under the same index are passed over, so that the
/// work grows with the number of caches, not with CPUs × sharers.
fn from_sysfs(root: &Root, cpus: &[CpuFact]) -> Vec<CacheFact> {
    let mut caches = Vec::new();
    let mut seen: HashSet<(usize, usize)> = HashSet::new();
    for cpu in cpus.iter().filter(|cpu| cpu.online) {
        for index in 0.. {
            if seen.contains(&(index, cpu.id)) {
                continue;
            }
            let dir = format!("{CPU_DIR}/cpu{}/cache/index{index}", cpu.id);
            let Some(level) = root.number(&format!("{dir}/level")) else { break };
            let shared = root.id_list(&format!("{dir}/shared_cpu_list")).filter(|ids| holds(ids, cpu.id));
            let shared_cpus = shared.unwrap_or_else(|| vec![cpu.id]);
            seen.extend(shared_cpus.iter().map(|id| (index, *id)));
            if let Some(cache) = cache(root, &dir, level, shared_cpus) {
                caches.push(cache);
            }
        }
    }
    caches
}

fn cache(root: &Root, dir: &str, level: u8, shared_cpus: Vec<usize>) -> Option<CacheFact> {
    let kind = match root.text(&format!("{dir}/type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    Some(CacheFact {
        level,
        kind,
        // Firmware that describes no size (some Arm guests) still tells who shares the cache.
        size_bytes: root.text(&format!("{dir}/size")).and_then(|text| size_bytes(&text)).unwrap_or(0),
        line_bytes: root.number(&format!("{dir}/coherency_line_size")).filter(|line| *line > 0),
        ways: root.number(&format!("{dir}/ways_of_associativity")).filter(|ways| *ways > 0),
        shared_cpus,
    })
}

/// `1024K` in bytes; zero is no size.
fn size_bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|size| *size > 0)
}

/// Limit beyond the caches of any processor: a leaf that never ends is an emulator's.
#[cfg(target_arch = "x86_64")]
const MOST_CACHES: u32 = 16;

/// Intel and AMD describe caches alike, in different leaves (Intel SDM vol. 2, CPUID, leaf 4; AMD APM vol. 3, leaf 0x8000001D).
#[cfg(target_arch = "x86_64")]
fn from_cpuid(cpuinfo: &CpuInfo, cpus: &[CpuFact]) -> Vec<CacheFact> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let leaf = if cpuinfo.first("vendor_id") == Some("AuthenticAMD") { 0x8000_001D } else { 4 };
    if __cpuid(leaf & 0x8000_0000).eax < leaf {
        return Vec::new();
    }
    // A field of so many bits, which has one less than what it counts.
    let counted = |word: u32, shift: u32, bits: u32| (word >> shift & ((1 << bits) - 1)) + 1;
    let online: Vec<usize> = cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let apic_ids = apic_ids(cpuinfo, &online);
    let mut caches = Vec::new();
    for cache in (0..MOST_CACHES).map(|index| __cpuid_count(leaf, index)) {
        let kind = match cache.eax & 0x1f {
            1 => CacheKind::Data,
            2 => CacheKind::Instruction,
            3 => CacheKind::Unified,
            _ => break,
        };
        let (line, partitions, ways) =
            (counted(cache.ebx, 0, 12), counted(cache.ebx, 12, 10), counted(cache.ebx, 22, 10));
        let sets = u64::from(cache.ecx) + 1;
        for shared_cpus in sharers(&apic_ids, counted(cache.eax, 14, 12) as usize) {
            caches.push(CacheFact {
                level: (cache.eax >> 5 & 7) as u8,
                kind,
                size_bytes: sets.saturating_mul(u64::from(partitions) * u64::from(ways) * u64::from(line)),
                line_bytes: Some(line.into()),
                ways: Some(ways),
                shared_cpus,
            });
        }
    }
    caches
}

#[cfg(not(target_arch = "x86_64"))]
fn from_cpuid(_: &CpuInfo, _: &[CpuFact]) -> Vec<CacheFact> {
    Vec::new()
}

/// (CPU, APIC id) of every online CPU; one CPU alone shares with nobody, whatever its APIC id.
#[cfg(target_arch = "x86_64")]
fn apic_ids(cpuinfo: &CpuInfo, online: &[usize]) -> Vec<(usize, usize)> {
    if let [only] = online {
        return vec![(*only, 0)];
    }
    let from_files = |stanza| {
        Some((crate::cpus::stanza_number(stanza, "processor")?, crate::cpus::stanza_number(stanza, "apicid")?))
    };
    cpuinfo.processors().iter().filter_map(from_files).filter(|(id, _)| holds(online, *id)).collect()
}

/// CPUs share a cache when their APIC ids agree above the bits that number its sharers (the manuals' rule for leaf 4, 0x8000001D).
#[cfg(any(target_arch = "x86_64", test))]
fn sharers(apic_ids: &[(usize, usize)], most: usize) -> Vec<Vec<usize>> {
    let shift = most.max(1).next_power_of_two().trailing_zeros();
    let mut groups: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
    for (cpu, apic) in apic_ids {
        groups.entry(apic >> shift).or_default().push(*cpu);
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_carry_their_unit() {
        assert_eq!(size_bytes("32K"), Some(32 << 10));
        assert_eq!(size_bytes("2M"), Some(2 << 20));
        assert_eq!(size_bytes("512"), Some(512));
        assert_eq!(size_bytes("0K"), None);
        assert_eq!(size_bytes("K"), None);
        assert_eq!(size_bytes(""), None);
        assert_eq!(size_bytes("é"), None);
    }

    #[test]
    fn apic_ids_report_who_shares_a_cache() {
        let ids = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 8), (5, 9)];
        assert_eq!(sharers(&ids, 1).len(), 6);
        assert_eq!(sharers(&ids, 2), [vec![0, 1], vec![2, 3], vec![4, 5]]);
        // Six sharers need three bits.
        assert_eq!(sharers(&ids, 6), [vec![0, 1, 2, 3], vec![4, 5]]);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn cpuid_and_sysfs_agree_where_both_report() {
        let root = Root::here();
        let cpuinfo = CpuInfo::read(&root);
        let cpus = crate::cpus::read_cpus(&root, &cpuinfo);
        let (from_files, asked) = (from_sysfs(&root, &cpus), from_cpuid(&cpuinfo, &cpus));
        for cache in &asked {
            assert!(cache.size_bytes > 0 && cache.level > 0, "{cache:?}");
        }
        for level in 1..=2 {
            let size = |caches: &[CacheFact]| {
                caches.iter().find(|c| c.level == level && c.kind != CacheKind::Instruction).map(|c| c.size_bytes)
            };
            if let (Some(from_files), Some(asked)) = (size(&from_files), size(&asked)) {
                assert_eq!(from_files, asked, "level {level}");
            }
        }
    }
}
