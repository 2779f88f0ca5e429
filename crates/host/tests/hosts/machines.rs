//! The machines that the cases share: captured trees of /proc and /sys, built file by file in a temporary directory.

use std::path::Path;

use hostmark_host::{Root, read};
use hostmark_model::HostFacts;

/// This project's own kind of machine: a KVM guest of two single-thread cores with version 1 groups and an unused
/// version 2 hierarchy beside them.
pub fn small_guest() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-1\n", "0-1\n").status("0-1", 0).meminfo(24_684_096, 24_272_276);
    for cpu in 0..2 {
        let own = cpu.to_string();
        tree.core(cpu, 0, cpu, &own)
            .cache(cpu, 0, "1 Data", "32K", &own)
            .cache(cpu, 1, "1 Instruction", "32K", &own)
            .cache(cpu, 2, "2 Unified", "1024K", &own)
            .cache(cpu, 3, "3 Unified", "36608K", "0-1")
            .cpu_file(cpu, "cpu_capacity", "1024\n");
    }
    tree.nodes_online("0\n").node(0, "0-1", 24_684_096, "10");
    let cpuinfo = |cpu: usize| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n\
             model name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\nmicrocode\t: 0x1\nphysical id\t: 0\ncore id\t\t: {cpu}\n\
             apicid\t\t: {cpu}\nflags\t\t: sse2 fpu avx2 hypervisor rdtscp\npower management:\n\n"
        )
    };
    tree.file("/proc/cpuinfo", cpuinfo(0) + &cpuinfo(1)).files(include_str!("small_guest.txt"));
    tree
}

/// Two packages of four two-thread cores, ids as firmware deals them: first threads 0-7, second 16-23, 8-15 absent;
/// core of CPUs 3 and 19 offline. A third node has memory and no CPU.
pub fn two_sockets() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-7,16-23\n", "0-2,4-7,16-18,20-23\n").status("0-511", 1000).meminfo(400_000_000, 300_000_000);
    for first in [0, 1, 2, 4, 5, 6, 7] {
        let package = first / 4;
        let threads = format!("{first},{}", first + 16);
        let (all, name) = if package == 0 { ("0-2,16-18", "2100000\n") } else { ("4-7,20-23", "2100000\n") };
        for cpu in [first, first + 16] {
            tree.core(cpu, package, first % 4, &threads)
                .cache(cpu, 0, "1 Data", "48K", &threads)
                .cache(cpu, 1, "1 Instruction", "32K", &threads)
                .cache(cpu, 2, "2 Unified", "2048K", &threads)
                .cache(cpu, 3, "3 Unified", "61440K", all)
                .cpu_file(cpu, "cpufreq/cpuinfo_max_freq", name)
                .cpu_file(cpu, "cpufreq/scaling_governor", "powersave\n");
        }
    }
    tree.nodes_online("0-2\n")
        .node(0, "0-2,16-18", 130_000_000, "10 21 14")
        .node(1, "4-7,20-23", 130_000_000, "21 10 24")
        .node(2, "", 64_000_000, "14 24 10")
        .files(include_str!("two_sockets.txt"));
    tree
}

/// One package whose eight single-thread cores sit on four last-level caches of two cores each.
pub fn chiplets() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-7\n", "0-7\n").status("0-7", 0);
    for cpu in 0..8 {
        let own = cpu.to_string();
        let first = cpu / 2 * 2;
        tree.core(cpu, 0, cpu, &own)
            .cache(cpu, 0, "1 Data", "32K", &own)
            .cache(cpu, 2, "2 Unified", "512K", &own)
            .cache(cpu, 1, "1 Instruction", "32K", &own)
            .cache(cpu, 3, "3 Unified", "32M", &format!("{first}-{}", first + 1));
    }
    tree.nodes_online("0").node(0, "0-7", 64_000_000, "10");
    tree
}

/// An aarch64 server on EC2 of four Neoverse V1 cores with 64 KiB pages.
pub fn arm_server() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-3\n", "0-3\n").status("0-3", 1000).meminfo(16_000_000, 15_000_000);
    let mut cpuinfo = String::new();
    for cpu in 0..4 {
        let own = cpu.to_string();
        // Arm firmware without a package number: the kernel writes -1.
        tree.core(cpu, 0, cpu, &own)
            .cpu_file(cpu, "topology/physical_package_id", "-1\n")
            .cache(cpu, 0, "1 Data", "64K", &own)
            .cache(cpu, 1, "1 Instruction", "64K", &own)
            .cache(cpu, 2, "2 Unified", "1024K", &own)
            .cache(cpu, 3, "3 Unified", "32768K", "0-3");
        cpuinfo.push_str(&format!(
            "processor\t: {cpu}\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd sve atomics\nCPU implementer\t: 0x41\n\
             CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\n"
        ));
    }
    tree.file("/proc/cpuinfo", cpuinfo).files(include_str!("arm_server.txt"));
    tree
}

/// A container with a group of version 2 that may use half a CPU and 256 MiB.
pub fn small_container() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-7\n", "0-7\n").status("2-3", 0).meminfo(64_000_000, 60_000_000);
    tree.files(include_str!("small_container.txt"));
    tree
}

/// A virtual machine of one CPU whose kernel knows no nodes.
pub fn one_cpu() -> Tree {
    let tree = Tree::new();
    tree.cpus("0\n", "0\n").status("0", 1000).meminfo(1_000_000, 800_000);
    tree.core(0, 0, 0, "0").cache(0, 0, "1 Data", "32K", "0").cache(0, 1, "2 Unified", "512K", "0");
    tree
}

/// 1,536 CPUs on two packages of 384 two-thread cores.
pub fn large_server() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-1535\n", "0-1535\n").status("0-1535", 1000);
    for core in 0..768 {
        let threads = format!("{core},{}", core + 768);
        let first = core / 8 * 8;
        let shared = format!("{first}-{},{}-{}", first + 7, first + 768, first + 775);
        tree.core(core, core / 384, core % 384, &threads).cache(core, 0, "1 Data", "48K", &threads);
        // A shared cache is described at its first CPU alone: its other CPUs must not need to be asked.
        if core == first {
            tree.cache(core, 1, "3 Unified", "32M", &shared);
        }
    }
    tree.nodes_online("0-1").node(0, "0-383,768-1151", 1_000_000_000, "10 32").node(
        1,
        "384-767,1152-1535",
        1_000_000_000,
        "32 10",
    );
    tree
}

/// Two fast two-thread cores (0-1, 2-3) and four slow ones (4-7), as a hybrid processor has.
pub fn hybrid() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-7\n", "0-7\n").status("0-7", 0);
    for cpu in 0..8 {
        let threads = if cpu < 4 { format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1) } else { cpu.to_string() };
        tree.core(cpu, 0, if cpu < 4 { cpu / 2 } else { cpu }, &threads)
            .cache(cpu, 0, "1 Data", "48K", &threads)
            .cache(cpu, 1, "3 Unified", "24M", "0-7")
            .cpu_file(cpu, "cpufreq/cpuinfo_max_freq", if cpu < 4 { "5100000\n" } else { "3900000\n" });
    }
    tree
}

/// A server as its makers describe it.
pub struct Server {
    pub packages: usize,
    pub cores: usize,
    pub nodes: usize,
    pub threads: usize,
    /// That share a last-level cache; none where the second level is the last.
    pub cores_of_l3: Option<usize>,
}

impl Server {
    /// All first threads are numbered before the second ones, as Linux does.
    pub fn tree(&self) -> Tree {
        let (tree, all_cores) = (Tree::new(), self.packages * self.cores);
        let list = |cores: std::ops::Range<usize>| {
            let of_thread =
                |thread| format!("{}-{}", thread * all_cores + cores.start, thread * all_cores + cores.end - 1);
            (0..self.threads).map(of_thread).collect::<Vec<_>>().join(",")
        };
        let all = format!("0-{}", all_cores * self.threads - 1);
        tree.cpus(&all, &all).status(&all, 0).meminfo(512 << 20, 500 << 20);
        for cpu in 0..all_cores * self.threads {
            let core = cpu % all_cores;
            let siblings = list(core..core + 1);
            tree.core(cpu, core / self.cores, core % self.cores, &siblings)
                .cache(cpu, 0, "1 Data", "48K", &siblings)
                .cache(cpu, 1, "2 Unified", "1024K", &siblings);
            if let Some(sharing) = self.cores_of_l3 {
                let first = core / sharing * sharing;
                tree.cache(cpu, 2, "3 Unified", "32M", &list(first..first + sharing));
            }
        }
        let (nodes, each) = (self.packages * self.nodes, self.cores / self.nodes);
        tree.nodes_online(&format!("0-{}", nodes - 1));
        for node in 0..nodes {
            let distance = |other: usize| match (node == other, node / self.nodes == other / self.nodes) {
                (true, _) => "10",
                (_, true) => "12",
                _ => "32",
            };
            let distances = (0..nodes).map(distance).collect::<Vec<_>>().join(" ");
            tree.node(node, &list(node * each..(node + 1) * each), 64 << 20, &distances);
        }
        tree
    }
}

/// Two packages of four nodes and 16 cores each, four cores and two threads to a last-level cache and a node.
pub fn nps4() -> Tree {
    Server { packages: 2, cores: 16, nodes: 4, threads: 2, cores_of_l3: Some(4) }.tree()
}

/// Two packages of eight cores without a third level.
pub fn no_l3() -> Tree {
    Server { packages: 2, cores: 8, nodes: 1, threads: 1, cores_of_l3: None }.tree()
}

/// A guest of four arm64 cores that is told levels and sharing and no size of any cache.
pub fn arm_guest() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-3\n", "0-3\n").status("0-3", 0).meminfo(8 << 20, 7 << 20);
    for cpu in 0..4 {
        let own = cpu.to_string();
        tree.core(cpu, 0, cpu, &own);
        for (index, what, shared) in [(0, "1 Data", &*own), (1, "1 Instruction", &*own), (2, "2 Unified", "0-3")] {
            let dir = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            tree.cache(cpu, index, what, "", shared).remove(&format!("{dir}/size"));
        }
    }
    tree.nodes_online("0").node(0, "0-3", 8 << 20, "10");
    tree
}

/// The tree; removed when dropped.
pub struct Tree {
    dir: tempfile::TempDir,
}

const CPU_DIR: &str = "/sys/devices/system/cpu";

impl Tree {
    pub fn new() -> Tree {
        // Thousands of small files: in memory where there is such a place, as on every usual Linux.
        Tree { dir: tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap() }
    }

    pub fn root(&self) -> Root {
        Root::at(self.dir.path())
    }

    pub fn facts(&self) -> HostFacts {
        read(&self.root())
    }

    fn place(&self, path: &str) -> std::path::PathBuf {
        let place = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap_or(Path::new("/"))).unwrap();
        place
    }

    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Tree {
        std::fs::write(self.place(path), content).unwrap();
        self
    }

    /// A file a line, `path text`, or a link, `path -> target`; `\\n` ends a line of a file.
    pub fn files(&self, lines: &str) -> &Tree {
        for line in lines.lines() {
            match line.split_once(" -> ") {
                Some((path, target)) => self.link(path, target),
                None => {
                    let (path, text) = line.split_once(' ').unwrap_or((line, ""));
                    self.file(path, text.replace("\\n", "\n"))
                }
            };
        }
        self
    }

    pub fn pipe(&self, path: &str) -> std::path::PathBuf {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, self.place(path), FileType::Fifo, Mode::RWXU, 0).unwrap();
        self.place(path)
    }

    pub fn link(&self, path: &str, target: &str) -> &Tree {
        std::os::unix::fs::symlink(target, self.place(path)).unwrap();
        self
    }

    pub fn remove(&self, path: &str) -> &Tree {
        let place = self.place(path);
        if place.is_dir() { std::fs::remove_dir_all(place) } else { std::fs::remove_file(place) }.unwrap();
        self
    }

    pub fn cpus(&self, present: &str, online: &str) -> &Tree {
        self.file(&format!("{CPU_DIR}/present"), present).file(&format!("{CPU_DIR}/online"), online)
    }

    pub fn core(&self, cpu: usize, package: usize, core: usize, siblings: &str) -> &Tree {
        let dir = format!("{CPU_DIR}/cpu{cpu}/topology");
        self.file(&format!("{dir}/physical_package_id"), format!("{package}\n"))
            .file(&format!("{dir}/core_id"), format!("{core}\n"))
            .file(&format!("{dir}/thread_siblings_list"), format!("{siblings}\n"))
    }

    /// `what` is level and kind: `1 Data`, `3 Unified`.
    pub fn cache(&self, cpu: usize, index: usize, what: &str, size: &str, shared: &str) -> &Tree {
        let dir = format!("{CPU_DIR}/cpu{cpu}/cache/index{index}");
        let (level, kind) = what.split_once(' ').unwrap();
        self.file(&format!("{dir}/level"), level)
            .file(&format!("{dir}/type"), kind)
            .file(&format!("{dir}/size"), size)
            .file(&format!("{dir}/shared_cpu_list"), format!("{shared}\n"))
            .file(&format!("{dir}/coherency_line_size"), "64\n")
            .file(&format!("{dir}/ways_of_associativity"), "16\n")
    }

    pub fn cpu_file(&self, cpu: usize, name: &str, content: &str) -> &Tree {
        self.file(&format!("{CPU_DIR}/cpu{cpu}/{name}"), content)
    }

    pub fn node(&self, id: usize, cpus: &str, memory_kib: u64, distances: &str) -> &Tree {
        let dir = format!("/sys/devices/system/node/node{id}");
        self.file(&format!("{dir}/cpulist"), format!("{cpus}\n"))
            .file(&format!("{dir}/distance"), format!("{distances}\n"))
            .file(
                &format!("{dir}/meminfo"),
                format!("Node {id} MemTotal:       {memory_kib} kB\nNode {id} MemFree:        1000 kB\n"),
            )
    }

    pub fn nodes_online(&self, list: &str) -> &Tree {
        self.file("/sys/devices/system/node/online", list)
    }

    /// Affinity mask and effective user; and a kernel without control groups, unless /proc/self/cgroup says otherwise.
    pub fn status(&self, allowed: &str, user: u32) -> &Tree {
        self.file("/proc/filesystems", "nodev\tsysfs\n\text4\n");
        self.file(
            "/proc/self/status",
            format!("Name:\thostmark\nUid:\t1000\t{user}\t0\t0\nCpus_allowed:\tffff\nCpus_allowed_list:\t{allowed}\n"),
        )
    }

    pub fn meminfo(&self, total_kib: u64, available_kib: u64) -> &Tree {
        self.file(
            "/proc/meminfo",
            format!(
                "MemTotal:       {total_kib} kB\nMemFree:         1000 kB\nMemAvailable:   {available_kib} kB\n\
                 SwapTotal:      2000 kB\nSwapFree:       1500 kB\nHugepagesize:       2048 kB\n"
            ),
        )
    }
}
