//! Boots a guest, and waits until its first process answers.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_model::{Guest, Message};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};

use super::error::GuestError;
use super::prepare::prepare;
use super::start::{Started, described, start};
use super::{Accel, GuestSpec};
use crate::agent::OURS;
use crate::guest_channel::{self, ChannelPart, KNOCK, READY, Sieve};
use crate::guest_session::{MOST_BEFORE, TURN};
use crate::monitor::{Monitor, Stopped};
use crate::program::{Programs, nonce};
use crate::supervise::{Supervised, left, now};
use crate::timing::timing;
use crate::transport::{self, Transport};
use crate::transport_error::shown;

/// How long one that has ended may take to say why.
const GRACE: Duration = Duration::from_secs(1);
/// The exit code of who was to become QEMU and could not.
const NOT_FOUND: i32 = 127;
/// How often a guest is booted at most whose emulator ran what its kernel had changed.
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

    /// Where it leads: each start there is a new agent in this guest.
    pub fn place(&self) -> Transport {
        Transport::Guest(transport::GuestPlace::new(
            Rc::clone(&self.channel),
            Rc::clone(&self.shared),
            self.digest.clone(),
        ))
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

    /// Why QEMU has ended before the guest ran.
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
