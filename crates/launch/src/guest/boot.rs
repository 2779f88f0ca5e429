//! Boots a guest, and waits until its first process answers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_model::{Guest, GuestSetup};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socketpair};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::command_line::{self, Descriptors};
use super::error::GuestError;
use super::initramfs::Initramfs;
use super::kernel::Kernel;
use super::{Accel, GuestSpec, MACHINE, SETUP};
use crate::guest_channel::{self, KNOCK, Piece, READY, Sieve};
use crate::guest_session::{MOST_BEFORE, TURN};
use crate::monitor::{Monitor, Stopped};
use crate::place::{self, Place};
use crate::place_error::shown;
use crate::program::{Program, Programs, hex};
use crate::supervise::{Ending, Errors, Membership, Supervised, Terms, left, now};

/// How long QEMU may take until its monitor answers: it gets its memory before that.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// How long one that has ended may take to say why.
const GRACE: Duration = Duration::from_secs(1);
/// Where programs are in the guest.
const DIRECTORIES: [&str; 7] = ["dev", "proc", "sys", "tmp", "root", "disk", "image"];

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
    /// process as soon as there is one.
    pub fn boot(
        spec: &GuestSpec,
        programs: &Programs,
        stop: Option<Rc<OwnedFd>>,
        started: impl FnOnce(u32),
    ) -> Result<Booted, GuestError> {
        let begun = now();
        check(spec)?;
        let kernel = Kernel::read(&spec.kernel)?;
        let program = programs.for_machine(std::env::consts::ARCH).map_err(GuestError::Program)?;
        if !program.is_static {
            return Err(GuestError::Dynamic { machine: std::env::consts::ARCH });
        }
        let setup = GuestSetup { channel: "ttyS1".into(), ..GuestSetup::default() };
        let initramfs = initramfs(&program, &setup)?;
        let mut digests = BTreeMap::from([("kernel".to_owned(), kernel.digest.clone())]);
        digests.insert("initramfs".into(), hex(&Sha256::digest(&initramfs)));
        let (process, channel, monitor, command) = start(spec, programs, &kernel, &initramfs, stop.clone())?;
        started(process.id());
        let described = Guest {
            accel: spec.accel.name().into(),
            vmm: String::new(),
            machine: command_line::machine(spec).into(),
            cpu: command_line::cpu(spec).into(),
            cpus: spec.cpus,
            nodes: spec.nodes,
            memory: spec.memory,
            backing: backing(spec),
            pinned: spec.pin.clone(),
            disk: None,
            net: None,
            channel: "serial".into(),
            command,
            append: command_line::append(spec),
            digests,
            boot_ns: 0,
            host: BTreeMap::new(),
            exits: BTreeMap::new(),
            idle_cpus: None,
        };
        let shared = Rc::new(monitor);
        let monitor = Monitor::of(rustix::io::fcntl_dupfd_cloexec(&*shared, 3).map_err(io::Error::from)?);
        let mut booted =
            Booted { process, channel: Rc::new(channel), monitor, shared, digest: program.digest, described };
        booted.described.vmm = booted.greet()?;
        booted.settle(spec)?;
        booted.wait(spec, begun, stop.as_deref())?;
        booted.described.boot_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(booted)
    }

    /// Where it leads: each start there is a new agent in this guest.
    pub fn place(&self) -> Place {
        Place::Guest(place::Guest::new(Rc::clone(&self.channel), Rc::clone(&self.shared), self.digest.clone()))
    }

    /// What it is.
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

    /// The end of its console, harmless to show.
    pub fn last_lines(&mut self) -> Vec<String> {
        self.monitor.last_lines()
    }

    fn greet(&mut self) -> Result<String, GuestError> {
        let greeted = self.monitor.greet(STARTS_WITHIN);
        greeted.map_err(|error| self.ended_early(&error))
    }

    /// Learns what QEMU made of it, and lets it run.
    fn settle(&mut self, spec: &GuestSpec) -> Result<(), GuestError> {
        let machine = self.monitor.ask("qom-get", json!({"path": "/machine", "property": "type"}));
        if let Ok(machine) = machine {
            let name = shown(machine.as_str().unwrap_or_default());
            self.described.machine = name.strip_suffix("-machine").unwrap_or(&name).to_owned();
        }
        let _ = spec;
        self.monitor.ask("cont", json!({})).map(drop).map_err(|error| self.ended_early(&error))
    }

    /// Why QEMU has ended before the guest ran.
    fn ended_early(&mut self, error: &io::Error) -> GuestError {
        let has_ended = self.process.ends_within(GRACE);
        let status = self.process.kill();
        let word = self.process.last_word().map(|word| shown(&word));
        let how = match (word, status) {
            (Some(word), _) => word,
            (None, Ok(status)) if has_ended => status.to_string(),
            _ => error.to_string(),
        };
        let remedy = "look at the option that it names, or leave that out".to_owned();
        GuestError::Qemu { how, remedy }
    }

    /// Knocks until the guest's first process answers.
    fn wait(&mut self, spec: &GuestSpec, begun: Instant, stop: Option<&OwnedFd>) -> Result<(), GuestError> {
        let nonce = guest_channel::nonce()?;
        let knock = guest_channel::line(KNOCK, &nonce);
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
                        let is_answer =
                            |piece: &Piece| matches!(piece, Piece::Word(word, of, _) if word == READY && *of == nonce);
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

    /// Which of channel, monitor and the request to stop have something to say.
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
                "its kernel has not said a word: a KVM that is itself emulated, as in some clouds and containers, carries no \
                 ordinary kernel; take --accel tcg, or a longer --boot-timeout"
            }
            (Accel::Kvm, false) => {
                "a KVM that is itself emulated may be too slow for an ordinary kernel; take --accel tcg, or a longer \
                 --boot-timeout"
            }
            (Accel::Tcg, _) => {
                "emulation is slow where the host is busy; take a longer --boot-timeout, or another kernel"
            }
        };
        GuestError::Silent { seconds: spec.boot_timeout.as_secs(), lines, remedy: remedy.into() }
    }

    fn ended(&mut self, spec: &GuestSpec, how: Stopped) -> GuestError {
        let lines = self.last_lines();
        if how == Stopped::Gone {
            return self.ended_early(&io::ErrorKind::UnexpectedEof.into());
        }
        let is_short = |line: &String| line.contains("memory") || line.contains("initramfs");
        let remedy = match (lines.iter().any(is_short), spec.memory < LITTLE) {
            (true, _) | (_, true) => "give it more memory by --memory",
            _ => "take another kernel, or leave out what was added to its command line",
        };
        GuestError::Ended { how: how.text(), lines, remedy }
    }
}

/// Memory under which a distribution's kernel and this program have hardly room, bytes.
const LITTLE: u64 = 256 << 20;

/// What can be told before anything is started.
fn check(spec: &GuestSpec) -> Result<(), GuestError> {
    let asked = |sentence: &str| Err(GuestError::Asked(sentence.to_owned()));
    match spec {
        GuestSpec { cpus: 0, .. } | GuestSpec { nodes: 0, .. } => {
            asked("a guest has one CPU and one node at least; give it more")
        }
        GuestSpec { cpus, nodes, .. } if !cpus.is_multiple_of(*nodes) => {
            asked("a guest's CPUs are spread evenly over its nodes; choose a multiple of the nodes")
        }
        GuestSpec { memory, nodes, .. } if !memory.is_multiple_of(u64::from(*nodes) << 20) || *memory == 0 => {
            asked("a guest's memory is a number of MiB for each node; choose another")
        }
        GuestSpec { pin, cpus, .. } if !pin.is_empty() && pin.len() != *cpus as usize => {
            asked("not as many CPUs are named to pin to as the guest has; name one for each")
        }
        _ => Ok(()),
    }
}

fn initramfs(program: &Program, setup: &GuestSetup) -> io::Result<Vec<u8>> {
    let mut archive = Initramfs::default();
    DIRECTORIES.iter().for_each(|directory| archive.directory(directory));
    archive.device("dev/console", (5, 1));
    archive.file("hostmark", &program.bytes);
    archive.link("init", "hostmark");
    archive.file(SETUP.trim_start_matches('/'), &serde_json::to_vec(setup)?);
    Ok(archive.finish())
}

/// A file without a name that holds this, and changes no more.
fn held(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    (&file).write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(file.into())
}

/// Starts QEMU: it, our ends of its channel and of its monitor, and its command line.
fn start(
    spec: &GuestSpec,
    programs: &Programs,
    kernel: &Kernel,
    initramfs: &[u8],
    stop: Option<Rc<OwnedFd>>,
) -> Result<(Supervised, OwnedFd, OwnedFd, Vec<String>), GuestError> {
    let (kernel, initramfs) = (held("hostmark-kernel", &kernel.bytes)?, held("hostmark-initramfs", initramfs)?);
    let pair =
        || socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(io::Error::from);
    let ((channel, its_channel), (monitor, its_monitor)) = (pair()?, pair()?);
    // Only these are inherited, and only by QEMU: nothing else is started while they are there.
    let of = |descriptor: &OwnedFd| rustix::io::dup(descriptor).map_err(io::Error::from);
    let inherited = [of(&kernel)?, of(&initramfs)?, of(&its_monitor)?, of(&its_channel)?];
    let [kernel, initramfs, its_monitor, its_channel] = inherited.each_ref().map(|one| one.as_raw_fd());
    let held = Descriptors { kernel, initramfs, monitor: its_monitor, channel: its_channel };
    let words = command_line::words(spec, &held);
    let command_line =
        [spec.qemu.clone()].iter().chain(&words).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = Command::new(programs.own());
    command.arg(MACHINE).arg(std::process::id().to_string()).arg(&spec.qemu).args(&words);
    let (errors, ending) = (Errors::HeardAtLeisure, Ending::Killed);
    let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
    let process = Supervised::start(command, terms)?;
    Ok((process, channel, monitor, command_line))
}

/// The pages of the host behind a guest's memory.
fn backing(spec: &GuestSpec) -> String {
    match spec.huge_pages {
        Some(bytes) if bytes.is_multiple_of(1 << 30) => format!("{}G", bytes >> 30),
        Some(bytes) if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        Some(bytes) => format!("{}K", bytes >> 10),
        // QEMU asks for them where they are given on request.
        None => match fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled") {
            Ok(text) if text.contains("[always]") || text.contains("[madvise]") => "transparent".into(),
            _ => "base".into(),
        },
    }
}
