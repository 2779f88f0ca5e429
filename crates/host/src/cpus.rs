//! The logical CPUs and the memory nodes: which there are and may be used, and which share a core; /proc/cpuinfo.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use hostmark_model::{CpuFact, NodeFact};

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
pub(crate) fn stanza_number(stanza: &Stanza, key: &str) -> Option<usize> {
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

/// Tells every CPU its node.
pub(crate) fn assign_nodes(nodes: &[NodeFact], cpus: &mut [CpuFact]) {
    let of: HashMap<usize, usize> = nodes.iter().flat_map(|node| node.cpus.iter().map(|cpu| (*cpu, node.id))).collect();
    for cpu in cpus {
        cpu.node = of.get(&cpu.id).copied();
    }
}
