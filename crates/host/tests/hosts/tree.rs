//! A captured tree of /proc and /sys, built file by file in a temporary directory.

use std::path::Path;

use hostmark_host::{Root, read};
use hostmark_model::HostFacts;

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

    /// A named pipe.
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
