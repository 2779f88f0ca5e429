//! A guest: a virtual machine that this program makes of a kernel and of itself, boots in QEMU, and ends.

use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_model::{Guest, Message, displays_its_message};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};

use crate::agent::OURS;
use crate::guest_session::{self, ChannelPart, KNOCK, MOST_BEFORE, READY, Sieve, TURN, console};
use crate::monitor::{Monitor, Stopped};
use crate::program::{Programs, nonce};
use crate::supervise::{Supervised, left, now};
use crate::timing::timing;
use crate::transport::{self, Transport};
use crate::transport_error::{TransportError, shown};
use kernel::KernelError;
use prepare::prepare;
use start::{Started, described, start};

pub mod kernel;
mod prepare;
mod start;

/// The word that starts QEMU so that it ends with this program; no command for people.
pub const MACHINE: &str = "guest-machine";
/// Path of the tasks for a guest's first process.
pub const SETUP: &str = "/hostmark.guest";
/// Name of the port of virtio that passes lines between an agent and its parent; a serial port has another name.
pub const VIRTIO_PORT: &str = "hostmark";

/// Accelerator that executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// The processor, through /dev/kvm.
    Kvm,
    /// QEMU's software emulation.
    Tcg,
}

impl Accel {
    /// Name in QEMU and run files.
    pub fn name(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}

/// A guest as it is to be made.
#[derive(Debug, Clone)]
pub struct GuestSpec {
    pub accel: Accel,
    pub qemu: OsString,
    /// The machine type; QEMU's usual one of the architecture unless given.
    pub machine: Option<String>,
    /// The CPU model; the host's under KVM, and all that QEMU can emulate under TCG, unless given.
    pub cpu: Option<String>,
    pub cpus: u32,
    /// NUMA nodes, over which CPUs and memory are spread.
    pub nodes: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// Bytes of the huge pages that back it; whatever the host gives unless said.
    pub huge_pages: Option<u64>,
    pub kernel: PathBuf,
    /// The directory with that kernel's modules; /lib/modules/RELEASE where that is there, unless given.
    pub modules: Option<PathBuf>,
    /// hostmark's own module of the kernel.
    pub module: Option<PathBuf>,
    /// A distribution's image, in whose filesystem agents run. It is not written.
    pub image: Option<PathBuf>,
    pub disk: Option<DiskSpec>,
    pub net: Option<NetSpec>,
    /// The host's CPU of each virtual one, in order.
    pub pin: Vec<usize>,
    /// More words for the kernel's command line.
    pub append: Vec<String>,
    /// More words for QEMU's command line.
    pub qemu_args: Vec<String>,
    /// Longest time until the first agent can be started.
    pub boot_timeout: Duration,
}

impl GuestSpec {
    /// A guest of one CPU and 1 GiB, and nothing else.
    pub fn new(accel: Accel, kernel: PathBuf) -> GuestSpec {
        GuestSpec {
            accel,
            qemu: format!("qemu-system-{}", std::env::consts::ARCH).into(),
            machine: None,
            cpu: None,
            cpus: 1,
            nodes: 1,
            memory: 1 << 30,
            huge_pages: None,
            kernel,
            modules: None,
            module: None,
            image: None,
            disk: None,
            net: None,
            pin: Vec::new(),
            append: Vec::new(),
            qemu_args: Vec::new(),
            boot_timeout: Duration::from_secs(60),
        }
    }
}

/// A disk that is made for a guest, with a filesystem on it, and is gone with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSpec {
    /// The directory on whose filesystem its contents lie; no file with a name is made there.
    pub directory: PathBuf,
    /// Bytes.
    pub size: u64,
    pub format: DiskFormat,
    /// QEMU's cache mode.
    pub cache: String,
    /// True where an iothread of its own serves its requests.
    pub iothread: bool,
}

/// Format of a disk's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFormat {
    Raw,
    /// QEMU's own format.
    Qcow2,
}

/// Connection of a guest's network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetSpec {
    /// QEMU's own network stack: without rights, and slow.
    User,
    /// An interface of the host's kernel.
    Tap {
        /// Name of the interface; it exists, and has an address.
        interface: String,
        /// The guest's address in the same network.
        address: Ipv4Addr,
        /// Bits of it that name the network.
        prefix: u8,
    },
}

/// Time for QEMU, once it has ended, to say why.
const GRACE: Duration = Duration::from_secs(1);
/// The exit code of who was to become QEMU and could not.
const NOT_FOUND: i32 = 127;
/// Largest number of boots of a guest whose emulator ran what its kernel had changed.
const BOOTS: u32 = 3;

/// A guest that answers. When dropped it is ended, and nothing is left of it.
#[derive(Debug)]
pub struct Booted {
    process: Supervised,
    channel: Rc<OwnedFd>,
    monitor: Monitor,
    /// The monitor's socket, for those who carry sessions.
    shared: Rc<OwnedFd>,
    digest: String,
    described: Guest,
}

impl Booted {
    /// Boots one in which the program of `programs` answers. `stop` becomes readable when the person asks to stop; `started` is told QEMU's
    /// process as soon as there is one, and of the next where that one is gone and the guest is booted anew.
    pub fn boot(
        spec: &GuestSpec,
        programs: &Programs,
        stop: Option<Rc<OwnedFd>>,
        mut started: impl FnMut(u32),
    ) -> Result<Booted, GuestError> {
        let mut boots = 0;
        loop {
            boots += 1;
            match Booted::boot_once(spec, programs, stop.clone(), &mut started) {
                // No fault of what was asked for, and rare.
                Err(GuestError::Misemulated(_)) if boots < BOOTS => {}
                ended => return ended,
            }
        }
    }

    fn boot_once(
        spec: &GuestSpec,
        programs: &Programs,
        stop: Option<Rc<OwnedFd>>,
        started: &mut dyn FnMut(u32),
    ) -> Result<Booted, GuestError> {
        let begun = now();
        let mut booted = Booted::start_paused(spec, programs, stop.clone(), started)?;
        booted.monitor.ask("cont", json!({})).map(drop).map_err(|error| booted.ended_early(&error))?;
        booted.wait(spec, begun, stop.as_deref())?;
        booted.described.boot_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(booted)
    }

    /// Starts QEMU with all that the guest has, its memory too, and does not let it run: whoever needs no guest learns that one can be had.
    pub fn start_paused(
        spec: &GuestSpec,
        programs: &Programs,
        stop: Option<Rc<OwnedFd>>,
        started: &mut dyn FnMut(u32),
    ) -> Result<Booted, GuestError> {
        let prepared = prepare(spec, programs)?;
        let Started { process, channel, monitor, command } = start(spec, programs, &prepared, stop.clone())?;
        started(process.id());
        let described = described(spec, &prepared, command);
        let shared = Rc::new(monitor);
        let monitor = Monitor::of(rustix::io::fcntl_dupfd_cloexec(&*shared, 3).map_err(io::Error::from)?);
        let mut booted =
            Booted { process, channel: Rc::new(channel), monitor, shared, digest: prepared.program.digest, described };
        booted.described.vmm = booted.greet(stop.as_deref())?;
        booted.settle(spec)?;
        Ok(booted)
    }

    /// Place of the guest: each start there is a new agent in this guest.
    pub fn place(&self) -> Transport {
        Transport::Guest(transport::GuestPlace::new(
            Rc::clone(&self.channel),
            Rc::clone(&self.shared),
            self.digest.clone(),
        ))
    }

    pub fn described(&self) -> Guest {
        self.described.clone()
    }

    /// SHA-256 of the program in it, hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// QEMU's process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The end of its console, harmless to show: what no session has told yet.
    pub fn last_lines(&mut self) -> Vec<String> {
        self.monitor.last_lines()
    }

    /// Waits until QEMU has what it needs, and hears its version.
    fn greet(&mut self, stop: Option<&OwnedFd>) -> Result<String, GuestError> {
        let limit = timing().boot;
        let until = now().checked_add(limit);
        loop {
            let at_most = left(until).unwrap_or(limit);
            let [_, has_come, is_stopped] = self.ready(stop, at_most)?;
            if is_stopped {
                return Err(GuestError::Stopped);
            }
            if has_come || at_most.is_zero() {
                return self.monitor.greet(at_most).map_err(|error| self.ended_early(&error));
            }
        }
    }

    /// Learns what QEMU made of it, and binds its CPUs.
    fn settle(&mut self, spec: &GuestSpec) -> Result<(), GuestError> {
        let machine = self.monitor.ask("qom-get", json!({"path": "/machine", "property": "type"}));
        if let Ok(machine) = machine {
            let name = shown(machine.as_str().unwrap_or_default());
            self.described.machine = name.strip_suffix("-machine").unwrap_or(&name).to_owned();
        }
        self.pin(&spec.pin)
    }

    /// Binds each virtual CPU's thread to its CPU of the host.
    fn pin(&mut self, pin: &[usize]) -> Result<(), GuestError> {
        if pin.is_empty() {
            return Ok(());
        }
        let failed =
            |why: Message| GuestError::Asked(say!("its CPUs cannot be pinned ({why}); choose others by --pin"));
        let listed = self.monitor.ask("query-cpus-fast", json!({})).map_err(|error| failed(error.into()))?;
        for (index, &cpu) in pin.iter().enumerate() {
            let of = |one: &&Value| one["cpu-index"].as_u64() == Some(index as u64);
            let thread = listed.as_array().and_then(|cpus| cpus.iter().find(of)?["thread-id"].as_u64());
            let thread = thread.filter(|thread| Path::new(&format!("/proc/{}/task/{thread}", self.id())).exists());
            let Some(thread) = thread.and_then(|thread| Pid::from_raw(i32::try_from(thread).ok()?)) else {
                return Err(failed(say!("QEMU names no thread of CPU {index}")));
            };
            if cpu >= CpuSet::MAX_CPU {
                return Err(failed(say!("{cpu} is above {max_cpu}", max_cpu = CpuSet::MAX_CPU - 1)));
            }
            let mut set = CpuSet::new();
            set.set(cpu);
            sched_setaffinity(Some(thread), &set).map_err(|error| {
                failed(say!("{what}: {error}", what = format!("CPU {cpu}"), error = io::Error::from(error)))
            })?;
        }
        Ok(())
    }

    /// Reason why QEMU has ended before the guest ran.
    fn ended_early(&mut self, error: &io::Error) -> GuestError {
        let has_ended = self.process.ends_within(GRACE);
        let status = self.process.kill();
        let word = self.process.last_word().map(|word| shown(word.trim_start_matches(OURS)));
        let is_missing = status.as_ref().is_ok_and(|status| status.code() == Some(NOT_FOUND));
        let how = match (word, status) {
            (Some(word), _) => word.into(),
            (None, Ok(status)) if has_ended => status.into(),
            _ => Message::from(error),
        };
        let remedy = match &how.to_string() {
            _ if is_missing => say!("install it, or name it by --qemu"),
            // Its own word for a call of KVM that went otherwise than it must.
            how if how.contains("kvm_") => say!("this KVM does not do what QEMU asks of it; take --accel tcg"),
            how if how.contains("KVM") => say!("let this user open /dev/kvm, or take --accel tcg"),
            how if how.contains("memory") => say!("choose less by --memory, or set pages aside on this host"),
            _ => say!("look at the option that it names, or leave that out"),
        };
        GuestError::Qemu { how, remedy }
    }

    /// Knocks until the guest's first process answers.
    fn wait(&mut self, spec: &GuestSpec, begun: Instant, stop: Option<&OwnedFd>) -> Result<(), GuestError> {
        let nonce = nonce()?;
        let knock = guest_session::line(KNOCK, &nonce);
        let until = begun.checked_add(spec.boot_timeout);
        let (mut next, mut sieve, mut before) = (begun, Sieve::default(), 0);
        loop {
            if left(until).is_some_and(|left| left.is_zero()) {
                return Err(self.silent(spec));
            }
            if next <= now() {
                // Where there is no room for it, enough of them wait there already.
                let _ = rustix::net::send(&*self.channel, knock.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
                next = now() + TURN;
            }
            let at_most = next.saturating_duration_since(now()).min(left(until).unwrap_or(TURN));
            let [channel, monitor, stop] = self.ready(stop, at_most)?;
            if stop {
                return Err(GuestError::Stopped);
            }
            if channel {
                let mut part = [0; 4096];
                match rustix::net::recv(&*self.channel, &mut part[..], RecvFlags::DONTWAIT) {
                    Ok((0, _)) => return Err(self.ended(spec, Stopped::Gone)),
                    Ok((length, _)) => {
                        before += length;
                        let is_answer = |piece: &ChannelPart| matches!(piece, ChannelPart::Word(word, of, _) if word == READY && *of == nonce);
                        if sieve.take(&part[..length]).iter().any(is_answer) {
                            return Ok(());
                        }
                    }
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(_) => return Err(self.ended(spec, Stopped::Gone)),
                }
            }
            if before > MOST_BEFORE {
                return Err(GuestError::Floods(self.last_lines()));
            }
            if monitor && let Some(how) = self.monitor.stopped() {
                return Err(self.ended(spec, how));
            }
        }
    }

    /// Readiness of the channel, the monitor and the request to stop.
    fn ready(&self, stop: Option<&OwnedFd>, at_most: Duration) -> io::Result<[bool; 3]> {
        let mut watched = vec![PollFd::new(&*self.channel, PollFlags::IN), PollFd::new(&self.monitor, PollFlags::IN)];
        watched.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
        match poll(&mut watched, Timespec::try_from(at_most).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |index: usize| watched.get(index).is_some_and(|one| !one.revents().is_empty());
        Ok([is_ready(0), is_ready(1), is_ready(2)])
    }

    fn silent(&mut self, spec: &GuestSpec) -> GuestError {
        let lines = self.last_lines();
        let remedy = match (spec.accel, lines.is_empty()) {
            (Accel::Kvm, true) => {
                say!(
                    "its kernel has not said a word: a KVM that is itself emulated, as in some clouds and containers, carries no \
                 ordinary kernel; take --accel tcg, or a longer --boot-timeout"
                )
            }
            (Accel::Kvm, false) => {
                say!(
                    "a KVM that is itself emulated may be too slow for an ordinary kernel; take --accel tcg, or a longer \
                 --boot-timeout"
                )
            }
            (Accel::Tcg, _) => {
                say!("emulation is slow where the host is busy; take a longer --boot-timeout, or another kernel")
            }
        };
        GuestError::Silent { seconds: spec.boot_timeout.as_secs(), lines, remedy }
    }

    fn ended(&mut self, spec: &GuestSpec, how: Stopped) -> GuestError {
        let lines = self.last_lines();
        if how == Stopped::Gone {
            return self.ended_early(&io::ErrorKind::UnexpectedEof.into());
        }
        if how == Stopped::Reset && spec.accel == Accel::Tcg && spec.cpus > 1 && self.monitor.has_trapped() {
            return GuestError::Misemulated(lines);
        }
        let is_short = |line: &String| line.contains("memory") || line.contains("initramfs");
        let is_short = lines.iter().any(is_short) || spec.memory < LITTLE;
        let remedy = match how {
            Stopped::ByQemu if spec.accel == Accel::Kvm => {
                say!("a KVM that is itself emulated carries no ordinary kernel; take --accel tcg")
            }
            Stopped::NoRoom => say!("make room, or name another directory for its disk"),
            Stopped::PoweredOff => say!("do what its console says"),
            _ if is_short => say!("give it more memory by --memory"),
            _ => say!("take another kernel, or leave out what was added to its command line"),
        };
        GuestError::Ended { how: how.text(), lines, remedy }
    }
}

/// Memory under which a distribution's kernel and this program have hardly room, bytes.
const LITTLE: u64 = 256 << 20;

/// Reason why there is no guest. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    Kernel(#[from] KernelError),
    /// The program that is to run in it.
    Program(TransportError),
    Dynamic {
        machine: &'static str,
    },
    Asked(Message),
    /// QEMU is missing, or does not start.
    Qemu {
        /// Last word, or how it ended.
        how: Message,
        remedy: Message,
    },
    Silent {
        seconds: u64,
        lines: Vec<String>,
        /// The likely cause, and what to do.
        remedy: Message,
    },
    /// Guest ended while it booted.
    Ended {
        how: Message,
        lines: Vec<String>,
        remedy: Message,
    },
    /// Emulator ran instructions of the kernel that another of its CPUs had changed by then, as QEMU does now and then with several CPUs.
    Misemulated(Vec<String>),
    /// Output is too much where the guest's agent should answer.
    Floods(Vec<String>),
    /// The person asked to stop.
    Stopped,
    /// A call of the system failed here.
    Io(#[from] io::Error),
}

impl From<&GuestError> for Message {
    fn from(error: &GuestError) -> Message {
        match error {
            GuestError::Kernel(value) => value.into(),
            GuestError::Program(value) => value.into(),
            GuestError::Dynamic { machine } => say!(
                "this program is not static and runs in no guest; put hostmark-{machine}-linux-musl beside it, made by cargo build \
         --release --target {machine}-unknown-linux-musl"
            ),
            GuestError::Asked(value) => value.into(),
            GuestError::Qemu { how, remedy } => say!("QEMU does not start ({how}); {remedy}"),
            GuestError::Silent { seconds, lines, remedy } => {
                say!("the guest has not answered in {seconds} s{lines}; {remedy}", lines = console(lines))
            }
            GuestError::Ended { how, lines, remedy } => {
                say!("the guest ended while it booted: {how}{lines}; {remedy}", lines = console(lines))
            }
            GuestError::Misemulated(value) => say!(
                "the guest ended while it booted: QEMU ran code that the kernel had just changed{value}; give it one CPU by --smp 1, or take another QEMU",
                value = console(value)
            ),
            GuestError::Floods(value) => say!(
                "the guest has written {most_before} KiB to its channel and answers no knock{value}; look at what writes there",
                most_before = MOST_BEFORE >> 10,
                value = console(value)
            ),
            GuestError::Stopped => say!("stopped on request; start again when you like"),
            GuestError::Io(value) => say!("the guest cannot be started ({value}); try again"),
        }
    }
}

displays_its_message!(GuestError);
