//! A control group of either version, whichever this machine has, for tests of what is limited.

use hostmark_host::{Root, nurseries};

use crate::prelude::*;

/// One while it lives; removed when dropped, when all in it have ended.
pub struct ControlGroup(pub PathBuf);

impl ControlGroup {
    /// At the first of these places, a directory of groups and files that are set in the new one, where that can be had. No two that
    /// live at once have the same name.
    pub fn of(name: &str, places: &[(&str, &[(&str, &str)])]) -> Option<ControlGroup> {
        let name = format!("hostmark-{name}-{}", std::process::id());
        places.iter().find_map(|(parent, settings)| {
            let parent = Path::new(parent);
            // Version 2 gives a controller only where its parent says so.
            let controller = settings.first()?.0.split('.').next()?;
            let _ = set(&parent.join("cgroup.subtree_control"), &format!("+{controller}"));
            fs::create_dir(parent.join(&name)).ok()?;
            let group = ControlGroup(parent.join(&name));
            let are_set = settings.iter().all(|(file, value)| set(&group.0.join(file), value).is_ok());
            are_set.then_some(group)
        })
    }

    /// One with so many µs of a CPU in each 100 ms.
    pub fn with_quota(name: &str, us: u32) -> Option<ControlGroup> {
        let (quota, both) = (us.to_string(), format!("{us} 100000"));
        let first = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", quota.as_str())];
        let second = [("cpu.max", both.as_str())];
        let of_first = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"].map(|parent| (parent, &first[..]));
        ControlGroup::of(name, &[of_first[0], of_first[1], ("/sys/fs/cgroup", &second)])
    }

    pub fn with_memory(name: &str, bytes: u64) -> Option<ControlGroup> {
        let text = bytes.to_string();
        let (first, second) = ([("memory.limit_in_bytes", text.as_str())], [("memory.max", text.as_str())]);
        let of_second = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(|parent| (parent, &second[..]));
        ControlGroup::of(name, &[("/sys/fs/cgroup/memory", &first), of_second[0], of_second[1]])
    }

    /// What a shell enters it by.
    pub fn enter(&self) -> String {
        format!("echo $$ > '{}'", self.0.join("cgroup.procs").display())
    }

    pub fn start(&self, home: &Home, words: &[&str]) -> Command {
        let mut command = home.start("sh");
        command.args(["-c", &format!("{} && exec \"$0\" \"$@\"", self.enter())]).args(words);
        command
    }

    /// How many processes of the group the kernel has killed for want of memory.
    pub fn kills(&self) -> u64 {
        let of = |name: &str| fs::read_to_string(self.0.join(name)).unwrap_or_default();
        let text = of("memory.oom_control") + &of("memory.events");
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        count.expect("a kernel that counts its kills")
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for _ in 0..500 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Writes to a file that the kernel made.
pub fn set(file: &Path, value: &str) -> std::io::Result<()> {
    fs::File::options().write(true).open(file)?.write_all(value.as_bytes())
}

/// Control groups that runs have made and that are there; no test makes any of this name.
pub fn groups() -> BTreeSet<PathBuf> {
    let bases = ["cpu", "memory"].into_iter().flat_map(|controller| nurseries(&Root::here(), controller));
    let found = bases.filter_map(|base| fs::read_dir(base).ok()).flatten().map(|entry| entry.unwrap().path());
    found.filter(|path| path.file_name().unwrap_or_default().to_string_lossy().starts_with("hostmark-")).collect()
}
