//! Parts of a guest beside its agent: the start of QEMU, the way to an agent there, and the guest's first process.

use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use hostmark_engine::sys::netlink;
use hostmark_engine::sys::process::{self, die_with_parent};
use hostmark_launch::guest::{self, SETUP, VIRTIO_PORT};
use hostmark_launch::guest_session;
use hostmark_launch::monitor::Monitor;
use hostmark_launch::program::{OWN, command};
use hostmark_model::{Exit, GuestNet, GuestSetup};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind_recursive};
use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit};
use rustix::system::{RebootCommand, finit_module, reboot, sethostname};
use rustix::termios::{ControlModes, OptionalActions, tcgetattr, tcsetattr};

use crate::language::said;
use crate::output;

mod sessions;

pub use NAME as WITHIN;

/// The word that starts QEMU; no command for people.
pub const MACHINE: &str = guest::MACHINE;
/// The word that starts a session; no command for people.
pub const SESSION: &str = guest_session::SESSION;
/// The exit code by which a shell tells that there is no such program.
const NOT_FOUND: u8 = 127;

/// Becomes QEMU, whose words follow its parent's number: it ends when that does, however that ends.
pub fn machine(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = words.next().and_then(|word| word.to_str()?.parse::<u32>().ok());
    let (Some(parent), Some(program)) = (parent, words.next()) else {
        return complain(&said!("a guest is started by hostmark vm run, not by hand"), Exit::BadInput);
    };
    if !die_with_parent(parent) {
        return ExitCode::from(Exit::ResourceLost.code());
    }
    let error = Command::new(&program).args(words).exec();
    output::complain(&said!("cannot start {program}: {error}", program = program.to_string_lossy()));
    ExitCode::from(NOT_FOUND)
}

/// Carries standard input to an agent in a guest, and back, by the sockets whose numbers follow.
pub fn session(words: impl Iterator<Item = OsString>) -> ExitCode {
    let numbers: Option<Vec<i32>> = words.map(|word| word.to_str()?.parse().ok()).collect();
    let Some([channel, monitor]) = numbers.as_deref().and_then(|numbers| <[i32; 2]>::try_from(numbers).ok()) else {
        return complain(&said!("a session is started by hostmark vm run, not by hand"), Exit::BadInput);
    };
    let streams = || -> io::Result<_> {
        let (input, output) = (rustix::io::dup(io::stdin())?, rustix::io::dup(io::stdout())?);
        Ok((process::inherited(channel)?, process::inherited(monitor)?, input, output))
    };
    let (channel, monitor, input, output) = match streams() {
        Ok(streams) => streams,
        Err(error) => return complain(&said!("a stream is closed ({error}); open it"), Exit::BadInput),
    };
    match guest_session::carry(channel, Monitor::of(monitor), input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string(), Exit::ResourceLost),
    }
}

fn complain(sentence: &str, exit: Exit) -> ExitCode {
    output::complain(sentence);
    ExitCode::from(exit.code())
}

/// Mounts: source, kind, flags and options.
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
/// Mount point of the guest's disk.
const DISK: &str = "/disk";
/// Files that a process may have open.
const MOST_FILES: u64 = 1 << 20;
/// Name of the guest's one network interface to others.
const INTERFACE: &str = "eth0";
/// Directory of temporary files unless there is a disk.
const MEMORY: &str = "/tmp";

/// Tells whether this process is the init of a guest that this program has made.
pub fn is_first() -> bool {
    std::process::id() == 1 && Path::new(SETUP).exists()
}

/// Does what the first process has to do, for as long as the guest lives.
pub fn begin() -> ExitCode {
    if let Err(error) = serve() {
        // The console's end is what the parent shows.
        output::complain(&said!("the guest cannot be set up ({error}); look at its kernel and options"));
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
                output::complain(&said!("{place} is not mounted ({error})"));
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
    let root = setup.root.as_deref().map(enter).transpose()?;
    let channel = opened_channel(&setup.channel).map_err(|error| named(&setup.channel, error))?;
    // Who serves is another process, so that this one can sleep until somebody without parents has ended.
    let Some(server) = process::fork()? else {
        let ended = sessions::serve(channel, files, root);
        if let Err(error) = ended {
            output::complain(&said!("the guest's channel has failed ({error}); boot it anew"));
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

/// The word that starts a program in it; no command for people.
pub const NAME: &str = "guest-within";
/// Mount point of the image, with the changes above it.
const IMAGE: &str = "/image";
const WRITTEN: &str = "/root";
/// Filesystems of images, each with its option to mount without recovery.
const KINDS: [(&str, &str); 2] = [("ext4", "noload"), ("xfs", "norecovery")];
/// File that every distribution has.
const MARK: &str = "etc/os-release";
/// Directories shared with the guest's first filesystem.
const SHARED: [&str; 5] = ["proc", "sys", "dev", "tmp", "disk"];

/// Mounts the one on this disk, or on a part of it: where it is.
pub fn enter(disk: &str) -> io::Result<PathBuf> {
    let mut parts: Vec<String> = fs::read_dir(Path::new("/sys/block").join(disk))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(disk))
        .collect();
    parts.sort();
    parts.push(disk.to_owned());
    if !parts.iter().any(|part| is_mounted(part)) {
        return Err(io::Error::other("the image holds no filesystem of a distribution, ext4 or xfs"));
    }
    let root = match with_room_above() {
        Ok(()) => PathBuf::from(WRITTEN),
        // Programs that write beside TMPDIR fail then, and say so.
        Err(_) => PathBuf::from(IMAGE),
    };
    for shared in SHARED {
        let (from, to) = (Path::new("/").join(shared), root.join(shared));
        let _ = fs::create_dir(&to);
        match mount_bind_recursive(&from, &to) {
            // An image that cannot be written has no directory for the disk.
            Err(_) if shared == "disk" => {}
            mounted => mounted?,
        }
    }
    Ok(root)
}

fn is_mounted(part: &str) -> bool {
    let device = format!("/dev/{part}");
    KINDS.iter().any(|(kind, options)| {
        let options = CString::new(*options).unwrap_or_default();
        let mounted = mount(&device, IMAGE, *kind, MountFlags::RDONLY, Some(options.as_c_str())).is_ok();
        if mounted && !Path::new(IMAGE).join(MARK).exists() {
            let _ = rustix::mount::unmount(IMAGE, rustix::mount::UnmountFlags::DETACH);
            return false;
        }
        mounted
    })
}

/// Gives what is written a place in memory.
fn with_room_above() -> io::Result<()> {
    mount("tmpfs", "/modules", "tmpfs", MountFlags::NOSUID, None)?;
    fs::create_dir("/modules/upper")?;
    fs::create_dir("/modules/work")?;
    let options = c"lowerdir=/image,upperdir=/modules/upper,workdir=/modules/work";
    Ok(mount("overlay", WRITTEN, "overlay", MountFlags::empty(), Some(options))?)
}

/// Becomes this program with these words, in the filesystem that stands before them.
pub fn within(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(root) = words.next() else {
        let why = said!("this is started in a guest, not by hand; use hostmark vm run");
        return complain(&why, Exit::BadInput);
    };
    let entered = rustix::process::chroot(Path::new(&root)).and_then(|()| rustix::process::chdir("/"));
    let error = match entered {
        // It leads to the program's own file from anywhere.
        Ok(()) => command(Path::new(OWN)).args(words).exec(),
        Err(error) => error.into(),
    };
    output::complain(&said!("the image's filesystem cannot be entered ({error}); take another image"));
    ExitCode::from(Exit::ResourceLost.code())
}

/// The fastest that every serial port knows; that of an emulated one is as fast as its emulator.
const BAUD: u32 = 115_200;
const PORTS: &str = "/sys/class/virtio-ports";

/// Opens the one of this name: that of a serial port in /dev, or that which a port of virtio was given.
fn opened_channel(name: &str) -> io::Result<File> {
    match name {
        VIRTIO_PORT => {
            let ports = fs::read_dir(PORTS)?.filter_map(Result::ok);
            let is_ours = |port: &fs::DirEntry| {
                fs::read_to_string(port.path().join("name")).is_ok_and(|named| named.trim() == name)
            };
            let port = { ports }.find(is_ours).ok_or_else(|| io::Error::other("there is no such port"))?;
            open(&Path::new("/dev").join(port.file_name()))
        }
        _ => open(&Path::new("/dev").join(name)),
    }
}

/// Opens a device, so that it passes bytes as they are, and nobody waits in a call.
fn open(device: &Path) -> io::Result<File> {
    let flags = (OFlags::NOCTTY | OFlags::NONBLOCK).bits() as i32;
    let channel = OpenOptions::new().read(true).write(true).custom_flags(flags).open(device)?;
    let mut modes = match tcgetattr(&channel) {
        Ok(modes) => modes,
        // A port of virtio is no terminal.
        Err(Errno::NOTTY | Errno::INVAL) => return Ok(channel),
        Err(error) => return Err(error.into()),
    };
    modes.make_raw();
    // A line without a modem: nobody hangs up.
    modes.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    modes.set_speed(BAUD)?;
    tcsetattr(&channel, OptionalActions::Now, &modes)?;
    Ok(channel)
}
