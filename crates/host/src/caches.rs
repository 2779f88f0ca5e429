//! Every cache instance once: from sysfs, and on x86 from CPUID where sysfs is silent (some guests and sandboxes).

use std::collections::HashSet;

use hostmark_model::{CacheFact, CacheKind, CpuFact};

use crate::cpus::CpuInfo;
use crate::root::{Root, holds};

const CPU_DIR: &str = "/sys/devices/system/cpu";

/// Reads the caches by level, kind and first CPU; empty when nothing tells of any.
pub(crate) fn read(root: &Root, cpuinfo: &CpuInfo, cpus: &[CpuFact]) -> Vec<CacheFact> {
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

/// CPUs share a cache when their APIC ids agree above the bits that number its at most `most` sharers (the processor
/// manuals' rule for leaf 4 and 0x8000001D).
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
