//! A control group of either version, whichever this machine has, for tests of what is limited.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::Home;

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

    /// What a shell enters it by.
    pub fn enter(&self) -> String {
        format!("echo $$ > '{}'", self.0.join("cgroup.procs").display())
    }

    /// A command that is started in the group.
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
