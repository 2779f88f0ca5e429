//! The guest that is made for the turns, in the janitor's charge; what holds native runs to its size; and what this machine tells of it
//! while it runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::Wall;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::plan::cpu_list;
use hostmark_engine::sys::control_group::{ControlGroup, GroupLimit};
use hostmark_host::{Root, cpu_time_ns, exits, guest_settings};
use hostmark_launch::guest::{Accel, Booted, DiskFormat, DiskSpec, GuestError, GuestSpec, kernel};
use hostmark_launch::program::Programs;
use hostmark_model::{Exit, Guest, HostFacts, Inputs, counted, size_text};
use rustix::fd::OwnedFd;

use super::options::{AccelName, Disk, GuestArguments};
use crate::command::far::{Target, programs};
use crate::command::measure::inputs::scratch;
use crate::command::measure::janitor;
use crate::command::processes::janitor::Janitor;
use crate::command::{EndsWith, processes};
use crate::signals::StopRequest;
use crate::world::SinceStart;

/// A guest that is up. It ends, and is waited for, before its number leaves the janitor's charge.
pub struct Made {
    booted: Booted,
    _charge: Charge,
}

/// QEMU, as the janitor knows it.
struct Charge {
    janitor: Janitor,
    process: Option<u32>,
}

impl Made {
    pub fn boot(arguments: &GuestArguments, stop: &StopRequest) -> Result<Made> {
        Made::start(arguments, stop, |spec, programs, stop, started| Booted::boot(spec, programs, stop, started))
    }

    /// Refuses one that [`Made::boot`] would refuse, as far as that is seen before it runs.
    pub fn check(arguments: &GuestArguments, stop: &StopRequest) -> Result<()> {
        Made::start(arguments, stop, Booted::start_paused).map(drop)
    }

    fn start(
        arguments: &GuestArguments,
        stop: &StopRequest,
        start: impl FnOnce(&GuestSpec, &Programs, Option<Rc<OwnedFd>>, &mut dyn FnMut(u32)) -> Result<Booted, GuestError>,
    ) -> Result<Made> {
        let spec = spec(arguments).map_err(|error| failed(&error, stop))?;
        // Before its start, so that the janitor is told of its end too where it comes to nothing.
        let mut charge = Charge { janitor: janitor()?, process: None };
        let booted = start(&spec, &programs()?, Some(stop.readable()), &mut |process| {
            charge.reaped();
            charge.process = Some(process);
            charge.janitor.record(&CleanupEntry::Group(process));
        });
        Ok(Made { booted: booted.map_err(|error| failed(&error, stop))?, _charge: charge })
    }

    pub fn place(&self, name: &str) -> Target {
        Target::in_guest(self.booted.place(), name)
    }

    /// QEMU's process, and what the guest is.
    pub fn described(&self) -> (u32, Guest) {
        (self.booted.id(), self.booted.described())
    }
}

impl Charge {
    /// QEMU is gone, if there was one.
    fn reaped(&mut self) {
        if let Some(process) = self.process.take() {
            self.janitor.record(&CleanupEntry::Reaped(process));
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.reaped();
    }
}

fn spec(arguments: &GuestArguments) -> Result<GuestSpec, GuestError> {
    let accel = match arguments.accel {
        AccelName::Kvm => Accel::Kvm,
        AccelName::Tcg => Accel::Tcg,
    };
    let kernel = arguments.kernel.clone().map_or_else(kernel::found, Ok)?;
    let usual = GuestSpec::new(accel, kernel);
    let GuestArguments { modules, module, image, smp, cpu_model, machine, nodes, memory, .. } = arguments.clone();
    let GuestArguments { hugepages, disk, net, pin, append, qemu_arg, qemu, boot_timeout, .. } = arguments.clone();
    Ok(GuestSpec {
        qemu: qemu.unwrap_or(usual.qemu),
        machine,
        cpu: cpu_model,
        cpus: smp,
        nodes,
        memory,
        huge_pages: hugepages,
        modules,
        module,
        image,
        disk: disk.map(disk_spec),
        net,
        pin: pin.map(|pins| pins.0).unwrap_or_default(),
        append,
        qemu_args: qemu_arg,
        boot_timeout,
        ..usual
    })
}

/// Describes a disk beside the files of native runs, so that one device is behind both.
fn disk_spec(Disk { size, is_qcow2, cache, iothread }: Disk) -> DiskSpec {
    let format = if is_qcow2 { DiskFormat::Qcow2 } else { DiskFormat::Raw };
    DiskSpec { directory: scratch(&Inputs::default()), size, format, cache, iothread }
}

/// Error of this command without a guest: an impossible request is bad input, a broken one a lost resource.
fn failed(error: &GuestError, stop: &StopRequest) -> anyhow::Error {
    let exit = match error {
        GuestError::Stopped => Exit::Signal(stop.signal().unwrap_or(2)),
        GuestError::Silent { .. }
        | GuestError::Ended { .. }
        | GuestError::Misemulated(_)
        | GuestError::Floods(_)
        | GuestError::Io(_) => Exit::ResourceLost,
        _ => Exit::BadInput,
    };
    EndsWith(exit, error.into()).into()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    pub cpus: usize,
    /// The host's CPUs that they are pinned to; empty where they are not.
    pub pinned: Vec<usize>,
    pub memory: u64,
}

impl Size {
    /// Size of a machine that measures.
    pub fn of(host: &HostFacts) -> Size {
        Size { cpus: host.usable_cpus().len(), pinned: Vec::new(), memory: memory_of(host) }
    }
}

/// Memory that a run may use, bytes.
fn memory_of(host: &HostFacts) -> u64 {
    host.limits.memory_limit_bytes.map_or(host.memory.total_bytes, |limit| limit.min(host.memory.total_bytes))
}

pub struct ResourceCap {
    /// The CPUs, as a list; none where this machine has no more than the guest.
    pub cpus: Option<String>,
    group: Option<ControlGroup>,
    /// Limits that could not be set, each in a sentence.
    pub lacks: Vec<String>,
}

impl ResourceCap {
    /// Holds the native runs of this host to that size, as far as it can be.
    pub fn to(size: &Size, host: &HostFacts, janitor: &mut Janitor) -> ResourceCap {
        let mut held = ResourceCap { cpus: None, group: None, lacks: Vec::new() };
        held.keep_to_cpus(size, host);
        if size.memory < memory_of(host) {
            match processes::limited(&GroupLimit::Memory(size.memory), janitor) {
                Ok(group) => held.group = Some(group),
                Err(why) => held.lacks.push(format!(
                    "native runs cannot be held to {} ({why}), so that cases which depend on memory are not comparable; become \
                     root, or start hostmark in a control group of that size",
                    size_text(size.memory)
                )),
            }
        }
        held
    }

    fn keep_to_cpus(&mut self, size: &Size, host: &HostFacts) {
        let usable = host.usable_cpus();
        if size.cpus > usable.len() {
            self.lacks.push(format!(
                "the guest has {} and this machine {}, so that cases of more than one CPU are not comparable; give the \
                 guest fewer by --smp",
                counted(size.cpus, "CPU"),
                usable.len()
            ));
        }
        let mut cpus = match size.pinned.is_empty() {
            true => usable.iter().copied().take(size.cpus).collect(),
            false => size.pinned.clone(),
        };
        cpus.sort_unstable();
        cpus.dedup();
        self.cpus = (cpus != usable).then(|| cpu_list(&cpus));
    }

    /// Tells whether free runs would differ from limited ones.
    pub fn holds(&self) -> bool {
        self.cpus.is_some() || self.group.is_some()
    }

    /// The words behind which a program is held to the memory.
    pub fn words(&self) -> Vec<OsString> {
        match &self.group {
            Some(group) => processes::words(group),
            None => free(),
        }
    }
}

/// The words behind which a program is on this machine, and held to nothing.
pub fn free() -> Vec<OsString> {
    vec!["env".into()]
}

impl Drop for ResourceCap {
    fn drop(&mut self) {
        // One that cannot be removed yet stays in the janitor's charge.
        let _ = self.group.as_ref().map(ControlGroup::remove);
    }
}

/// A guest that is watched from outside.
pub struct Watch {
    root: Root,
    /// The monitor's process.
    process: u32,
    described: Guest,
    /// Monitor's CPU time in the turns of others, ns, and the length of these.
    idle: (u64, Duration),
    begun: Option<Begun>,
}

/// Counters at the start of a turn.
struct Begun {
    cpu_ns: Option<u64>,
    exits: BTreeMap<String, u64>,
    clock: SinceStart,
}

impl Watch {
    /// Watches the guest that this process runs, with this description.
    pub fn of(root: Root, process: u32, described: Guest) -> Watch {
        let host = guest_settings(&root);
        let described = Guest { host: described.host.into_iter().chain(host).collect(), ..described };
        Watch { root, process, described, idle: (0, Duration::ZERO), begun: None }
    }

    pub fn begins(&mut self) {
        let (cpu_ns, exits) = (cpu_time_ns(&self.root, self.process), exits(&self.root, self.process));
        self.begun = Some(Begun { cpu_ns, exits, clock: SinceStart::now() });
    }

    /// Ends another side's turn: the guest had nothing to do.
    pub fn was_idle(&mut self) {
        let Some(Begun { cpu_ns: Some(before), clock, .. }) = self.begun.take() else { return };
        if let Some(after) = cpu_time_ns(&self.root, self.process) {
            self.idle.0 += after.saturating_sub(before);
            self.idle.1 += clock.elapsed();
        }
    }

    /// Ends the guest's turn, and describes the environment of its run.
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
    use std::fs;
    use std::path::Path;

    use hostmark_model::CpuFact;

    use super::*;

    fn host(cpus: usize) -> HostFacts {
        let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
        HostFacts { cpus: (0..cpus).map(cpu).collect(), ..HostFacts::default() }
    }

    fn to_cpus(size: Size, host: &HostFacts) -> (Option<String>, usize) {
        let mut held = ResourceCap { cpus: None, group: None, lacks: Vec::new() };
        held.keep_to_cpus(&size, host);
        (held.cpus.clone(), held.lacks.len())
    }

    #[test]
    fn native_runs_have_as_many_cpus_as_the_guest_and_those_that_it_is_pinned_to() {
        let size = |cpus, pinned: &[usize]| Size { cpus, pinned: pinned.to_vec(), memory: 1 << 30 };
        assert_eq!(to_cpus(size(2, &[]), &host(8)), (Some("0-1".into()), 0));
        assert_eq!(to_cpus(size(2, &[5, 4]), &host(8)), (Some("4-5".into()), 0));
        assert_eq!(to_cpus(size(8, &[]), &host(8)), (None, 0));
        assert_eq!(to_cpus(size(4, &[]), &host(2)), (None, 1), "as many as there are, and it is told");
    }

    #[test]
    fn memory_is_what_a_limit_leaves() {
        let mut host = host(2);
        host.memory.total_bytes = 8 << 30;
        assert_eq!(Size::of(&host), Size { cpus: 2, pinned: Vec::new(), memory: 8 << 30 });
        host.limits.memory_limit_bytes = Some(1 << 30);
        assert_eq!(Size::of(&host).memory, 1 << 30);
    }

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
