//! Parts of a guest beside its agent: the start of QEMU, the way to an agent there, and the guest's first process.

use std::ffi::{CStr, CString, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::{fs, io};

use hostmark_engine::Wall;
use hostmark_engine::sys::process::die_with_parent;
use hostmark_engine::sys::{netlink, process};
use hostmark_launch::agent::AGENT;
use hostmark_launch::group::GroupLeader;
use hostmark_launch::guest::{SETUP, VIRTIO_PORT};
use hostmark_launch::guest_session::{BEGIN, ChannelPart, END, KNOCK, OVER, READY, Sieve};
use hostmark_launch::monitor::Monitor;
use hostmark_launch::program::{OWN, command};
use hostmark_launch::timing::timing;
use hostmark_launch::{guest, guest_session};
use hostmark_model::{Exit, GuestNet, GuestSetup};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::{Errno, FdFlags};
use rustix::mount::{MountFlags, mount, mount_bind_recursive};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, tee};
use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit};
use rustix::system::{RebootCommand, finit_module, reboot, sethostname};
use rustix::termios::{ControlModes, OptionalActions, tcgetattr, tcsetattr};

use crate::language::said;
use crate::output;
use crate::world::SinceStart;

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
    if let Err(error) = live() {
        // The console's end is what the parent shows.
        output::complain(&said!("the guest cannot be set up ({error}); look at its kernel and options"));
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    ExitCode::from(Exit::ResourceLost.code())
}

fn live() -> io::Result<()> {
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
        let ended = serve_sessions(channel, files, root);
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

/// Bytes that are carried at once.
const PART: usize = 1 << 14;
/// Bytes that wait for an agent at most.
const MOST_WAITING: usize = 128 << 20;
/// Search path of programs in the guest.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const HOME: &str = "/root";

/// An agent, and the session that it serves.
struct Agent {
    nonce: String,
    group: GroupLeader,
    /// None once it is told no more.
    input: Option<File>,
    output: File,
    waiting: Vec<u8>,
    ending: Option<SinceStart>,
}

struct Server {
    channel: File,
    /// Directory of agents' files.
    files: &'static str,
    /// The filesystem that they run in, where that is another one.
    root: Option<PathBuf>,
    agent: Option<Agent>,
    sieve: Sieve,
    /// Output not sent yet; `standing` counts the bytes still in the agent's pipe.
    unsent: Vec<u8>,
    standing: usize,
    /// True where the agent's last output has no end of line.
    is_in_line: bool,
    /// Pipe through which the agent's pipe is copied.
    copy: (OwnedFd, OwnedFd),
}

pub fn serve_sessions(channel: File, files: &'static str, root: Option<PathBuf>) -> io::Result<()> {
    let copy = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let (sieve, unsent) = (Sieve::default(), Vec::new());
    let mut server = Server { channel, files, root, agent: None, sieve, unsent, standing: 0, is_in_line: false, copy };
    loop {
        server.turn()?;
    }
}

impl Server {
    fn turn(&mut self) -> io::Result<()> {
        let [can_read, has_room, says, listens] = self.wait()?;
        if has_room {
            self.send()?;
        }
        if listens {
            self.write_channel();
        }
        if says {
            self.copy_out()?;
        }
        if can_read {
            self.read_channel()?;
        }
        let is_late =
            |agent: &Agent| agent.ending.as_ref().is_some_and(|since| since.elapsed() >= timing().guest_agent_end);
        if self.agent.as_ref().is_some_and(is_late) {
            self.end_agent();
        }
        Ok(())
    }

    /// Waits until something can be done: the channel has something, or room; the agent says something, or has room.
    fn wait(&self) -> io::Result<[bool; 4]> {
        let mut wanted = PollFlags::IN;
        wanted.set(PollFlags::OUT, self.is_sending());
        let mut watched = vec![PollFd::new(&self.channel, wanted)];
        let (mut says, mut listens) = (None, None);
        let mut at_most = None;
        if let Some(agent) = &self.agent {
            if !self.is_sending() {
                says = Some(watched.len());
                watched.push(PollFd::new(&agent.output, PollFlags::IN));
            }
            if let Some(input) = agent.input.as_ref().filter(|_| !agent.waiting.is_empty()) {
                listens = Some(watched.len());
                watched.push(PollFd::new(input, PollFlags::OUT));
            }
            at_most = agent.ending.as_ref().map(|since| timing().guest_agent_end.saturating_sub(since.elapsed()));
        }
        let time = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut watched, time.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 4]),
            Err(error) => return Err(error.into()),
        }
        let came = |index: Option<usize>| index.is_some_and(|index| !watched[index].revents().is_empty());
        let channel = watched[0].revents();
        let can_read = channel.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        Ok([can_read, channel.contains(PollFlags::OUT), came(says), came(listens)])
    }

    /// Tells whether output has not left the guest yet.
    fn is_sending(&self) -> bool {
        !self.unsent.is_empty() || self.standing > 0
    }

    /// Sends a part. What an agent has said leaves its pipe only when nearly all of it has left the port (n_tty has room only
    /// then): an agent waits for that before it measures on.
    fn send(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            let mut taken = vec![0; self.standing];
            if let Some(agent) = &mut self.agent {
                agent.output.read_exact(&mut taken)?;
            }
            self.standing = 0;
            return Ok(());
        }
        match self.channel.write(&self.unsent) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Copies what the agent has said, which stays in its pipe for now; or tells its end.
    fn copy_out(&mut self) -> io::Result<()> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        let length = match tee(&agent.output, &self.copy.1, PART, SpliceFlags::NONBLOCK) {
            Ok(0) => {
                self.end_agent();
                return Ok(());
            }
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut part = vec![0; length];
        let mut read = 0;
        while read < length {
            read += rustix::io::read(&self.copy.0, &mut part[read..])?;
        }
        self.is_in_line = part.last() != Some(&b'\n');
        self.unsent.extend(part);
        self.standing = length;
        Ok(())
    }

    fn write_channel(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        let Some(input) = &mut agent.input else { return };
        match input.write(&agent.waiting) {
            Ok(written) => drop(agent.waiting.drain(..written)),
            Err(error) if is_later(&error) => {}
            // One that reads no more says why by its end.
            Err(_) => agent.waiting.clear(),
        }
        agent.close_when_written();
    }

    fn read_channel(&mut self) -> io::Result<()> {
        let mut part = vec![0; PART];
        let length = match self.channel.read(&mut part) {
            Ok(length) => length,
            Err(error) if is_later(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        for piece in self.sieve.take(&part[..length]) {
            match piece {
                ChannelPart::Carried(bytes) => {
                    if let Some(agent) = self.agent.as_mut().filter(|agent| agent.ending.is_none()) {
                        agent.waiting.extend(bytes);
                        if agent.waiting.len() > MOST_WAITING {
                            self.end_agent();
                        }
                    }
                }
                ChannelPart::Word(word, nonce, _) => self.obey(&word, &nonce)?,
            }
        }
        Ok(())
    }

    fn obey(&mut self, word: &str, nonce: &str) -> io::Result<()> {
        let is_own = self.agent.as_ref().is_some_and(|agent| agent.nonce == nonce);
        match word {
            KNOCK if !is_own => {
                // Who asked for the agent before is gone.
                self.drop_agent();
                self.unsent.extend(guest_session::line(READY, nonce).into_bytes());
            }
            BEGIN if self.agent.is_none() => self.agent = Some(Agent::start(nonce, self.files, self.root.as_deref())?),
            END if is_own => {
                if let Some(agent) = &mut self.agent {
                    agent.ending.get_or_insert_with(SinceStart::now);
                    agent.close_when_written();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the agent with all that is left of its group, and tells how it ended.
    fn end_agent(&mut self) {
        let Some(mut agent) = self.agent.take() else { return };
        let how = agent.group.end().map_or_else(|error| error.to_string(), |status: ExitStatus| status.to_string());
        self.standing = 0;
        // One that was killed may have been in the middle of a line.
        let ended_line = if self.is_in_line { "\n" } else { "" };
        self.is_in_line = false;
        self.unsent.extend(format!("{ended_line}{OVER} {} {how}\n", agent.nonce).into_bytes());
    }

    /// The same, where nobody wants to know it.
    fn drop_agent(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.group.end();
            // The rest of a line of its would be before our word.
            self.unsent = if self.is_in_line { b"\n".to_vec() } else { Vec::new() };
            (self.standing, self.is_in_line) = (0, false);
        }
    }
}

impl Agent {
    fn start(nonce: &str, files: &str, root: Option<&Path>) -> io::Result<Agent> {
        let mut command = command(Path::new(OWN));
        if let Some(root) = root {
            command.arg(NAME).arg(root);
        }
        command.arg(AGENT).env_clear().envs([("PATH", PATH), ("HOME", HOME), ("TMPDIR", files)]);
        // What it complains of is seen on the console.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut group = GroupLeader::spawn(&mut command)?;
        let (Some(input), Some(output)) = (group.streams().stdin.take(), group.streams().stdout.take()) else {
            return Err(io::Error::other("an agent has no streams"));
        };
        let (input, output) = (File::from(OwnedFd::from(input)), File::from(OwnedFd::from(output)));
        // Only our end of a pipe is concerned.
        for end in [input.as_fd(), output.as_fd()] {
            rustix::io::ioctl_fionbio(end, true)?;
            rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
        }
        let waiting = Vec::new();
        Ok(Agent { nonce: nonce.to_owned(), group, input: Some(input), output, waiting, ending: None })
    }

    fn close_when_written(&mut self) {
        if self.ending.is_some() && self.waiting.is_empty() {
            self.input = None;
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
