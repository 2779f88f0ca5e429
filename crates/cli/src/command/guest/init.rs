//! The first process of a guest: mounts what programs expect, starts who serves sessions, and waits for whoever has lost its
//! parents.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use hostmark_engine::sys::{netlink, process};
use hostmark_launch::guest::SETUP;
use hostmark_model::{Exit, GuestNet, GuestSetup};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit};
use rustix::system::{RebootCommand, finit_module, reboot, sethostname};

use super::{channel, root, sessions};
use crate::output;

/// What is mounted, where, of which kind, and how.
const MOUNTS: [(&str, &str, MountFlags, Option<&CStr>); 7] = [
    ("/proc", "proc", HARMLESS, None),
    ("/sys", "sysfs", HARMLESS, None),
    ("/sys/kernel/debug", "debugfs", HARMLESS, None),
    ("/dev", "devtmpfs", MountFlags::NOSUID, None),
    ("/dev/pts", "devpts", MountFlags::NOSUID, None),
    ("/dev/shm", "tmpfs", MountFlags::NOSUID, Some(c"mode=1777")),
    ("/tmp", "tmpfs", MountFlags::NOSUID, Some(c"mode=1777")),
];
const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);
/// Where the guest's disk is mounted.
const DISK: &str = "/disk";
/// Files that a process may have open.
const MOST_FILES: u64 = 1 << 20;
/// What the kernel calls the guest's one interface to others.
const INTERFACE: &str = "eth0";
/// Where programs put their files unless there is a disk.
const MEMORY: &str = "/tmp";

/// Whether this process is the first one of a guest that this program has made.
pub fn is_first() -> bool {
    std::process::id() == 1 && Path::new(SETUP).exists()
}

/// Does what the first process has to do, for as long as the guest lives.
pub fn begin() -> ExitCode {
    if let Err(error) = serve() {
        // The console's end is what the parent shows.
        output::complain(&format!("the guest cannot be set up ({error}); look at its kernel and options"));
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    ExitCode::from(Exit::ResourceLost.code())
}

fn serve() -> io::Result<()> {
    let setup: GuestSetup = serde_json::from_slice(&fs::read(SETUP)?)?;
    for (place, kind, flags, data) in MOUNTS {
        let _ = fs::create_dir(place);
        match mount(kind, place, kind, flags, data) {
            // Kernels may lack some, without which most cases are measured all the same.
            Err(error) if ["debugfs", "devpts"].contains(&kind) => {
                output::complain(&format!("{place} is not mounted ({error})"));
            }
            mounted => mounted.map_err(|error| named(place, error))?,
        }
    }
    let _ = sethostname(b"guest");
    // As distributions let users have; the kernel's own limit would leave cases out.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(MOST_FILES), maximum: Some(MOST_FILES) });
    netlink::bring_up(netlink::LOOPBACK)?;
    for module in &setup.modules {
        load(module).map_err(|error| named(module, error))?;
    }
    let files = match &setup.disk {
        Some(device) => {
            let device = format!("/dev/{device}");
            mount(&device, DISK, "ext4", MountFlags::NOSUID, None).map_err(|error| named(&device, error))?;
            DISK
        }
        None => MEMORY,
    };
    if let Some(net) = &setup.net {
        address(net).map_err(|error| named(INTERFACE, error))?;
    }
    let root = setup.root.as_deref().map(root::enter).transpose()?;
    let channel = channel::named(&setup.channel).map_err(|error| named(&setup.channel, error))?;
    // Who serves is another process, so that this one can sleep until somebody without parents has ended.
    let Some(server) = process::fork()? else {
        let ended = sessions::serve(channel, files, root);
        if let Err(error) = ended {
            output::complain(&format!("the guest's channel has failed ({error}); boot it anew"));
        }
        std::process::exit(Exit::ResourceLost.code().into());
    };
    drop(channel);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((ended, _))) if ended.as_raw_nonzero().get().unsigned_abs() == server.number() => return Ok(()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn address(net: &GuestNet) -> io::Result<()> {
    netlink::give_address(INTERFACE, net.address, net.prefix)?;
    netlink::bring_up(INTERFACE)?;
    net.gateway.map_or(Ok(()), netlink::route_by)
}

/// Loads a module of the kernel; one that is there already is no error.
fn load(path: &str) -> io::Result<()> {
    match finit_module(File::open(path)?, &CString::default(), 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn named(what: &str, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
