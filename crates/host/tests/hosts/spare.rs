//! What can be spared of memory at a moment: by the machine, the control groups of both versions, and a node.

use hostmark_host::{Holder, Spare, SpareMemory};

use crate::tree::Tree;

const MIB: u64 = 1 << 20;

fn spare(tree: &Tree, node: Option<usize>) -> (u64, Holder) {
    let Spare { bytes, holder } = SpareMemory::new(tree.root()).now(node).unwrap();
    (bytes, holder)
}

fn machine() -> Tree {
    let tree = Tree::new();
    tree.meminfo(4 << 20, 2 << 20);
    tree
}

#[test]
fn without_limits_it_is_what_the_machine_has_available() {
    assert_eq!(spare(&machine(), None), (2048 * MIB, Holder::Machine));
}

#[test]
fn without_proc_nobody_knows() {
    assert_eq!(SpareMemory::new(Tree::new().root()).now(None), None);
}

#[test]
fn a_node_with_little_free_memory_spares_little_though_the_machine_has_much() {
    let tree = machine();
    let node = "/sys/devices/system/node/node1/meminfo";
    tree.file(node, "Node 1 MemTotal: 1048576 kB\nNode 1 MemFree: 44032 kB\n");
    // 43 MiB, of which a 64th of the node is taken for the kernel's reserve where it tells none.
    assert_eq!(spare(&tree, Some(1)), (27 * MIB, Holder::Node(1)));
    assert_eq!(spare(&tree, None), (2048 * MIB, Holder::Machine));
    tree.file("/proc/zoneinfo", "Node 1, zone   Normal\n  pages free 1\n        high     3328\n");
    assert_eq!(spare(&tree, Some(1)), (30 * MIB, Holder::Node(1)));
    tree.file(
        node,
        "Node 1 MemFree: 44032 kB\nNode 1 Inactive(file): 30720 kB\nNode 1 Dirty: 8192 kB\nNode 1 Writeback: 2048 kB\n",
    );
    assert_eq!(spare(&tree, Some(1)).0, 40 * MIB, "half of the cache that needs no writing");
    assert_eq!(SpareMemory::new(tree.root()).now(Some(7)), None, "a node that is not there");
}

#[test]
fn every_group_on_the_way_up_is_asked_at_each_look() {
    let tree = machine();
    let group = "/sys/fs/cgroup/a";
    tree.file("/proc/self/cgroup", "0::/a/b\n")
        .file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n")
        .file("/sys/fs/cgroup/a/b/memory.max", "max\n")
        .file(&format!("{group}/memory.max"), format!("{}\n", 256 * MIB))
        .file(&format!("{group}/memory.current"), format!("{}\n", 100 * MIB));
    let memory = SpareMemory::new(tree.root());
    let now = || memory.now(None).map(|spare| (spare.bytes, spare.holder)).unwrap();
    let holder = Holder::Group(group.into());
    assert_eq!(now(), (156 * MIB, holder.clone()));
    let stat = format!("anon 1\ninactive_file {}\nfile_dirty {}\nfile_writeback {MIB}\n", 50 * MIB, 9 * MIB);
    tree.file(&format!("{group}/memory.stat"), stat);
    assert_eq!(now(), (196 * MIB, holder.clone()), "cache gives way, but for what has to be written first");
    tree.file(&format!("{group}/memory.high"), format!("{}\n", 128 * MIB));
    assert_eq!(now(), (68 * MIB, holder));
}

#[test]
fn version_1_reports_ancestors_that_a_container_does_not_see() {
    let tree = machine();
    let group = "/sys/fs/cgroup/memory";
    tree.file("/proc/self/cgroup", "3:memory:/docker/ab\n")
        .file("/proc/self/mountinfo", "32 31 0:29 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
        .file(&format!("{group}/memory.limit_in_bytes"), "9223372036854771712\n")
        .file(&format!("{group}/memory.usage_in_bytes"), format!("{}\n", 28 * MIB))
        .file(&format!("{group}/memory.stat"), "cache 1\nhierarchical_memory_limit 134217728\ntotal_inactive_file 0\n");
    assert_eq!(spare(&tree, None), (100 * MIB, Holder::Group(group.into())));
}
