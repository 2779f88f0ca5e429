//! A whole program as an operation: started, waited for, with what it and its descendants used.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::Command as Program;
use std::time::Duration;

use hostmark_engine::prelude::{Message, Reason, ReasonCode, null_device, reason_of, say};
use rustix::fd::OwnedFd;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::workloads::call::{Call, fault, named, spawned};
use crate::workloads::child::ChildId;
use crate::workloads::handover::sysv;
use crate::workloads::process::{self, die_with_parent};
use crate::workloads::storage::files;
use crate::workloads::{affinity, descendants};

/// Part of the end of a program's output that is searched for its last line, bytes.
const LAST_BYTES: u64 = 4096;
/// Part of the end of a program's output that is searched for its value, bytes.
const MOST_READ: u64 = 1 << 20;
/// Bytes that a program may write to its outputs, and the time between two looks at them.
const MOST_WRITTEN: u64 = 256 << 20;
static BETWEEN_LOOKS: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Longest last line that is told, characters.
const LONGEST_LINE: usize = 200;

/// A program with its arguments, made ready before anything is timed.
#[derive(Debug)]
pub struct Command {
    program: Program,
    cpus: Vec<usize>,
    home: Option<OwnedFd>,
    output: File,
    /// Offset in `output` where the last execution's part begins.
    begun: u64,
    /// Bytes that it may write.
    most: u64,
}

/// Resources used by a program that has ended well.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Used {
    /// CPU time in user space, of it and of all descendants that were waited for, ns.
    pub user_ns: f64,
    pub system_ns: f64,
    /// The largest resident memory of one of these processes, bytes. The kernel carries the peak of the process that started
    /// a program over to it: what is not above [`own_peak_bytes`] tells nothing.
    pub peak_bytes: u64,
}

impl Command {
    /// The program and its arguments, on these CPUs. It reads nothing, appends to the file `output` and works in `home`, if given.
    pub fn new(words: &[String], cpus: &[usize], output: &Path, home: Option<&OwnedFd>) -> io::Result<Command> {
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| fault(ReasonCode::MissingOption, say!("a command has at least one word")))?;
        let written = File::options().create(true).read(true).append(true).open(output).call("openat")?;
        let mut program = Program::new(name);
        let copy = || written.try_clone().call("fcntl");
        program.args(arguments).stdin(null_device()?).stdout(copy()?).stderr(copy()?);
        let home = home.map(files::copy).transpose()?;
        Ok(Command { program, cpus: cpus.to_vec(), home, output: written, begun: 0, most: MOST_WRITTEN })
    }

    /// Has a process of its own, a [`keeper`], do `timed`, which is given what executes the program from its start to its end
    /// and returns what it used, or how it ended when that was not with status 0. Comes back when the program and all that it
    /// has started are gone, also what has left its group and session. They end with the calling thread too.
    pub fn run<T: Serialize + DeserializeOwned>(
        &mut self,
        timed: impl FnOnce(&mut dyn FnMut() -> io::Result<Result<Used, Reason>>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.begun = self.output.metadata().call("fstat")?.len();
        under(|keeper| {
            self.prepare(keeper)?;
            timed(&mut || self.execute(keeper))
        })
    }

    fn prepare(&mut self, keeper: &Keeper) -> io::Result<()> {
        let (keeper, group, blocked) = (keeper.id, keeper.group, keeper.blocked);
        let (cpus, home) = (self.cpus.clone(), self.home.take());
        let prepare = move || {
            if !die_with_parent(keeper) {
                return Err(fault(ReasonCode::ProcessDied, say!("whoever asked for it is gone")));
            }
            // As if the worker had started it.
            rustix::process::setpgid(None, Some(group)).call("setpgid")?;
            // SAFETY: reads a set; the null pointer asks for no old one.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const blocked, std::ptr::null_mut()) };
            home.as_ref().map_or(Ok(()), rustix::process::fchdir).call("fchdir")?;
            affinity::bind(&cpus)
        };
        // SAFETY: between fork and exec it makes system calls, and allocates for the mask of CPUs, in a child of a keeper that
        // has one thread, so that no lock of the allocator can be held by another.
        unsafe { self.program.pre_exec(prepare) };
        Ok(())
    }

    fn execute(&mut self, keeper: &Keeper) -> io::Result<Result<Used, Reason>> {
        let child = match self.program.spawn() {
            Ok(child) => child.id() as libc::pid_t,
            Err(error) => {
                let error = spawned(error);
                return Ok(Err(reason_of(&error, say!("cannot be started: {error}"))));
            }
        };
        let (output, begun, most) = (&self.output, self.begun, self.most);
        keeper.wait_until(|| match ended(child)? {
            // Whoever began this ends it: a program that writes for ever fills the disk, and never ends.
            None if output.metadata().call("fstat")?.len() > begun + most => {
                let most = most >> 20;
                Ok(Some(Err(
                    ReasonCode::CommandFailed.because(say!("wrote over {most} MiB and was ended; redirect its output"))
                )))
            }
            how => Ok(how),
        })
    }

    pub fn last_line(&mut self) -> Option<String> {
        let end = self.end(LAST_BYTES).ok()?;
        let line = end.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(LONGEST_LINE).collect())
    }

    /// Returns what its last execution wrote, to either output: of more than a MiB the end.
    pub fn written(&mut self) -> io::Result<String> {
        self.end(MOST_READ)
    }

    /// The last `most` bytes that its last execution wrote.
    fn end(&mut self, most: u64) -> io::Result<String> {
        let length = self.output.metadata().call("fstat")?.len();
        self.output.seek(SeekFrom::Start(length.saturating_sub(most).max(self.begun))).call("lseek")?;
        let mut end = Vec::new();
        Read::by_ref(&mut self.output).take(most).read_to_end(&mut end).call("read")?;
        Ok(String::from_utf8_lossy(&end).into_owned())
    }
}

/// Returns the resources of a child that has ended, or how it ended when that was not with status 0; `None` while it goes on.
fn ended(child: libc::pid_t) -> io::Result<Option<Result<Used, Reason>>> {
    let mut status: libc::c_int = 0;
    // SAFETY: a structure of integers, for which zero is a value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: wait4 writes an int and a rusage through the pointers given.
    let waited = unsafe { libc::wait4(child, &raw mut status, libc::WNOHANG, &raw mut used) };
    if waited == 0 {
        return Ok(None);
    }
    if waited != child {
        return Err(named("wait4", io::Error::last_os_error()));
    }
    if libc::WIFSIGNALED(status) {
        return Ok(Some(Err(
            ReasonCode::CommandFailed.because(say!("was ended by signal {signal}", signal = libc::WTERMSIG(status)))
        )));
    }
    let code = libc::WEXITSTATUS(status);
    if code != 0 {
        return Ok(Some(Err(ReasonCode::CommandFailed.because(say!("ended with status {code}")))));
    }
    let (user_ns, system_ns) = (ns(used.ru_utime), ns(used.ru_stime));
    Ok(Some(Ok(Used { user_ns, system_ns, peak_bytes: bytes(used.ru_maxrss) })))
}

/// The largest resident memory that this process had, bytes: the floor of what is told of a program it starts.
pub fn own_peak_bytes() -> u64 {
    // SAFETY: a structure of integers, for which zero is a value; the kernel fills it.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to that structure.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut used) };
    if result == 0 { bytes(used.ru_maxrss) } else { 0 }
}

fn ns(time: libc::timeval) -> f64 {
    time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3
}

/// Converts KiB, as Linux counts it.
fn bytes(kib: libc::c_long) -> u64 {
    u64::try_from(kib).unwrap_or(0) * 1024
}

/// Longest wait for a killed process to end: the kernel finishes what it does for it first, as a write to a slow disk.
const PATIENCE: Duration = Duration::from_secs(20);
/// Signal by which the keeper learns that the worker has ended. All signals are blocked, so that nobody else can end it by one.
const WORKER_ENDED: Signal = Signal::TERM;

/// State of a keeper that its children need.
pub(crate) struct Keeper {
    pub(crate) id: u32,
    /// The worker's number, and its process group.
    worker: u32,
    pub(crate) group: Pid,
    /// The signals that the worker had blocked.
    pub(crate) blocked: libc::sigset_t,
}

#[derive(Serialize, Deserialize)]
struct KeeperReport<T> {
    done: Result<T, Reason>,
    ended: Result<(), Message>,
}

/// Does `work` in a keeper: a forked process that adopts all that `work` starts, ends it when `work` has ended or the worker
/// is dead, and then ends too. An end of the run (the kill of its group, a signal from the terminal, a `killall` by the
/// program's name) leaves it there. Where the keeper itself was killed, the worker does what it would have done, and where
/// both were, the run does. An error also where something is left that cannot be ended.
pub(crate) fn under<T: Serialize + DeserializeOwned>(work: impl FnOnce(&Keeper) -> io::Result<T>) -> io::Result<T> {
    process::only_one_thread()?;
    descendants::adopt()?;
    let (answer, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).call("pipe2")?;
    let (worker, group) = (std::process::id(), rustix::process::getpgrp());
    // SAFETY: one thread, as checked: the child's copy of every lock is free. It never returns to what called this, and ends
    // by exit_group.
    let keeper = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    // SAFETY: what the call has just returned.
    let Some(keeper) = unsafe { ChildId::forked("clone", keeper) }? else {
        drop(answer);
        // A panic must not unwind into what the worker does.
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| work(&stand_between(worker, group)?)));
        let done = done
            .unwrap_or_else(|_| Err(io::Error::other(say!("it panicked"))))
            .map_err(|error| reason_of(&error, &error));
        let ended = descendants::end_all(&[], Duration::ZERO, PATIENCE).map_err(Message::from);
        // Who is not told of it finds that this process has ended without a word.
        let _ = serde_json::to_vec(&KeeperReport { done, ended })
            .map_err(io::Error::from)
            .and_then(|text| std::fs::File::from(report).write_all(&text));
        loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, 0) };
        }
    };
    drop(report);
    let mut text = Vec::new();
    std::fs::File::from(answer).read_to_end(&mut text).call("read")?;
    let waited = keeper.wait();
    let parsed = serde_json::from_slice::<KeeperReport<T>>(&text).map_err(|_| waited.err());
    // Whatever it has left is this process' by now.
    let left = descendants::end_all(&[], Duration::ZERO, PATIENCE);
    match parsed {
        Ok(KeeperReport { ended: Err(why), .. }) => {
            Err(fault(ReasonCode::CommandFailed, say!("what the command started goes on: {why}")))
        }
        Ok(KeeperReport { done, .. }) => {
            left.and_then(|()| done.map_err(|why| fault(why.code.unwrap_or(ReasonCode::CommandFailed), why)))
        }
        Err(how) => Err(fault(
            ReasonCode::ProcessDied,
            match how {
                Some(how) => say!("the command's keeper was ended before the command: {how}"),
                None => say!("the command's keeper was ended before the command"),
            },
        )),
    }
}

/// Leaves the worker's group but not its session, so that what it starts can join that group again.
fn stand_between(worker: u32, group: Pid) -> io::Result<Keeper> {
    rustix::process::setpgid(None, None).call("setpgid")?;
    let blocked = sysv::mind_nobody();
    descendants::adopt()?;
    rustix::process::set_parent_process_death_signal(Some(WORKER_ENDED)).call("prctl")?;
    let keeper = Keeper { id: std::process::id(), worker, group, blocked };
    if process::has_parent(worker) { Ok(keeper) } else { Err(gone()) }
}

fn gone() -> io::Error {
    fault(ReasonCode::ProcessDied, say!("the worker is gone"))
}

impl Keeper {
    /// Waits until `has_ended`, asked at the end of any child and ten times a second. Fails when the worker has ended.
    fn wait_until<T>(&self, mut has_ended: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
        // SAFETY: a set is plain data, which these calls fill.
        let watched = unsafe {
            let mut watched = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut watched);
            libc::sigaddset(&raw mut watched, libc::SIGCHLD);
            libc::sigaddset(&raw mut watched, WORKER_ENDED.as_raw());
            watched
        };
        loop {
            if let Some(ended) = has_ended()? {
                return Ok(ended);
            }
            // Both are blocked: what comes between the question and this is kept for it.
            // SAFETY: reads the set; nobody asks for more about the signal.
            let signal =
                unsafe { libc::sigtimedwait(&raw const watched, std::ptr::null_mut(), &raw const BETWEEN_LOOKS) };
            let error = io::Error::last_os_error();
            if signal < 0 && ![io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock].contains(&error.kind()) {
                return Err(named("rt_sigtimedwait", error));
            }
            if signal == WORKER_ENDED.as_raw() && !process::has_parent(self.worker) {
                return Err(gone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::process::in_a_child;

    /// A shell that will run a script in the forked process of one thread, and the directory that its output goes to.
    fn prepared(script: &str, cpus: &[usize]) -> io::Result<(Command, tempfile::TempDir)> {
        let directory = tempfile::tempdir()?;
        let words = ["sh", "-c", script].map(str::to_owned);
        Ok((Command::new(&words, cpus, &directory.path().join("output"), None)?, directory))
    }

    fn shell(script: &str) -> io::Result<(Result<Used, Reason>, Option<String>)> {
        let (mut command, _directory) = prepared(script, &affinity::allowed()?)?;
        let how = command.run(|execute| execute())?;
        Ok((how, command.last_line()))
    }

    #[test]
    fn what_it_used_is_reported_and_what_it_wrote_is_kept_away() {
        in_a_child(|| {
            let (how, line) =
                shell("i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo one; echo two >&2; echo")?;
            let used = how.unwrap();
            assert!(used.user_ns > 0.0 && used.peak_bytes > 0, "{used:?}");
            assert_eq!(line.as_deref(), Some("two"));
            Ok(())
        });
    }

    #[test]
    fn one_that_ends_badly_says_how() {
        in_a_child(|| {
            let (how, line) = shell("echo it broke; exit 3")?;
            assert_eq!((&*how.unwrap_err(), line.as_deref()), ("ended with status 3", Some("it broke")));
            assert_eq!(&*shell("kill -9 $$")?.0.unwrap_err(), "was ended by signal 9");
            let mut none =
                Command::new(&["/no/such/program".to_owned()], &affinity::allowed()?, Path::new("/dev/null"), None)?;
            let refused = none.run(|execute| execute())?.unwrap_err();
            assert!(refused.starts_with("cannot be started: execve: No such file"), "{refused}");
            Ok(())
        });
    }

    #[test]
    fn one_that_writes_without_end_is_ended() {
        in_a_child(|| {
            let (mut command, _directory) = prepared("while :; do echo on; done", &affinity::allowed()?)?;
            command.most = 1 << 20;
            let how = command.run(|execute| execute())?.unwrap_err();
            assert!(how.starts_with("wrote over 1 MiB"), "{how}");
            assert_eq!(command.last_line().as_deref(), Some("on"));
            Ok(())
        });
    }

    #[test]
    fn what_one_execution_wrote_is_not_taken_for_the_next_ones() {
        in_a_child(|| {
            let directory = tempfile::tempdir()?;
            let output = directory.path().join("output");
            let run = |script: &str| {
                let words = ["sh", "-c", script].map(str::to_owned);
                let mut command = Command::new(&words, &affinity::allowed()?, &output, None)?;
                command.run(|execute| execute())?.unwrap();
                command.written()
            };
            assert_eq!(run("echo first; echo to stderr >&2")?, "first\nto stderr\n");
            assert_eq!(run(":")?, "");
            assert_eq!(run("head -c 3000000 /dev/zero; echo end")?.len(), 1 << 20);
            Ok(())
        });
    }

    #[test]
    fn it_runs_on_the_cpus_given() {
        in_a_child(|| {
            let last = *affinity::allowed()?.last().unwrap();
            let (mut command, _directory) = prepared("grep Cpus_allowed_list /proc/self/status", &[last])?;
            command.run(|execute| execute())?.unwrap();
            let line = command.last_line().unwrap();
            assert_eq!(line.split_whitespace().last(), Some(last.to_string().as_str()));
            Ok(())
        });
    }

    #[test]
    fn what_it_leaves_running_is_ended_and_what_has_left_a_shells_wait_too() {
        in_a_child(|| {
            let directory = tempfile::tempdir()?;
            let pids = directory.path().join("pids");
            let script = format!(
                "setsid sh -c 'echo $$ >> {0}; exec sleep 1000' & setsid setsid sh -c '(sh -c \"echo \\$\\$ >> {0}; \
                                exec sleep 1000\" &)' & until [ \"$(wc -l < {0})\" = 2 ]; do sleep 0.01; done",
                pids.display()
            );
            let (how, _) = shell(&format!(": > {}; {script}", pids.display()))?;
            how.unwrap();
            let text = std::fs::read_to_string(&pids)?;
            for pid in text.lines() {
                assert!(!Path::new("/proc").join(pid).exists(), "{pid} lives");
            }
            assert_eq!(text.lines().count(), 2);
            Ok(())
        });
    }

    #[test]
    fn without_its_keeper_what_it_started_is_ended_all_the_same() {
        in_a_child(|| {
            let directory = tempfile::tempdir()?;
            let pids = directory.path().join("pids");
            let script = format!(
                "setsid sh -c 'echo $$ > {0}; exec sleep 1000' & until [ -s {0} ]; do sleep 0.01; done; \
                                  kill -9 $PPID; sleep 1000",
                pids.display()
            );
            let error = shell(&script).unwrap_err();
            assert!(error.to_string().contains("keeper was ended"), "{error}");
            assert!(!Path::new("/proc").join(std::fs::read_to_string(&pids)?.trim()).exists());
            Ok(())
        });
    }
}
