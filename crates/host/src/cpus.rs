//! The logical CPUs: which are present, online and allowed, and which share a core.

use std::collections::BTreeMap;

use hostmark_model::CpuFact;

use crate::cpu_list::holds;
use crate::cpuinfo::{self, CpuInfo};
use crate::root::{Root, field};

const CPU_DIR: &str = "/sys/devices/system/cpu";

/// Every present CPU by ascending id; empty when nothing tells of any.
pub(crate) fn read(root: &Root, cpuinfo: &CpuInfo) -> Vec<CpuFact> {
    let online = online(root, cpuinfo);
    let present = root.id_list(&format!("{CPU_DIR}/present"));
    let allowed = allowed(root);
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
    crate::parse_cpu_list(field(&root.raw("/proc/self/status")?, "Cpus_allowed_list")?)
}

/// sysfs knows best; sandboxes without it still list processors in /proc.
fn online(root: &Root, cpuinfo: &CpuInfo) -> Vec<usize> {
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
        ids = cpuinfo.processors().iter().filter_map(|stanza| cpuinfo::number(stanza, "processor")).collect();
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

/// Where sysfs has no topology, x86's /proc/cpuinfo still names package and core.
fn cores_from_cpuinfo(cpuinfo: &CpuInfo, cpus: &mut [CpuFact], unplaced: &[usize]) {
    let places: BTreeMap<usize, (usize, usize)> = cpuinfo
        .processors()
        .iter()
        .filter_map(|stanza| {
            let place = (cpuinfo::number(stanza, "physical id")?, cpuinfo::number(stanza, "core id")?);
            Some((cpuinfo::number(stanza, "processor")?, place))
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
            cpu.max_hz = root.number::<f64>(&format!("{dir}/cpufreq/cpuinfo_max_freq")).map(|khz| khz * 1e3);
            asks_hz = cpu.max_hz.is_some();
        }
        if asks_capacity {
            cpu.capacity = root.number(&format!("{dir}/cpu_capacity"));
            asks_capacity = cpu.capacity.is_some();
        }
    }
}
