//! Memory that can be spared at this moment: by the machine, by the control groups of this process, by a node.

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;

use crate::cgroups::{Groups, Version};
use crate::limits;
use crate::root::Root;

/// Of a node whose watermarks the kernel does not tell, this share of all its memory is taken to be reserved.
const USUAL_RESERVE: u64 = 64;

/// Who can spare the least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The whole machine.
    Machine,
    /// The control group of this directory.
    Group(String),
    /// The memory node of this id.
    Node(usize),
}

impl From<&Holder> for Message {
    fn from(holder: &Holder) -> Message {
        match holder {
            Holder::Machine => say!("the machine"),
            Holder::Group(directory) => say!("the control group {directory}"),
            Holder::Node(id) => Message::plain(format_args!("node {id}")),
        }
    }
}

displays_its_message!(Holder);

/// What can be spared, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spare {
    pub bytes: u64,
    /// Who can spare no more.
    pub holder: Holder,
}

/// Looks at what can be spared, again and again.
#[derive(Debug, Clone)]
pub struct SpareMemory {
    root: Root,
    /// The directories of the control groups that can limit this process, all ancestors among them.
    groups: Vec<(Version, String)>,
}

impl SpareMemory {
    /// Finds the control groups; what they hold is read at each look.
    pub fn new(root: Root) -> SpareMemory {
        let groups = Groups::read(&root).chain("memory").collect();
        SpareMemory { root, groups }
    }

    /// What can be spared now without swapping and without taking it from others: by the machine and by every control
    /// group, and by `node` where memory is bound to one. None where the kernel does not tell what the machine or
    /// the node has.
    pub fn now(&self, node: Option<usize>) -> Option<Spare> {
        let meminfo = self.root.raw("/proc/meminfo").unwrap_or_default();
        let bytes = crate::memory::available_bytes(&self.root, &meminfo)?;
        let machine = Spare { bytes, holder: Holder::Machine };
        let of_group = |(version, directory): &(Version, String)| {
            let room = limits::memory_limit(&self.root, *version, directory)?.room_bytes();
            Some(Spare { bytes: room, holder: Holder::Group(directory.clone()) })
        };
        let of_node = match node {
            Some(id) => Some(Spare { bytes: self.of_node(id)?, holder: Holder::Node(id) }),
            None => None,
        };
        let all = std::iter::once(machine).chain(self.groups.iter().filter_map(of_group)).chain(of_node);
        all.min_by_key(|spare| spare.bytes)
    }

    /// What is free on a node beyond the kernel's reserve, and half of the page cache there that gives way at once.
    fn of_node(&self, id: usize) -> Option<u64> {
        let meminfo = self.root.raw(&format!("/sys/devices/system/node/node{id}/meminfo"))?;
        let bytes = |key: &str| -> Option<u64> {
            let line = meminfo.lines().find_map(|line| line.split_once(&format!(" {key}:")))?.1;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        let reserve = match self.root.raw("/proc/zoneinfo").and_then(|zones| reserved_pages(&zones, id)) {
            Some(pages) => pages.saturating_mul(crate::memory::page_bytes(&self.root)),
            None => bytes("MemTotal").unwrap_or(0) / USUAL_RESERVE,
        };
        let busy = bytes("Dirty").unwrap_or(0).saturating_add(bytes("Writeback").unwrap_or(0));
        let cache = bytes("Inactive(file)").unwrap_or(0).saturating_sub(busy);
        Some(bytes("MemFree")?.saturating_sub(reserve).saturating_add(cache / 2))
    }
}

/// Pages that the kernel keeps back on a node: of each zone the high watermark and what is protected from allocations
/// that could go to a higher zone. None where /proc/zoneinfo does not know the node.
fn reserved_pages(zoneinfo: &str, node: usize) -> Option<u64> {
    let (mut inside, mut pages) = (false, None);
    for line in zoneinfo.lines() {
        if let Some(zone) = line.strip_prefix("Node ") {
            inside = zone.split(',').next().and_then(|id| id.trim().parse().ok()) == Some(node);
        } else if line.trim() == "pagesets" {
            // The lists of each CPU follow; they have a `high` of their own.
            inside = false;
        } else if inside {
            let mut words = line.split([' ', ',', ':', '(', ')']).filter(|word| !word.is_empty());
            let more: Option<u64> = match words.next() {
                Some("high") => words.next().and_then(|word| word.parse().ok()),
                Some("protection") => words.filter_map(|word| word.parse().ok()).max(),
                _ => None,
            };
            pages = more.map(|more| pages.unwrap_or(0) + more).or(pages);
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONES: &str = "Node 0, zone    DMA32\n  pages free     700\n        boost    0\n        min      10\n        low      20\n        \
                         high     30\n        spanned  9\n        protection: (0, 0, 500, 500)\nNode 1, zone   Normal\n  pages free 9\n        \
                         high     7\n        protection: (0, 0, 0, 0)\n  pagesets\n    cpu: 0\n              count: 3\n              high:  2\n";

    #[test]
    fn a_nodes_reserve_is_its_watermarks_and_what_is_protected() {
        assert_eq!(reserved_pages(ZONES, 0), Some(530));
        assert_eq!(reserved_pages(ZONES, 1), Some(7));
        assert_eq!(reserved_pages(ZONES, 2), None);
        assert_eq!(reserved_pages("", 0), None);
    }
}
