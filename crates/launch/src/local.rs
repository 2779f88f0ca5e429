//! A worker that is a process of this machine, in a group of its own, so that it ends whole.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_model::Received;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::group::Group;

/// How long a worker whose output has ended may take to end by itself, in turns.
const GRACE_TURNS: u32 = 100;
/// One such turn.
const GRACE_TURN: Duration = Duration::from_millis(2);
/// Bytes of a line at most: what has no end by then is no line, and must not fill the memory.
const LONGEST_LINE: usize = 64 << 20;
/// Characters of a last word at most.
const LONGEST_WORD: usize = 200;

/// A worker process and what it has said that nobody has read yet.
#[derive(Debug)]
pub struct Worker {
    group: Group,
    unread: Vec<u8>,
    /// What it writes to standard error: nothing, unless it cannot even begin.
    errors: Option<OwnedFd>,
    stop: Option<Rc<OwnedFd>>,
}

impl Worker {
    /// Starts `program` with `arguments`, gives it one line and no more. `stop` becomes readable when the person asks to
    /// stop. The worker is the leader of a process group of its own.
    pub fn spawn(program: &Path, arguments: &[&str], line: &str, stop: Option<Rc<OwnedFd>>) -> io::Result<Worker> {
        // Who fills the pipe is not kept waiting, and who reads it does not wait either.
        let (errors, stderr) = match pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK) {
            Ok((errors, stderr)) => (Some(errors), Stdio::from(stderr)),
            Err(_) => (None, Stdio::null()),
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut group = Group::spawn(&mut command)?;
        let mut worker = match group.streams().stdin.take() {
            Some(mut stdin) => {
                let told = stdin.write_all(line.as_bytes()).and_then(|()| stdin.write_all(b"\n"));
                let worker = Worker { group, unread: Vec::new(), errors, stop };
                // A worker that ended before it had read its order is told of when its end is received.
                match told {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        Err(io::Error::new(error.kind(), format!("write: {error}")))
                    }
                    _ => Ok(worker),
                }
            }
            None => Err(io::Error::other("the worker has no standard input")),
        }?;
        worker.unread.reserve(4096);
        Ok(worker)
    }

    /// The worker's process id, which is its group's too.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Whether a process of its group waits for a CPU or a device, and has had less CPU time than `enough` so far.
    pub fn is_starved(&self, enough: Duration) -> bool {
        crate::starved::is_starved(self.id(), enough)
    }

    /// The next line, or why there is none within `at_most`.
    pub fn receive(&mut self, at_most: Duration) -> Received {
        let until = now().checked_add(at_most);
        let mut searched = 0;
        loop {
            if let Some(end) = self.unread[searched..].iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=searched + end).collect();
                return Received::Line(String::from_utf8_lossy(&line[..line.len() - 1]).into_owned());
            }
            let has_part = self.unread.len() > searched;
            searched = self.unread.len();
            if self.unread.len() > LONGEST_LINE {
                return Received::Ended(format!("wrote a line of over {LONGEST_LINE} bytes"));
            }
            // From the start of the wait, so that a signal or half a line makes it no longer.
            let left = until.map_or(at_most, |until| until.saturating_duration_since(now()));
            match self.wait(left) {
                Ok(_) if has_part && left.is_zero() => return Received::TimedOut,
                Ok(Readiness::Output) => {}
                Ok(Readiness::Stop) => return Received::Interrupted,
                Ok(Readiness::Nothing) => return Received::TimedOut,
                Ok(Readiness::Signal) => continue,
                Err(error) => return Received::Ended(format!("cannot be heard: {error}")),
            }
            let mut more = [0; 1 << 16];
            let Some(stdout) = self.group.streams().stdout.as_mut() else {
                return Received::Ended("has no standard output".into());
            };
            match stdout.read(&mut more) {
                Ok(0) => return Received::Ended(self.status()),
                Ok(length) => self.unread.extend_from_slice(&more[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Received::Ended(format!("cannot be heard: {error}")),
            }
        }
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<Readiness> {
        let Some(stdout) = self.group.streams().stdout.as_ref() else { return Ok(Readiness::Output) };
        let mut watched = vec![PollFd::new(stdout, PollFlags::IN)];
        if let Some(stop) = &self.stop {
            watched.push(PollFd::new(&**stop, PollFlags::IN));
        }
        let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: i64::from(at_most.subsec_nanos()) };
        match poll(&mut watched, Some(&timeout)) {
            // A signal's handler has run, and its pipe tells at the next look.
            Err(rustix::io::Errno::INTR) => return Ok(Readiness::Signal),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let ready = |index: usize| watched.get(index).is_some_and(|fd| !fd.revents().is_empty());
        Ok(match (ready(1), ready(0)) {
            (true, _) => Readiness::Stop,
            (_, true) => Readiness::Output,
            _ => Readiness::Nothing,
        })
    }

    /// How it ended, as a fragment that fits after "the worker".
    fn status(&mut self) -> String {
        // Its output has ended: it is about to end by itself, or must be made to.
        for _ in 0..GRACE_TURNS {
            if matches!(self.group.has_ended(), Ok(false)) {
                std::thread::sleep(GRACE_TURN);
            }
        }
        let how = match self.group.end() {
            Ok(status) => describe(status),
            Err(error) => format!("cannot be waited for: {error}"),
        };
        match self.last_word() {
            Some(word) => format!("{how}: {word}"),
            None => how,
        }
    }

    /// The last line that it wrote to standard error: that of the loader, or of the language's start, which have no other
    /// way to say why a program cannot begin.
    fn last_word(&self) -> Option<String> {
        let mut text = vec![0; 1 << 16];
        let length = rustix::io::read(self.errors.as_ref()?, &mut text).ok()?;
        let text = String::from_utf8_lossy(&text[..length]);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|character| !character.is_control()).take(LONGEST_WORD).collect())
    }

    /// Ends the worker and everything in its group, and waits until it is gone.
    pub fn end(&mut self) {
        let _ = self.group.end();
    }
}

enum Readiness {
    Output,
    Stop,
    Signal,
    Nothing,
}

#[expect(clippy::disallowed_methods, reason = "bounds a wait; nothing is measured with it")]
fn now() -> Instant {
    Instant::now()
}

fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (_, Some(code)) => format!("ended with status {code} before it was done"),
        _ => "ended before it was done".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, stop: Option<Rc<OwnedFd>>) -> Worker {
        Worker::spawn(Path::new("/bin/sh"), &["-c", script], "order", stop).unwrap()
    }

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn lines_come_one_by_one_and_then_the_end() {
        let mut worker = shell("read order; echo \"got $order\"; echo two; exit 3", None);
        assert_eq!(worker.receive(SOON), Received::Line("got order".into()));
        assert_eq!(worker.receive(SOON), Received::Line("two".into()));
        let Received::Ended(how) = worker.receive(SOON) else { panic!() };
        assert_eq!(how, "ended with status 3 before it was done");
    }

    #[test]
    fn the_last_word_of_a_worker_that_could_not_begin_is_in_its_reason() {
        let script = r"echo first >&2; printf 'cannot load \033[1mlibc\n\n' >&2; exit 127";
        let mut worker = shell(script, None);
        let Received::Ended(how) = worker.receive(SOON) else { panic!() };
        assert_eq!(how, "ended with status 127 before it was done: cannot load [1mlibc");
    }

    #[test]
    fn a_worker_that_complains_without_end_is_not_kept_waiting() {
        let script = "yes no | head -c 1000000 >&2; echo done; kill -9 $$";
        let mut worker = shell(script, None);
        assert_eq!(worker.receive(SOON), Received::Line("done".into()));
        let Received::Ended(how) = worker.receive(SOON) else { panic!() };
        assert!(how.starts_with("was ended by signal 9: n"), "{how}");
    }

    #[test]
    fn a_worker_that_was_killed_says_by_what() {
        let mut worker = shell("kill -9 $$", None);
        assert_eq!(worker.receive(SOON), Received::Ended("was ended by signal 9".into()));
    }

    #[test]
    fn silence_times_out_and_the_end_is_waited_for() {
        let mut worker = shell("sleep 60 & sleep 60", None);
        assert_eq!(worker.receive(Duration::from_millis(20)), Received::TimedOut);
        let group = rustix::process::Pid::from_raw(worker.id() as i32).unwrap();
        worker.end();
        // A group whose members are all gone cannot be signalled. Orphans of it are reaped by init in their own time.
        for _ in 0..200 {
            if rustix::process::test_kill_process_group(group).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("a process of the group is left");
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
        assert_eq!(how, "wrote a line of over 67108864 bytes");
    }

    #[test]
    fn a_request_to_stop_comes_before_any_line() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        rustix::io::write(&write, b"x").unwrap();
        let mut worker = shell("echo one; sleep 60", Some(Rc::new(read)));
        assert_eq!(worker.receive(SOON), Received::Interrupted);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(Worker::spawn(Path::new("/nonexistent/hostmark"), &[], "", None).is_err());
    }
}
