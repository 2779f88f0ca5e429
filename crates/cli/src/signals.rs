//! A person's request to stop: noticed where a worker is waited for, and remembered for the exit code.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hostmark_launch::group;
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};

/// Lets a write to a closed pipe, or past the limit of file sizes, fail with an error; by default the kernel ends the program instead,
/// without a word. A handler that does nothing is set rather than "ignore": the kernel resets handlers when a program is executed, whereas
/// an ignored signal stays ignored in every program that is started from here.
pub fn let_writes_fail() {
    for signal in [SIGPIPE, SIGXFSZ] {
        // Without the handler the signal does what it did before.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// Catches the signals that ask a run to stop.
pub struct StopRequest {
    readable: Rc<OwnedFd>,
    which: Arc<AtomicUsize>,
}

impl StopRequest {
    /// Makes the first SIGINT, SIGTERM, SIGHUP or SIGXCPU (the limit of CPU time) a request, and lets a second one end the process.
    ///
    /// Each of these signals is written to `copy_to` as well, as a byte, for whoever waits for this process.
    pub fn catch(copy_to: Option<&OwnedFd>) -> io::Result<StopRequest> {
        let (readable, writable) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let which = Arc::new(AtomicUsize::new(0));
        let asked = Arc::new(AtomicBool::new(false));
        for signal in asking(group::ignored("self")) {
            if let Some(copy_to) = copy_to {
                signal_hook::low_level::pipe::register(signal, copy_to.try_clone()?)?;
            }
            // In this order: the second signal finds what the first one has set.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&which), signal as usize)?;
            signal_hook::low_level::pipe::register(signal, writable.try_clone()?)?;
        }
        Ok(StopRequest { readable: Rc::new(readable), which })
    }

    pub fn mock(which: &Arc<AtomicUsize>) -> io::Result<StopRequest> {
        let (readable, _) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(StopRequest { readable: Rc::new(readable), which: Arc::clone(which) })
    }

    /// Becomes readable when a request has come.
    pub fn readable(&self) -> Rc<OwnedFd> {
        Rc::clone(&self.readable)
    }

    /// Handle that requests a stop in a person's place.
    pub fn asker(&self) -> Asker {
        Asker(Arc::clone(&self.which))
    }

    pub fn signal(&self) -> Option<u8> {
        u8::try_from(self.which.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)
    }
}

/// Asks this process to stop, from any of its threads.
pub struct Asker(Arc<AtomicUsize>);

impl Asker {
    /// Asks, unless somebody has: a second request would end the process at once.
    pub fn ask(&self) {
        if self.0.load(Ordering::Relaxed) == 0 {
            let _ = signal_hook::low_level::raise(SIGTERM);
        }
    }
}

/// The signals that ask to stop, for who waits for another process that stops.
pub struct Requests(Vec<(u8, OwnedFd)>);

impl Requests {
    /// Reports each of these signals by [`Requests::readable`], and nothing else. `ignored` is what [`ignored`] returned at the start.
    pub fn catch(ignored: u64) -> io::Result<Requests> {
        let of_signal = |signal: i32| -> io::Result<(u8, OwnedFd)> {
            let (readable, writable) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
            signal_hook::low_level::pipe::register(signal, writable)?;
            Ok((signal as u8, readable))
        };
        Ok(Requests(asking(ignored).map(of_signal).collect::<io::Result<_>>()?))
    }

    /// Each signal, and what has a byte to read for each time that it came.
    pub fn readable(&self) -> impl Iterator<Item = (u8, &OwnedFd)> {
        self.0.iter().map(|(signal, readable)| (*signal, readable))
    }
}

/// Signals that ask to stop and are not ignored.
fn asking(mask: u64) -> impl Iterator<Item = i32> {
    // Whoever started the run with a signal ignored (nohup, a script's background job) meant it.
    let is_meant = move |&signal: &i32| signal == SIGTERM || !group::has(mask, signal);
    [SIGINT, SIGTERM, SIGHUP, SIGXCPU].into_iter().filter(is_meant)
}
