//! The guest that is made for the turns, in the janitor's charge: whoever kills this process leaves nothing of it.

use std::rc::Rc;

use hostmark_engine::janitor::CleanupEntry;
use hostmark_launch::guest::{Accel, Booted, DiskFormat, DiskSpec, GuestError, GuestSpec, NetSpec, kernel};
use hostmark_launch::program::Programs;
use hostmark_model::{Exit, Guest, Inputs};

use anyhow::Result;
use rustix::fd::OwnedFd;

use super::options::{AccelName, Disk, GuestArguments, Net};
use crate::command::EndsWith;
use crate::command::far::programs;
use crate::command::far::target::Target;
use crate::command::measure::inputs::scratch;
use crate::command::measure::machine::janitor;
use crate::command::processes::janitor::Janitor;
use crate::signals::StopRequest;

/// A guest that is up. It ends, and is waited for, before its number leaves the janitor's charge.
pub struct Made {
    booted: Booted,
    _charge: Charge,
}

/// QEMU, as the janitor knows it.
struct Charge {
    janitor: Janitor,
    /// Once there is one.
    process: Option<u32>,
}

impl Made {
    /// Makes and boots it.
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

    /// Where it is measured.
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

/// The guest that is asked for.
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
        net: net.map(|net| match net {
            Net::User => NetSpec::User,
            Net::Tap { interface, address, prefix } => NetSpec::Tap { interface, address, prefix },
        }),
        pin: pin.map(|pins| pins.0).unwrap_or_default(),
        append,
        qemu_args: qemu_arg,
        boot_timeout,
        ..usual
    })
}

/// Beside the files of native runs, so that one device is behind both.
fn disk_spec(Disk { size, is_qcow2, cache, iothread }: Disk) -> DiskSpec {
    let format = if is_qcow2 { DiskFormat::Qcow2 } else { DiskFormat::Raw };
    DiskSpec { directory: scratch(&Inputs::default()), size, format, cache, iothread }
}

/// Why there is no guest, as this command's error: what was asked for is bad input, what breaks off is a lost resource.
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
