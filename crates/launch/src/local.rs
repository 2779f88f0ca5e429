//! A worker, or a far end, as who measures has it: here a process of this machine, in a group of its own, so that it ends whole.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use hostmark_model::{Message, out_of_memory};
use hostmark_say::say;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Resource, Signal, getrlimit};

use crate::group::named;
use crate::program::command;
use crate::supervise::{Ending, Errors, LONGEST_LINE, Membership, ReadOutcome, Supervised, Terms};

/// A way to one worker. It is always a process of the machine on which the run is: what goes elsewhere is a whole run.
pub trait WorkerLink {
    /// The next line, or why there is none.
    fn receive(&mut self, at_most: Duration) -> Received;
    /// Tells whether a part of the worker waits for a CPU or a device, and has had less CPU time than `enough` so far.
    fn is_starved(&mut self, enough: Duration) -> bool;
    /// Gives a worker that waits for one a further line.
    fn give(&mut self, _line: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Ends the worker and everything it started, and waits until it is gone.
    fn end(&mut self);
}

/// A way to one far end: who serves what a worker measures. It is started where it is to serve.
pub trait ServiceLink: WorkerLink {
    /// Tells it that it is not needed any more: it says what it has used, and ends.
    fn close_stdin(&mut self);
}

/// Event on a worker's link.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    Line(String),
    /// The worker ended; how, as a fragment that fits after "the worker".
    Ended(Message),
    /// The same of one that somebody else killed.
    Killed(Message),
    /// Silence for the time given.
    TimedOut,
    /// The person asked to stop.
    Interrupted,
}

/// Time for a worker whose output has ended to end by itself.
const GRACE: Duration = Duration::from_millis(200);

/// Guard that ends a worker also when this process is killed, and ends the processes that a worker leaves outside its group.
pub trait Warden {
    /// A worker leads this process group.
    fn takes(&self, group: u32);
    /// The group has been killed and its leader waited for: its number may belong to others from now on.
    fn releases(&self, group: u32);
}

/// A worker process, in a warden's charge while it lives.
pub struct LocalWorker {
    process: Supervised,
    warden: Option<Rc<dyn Warden>>,
}

impl LocalWorker {
    /// Starts `program` with `arguments`, and gives it one line, and no more unless others may follow. `stop` becomes readable
    /// when the person asks to stop. The worker is the leader of a process group of its own.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        (line, is_followed): (&str, bool),
        stop: Option<Rc<OwnedFd>>,
        warden: Rc<dyn Warden>,
    ) -> io::Result<LocalWorker> {
        let mut worker = LocalWorker::begin(program, arguments, stop, warden)?;
        worker.process.send_unless_ended(&format!("{line}\n"))?;
        if !is_followed {
            worker.process.close_stdin();
        }
        Ok(worker)
    }

    /// Starts it, and tells it nothing.
    fn begin(
        program: &Path,
        arguments: &[&str],
        stop: Option<Rc<OwnedFd>>,
        warden: Rc<dyn Warden>,
    ) -> io::Result<LocalWorker> {
        let mut command = command(program);
        command.args(arguments);
        // It says nothing on standard error, unless it cannot even begin.
        let errors = Errors::CapturedAtLeisure;
        let terms = Terms { group: Membership::Own, has_input: true, errors, ending: Ending::Killed, stop };
        let process = Supervised::start(command, terms).map_err(|error| match error.raw_os_error() {
            Some(number) if Errno::from_raw_os_error(number) == Errno::NOENT => {
                named(&program.to_string_lossy(), error)
            }
            _ => error,
        })?;
        warden.takes(process.id());
        Ok(LocalWorker { process, warden: Some(warden) })
    }

    fn how(&mut self) -> Received {
        // Its output has ended: it is about to end by itself, or must be made to.
        let ended_by_itself = self.process.ends_within(GRACE);
        let (ended, how): (fn(Message) -> Received, _) = match self.process.end() {
            Ok(status) if ended_by_itself && status.signal() == Some(Signal::KILL.as_raw()) => {
                (Received::Killed, killed())
            }
            Ok(status) => (Received::Ended, describe(status)),
            Err(error) => (Received::Ended, say!("cannot be waited for: {error}")),
        };
        ended(how.with_last_word(self.process.last_word()))
    }
}

impl WorkerLink for LocalWorker {
    fn receive(&mut self, at_most: Duration) -> Received {
        match self.process.read_line_within(at_most) {
            Ok(ReadOutcome::Line(line)) => Received::Line(line),
            Ok(ReadOutcome::TimedOut) => Received::TimedOut,
            Ok(ReadOutcome::Stopped) => Received::Interrupted,
            Ok(ReadOutcome::TooLong) => Received::Ended(say!("wrote a line of over {LONGEST_LINE} bytes")),
            Ok(ReadOutcome::Closed) => self.how(),
            Err(error) => Received::Ended(say!("cannot be heard: {error}")),
        }
    }

    fn is_starved(&mut self, enough: Duration) -> bool {
        self.process.is_starved(enough)
    }

    fn give(&mut self, line: &str) -> io::Result<()> {
        self.process.send(&format!("{line}\n"))
    }

    fn end(&mut self) {
        // One that cannot be ended stays in the warden's charge.
        if self.process.end().is_ok()
            && let Some(warden) = self.warden.take()
        {
            warden.releases(self.process.id());
        }
    }
}

/// A far end on this machine: a process that is kept as a worker is, but serves until its input ends.
pub struct LocalService(LocalWorker);

impl LocalService {
    /// Starts `program` with `arguments`, and gives it one line.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        line: &str,
        stop: Option<Rc<OwnedFd>>,
        warden: Rc<dyn Warden>,
    ) -> io::Result<LocalService> {
        LocalWorker::start(program, arguments, (line, true), stop, warden).map(LocalService)
    }
}

impl WorkerLink for LocalService {
    fn receive(&mut self, at_most: Duration) -> Received {
        self.0.receive(at_most)
    }

    fn is_starved(&mut self, enough: Duration) -> bool {
        self.0.is_starved(enough)
    }

    fn end(&mut self) {
        self.0.end();
    }
}

impl ServiceLink for LocalService {
    fn close_stdin(&mut self) {
        self.0.process.close_stdin();
    }
}

impl Drop for LocalWorker {
    fn drop(&mut self) {
        self.end();
    }
}

/// Probable reason why the kernel killed a worker: the limit of CPU time, where there is one, or memory.
fn killed() -> Message {
    match getrlimit(Resource::Cpu).current {
        Some(seconds) => say!("was killed, probably by the limit of {seconds} s of CPU time; raise ulimit -t"),
        None => out_of_memory(),
    }
}

fn describe(status: ExitStatus) -> Message {
    match (status.signal(), status.code()) {
        (Some(signal), _) if signal == Signal::XCPU.as_raw() => {
            say!("was ended by the limit of CPU time (SIGXCPU); raise ulimit -t")
        }
        (Some(signal), _) => say!("was ended by signal {signal}"),
        (_, Some(code)) => say!("ended with status {code} before it was done"),
        _ => say!("ended before it was done"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The groups that it has, in order, and then those that it has no more.
    #[derive(Default)]
    struct Ledger(RefCell<(Vec<u32>, Vec<u32>)>);

    impl Warden for Ledger {
        fn takes(&self, group: u32) {
            self.0.borrow_mut().0.push(group);
        }

        fn releases(&self, group: u32) {
            assert!(rustix::process::waitid(wait_for(group), rustix::process::WaitIdOptions::EXITED).is_err());
            self.0.borrow_mut().1.push(group);
        }
    }

    fn wait_for(child: u32) -> rustix::process::WaitId<'static> {
        rustix::process::WaitId::Pid(rustix::process::Pid::from_raw(child as i32).unwrap())
    }

    fn shell(script: &str, stop: Option<Rc<OwnedFd>>) -> LocalWorker {
        let warden = Rc::new(Ledger::default());
        LocalWorker::start(Path::new("/bin/sh"), &["-c", script], ("order", false), stop, warden).unwrap()
    }

    #[test]
    fn a_worker_is_in_a_wardens_charge_until_it_has_been_waited_for() {
        let warden = Rc::new(Ledger::default());
        let start = || {
            let warden: Rc<dyn Warden> = warden.clone();
            LocalWorker::start(Path::new("/bin/sh"), &["-c", "sleep 60"], ("", false), None, warden).unwrap()
        };
        let (mut ended, dropped) = (start(), start());
        let groups = vec![ended.process.id(), dropped.process.id()];
        assert_eq!(*warden.0.borrow(), (groups.clone(), vec![]));
        ended.end();
        ended.end();
        drop((ended, dropped));
        assert_eq!(*warden.0.borrow(), (groups.clone(), groups));
    }

    const SOON: Duration = Duration::from_secs(120);

    #[test]
    fn a_far_end_serves_until_it_is_sent_nothing_more() {
        let warden: Rc<dyn Warden> = Rc::new(Ledger::default());
        let script = "read job; echo \"$job\"; read more || echo bye";
        let mut service = LocalService::start(Path::new("/bin/sh"), &["-c", script], "job", None, warden).unwrap();
        assert_eq!(service.receive(SOON), Received::Line("job".into()));
        assert_eq!(service.receive(Duration::from_millis(20)), Received::TimedOut);
        service.close_stdin();
        assert_eq!(service.receive(SOON), Received::Line("bye".into()));
        service.end();
    }

    #[test]
    fn lines_come_one_by_one_and_then_the_end() {
        let mut worker = shell("read order; echo \"got $order\"; echo two; exit 3", None);
        assert_eq!(worker.receive(SOON), Received::Line("got order".into()));
        assert_eq!(worker.receive(SOON), Received::Line("two".into()));
        let Received::Ended(how) = worker.receive(SOON) else { panic!() };
        assert_eq!(how.to_string(), "ended with status 3 before it was done");
    }

    #[test]
    fn the_last_word_of_a_worker_that_could_not_begin_is_in_its_reason() {
        let script = r"echo first >&2; printf 'cannot load \033[1mlibc\n\n' >&2; exit 127";
        let mut worker = shell(script, None);
        let Received::Ended(how) = worker.receive(SOON) else { panic!() };
        assert_eq!(how.to_string(), "ended with status 127 before it was done: cannot load [1mlibc");
    }

    #[test]
    fn a_worker_that_was_killed_says_by_what() {
        let mut worker = shell("kill -9 $$", None);
        assert_eq!(worker.receive(SOON), Received::Killed(out_of_memory()));
    }

    #[test]
    fn half_a_line_now_and_then_does_not_put_the_end_of_a_wait_off() {
        let mut worker = shell("while printf x; do sleep 0.02; done", None);
        assert_eq!(worker.receive(Duration::from_millis(200)), Received::TimedOut);
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let mut worker = shell("exec cat /dev/zero", None);
        let Received::Ended(how) = worker.receive(Duration::from_secs(60)) else { panic!() };
        assert_eq!(how.to_string(), "wrote a line of over 67108864 bytes");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let warden = Rc::new(Ledger::default());
        assert!(
            LocalWorker::start(Path::new("/nonexistent/hostmark"), &[], ("", false), None, warden.clone()).is_err()
        );
        assert_eq!(*warden.0.borrow(), (vec![], vec![]));
    }
}
