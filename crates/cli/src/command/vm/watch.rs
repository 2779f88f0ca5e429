//! What this machine tells of a guest that it runs: what it costs while it is idle, and how often it leaves guest mode while it is
//! measured.

use std::collections::BTreeMap;
use std::time::Duration;

use hostmark_engine::Wall;
use hostmark_host::{Root, cpu_time_ns, exits, guest_settings};
use hostmark_model::Guest;

use crate::wall::SinceStart;

/// A guest that is watched from outside.
pub struct Watch {
    root: Root,
    /// The monitor's process.
    process: u32,
    described: Guest,
    /// Of the turns of others: the monitor's CPU time, and the time.
    idle: (u64, Duration),
    begun: Option<Begun>,
}

/// How it was when a turn began.
struct Begun {
    cpu_ns: Option<u64>,
    exits: BTreeMap<String, u64>,
    clock: SinceStart,
}

impl Watch {
    /// Of the guest that this process runs, which is described so.
    pub fn of(root: Root, process: u32, described: Guest) -> Watch {
        let host = guest_settings(&root);
        let described = Guest { host: described.host.into_iter().chain(host).collect(), ..described };
        Watch { root, process, described, idle: (0, Duration::ZERO), begun: None }
    }

    /// A turn begins.
    pub fn begins(&mut self) {
        let (cpu_ns, exits) = (cpu_time_ns(&self.root, self.process), exits(&self.root, self.process));
        self.begun = Some(Begun { cpu_ns, exits, clock: SinceStart::now() });
    }

    /// It has ended, and was another side's: the guest had nothing to do.
    pub fn was_idle(&mut self) {
        let Some(Begun { cpu_ns: Some(before), clock, .. }) = self.begun.take() else { return };
        if let Some(after) = cpu_time_ns(&self.root, self.process) {
            self.idle.0 += after.saturating_sub(before);
            self.idle.1 += clock.elapsed();
        }
    }

    /// It has ended, and was the guest's: what its run was measured in.
    pub fn was_measured(&mut self) -> Guest {
        let before = self.begun.take().map(|begun| begun.exits).unwrap_or_default();
        let since = |name: &str, count: u64| count.saturating_sub(before.get(name).copied().unwrap_or(0));
        let counts = exits(&self.root, self.process).into_iter();
        let exits = counts.map(|(name, count)| (since(&name, count), name)).filter(|(count, _)| *count > 0);
        let exits = exits.map(|(count, name)| (name, count)).collect();
        Guest { exits, ..self.described.clone() }
    }

    /// CPUs that the guest took while it was idle, as a number of CPUs; none where it never was.
    pub fn idle_cpus(&self) -> Option<f64> {
        let (cpu_ns, time) = self.idle;
        (time > Duration::ZERO).then(|| cpu_ns as f64 / time.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write_counts(at: &Path, ticks: u64, io: u64) {
        let [proc, debug] = ["proc/7", "sys/kernel/debug/kvm/7-12"].map(|path| at.join(path));
        fs::create_dir_all(&proc).unwrap();
        fs::create_dir_all(&debug).unwrap();
        fs::write(proc.join("stat"), format!("7 (qemu) S 1 7 7 0 -1 0 1 0 0 0 {ticks} 0 0 0 20")).unwrap();
        fs::write(debug.join("io_exits"), io.to_string()).unwrap();
        fs::write(debug.join("nmi_window_exits"), "5").unwrap();
    }

    fn guest() -> Guest {
        let text = r#"{"accel":"kvm","vmm":"QEMU 7.2","machine":"pc","cpu":"host","cpus":2,"nodes":1,"memory":1,
            "backing":"base","channel":"serial","command":[],"append":"","digests":{},"boot_ns":1,"host":{"a":"b"}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_a_guest_took_while_others_were_measured_is_distinguished_from_its_own_exits() {
        let at = tempfile::tempdir().unwrap();
        write_counts(at.path(), 100, 10);
        let mut watch = Watch::of(Root::at(at.path()), 7, guest());
        assert_eq!(watch.idle_cpus(), None);
        watch.begins();
        write_counts(at.path(), 101, 30);
        watch.was_idle();
        let idle = watch.idle_cpus().unwrap();
        assert!(idle > 0.0, "{idle}");
        watch.begins();
        write_counts(at.path(), 900, 75);
        let guest = watch.was_measured();
        assert_eq!(
            guest.exits,
            BTreeMap::from([("io_exits".to_owned(), 45)]),
            "of its own turn, and none that is zero"
        );
        assert_eq!(guest.host["a"], "b");
        assert!(watch.idle_cpus().unwrap() <= idle, "its own turn does not count");
    }

    #[test]
    fn a_guest_that_is_gone_or_whose_counts_may_not_be_read_reports_nothing() {
        let at = tempfile::tempdir().unwrap();
        let mut watch = Watch::of(Root::at(at.path()), 7, guest());
        watch.begins();
        watch.was_idle();
        assert_eq!(watch.idle_cpus(), None);
    }
}
