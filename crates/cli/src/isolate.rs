//! `--isolate`: puts a run into layers of a container before anything else is done, and stands for it outside.
//!
//! For namespaces there are three processes. The one that was started stays outside: it hands on requests to stop, and ends
//! with the run's exit code. The first one inside owns the namespaces: when it ends, the kernel ends whoever is left in them.
//! The third is the run. Each of the first two waits for the next, and notices when the other is killed; whoever is left
//! sees to it that nothing else is.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hostmark_engine::Wall;
use hostmark_engine::janitor::clean_up_after;
use hostmark_engine::sys::child::ChildId;
use hostmark_engine::sys::{call_filter, descendants, namespaces, process};
use hostmark_host::Root;
use hostmark_launch::group::ignored;
use hostmark_model::HostFacts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use crate::language::{refused, said};
use crate::signals::Requests;
use crate::world::SinceStart;

/// Time in which a signal may reach the run directly, as one of a terminal does, before it is forwarded.
const REACHES_BOTH: Duration = Duration::from_millis(200);
/// Time for an orphaned process that cleans nothing up, before the kernel kills it.
const GRACE: Duration = Duration::from_secs(1);
/// The time between two looks at those.
const TURN: Duration = Duration::from_millis(2);
/// Prefix of the names of processes that clean up.
const CLEANER: &str = "hm-";

/// A layer of a container, in the order in which they are entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Layer {
    /// Own namespaces: mounts, processes, IPC, host name, network; users too unless root
    Namespaces,
    /// A system call filter like that of container runtimes: refuses what is not listed
    Seccomp,
}

impl Layer {
    /// Name on the command line and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Namespaces => "namespaces",
            Layer::Seccomp => "seccomp",
        }
    }

    pub fn named(name: &str) -> Option<Layer> {
        Layer::value_variants().iter().copied().find(|layer| layer.name() == name)
    }

    fn refused(self, error: &io::Error) -> anyhow::Error {
        let is_root = rustix::process::geteuid().is_root();
        let (name, remedy) = match self {
            Layer::Namespaces if is_root => (said!("namespaces"), said!("give it the capability SYS_ADMIN")),
            Layer::Namespaces => (
                said!("namespaces"),
                said!(
                    "let users have their own (sysctl user.max_user_namespaces, \
                     kernel.apparmor_restrict_unprivileged_userns), start it as root"
                ),
            ),
            Layer::Seccomp => (said!("a filter of system calls"), said!("take a kernel with CONFIG_SECCOMP_FILTER")),
        };
        refused!("{name} cannot be entered ({error}); {remedy}, or leave out --isolate {name_2}", name_2 = self.name())
    }
}

/// Links of a run within layers to the outside; none without layers.
#[derive(Default)]
pub struct Outside(Option<Ties>);

/// Links between the run and the processes that wait for it.
struct Ties {
    /// Pipe on which the run reports that a signal has reached it.
    signals: OwnedFd,
    /// Pipe on which the run reports the resources that it has created.
    cleanup: Option<File>,
    /// Open for as long as the run lives.
    _alive: OwnedFd,
    container: Option<String>,
}

impl Outside {
    /// Pipe on which received signals are reported.
    pub fn signal_log(&self) -> Option<&OwnedFd> {
        self.0.as_ref().map(|ties| &ties.signals)
    }

    /// Pipe on which created resources are reported; once.
    pub fn cleanup_log(&mut self) -> Option<File> {
        self.0.as_mut()?.cleanup.take()
    }

    /// Namespaces of the run's own make no container of what it runs in.
    pub fn correct(&self, host: &mut HostFacts) {
        if let Some(ties) = &self.0 {
            host.virtualization.container.clone_from(&ties.container);
        }
    }
}

/// Enters these layers. With namespaces it returns in a new process alone, and the one that called it never does: it ends
/// with the exit code of the new one. On an error nothing has been entered that outlives this process.
pub fn enter(layers: &[Layer]) -> Result<Outside> {
    let mut outside = Outside::default();
    if layers.contains(&Layer::Namespaces) {
        outside = enter_namespaces().map_err(|error| Layer::Namespaces.refused(&error))?;
    }
    if layers.contains(&Layer::Seccomp) {
        call_filter::enter().map_err(|error| Layer::Seccomp.refused(&error))?;
    }
    Ok(outside)
}

fn enter_namespaces() -> io::Result<Outside> {
    // Inside, /proc tells neither.
    let (container, ignored) = (hostmark_host::container(&Root::here()), ignored("self"));
    let pipe = || pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
    // The end of each pipe's writer ends the pipe: for the last three, the end of who stands outside, of the first process
    // inside, and of the run.
    let (signals, cleanup, orders, first, run) = (pipe()?, pipe()?, pipe()?, pipe()?, pipe()?);
    namespaces::unshare()?;
    if let Some(child) = process::fork()? {
        drop((signals.1, cleanup.1, orders.0, first.1, run));
        let watch = Watch { signals: signals.0, orders: File::from(orders.1), first: first.0 };
        std::process::exit(watch.until_the_end(child, File::from(cleanup.0), ignored));
    }
    drop((signals.0, cleanup.0, orders.1, first.0));
    namespaces::settle()?;
    let parent = std::process::id();
    if let Some(child) = process::fork()? {
        drop((signals.1, cleanup.1, run.1));
        std::process::exit(keep(child, File::from(orders.0), &run.0));
    }
    drop((orders.0, first.1, run.0));
    if !process::die_with_parent(parent) {
        return Err(io::Error::other("the first process of the namespaces has been killed"));
    }
    let cleanup = Some(File::from(cleanup.1));
    Ok(Outside(Some(Ties { signals: signals.1, cleanup, _alive: run.1, container })))
}

/// The exit code that stands for this end.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// Waits until one of these is readable or ended, or for this time; which are.
fn ready(of: &[&OwnedFd], at_most: Option<Duration>) -> Vec<bool> {
    let mut all: Vec<PollFd> = of.iter().map(|descriptor| PollFd::new(*descriptor, PollFlags::IN)).collect();
    let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
    // An interruption is a signal, which is read from its pipe.
    let _ = poll(&mut all, at_most.as_ref());
    all.iter().map(|one| !one.revents().is_empty()).collect()
}

fn byte(from: &OwnedFd) -> Option<u8> {
    let mut byte = [0];
    (rustix::io::read(from, &mut byte) == Ok(1)).then_some(byte[0])
}

struct Watch {
    signals: OwnedFd,
    orders: File,
    first: OwnedFd,
}

impl Watch {
    /// Hands on what asks to stop until the first process inside has ended; the exit code.
    fn until_the_end(mut self, first: ChildId, mut cleanup: File, ignored: u64) -> i32 {
        // Without it a signal ends this process, and by that the run.
        let requests = Requests::catch(ignored).ok();
        loop {
            let (signals, pipes): (Vec<u8>, Vec<&OwnedFd>) = requests.iter().flat_map(Requests::readable).unzip();
            let all: Vec<&OwnedFd> = pipes.iter().copied().chain([&self.first]).collect();
            let are_ready = ready(&all, None);
            let came: Vec<u8> = signals
                .iter()
                .zip(&pipes)
                .filter(|(_, pipe)| byte(pipe).is_some())
                .map(|(&signal, _)| signal)
                .collect();
            for signal in came {
                hand_on(&self.signals, &mut self.orders, signal);
            }
            if are_ready.last() == Some(&true) {
                break;
            }
        }
        match first.wait_status() {
            Ok(status) => {
                if status.code().is_none() {
                    // Killed, with the janitor and all others inside.
                    clean_up(&mut cleanup);
                }
                code(status)
            }
            Err(_) => 1,
        }
    }
}

/// A terminal, and who signals a process group or a service, reaches the run too: what has, is not sent again, since a
/// second request ends a run at once.
fn hand_on(signals: &OwnedFd, orders: &mut File, signal: u8) {
    for is_sent in [false, true] {
        ready(&[signals], Some(REACHES_BOTH));
        if byte(signals).is_some() || is_sent {
            return;
        }
        let _ = orders.write_all(&[signal]);
    }
}

/// Removes what the run has told of.
fn clean_up(cleanup: &mut File) {
    let mut text = Vec::new();
    // Its writers are gone: it ends.
    let _ = cleanup.read_to_end(&mut text);
    clean_up_after(&text);
}

/// The first process inside: ends the run when who stands outside is gone, and itself when nobody is left who cleans up.
fn keep(run: ChildId, orders: File, alive: &OwnedFd) -> i32 {
    // Who kills the program by its name leaves who cleans up after it.
    let _ = rustix::thread::set_name(c"hm-within");
    let orders = OwnedFd::from(orders);
    loop {
        let are_ready = ready(&[&orders, alive], None);
        if are_ready[1] {
            break;
        }
        if !are_ready[0] {
            continue;
        }
        match byte(&orders) {
            Some(signal) => {
                let _ = Signal::from_named_raw(signal.into()).map(|signal| run.signal(signal));
            }
            // Who stood outside has been killed.
            None => {
                let _ = run.kill();
                break;
            }
        }
    }
    let code = run.wait_status().map_or(1, code);
    let since = SinceStart::now();
    while descendants::reap_ended().unwrap_or(false) && (is_cleaned_up() || since.elapsed() < GRACE) {
        hostmark_engine::sys::clock::sleep(TURN);
    }
    code
}

/// Tells whether a process inside still cleans up.
fn is_cleaned_up() -> bool {
    let is_cleaner = |name: &str| {
        let is_other = name.parse::<u32>().is_ok_and(|number| number != std::process::id());
        is_other && std::fs::read_to_string(format!("/proc/{name}/comm")).is_ok_and(|name| name.starts_with(CLEANER))
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(io::Result::ok).any(|entry| entry.file_name().to_str().is_some_and(is_cleaner))
}
