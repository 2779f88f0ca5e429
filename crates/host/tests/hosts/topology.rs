//! CPUs, caches, nodes, memory, kernel, policies, disks and interfaces.

use hostmark_host::{CorePmu, CpuSensors, DeviceWork, EnergyMeter, NoEnergy, device_work, is_memory, storage_stack};
use hostmark_model::{CacheKind, GroupFact, HugePages, Purpose, Resource, Sight};

use crate::machines::{self, Tree};

#[test]
fn a_small_guest_is_read_whole() {
    let host = machines::small_guest().facts();
    assert_eq!(host.hostname, "guest-7");
    assert!(host.boot_id.as_deref().is_some_and(|id| id.starts_with("0b1c2d3e")));
    assert_eq!(host.cpu.architecture, "x86_64");
    assert_eq!(host.cpu.vendor.as_deref(), Some("GenuineIntel"));
    assert_eq!(host.cpu.model.as_deref(), Some("Intel(R) Xeon(R) Processor @ 2.50GHz"));
    assert_eq!(host.cpu.microcode.as_deref(), Some("0x1"));
    assert_eq!(host.cpu.features, ["avx2", "fpu", "hypervisor", "rdtscp", "sse2"]);
    assert_eq!((host.cpu.packages, host.cpu.smt_active, host.cpu.governor.clone()), (1, Some(false), None));
    assert_eq!(host.usable_cpus(), [0, 1]);
    assert_eq!((host.cpus[1].package, host.cpus[1].core, host.cpus[1].node), (Some(0), Some(1), Some(0)));
    assert_eq!(
        (host.cpus[1].siblings.clone(), host.cpus[1].capacity, host.cpus[1].max_hz),
        (vec![1], Some(1024), None)
    );
    assert_eq!(host.caches.len(), 7);
    let last = host.last_level_cache(1).unwrap();
    assert_eq!((last.level, last.size_bytes, last.shared_cpus.clone()), (3, 36608 << 10, vec![0, 1]));
    assert_eq!((last.line_bytes, last.ways), (Some(64), Some(16)));
    assert_eq!((host.nodes[0].memory_bytes, host.nodes[0].distances.clone()), (24_684_096 << 10, vec![10]));
    let memory = &host.memory;
    assert_eq!((memory.total_bytes, memory.available_bytes), (24_684_096 << 10, 24_272_276 << 10));
    assert_eq!((memory.swap_total_bytes, memory.swap_used_bytes), (2000 << 10, 500 << 10));
    assert_eq!((memory.page_bytes, memory.pmd_page_bytes), (4096, Some(2 << 20)));
    assert_eq!(memory.transparent_huge_pages.as_deref(), Some("madvise"));
    let kernel = &host.kernel;
    assert_eq!((kernel.release.as_str(), kernel.version.as_str()), ("6.18.5", "#1 SMP"));
    assert_eq!(kernel.command_line.as_deref(), Some("console=ttyS0 quiet"));
    assert_eq!(kernel.clock_source.as_deref(), Some("tsc"));
    assert_eq!(kernel.clock_sources, ["tsc", "kvm-clock"]);
    assert_eq!(kernel.vulnerabilities["meltdown"], "Not affected");
    assert_eq!(kernel.vulnerabilities.len(), 2);
    assert!(kernel.has_run_delay);
}

#[test]
fn sparse_and_offline_cpus_keep_their_ids() {
    let host = machines::two_sockets().facts();
    let ids: Vec<usize> = host.cpus.iter().map(|cpu| cpu.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
    let offline: Vec<usize> = host.cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    assert_eq!(offline, [3, 19]);
    assert_eq!(host.usable_cpus().len(), 14);
    let find = |id| host.cpus.iter().find(|cpu| cpu.id == id).unwrap();
    assert_eq!((find(20).package, find(20).core, find(20).node), (Some(1), Some(0), Some(1)));
    assert_eq!((find(20).siblings.clone(), find(20).max_hz), (vec![4, 20], Some(2.1e9)));
    assert_eq!((find(3).package, find(3).siblings.len(), find(3).max_hz), (None, 0, None));
    assert_eq!((host.cpu.packages, host.cpu.smt_active), (2, Some(true)));
    assert_eq!(host.cpu.governor.as_deref(), Some("powersave"));
    // Seven cores with three caches each, and one last-level cache a package.
    assert_eq!(host.caches.len(), 7 * 3 + 2);
    assert_eq!(host.cache(22, 1).map(|cache| (cache.kind, cache.size_bytes)), Some((CacheKind::Data, 48 << 10)));
    assert_eq!(host.last_level_cache(22).unwrap().shared_cpus, [4, 5, 6, 7, 20, 21, 22, 23]);
    assert!(host.last_level_cache(3).is_none());
}

#[test]
fn nodes_without_cpus_are_nodes() {
    let host = machines::two_sockets().facts();
    assert_eq!(host.nodes.len(), 3);
    assert_eq!((host.nodes[2].id, host.nodes[2].cpus.len()), (2, 0));
    assert_eq!((host.nodes[2].memory_bytes, host.nodes[2].distances.clone()), (64_000_000 << 10, vec![14, 24, 10]));
}

#[test]
fn an_arm_server_is_named_by_its_core() {
    let host = machines::arm_server().facts();
    assert_eq!(host.cpu.architecture, "aarch64");
    assert_eq!(host.cpu.vendor.as_deref(), Some("Arm"));
    assert_eq!(host.cpu.model.as_deref(), Some("AWS Graviton3 (Arm Neoverse V1) r1p1"));
    assert_eq!(host.cpu.features, ["asimd", "atomics", "fp", "sve"]);
    assert_eq!((host.cpus[0].package, host.cpu.packages), (None, 0));
    assert_eq!(host.cpu.smt_active, Some(false));
    assert_eq!((host.memory.page_bytes, host.memory.pmd_page_bytes), (64 << 10, Some(512 << 20)));
    assert_eq!(host.memory.transparent_huge_pages.as_deref(), Some("always"));
    assert_eq!(host.virtualization.hypervisor.as_deref(), Some("kvm"));
}

#[test]
fn big_and_little_cores_are_both_named() {
    let tree = Tree::new();
    let core = |cpu, part| format!("processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
    tree.file("/proc/cpuinfo", core(0, "0xd05") + &core(1, "0xd05") + &core(2, "0xd0b"));
    let host = tree.facts();
    assert_eq!(host.cpu.model.as_deref(), Some("Arm Cortex-A55 + Arm Cortex-A76"));
    assert_eq!(host.usable_cpus(), [0, 1, 2]);
}

#[test]
fn an_empty_root_gives_no_facts_and_no_panic() {
    let host = Tree::new().facts();
    let mut expected = hostmark_model::HostFacts::default();
    expected.memory.page_bytes = 4096;
    (expected.limits.unknown, expected.virtualization.container_unknown) = (true, true);
    let unseen = |resource| GroupFact { resource, path: None, sight: Sight::Nothing };
    expected.limits.groups = [Resource::Cpu, Resource::Memory].map(unseen).to_vec();
    assert_eq!(host, expected);
}

#[test]
fn without_sysfs_the_cpus_come_from_proc() {
    let tree = machines::small_guest();
    tree.remove("/sys").file("/proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 1 2\n");
    let host = tree.facts();
    assert_eq!(host.usable_cpus(), [0, 1]);
    assert_eq!((host.cpus[1].package, host.cpus[1].core, host.cpus[1].siblings.clone()), (Some(0), Some(1), vec![1]));
    assert_eq!((host.cpus[1].node, host.cpu.packages), (None, 1));
    assert!(host.caches.is_empty() && host.nodes.is_empty());
    tree.remove("/proc/stat");
    assert_eq!(tree.facts().usable_cpus(), [0, 1]);
}

#[test]
fn the_affinity_decides_where_the_list_of_online_cpus_is_of_other_numbers() {
    let tree = machines::chiplets();
    tree.file("/sys/devices/system/cpu/online", "0\n").status("5", 0);
    assert_eq!(tree.facts().usable_cpus(), [5]);
    // Affinity may name CPUs that are offline.
    tree.file("/sys/devices/system/cpu/online", "0-5\n").status("5-7", 0);
    assert_eq!(tree.facts().usable_cpus(), [5]);
}

#[test]
fn a_cpu_without_topology_stays_a_cpu() {
    let tree = machines::chiplets();
    tree.remove("/sys/devices/system/cpu/cpu5");
    let host = tree.facts();
    let cpu = host.cpus.iter().find(|cpu| cpu.id == 5).unwrap();
    assert!(cpu.online && cpu.allowed && cpu.siblings.is_empty() && cpu.package.is_none());
    assert_eq!(host.last_level_cache(5).map(|cache| cache.shared_cpus.clone()), Some(vec![4, 5]));
}

#[test]
fn more_than_1024_cpus_are_read_each_cache_once() {
    let host = machines::large_server().facts();
    assert_eq!(host.usable_cpus().len(), 1536);
    assert_eq!(host.cpus[1535].siblings, [767, 1535]);
    assert_eq!(host.cpus[1535].node, Some(1));
    assert_eq!(host.caches.len(), 768 + 96);
    assert_eq!(host.last_level_cache(1535).unwrap().shared_cpus.len(), 16);
}

#[test]
fn damaged_files_are_absent_facts() {
    let tree = machines::small_guest();
    tree.file("/sys/devices/system/cpu/cpu0/cache/index0/size", "big\n")
        .file("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "9-1\n")
        .file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", [0xff, 0xfe])
        .file("/sys/devices/system/node/node0/distance", "ten")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always")
        .file("/proc/meminfo", "MemTotal: lots\n")
        .file("/proc/self/schedstat", "0 0 0\n");
    let host = tree.facts();
    // Who shares the cache is told all the same.
    assert_eq!([0, 1].map(|cpu| host.cache(cpu, 1).map(|cache| cache.size_bytes)), [Some(0), Some(32 << 10)]);
    assert_eq!(host.cpus[0].siblings, [0], "from /proc/cpuinfo");
    assert_eq!(host.memory.total_bytes, 0);
    assert!(host.nodes[0].distances.is_empty() && host.memory.transparent_huge_pages.is_none());
    assert!(!host.kernel.has_run_delay);
}

#[test]
fn facts_survive_json() {
    for tree in [machines::small_guest(), machines::two_sockets(), machines::arm_server()] {
        let host = tree.facts();
        let json = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<hostmark_model::HostFacts>(&json).unwrap(), host);
    }
}

#[test]
fn policies_of_memory_and_kernel_are_read() {
    let tree = machines::two_sockets();
    tree.files(include_str!("policies.txt"));
    let host = tree.facts();
    let memory = &host.memory;
    assert_eq!(
        (memory.same_page_merging, memory.numa_balancing, memory.zone_reclaim_mode),
        (Some(1), Some(1), Some(0))
    );
    assert_eq!((memory.swappiness, memory.overcommit), (Some(60), Some(2)));
    assert_eq!((host.kernel.perf_event_paranoid, host.kernel.io_uring_disabled), (Some(-1), Some(2)));
    assert_eq!(memory.transparent_huge_page_defrag.as_deref(), Some("madvise"));
    let pool = HugePages { page_bytes: 2 << 20, count: 512 };
    assert_eq!(memory.huge_pages.as_deref(), Some(&[pool][..]));
    assert_eq!((host.nodes[0].huge_pages.len(), &host.nodes[1].huge_pages[..]), (0, &[pool][..]));
}

#[test]
fn frequency_and_cpus_kept_apart_are_read() {
    let tree = machines::two_sockets();
    let dir = "/sys/devices/system/cpu";
    tree.file(&format!("{dir}/cpu0/cpufreq/scaling_driver"), "intel_pstate\n")
        .file(&format!("{dir}/intel_pstate/no_turbo"), "0\n")
        .file(&format!("{dir}/isolated"), "4-7\n")
        .file(&format!("{dir}/nohz_full"), "(null)\n")
        .file("/proc/cmdline", "quiet isolcpus=4-7 rcu_nocbs=4-7\n");
    let cpu = tree.facts().cpu;
    assert_eq!((cpu.frequency_driver.as_deref(), cpu.turbo), (Some("intel_pstate"), Some(true)));
    assert_eq!((cpu.isolated, cpu.callback_free), (Some(vec![4, 5, 6, 7]), Some(vec![4, 5, 6, 7])));
    assert_eq!(cpu.tickless, Some(vec![]));
    tree.remove(&format!("{dir}/intel_pstate")).file(&format!("{dir}/cpufreq/boost"), "0\n");
    assert_eq!(tree.facts().cpu.turbo, Some(false));
}

#[test]
fn disks_and_directories_are_recognized_by_mounts() {
    let tree = Tree::new();
    tree.files(include_str!("storage.txt"));
    let storage = tree.facts().storage;
    let names: Vec<&str> = storage.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["nvme0n1", "vda"]);
    let [fast, slow] = &storage.devices[..] else { panic!() };
    assert_eq!((fast.model.as_deref(), fast.scheduler.as_deref()), (Some("Fast Disk 990"), Some("none")));
    assert_eq!(
        (slow.size_bytes, slow.rotational, slow.scheduler.as_deref()),
        (256 << 30, Some(true), Some("mq-deadline"))
    );
    let [scratch, data] = &storage.directories[..] else { panic!() };
    assert_eq!((scratch.purpose, scratch.filesystem.as_deref()), (Purpose::Scratch, Some("tmpfs")));
    assert_eq!(data.device.as_deref(), Some("server:/home"));
    assert_eq!(data.options, ["ro", "nosuid", "vers=4.2"], "the mount's word holds");
    assert_eq!(data.available_bytes, None);
}

#[test]
fn interfaces_with_a_device_come_first_and_unknown_speeds_are_none() {
    let tree = Tree::new();
    tree.files(include_str!("network.txt"));
    let found = tree.facts().network;
    let names: Vec<&str> = found.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["eth0", "eth1", "a0"]);
    assert_eq!((found[0].driver.as_deref(), found[0].bits_per_s), (Some("mlx5_core"), Some(25_000_000_000)));
    assert_eq!((found[0].mtu_bytes, found[1].bits_per_s, found[1].driver.as_deref()), (Some(9000), None, None));
}

#[test]
fn what_a_machine_gives_to_guests_is_reported_by_kvm_first_and_then_by_flags() {
    let tree = Tree::new();
    let given = |tree: &Tree| {
        let found = tree.facts().virtualization;
        (found.nested_paging, found.tagged_tlb, found.nested_guests)
    };
    tree.file("/proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu vmx\nvmx flags\t: vnmi ept vpid\n\n");
    assert_eq!(given(&tree), (Some(true), Some(true), None));
    tree.file("/sys/module/kvm_intel/parameters/ept", "N\n").file("/sys/module/kvm_intel/parameters/nested", "1\n");
    assert_eq!(given(&tree), (Some(false), Some(true), Some(true)));
    let amd = Tree::new();
    amd.file("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu svm npt\n\n");
    assert_eq!(given(&amd), (Some(true), Some(false), None));
    let guest = Tree::new();
    guest.file("/proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n\n");
    assert_eq!(given(&guest), (None, None, None));
}

#[test]
fn whether_guests_may_be_made_is_reported_by_the_device_and_its_permissions() {
    let tree = Tree::new();
    assert_eq!(tree.facts().virtualization.kvm_permitted, None);
    tree.file("/dev/kvm", "");
    assert_eq!(tree.facts().virtualization.kvm_permitted, Some(true));
}

#[test]
fn firmware_modules_seccomp_and_activity_are_read() {
    let tree = machines::two_sockets();
    let edac = "/sys/devices/system/edac/mc/mc0/dimm0";
    tree.file("/sys/class/dmi/id/bios_version", "2.5.4\n")
        .file(&format!("{edac}/size"), "32768\n")
        .file(&format!("{edac}/dimm_mem_type"), "Registered-DDR5\n")
        .file("/sys/devices/system/edac/mc/mc0/dimm1/size", "0\n")
        .file("/proc/self/status", "Uid:\t0\t0\t0\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n")
        .file("/proc/uptime", "7200.50 99.00\n")
        .file("/proc/loadavg", "1.03 0.66 0.31 3/93 8824\n")
        .file("/proc/pressure/io", "some avg10=1.50 avg60=0.68 avg300=0.45 total=3\nfull avg10=0.25 avg60=0 total=1\n")
        .file("/proc/pressure/cpu", "some avg10=nan\n");
    let host = tree.facts();
    assert_eq!(host.firmware.product.as_deref(), Some("PowerEdge R760"));
    assert_eq!(host.firmware.bios_version.as_deref(), Some("2.5.4"));
    assert_eq!(host.firmware.memory_modules.len(), 1);
    assert_eq!(host.firmware.memory_modules[0].size_bytes, 32 << 30);
    assert_eq!(host.limits.seccomp.as_deref(), Some("filter"));
    assert_eq!((host.activity.uptime_s, host.activity.load), (Some(7200.5), Some([1.03, 0.66, 0.31])));
    let io = host.activity.pressure["io"];
    assert_eq!((io.some, io.full, host.activity.pressure.len()), (0.015, Some(0.0025), 1));
}

#[test]
fn absent_facts_stay_absent() {
    let nothing = Tree::new().facts();
    assert_eq!((nothing.cpu.turbo, nothing.cpu.isolated, nothing.memory.huge_pages), (None, None, None));
    assert_eq!((nothing.virtualization.nested_paging, nothing.activity), (None, Default::default()));
}

/// What a directory lies on in a tree with these mounts.
fn stack(tree: &Tree, mounts: &str, path: &str) -> String {
    tree.file("/proc/self/mountinfo", mounts);
    storage_stack(&tree.root(), std::path::Path::new(path)).join(" on ")
}

const DISK: &str = "27 1 254:0 / / rw - ext4 /dev/root rw\n";

#[test]
fn a_filesystem_is_followed_down_to_its_last_device() {
    let tree = Tree::new();
    let devices = "/sys/class/block";
    for (number, name) in
        [("254:0", "vda"), ("7:0", "loop0"), ("259:3", "nvme0n1p3"), ("253:1", "dm-1"), ("9:0", "md0")]
    {
        tree.link(&format!("/sys/dev/block/{number}"), &format!("../../devices/x/block/{name}"));
    }
    assert_eq!(stack(&tree, DISK, "/srv"), "ext4 on vda");
    // A file that stands for a device, and a partition of that.
    tree.file(&format!("{devices}/loop0/loop/backing_file"), "/x/i\n");
    let looped = format!("{DISK}30 27 7:0 / /m rw - ext4 /dev/loop0 rw\n");
    assert_eq!(stack(&tree, &looped, "/m/a"), "ext4 on loop0 on /x/i on ext4 on vda");
    tree.file(&format!("{devices}/loop0/loop/dio"), "1\n");
    assert_eq!(stack(&tree, &looped, "/m/a"), "ext4 on loop0 (direct I/O) on /x/i on ext4 on vda");
    // A volume on an encrypted partition, and several disks under one.
    tree.file(&format!("{devices}/dm-1/dm/uuid"), "LVM-abc\n")
        .file(&format!("{devices}/dm-1/slaves/dm-0/dev"), "253:0\n")
        .file(&format!("{devices}/dm-0/dm/uuid"), "CRYPT-LUKS2-abc\n")
        .file(&format!("{devices}/dm-0/slaves/nvme0n1p3/dev"), "259:3\n");
    let volume = "27 1 253:1 / / rw - xfs /dev/mapper/vg-root rw\n";
    assert_eq!(stack(&tree, volume, "/"), "xfs on dm-1 (lvm) on dm-0 (crypt) on nvme0n1p3");
    tree.file(&format!("{devices}/md0/md/level"), "raid1\n")
        .file(&format!("{devices}/md0/slaves/sda1/dev"), "8:1\n")
        .file(&format!("{devices}/md0/slaves/sdb1/dev"), "8:17\n");
    assert_eq!(stack(&tree, "27 1 9:0 / / rw - ext4 /dev/md0 rw\n", "/"), "ext4 on md0 (raid1) on sda1+sdb1");
    // Filesystems that have no device, or a number of their own.
    assert_eq!(stack(&tree, "27 1 0:40 / / rw - btrfs /dev/vda rw\n", "/"), "btrfs on vda");
    assert_eq!(stack(&tree, "27 1 0:41 / / rw - nfs4 server:/home rw\n", "/"), "nfs4 on server:/home");
    assert_eq!(stack(&tree, "", "/"), "");
}

#[test]
fn an_overlay_lies_where_its_upper_directory_lies() {
    let tree = Tree::new();
    tree.link("/sys/dev/block/254:0", "../../devices/x/block/vda").file("/o/u/f", "").file("/o/w/f", "");
    let over = |options: &str| {
        format!("{DISK}40 27 0:39 / /o rw - tmpfs tmpfs rw\n41 40 0:40 / /o/m rw - overlay overlay rw,{options}\n")
    };
    for (options, expected) in [
        ("lowerdir=l,upperdir=u,workdir=w", "overlay on tmpfs"),
        ("lowerdir=/l,upperdir=/o/u,workdir=/o/w", "overlay on tmpfs"),
        ("lowerdir=/l,upperdir=/host/u,workdir=/host/w", "overlay on unknown"),
        ("lowerdir=/l", "overlay on unknown"),
    ] {
        let stack = stack(&tree, &over(options), "/o/m/x");
        assert_eq!(stack, expected, "{options}");
        let layers: Vec<String> = stack.split(" on ").map(str::to_owned).collect();
        assert_eq!(is_memory(&layers), expected.ends_with("tmpfs"));
    }
    for (last, are_memory) in [("zram0", true), ("ram1", true), ("vda", false), ("ramdisk", false), ("unknown", false)]
    {
        assert_eq!(is_memory(&["ext4".to_owned(), last.to_owned()]), are_memory, "{last}");
    }
}

#[test]
fn the_work_of_the_lowest_devices_is_counted_and_no_others() {
    let tree = Tree::new();
    let stat = |device: &str, counts: &str| tree.file(&format!("/sys/class/block/{device}/stat"), counts);
    // As Linux 6.18 had it of a disk of a guest; its loop device had more, from the page cache of the file below.
    stat("vda", "  266 8 2128 72 41 12 904 38 0 61 118 0 0 0 0 7 8\n");
    stat("loop1", "  14632 0 117056 800 0 0 0 0 0 400 800 0 0 0 0 0 0\n");
    // Older kernels do not tell of flushes.
    stat("sda1", "1 0 8 0 2 3 16 0 0 0 0\n");
    let of = |stack: &str| {
        let stack: Vec<String> = stack.split(" on ").map(str::to_owned).collect();
        device_work(&tree.root(), &stack).map(|work| (work.read_bytes, work.written_bytes, work.writes))
    };
    let vda = Some((2128 * 512, 904 * 512, 41 + 12 + 7));
    assert_eq!(of("ext4 on loop1 on /x/image on ext4 on vda"), vda);
    assert_eq!(of("ext4 on loop1 (direct I/O)"), Some((117_056 * 512, 0, 0)));
    assert_eq!(of("xfs on md0 (raid0) on sda1+vda"), Some((2136 * 512, 920 * 512, 5 + 60)));
    // Of several devices one alone is followed, or named; and none.
    for stack in [
        "xfs on md0 (raid0) on dm-0+dm-1 on vda",
        "btrfs on vda",
        "overlay on tmpfs",
        "nfs4 on server:/home",
        "x on vdz",
    ] {
        assert_eq!(of(stack), None, "{stack}");
    }
    stat("vda", "garbage\n");
    assert_eq!((of("ext4 on vda"), device_work(&tree.root(), &[])), (None, None::<DeviceWork>));
}

#[test]
fn the_energy_of_a_cpus_own_package_is_read_whoever_tells_it() {
    let tree = machines::two_sockets();
    let root = tree.root();
    let of = |cpu| EnergyMeter::of_cpu(&root, cpu);
    assert_eq!(of(0).err(), Some(NoEnergy::Untold));
    let rapl = "/sys/class/powercap/intel-rapl";
    // The platform, a package with its memory, and the same package again as another interface has it.
    tree.file(&format!("{rapl}:0/name"), "psys\n")
        .file(&format!("{rapl}:0/energy_uj"), "1\n")
        .file(&format!("{rapl}:1/name"), "package-0\n")
        .file(&format!("{rapl}:1/energy_uj"), "262143320000\n")
        .file(&format!("{rapl}:1/max_energy_range_uj"), "262143328850\n")
        .file(&format!("{rapl}:1:0/name"), "dram\n")
        .file(&format!("{rapl}-mmio:0/name"), "package-0\n")
        .file(&format!("{rapl}-mmio:0/energy_uj"), "3\n");
    let meter = of(0).unwrap();
    let before = meter.read_uj().unwrap();
    assert_eq!((before, meter.used_uj(before, before + 1500)), (262_143_320_000, Some(1500)));
    // It wraps behind its largest value.
    assert_eq!(meter.used_uj(before, 150), Some(9000));
    // Nobody else may read it.
    tree.remove(&format!("{rapl}:1/energy_uj")).file(&format!("{rapl}:1/energy_uj"), "");
    assert_eq!(of(0).err(), Some(NoEnergy::Forbidden(format!("{rapl}:1/energy_uj"))));
    // The other package has no zone, and a sensor: it says of no value that it is the last.
    let other = tree.facts().cpus.iter().find(|cpu| cpu.package == Some(1)).unwrap().id;
    assert_eq!(of(other).err(), Some(NoEnergy::Untold));
    let sensors = "/sys/class/hwmon/hwmon3";
    tree.file(&format!("{sensors}/energy1_label"), "Ecore000\n")
        .file(&format!("{sensors}/energy1_input"), "11\n")
        .file(&format!("{sensors}/energy66_label"), "Esocket1\n")
        .file(&format!("{sensors}/energy66_input"), "70000\n");
    let meter = of(other).unwrap();
    assert_eq!((meter.read_uj(), meter.used_uj(5, 8), meter.used_uj(8, 5)), (Some(70_000), Some(3), None));
}

#[test]
fn the_hottest_processor_is_told_by_its_driver_or_its_thermal_zone() {
    let tree = Tree::new();
    let hottest = || CpuSensors::find(&tree.root()).hottest_celsius();
    assert_eq!(hottest(), None);
    // A board's and a disk's sensors are none of a processor.
    let [sensors, zones] = ["/sys/class/hwmon", "/sys/class/thermal"];
    tree.file(&format!("{zones}/thermal_zone0/type"), "acpitz\n")
        .file(&format!("{zones}/thermal_zone0/temp"), "99000\n")
        .file(&format!("{sensors}/hwmon0/name"), "nvme\n")
        .file(&format!("{sensors}/hwmon0/temp1_input"), "88850\n");
    assert_eq!(hottest(), None);
    tree.file(&format!("{zones}/thermal_zone1/type"), "x86_pkg_temp\n")
        .file(&format!("{zones}/thermal_zone1/temp"), "41000\n")
        .file(&format!("{zones}/thermal_zone2/type"), "cpu1-thermal\n")
        .file(&format!("{zones}/thermal_zone2/temp"), "43500\n");
    assert_eq!(hottest(), Some(43.5));
    // A driver knows better than a zone, and a package is as hot as its hottest core.
    tree.file(&format!("{sensors}/hwmon1/name"), "coretemp\n")
        .file(&format!("{sensors}/hwmon1/temp1_label"), "Package id 0\n")
        .file(&format!("{sensors}/hwmon1/temp1_input"), "61000\n")
        .file(&format!("{sensors}/hwmon1/temp1_max"), "95000\n")
        .file(&format!("{sensors}/hwmon1/temp2_label"), "Core 0\n")
        .file(&format!("{sensors}/hwmon1/temp2_input"), "62000\n");
    assert_eq!(hottest(), Some(61.0));
    // The second socket is the hotter one; its control value is none of its temperatures.
    tree.file(&format!("{sensors}/hwmon2/name"), "k10temp\n")
        .file(&format!("{sensors}/hwmon2/temp1_label"), "Tctl\n")
        .file(&format!("{sensors}/hwmon2/temp1_input"), "97000\n")
        .file(&format!("{sensors}/hwmon2/temp2_label"), "Tdie\n")
        .file(&format!("{sensors}/hwmon2/temp2_input"), "70250\n");
    assert_eq!(hottest(), Some(70.25));
    // What cannot be is not told.
    for impossible in ["-274000\n", "0\n", "255000\n", "hot\n", ""] {
        tree.file(&format!("{sensors}/hwmon2/temp2_input"), impossible);
        assert_eq!(hottest(), Some(61.0), "{impossible}");
    }
}

#[test]
fn a_cores_counters_are_found_by_its_cpu_and_their_events_by_name() {
    let tree = Tree::new();
    let devices = "/sys/bus/event_source/devices";
    assert_eq!(CorePmu::of_cpu(&tree.root(), 0), None);
    tree.file(&format!("{devices}/cpu/type"), "4\n")
        .file(&format!("{devices}/software/type"), "1\n")
        .file(&format!("{devices}/cpu/format/event"), "config:0-7,32-35\n")
        .file(&format!("{devices}/cpu/format/edge"), "config:18\n")
        .file(&format!("{devices}/cpu/format/ldlat"), "config1:0-15\n")
        .file(&format!("{devices}/cpu/events/wide"), "event=0x1ab,edge\n")
        .file(&format!("{devices}/cpu/events/too-wide"), "event=0x1aaab\n")
        .file(&format!("{devices}/cpu/events/load"), "event=0xcd,ldlat=3\n");
    let root = tree.root();
    let pmu = CorePmu::of_cpu(&root, 5).unwrap();
    assert_eq!((pmu.number, pmu.is_one_of_several), (4, false));
    assert_eq!(pmu.event(&root, "wide").map(|event| (event.kind, event.config)), Some((4, 0x1_0004_00ab)));
    // What has no such place, or needs more than one number, is none.
    assert_eq!(["too-wide", "load", "absent"].map(|name| pmu.event(&root, name)), [None; 3]);
}
