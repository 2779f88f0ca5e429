//! What a process may use by its control groups and its user, and the memory that nobody needs, as made-up machines tell it.

use hostmark_host::{Holder, Spare, SpareMemory};
use hostmark_model::Sight;

use crate::machines;
use crate::machines::Tree;

#[test]
fn a_hybrid_system_without_limits_has_none() {
    let limits = machines::small_guest().facts().limits;
    assert_eq!((limits.cgroup_version, limits.cpu_quota), (Some(1), None));
    assert_eq!((limits.memory_limit_bytes, limits.memory_used_bytes), (None, None));
    assert_eq!(limits.is_root, Some(true));
}

#[test]
fn a_container_of_half_a_cpu_and_256_mib_is_seen_as_such() {
    let host = machines::small_container().facts();
    let limits = &host.limits;
    assert_eq!((limits.cgroup_version, limits.cpu_quota), (Some(2), Some(0.5)));
    assert_eq!(limits.memory_limit_bytes, Some(256 << 20));
    assert_eq!(limits.memory_used_bytes, Some(40_000_000), "inactive page cache gives way");
    assert_eq!(host.fillable_bytes(), (256 << 20) - 40_000_000);
    assert_eq!(host.virtualization.container.as_deref(), Some("docker"));
}

#[test]
fn the_tightest_group_on_the_way_up_wins() {
    let tree = Tree::new();
    tree.file("/proc/self/cgroup", "0::/user.slice/app.scope\n")
        .file("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n")
        .file("/sys/fs/cgroup/cgroup.procs", "1\n")
        .file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")
        .file("/sys/fs/cgroup/user.slice/memory.max", "4000000000\n")
        .file("/sys/fs/cgroup/user.slice/memory.current", "3950000000\n")
        .file("/sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000\n")
        .file("/sys/fs/cgroup/user.slice/app.scope/memory.max", "1000000000\n")
        .file("/sys/fs/cgroup/user.slice/app.scope/memory.current", "100000000\n");
    let limits = tree.facts().limits;
    assert_eq!((limits.cgroup_version, limits.cpu_quota), (Some(2), Some(1.5)));
    assert_eq!(sights(&tree), [Sight::Whole; 2]);
    // The larger group has less room left.
    assert_eq!((limits.memory_limit_bytes, limits.memory_used_bytes), (Some(4_000_000_000), Some(3_950_000_000)));
    tree.file("/sys/fs/cgroup/user.slice/memory.current", "200000000\n");
    assert_eq!(tree.facts().limits.memory_limit_bytes, Some(1_000_000_000));
    tree.file("/sys/fs/cgroup/user.slice/app.scope/memory.high", "700000000\n");
    assert_eq!(tree.facts().limits.memory_limit_bytes, Some(700_000_000));
}

#[test]
fn version_1_limits_are_read_from_each_controllers_mount() {
    let tree = machines::small_guest();
    let group = "/sys/fs/cgroup/memory/process_api";
    tree.file(&format!("{group}/memory.limit_in_bytes"), "1073741824\n")
        .file(&format!("{group}/memory.usage_in_bytes"), "500000000\n")
        .file(&format!("{group}/memory.stat"), "inactive_file 7\ntotal_inactive_file 200000000\n")
        .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000\n");
    let limits = tree.facts().limits;
    assert_eq!((limits.cgroup_version, limits.cpu_quota), (Some(1), Some(0.25)));
    assert_eq!((limits.memory_limit_bytes, limits.memory_used_bytes), (Some(1 << 30), Some(300_000_000)));
}

#[test]
fn a_version_1_container_sees_its_own_group_at_the_mount_point() {
    let tree = Tree::new();
    tree.file("/proc/self/cgroup", "4:memory:/docker/ab12\n3:cpu,cpuacct:/docker/ab12\n")
        .file(
            "/proc/self/mountinfo",
            "50 49 0:30 /docker/ab12 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
             51 49 0:31 /docker/ab12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
        )
        .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n")
        .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    let host = tree.facts();
    assert_eq!(host.limits.cpu_quota, Some(2.0));
    assert_eq!((host.limits.memory_limit_bytes, host.limits.memory_used_bytes), (Some(512 << 20), None));
    assert_eq!(host.virtualization.container.as_deref(), Some("docker"));
}

#[test]
fn without_root_rights_one_is_not_root() {
    assert_eq!(machines::one_cpu().facts().limits.is_root, Some(false));
    assert_eq!(Tree::new().facts().limits.is_root, None);
    assert_eq!(machines::one_cpu().facts().limits.cgroup_version, None);
}

#[test]
fn what_nobody_can_look_for_is_unknown_and_not_absent() {
    // Marker files prove nothing where /proc does not tell whose namespaces these are.
    let marked = Tree::new();
    marked.file("/.dockerenv", "");
    let without_proc = machines::two_sockets();
    without_proc.file("/.dockerenv", "").remove("/proc");
    for tree in [Tree::new(), marked, without_proc] {
        let host = tree.facts();
        assert_eq!((host.virtualization.container.as_deref(), host.virtualization.container_unknown), (None, true));
        let limits = host.limits.clone();
        assert!(limits.unknown && limits.is_root.is_none() && limits.cpu_quota.is_none(), "{limits:?}");
        let report = hostmark_analysis::findings::host::host_report(host, hostmark_model::Disturbed::default());
        assert!(report.is_disturbed(), "{:?}", report.findings);
        for (lang, claims, says) in [
            (hostmark_model::Lang::En, ["no container", "no CPU quota", "no memory limit", "not root"], "unknown"),
            (hostmark_model::Lang::Zh, ["非容器", "无 CPU 配额", "无内存限额", "非 root"], "未知"),
        ] {
            let options = hostmark_present::RenderOptions { lang, ..Default::default() };
            let page = hostmark_present::render::host::host(&report, &options);
            assert!(!claims.iter().any(|claim| page.contains(claim)), "{page}");
            assert!(page.matches(says).count() > 4, "{page}");
        }
    }
    // Where /proc tells, absent is absent.
    let host = machines::small_container().facts();
    assert!(!host.virtualization.container_unknown && !host.limits.unknown && host.limits.is_root.is_some());
}

/// How much of the CPU's and the memory's limits is seen.
fn sights(tree: &Tree) -> [Sight; 2] {
    use hostmark_model::Resource::{Cpu, Memory};
    let limits = tree.facts().limits;
    [Cpu, Memory].map(|resource| limits.sight(resource))
}

/// A group of version 2 at `own`, mounted as `mounted`.
fn second(own: &str, mounted: &str) -> Tree {
    let tree = Tree::new();
    let mounts = format!("30 24 0:26 {mounted} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.status("0", 0).file("/proc/self/cgroup", format!("0::{own}\n")).file("/proc/self/mountinfo", mounts);
    tree
}

#[test]
fn a_group_whose_directory_is_not_there_has_unknown_limits() {
    // Nothing is mounted, or something else is over it.
    let not_mounted = second("/a", "/");
    not_mounted.file("/proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    let hidden = second("/a", "/");
    // Mounted from a group that this process is not below, or from outside of its namespace.
    let elsewhere = second("/a", "/b");
    let outside = second("/../a", "/");
    for tree in [&elsewhere, &outside] {
        tree.file("/sys/fs/cgroup/cpu.max", "max 100000\n").file("/sys/fs/cgroup/memory.max", "max\n");
    }
    // Known by nothing but its mount.
    let unnamed = second("/a", "/");
    unnamed.remove("/proc/self/cgroup").file("/sys/fs/cgroup/cgroup.procs", "1\n");
    let unreadable = second("/a", "/");
    for group in ["", "/a"] {
        unreadable.file(&format!("/sys/fs/cgroup{group}/cgroup.procs"), "1\n");
    }
    unreadable.file("/sys/fs/cgroup/a/cpu.max", "").file("/sys/fs/cgroup/a/memory.max", "");
    for (index, tree) in [not_mounted, hidden, elsewhere, outside, unnamed, unreadable].iter().enumerate() {
        assert_eq!(sights(tree), [Sight::Nothing; 2], "{index}");
        let limits = tree.facts().limits;
        assert!(limits.unknown && limits.cpu_quota.is_none() && limits.memory_limit_bytes.is_none(), "{index}");
        let named = limits.unseen_groups();
        assert_eq!(named.len(), usize::from(index != 4), "{index} {named:?}");
    }
}

#[test]
fn of_version_1_each_controller_is_looked_for_by_itself() {
    let tree = Tree::new();
    tree.status("0", 0)
        .file("/proc/self/cgroup", "2:memory:/m\n1:cpu,cpuacct:/c\n0::/\n")
        .file("/proc/self/mountinfo", "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    for group in ["", "/c"] {
        tree.file(&format!("/cg/cpu{group}/cpu.cfs_quota_us"), "-1\n");
    }
    assert_eq!(sights(&tree), [Sight::Whole, Sight::Nothing]);
    let limits = tree.facts().limits;
    assert_eq!((limits.unknown, limits.unseen_groups()), (false, vec!["/m"]));
    // The machine's first group has no limits, also where it is not mounted; another namespace's may.
    tree.file("/proc/self/cgroup", "2:memory:/\n1:cpu,cpuacct:/\n");
    assert_eq!(sights(&tree), [Sight::Whole; 2]);
    tree.link("/proc/self/ns/cgroup", "cgroup:[4026532999]");
    assert_eq!(sights(&tree), [Sight::NotAbove, Sight::Nothing]);
}

#[test]
fn groups_above_a_containers_own_are_hidden_unless_the_kernel_reports_their_limit() {
    let container = second("/", "/");
    container.link("/proc/self/ns/cgroup", "cgroup:[4026532999]").file("/sys/fs/cgroup/cgroup.procs", "1\n");
    container.file("/sys/fs/cgroup/cgroup.type", "domain\n");
    assert_eq!(sights(&container), [Sight::NotAbove; 2]);
    // The machine's first group has no type.
    container.remove("/sys/fs/cgroup/cgroup.type");
    assert_eq!(sights(&container), [Sight::Whole; 2]);
    let older = Tree::new();
    older
        .status("0", 0)
        .file("/proc/self/cgroup", "4:memory:/docker/ab\n3:cpu:/docker/ab\n")
        .file(
            "/proc/self/mountinfo",
            "50 49 0:30 /docker/ab /cg/cpu ro - cgroup cgroup rw,cpu\n51 49 0:31 /docker/ab /cg/memory ro - cgroup cgroup rw,memory\n",
        )
        .file("/cg/cpu/cpu.cfs_quota_us", "-1\n")
        .file("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_eq!(sights(&older), [Sight::NotAbove; 2]);
    older.file("/cg/memory/memory.stat", "cache 0\nhierarchical_memory_limit 9223372036854771712\n");
    assert_eq!(sights(&older), [Sight::NotAbove, Sight::Whole]);
}

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
