//! The memory nodes, those without CPUs and those without memory included.

use std::collections::HashMap;

use hostmark_model::{CpuFact, NodeFact};

use crate::root::Root;

const NODE_DIR: &str = "/sys/devices/system/node";

/// Every online node by ascending id; empty when the kernel has no notion of nodes.
pub(crate) fn read(root: &Root) -> Vec<NodeFact> {
    let online = root.id_list(&format!("{NODE_DIR}/online")).unwrap_or_else(|| listed(root));
    online.into_iter().filter_map(|id| node(root, id)).collect()
}

fn listed(root: &Root) -> Vec<usize> {
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

/// From `Node 0 MemTotal:  24684096 kB`.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let mut words = meminfo.lines().find(|line| line.contains(" MemTotal:"))?.split_whitespace().skip(3);
    words.next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Tells every CPU its node.
pub(crate) fn assign(nodes: &[NodeFact], cpus: &mut [CpuFact]) {
    let of: HashMap<usize, usize> = nodes.iter().flat_map(|node| node.cpus.iter().map(|cpu| (*cpu, node.id))).collect();
    for cpu in cpus {
        cpu.node = of.get(&cpu.id).copied();
    }
}
