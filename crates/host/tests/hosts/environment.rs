//! Hypervisors and containers, and what a process may use by its control groups and its user.

use hostmark_host::{Holder, Spare, SpareMemory};
use hostmark_model::Sight;

use crate::machines::{self, Tree};

fn hypervisor(build: impl FnOnce(&Tree)) -> Option<String> {
    let tree = Tree::new();
    build(&tree);
    tree.facts().virtualization.hypervisor
}

fn hypervisor_of_file(path: &str, content: &str) -> Option<String> {
    Tree::new().file(path, content).facts().virtualization.hypervisor
}

fn container_of_file(path: &str, content: &str) -> Option<String> {
    // Namespaces of its own, of which /proc tells.
    Tree::new().link("/proc/self/ns/pid", "pid:[4026532001]").file(path, content).facts().virtualization.container
}

fn x86(tree: &Tree, flags: &str) {
    tree.file("/proc/cpuinfo", format!("processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: {flags}\n\n"));
}

fn dmi(tree: &Tree, vendor: &str, product: &str) {
    tree.file("/sys/class/dmi/id/sys_vendor", vendor).file("/sys/class/dmi/id/product_name", product);
}

#[test]
fn a_bare_machine_has_no_hypervisor() {
    assert_eq!(machines::two_sockets().facts().virtualization.hypervisor, None);
    assert_eq!(hypervisor(|_| ()), None);
}

#[test]
fn a_virtual_processor_without_a_name_is_unknown() {
    assert_eq!(machines::small_guest().facts().virtualization.hypervisor.as_deref(), Some("unknown"));
}

#[test]
fn firmware_names_the_hypervisor() {
    for (vendor, product, name) in [
        ("QEMU\n", "Standard PC (Q35 + ICH9, 2009)\n", "qemu"),
        ("VMware, Inc.\n", "VMware7,1\n", "vmware"),
        ("Microsoft Corporation\n", "Virtual Machine\n", "microsoft"),
        ("innotek GmbH\n", "VirtualBox\n", "virtualbox"),
        ("Amazon EC2\n", "m5.large\n", "kvm"),
        ("Google\n", "Google Compute Engine\n", "kvm"),
        ("Xen\n", "HVM domU\n", "xen"),
    ] {
        let found = hypervisor(|tree| {
            x86(tree, "fpu hypervisor");
            dmi(tree, vendor, product);
        });
        assert_eq!(found.as_deref(), Some(name), "{vendor}");
    }
}

#[test]
fn a_clouds_bare_machines_are_bare() {
    for (vendor, product) in [("Amazon EC2", "m5.metal"), ("Google", "Google Compute Engine")] {
        let found = hypervisor(|tree| {
            x86(tree, "fpu");
            dmi(tree, vendor, product);
        });
        assert_eq!(found, None, "{vendor}: the processor would say so");
    }
    assert_eq!(hypervisor(|tree| dmi(tree, "Amazon EC2", "m6g.metal")), None, "no flag on Arm");
    assert_eq!(hypervisor(|tree| dmi(tree, "Microsoft Corporation", "Surface Pro")), None);
}

#[test]
fn xen_says_so_itself_and_arm_in_the_device_tree() {
    let base = "/sys/firmware/devicetree/base";
    for (path, content, name) in [
        ("/sys/hypervisor/type".to_owned(), "xen\n", "xen"),
        (format!("{base}/hypervisor/compatible"), "linux,kvm\0", "kvm"),
        (format!("{base}/fw-cfg@9020000/reg"), "", "qemu"),
        (format!("{base}/compatible"), "linux,dummy-virt\0", "unknown"),
    ] {
        assert_eq!(hypervisor_of_file(&path, content).as_deref(), Some(name), "{path}");
    }
    assert_eq!(hypervisor_of_file(&format!("{base}/compatible"), "raspberrypi,5-model-b\0"), None);
}

#[test]
fn containers_are_recognized_by_marker_environment_and_group() {
    for (path, content, name) in [
        ("/.dockerenv", "", "docker"),
        ("/run/.containerenv", "engine=\"podman-5.2\"\n", "podman"),
        ("/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("/proc/1/environ", "PATH=/bin\0container=lxc\0TERM=linux\0", "lxc"),
        ("/run/secrets/kubernetes.io/serviceaccount/token", "", "kubernetes"),
        ("/proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-ab.scope\n", "kubernetes"),
        ("/proc/self/cgroup", "0::/system.slice/docker-0123.scope\n", "docker"),
        ("/proc/self/cgroup", "4:memory:/machine.slice/libpod-77.scope/x\n", "podman"),
        ("/proc/1/cgroup", "2:cpu:/lxc/web\n", "lxc"),
        ("/proc/sys/kernel/osrelease", "6.6.87-microsoft-standard-WSL2\n", "wsl"),
    ] {
        assert_eq!(container_of_file(path, content).as_deref(), Some(name), "{path} {content}");
    }
}

#[test]
fn a_container_managers_own_service_is_no_container() {
    for path in ["/system.slice/docker.service", "/lxc.monitor.web", "/user.slice/dockerfans", "/"] {
        let found = container_of_file("/proc/self/cgroup", &format!("0::{path}\n"));
        assert_eq!(found, None, "{path}");
    }
}

#[test]
fn a_machine_booted_from_a_container_image_is_no_container() {
    let tree = machines::small_guest();
    assert_eq!(tree.facts().virtualization.container, None);
    tree.remove("/proc/self/ns/uts").link("/proc/self/ns/uts", "uts:[4026532777]");
    assert_eq!(tree.facts().virtualization.container.as_deref(), Some("docker"));
}

#[test]
fn how_the_kernel_treats_this_process_is_read() {
    let tree = Tree::new();
    let fields = |nice: &str, priority: &str, policy: &str| {
        // The fields behind the name, from the third on.
        let mut all = vec!["0"; 50];
        (all[16], all[37], all[38]) = (nice, priority, policy);
        format!("42 (a b) c) {}\n", all.join(" "))
    };
    let yields = |tree: &Tree| hostmark_analysis::findings::host::yields(&tree.facts()).is_some();
    assert!(tree.facts().process.is_unknown() && !yields(&tree));
    tree.file("/proc/self/status", "Name:\thostmark\nTracerPid:\t7\nNoNewPrivs:\t1\nSeccomp:\t0\n")
        .file(
            "/proc/self/sched",
            "hostmark (42, #threads: 1)\nuclamp.min :          0\nuclamp.max                  :        512\n",
        )
        .file(
            "/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max cpu time              unlimited            unlimited            seconds   \n\
             Max open files            1024                 1048576              files     \n",
        )
        .file("/proc/self/stat", fields("0", "0", "5"));
    let process = tree.facts().process;
    assert_eq!((process.policy.as_deref(), process.nice, process.priority), (Some("SCHED_IDLE"), Some(0), Some(0)));
    assert_eq!((process.uclamp_min, process.uclamp_max), (Some(0), Some(512)));
    assert_eq!((process.traced, process.no_new_privs), (Some(true), Some(true)));
    let limits: Vec<(&str, &str)> = process.resource_limits.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(limits, [("cpu_time_s", "unlimited"), ("open_files", "1024")]);
    assert!(yields(&tree));
    for (nice, policy, wanted) in [("5", "0", true), ("-5", "0", false), ("0", "3", false), ("0", "99", false)] {
        tree.file("/proc/self/stat", fields(nice, "0", policy));
        assert_eq!(yields(&tree), wanted, "{nice} {policy}");
    }
}

#[test]
fn what_shapes_a_run_is_read_of_the_environment_the_groups_and_the_kernel() {
    let tree = Tree::new();
    let variables = "HOME=/root\0LD_PRELOAD=/home/me/libx.so /y.so\0MALLOC_ARENA_MAX=1\0MALLOCX=1\0";
    let own = "9:pids,memory,cpu:/a/b\n";
    let mount = "30 24 0:26 / /g rw - cgroup cgroup rw,pids,memory,cpu\n";
    tree.file("/proc/self/environ", variables).file("/proc/self/cgroup", own).file("/proc/self/mountinfo", mount);
    for (file, text) in [
        ("a/b/pids.max", "max"),
        ("a/pids.max", "100"),
        ("a/b/memory.swappiness", "60"),
        ("a/memory.swappiness", "10"),
        ("a/b/memory.soft_limit_in_bytes", "9223372036854710272"),
        ("a/b/cpu.cfs_burst_us", "5000"),
    ] {
        tree.file(&format!("/g/{file}"), text);
    }
    tree.file("/proc/sys/vm/dirty_ratio", "20\n").file("/sys/class/net/lo/queues/rx-0/rps_cpus", "00000000,00000003\n");
    let host = tree.facts();
    assert_eq!(host.process.attributes["environment"], "LD_PRELOAD=libx.so y.so; MALLOC_ARENA_MAX=1");
    let groups = &host.limits.group_settings;
    let of = ["pids.max", "memory.swappiness", "memory.high", "cpu.burst"].map(|kind| groups[kind].as_str());
    assert_eq!(of, ["pids.max 100", "default", "default", "cpu.cfs_burst_us 5000"]);
    assert_eq!((&*host.kernel.sysctls["dirty_ratio"], &*host.loopback.sysctls["rps_cpus"]), ("20", "3"));
    tree.file("/proc/self/environ", "HOME=/root\0");
    assert_eq!(tree.facts().process.attributes["environment"], "none");
}

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
