//! QEMU's monitor: its machine protocol, a line of JSON each way, over a socket that has no name.

use std::io;
use std::time::{Duration, Instant};

use hostmark_model::Message;
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvFlags, SendFlags};
use serde_json::{Value, json};

use crate::supervise::{left, now};
use crate::timing::timing;
use crate::transport_error::shown;

/// Bytes of a line at most: a console's end is the longest.
const LONGEST_LINE: usize = 1 << 20;
/// Bytes that are read at once.
const PART: usize = 1 << 14;
/// Bytes of the console's end that QEMU keeps.
pub const CONSOLE_BYTES: usize = 1 << 16;
/// Id of the console's device on QEMU's command line.
pub const CONSOLE: &str = "console";
/// Lines of the console's end that are told.
const LINES: usize = 8;
/// Message of a kernel that gives up.
const PANIC: &str = "Kernel panic - not syncing";
/// Message of a kernel that has met a breakpoint which nobody set: it puts one where it changes its own code, and takes it away again.
const TRAP: &str = "int3: 0000 [#";

/// Reason why a guest no longer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Restart by the guest, as a kernel does that has panicked.
    Reset,
    PoweredOff,
    /// QEMU stopped it: its processor met what it cannot carry out.
    ByQemu,
    /// QEMU stopped it: there is no room for what it wrote to its disk.
    NoRoom,
    Gone,
}

impl Stopped {
    pub fn text(self) -> Message {
        match self {
            Stopped::Reset => say!("it restarted itself, as a kernel does after a panic"),
            Stopped::PoweredOff => say!("it switched itself off"),
            Stopped::ByQemu => say!("QEMU stopped it, as it does where KVM cannot carry an instruction out"),
            Stopped::NoRoom => say!("this host has no room for what it wrote to its disk"),
            Stopped::Gone => say!("QEMU has ended"),
        }
    }
}

#[derive(Debug)]
pub struct Monitor {
    socket: OwnedFd,
    unread: Vec<u8>,
    /// Requests so far: what answers another is not for us.
    asked: u64,
    stopped: Option<Stopped>,
    /// End of the console's output so far.
    console: String,
}

impl Monitor {
    /// Monitor at the other end of this socket.
    pub fn of(socket: OwnedFd) -> Monitor {
        Monitor { socket, unread: Vec::new(), asked: 0, stopped: None, console: String::new() }
    }

    /// Hears the greeting, and answers it: the version that QEMU says it has.
    pub fn greet(&mut self, at_most: Duration) -> io::Result<String> {
        let until = now().checked_add(at_most);
        let greeting = loop {
            let line = self.line(until)?;
            if let Some(greeting) = line.get("QMP") {
                break greeting.clone();
            }
        };
        self.ask("qmp_capabilities", json!({}))?;
        let version = &greeting["version"];
        let numbers: Vec<String> = ["major", "minor", "micro"]
            .iter()
            .map(|part| version["qemu"][part].as_u64().unwrap_or(0).to_string())
            .collect();
        let package = shown(version["package"].as_str().unwrap_or_default());
        let package = if package.is_empty() { package } else { format!(" ({package})") };
        Ok(format!("QEMU {}{package}", numbers.join(".")))
    }

    pub fn ask(&mut self, request: &str, arguments: Value) -> io::Result<Value> {
        self.asked += 1;
        // Another process may have asked by the same socket before, and not have heard the answer.
        let id = format!("{}-{}", std::process::id(), self.asked);
        let line = json!({"execute": request, "arguments": arguments, "id": id}).to_string() + "\n";
        let mut rest = line.as_bytes();
        let until = now().checked_add(timing().monitor);
        while !rest.is_empty() {
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => rest = &rest[sent..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => self.wait(PollFlags::OUT, until)?,
                Err(error) => return Err(error.into()),
            }
        }
        loop {
            let mut line = self.line(until)?;
            if line.get("id").and_then(Value::as_str) != Some(&id) {
                continue;
            }
            return match line.get("error") {
                Some(error) => Err(io::Error::other(match error["desc"].as_str() {
                    Some(why) => Message::plain(shown(why)),
                    None => say!("it refuses"),
                })),
                None => Ok(line["return"].take()),
            };
        }
    }

    /// Reason why the guest no longer runs, as far as QEMU has told.
    pub fn stopped(&mut self) -> Option<Stopped> {
        while self.stopped.is_none() {
            match self.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => self.stopped = Some(Stopped::Gone),
            }
        }
        self.stopped
    }

    /// Tells whether the guest's kernel has met a breakpoint of its own after it was gone, as far as the console's end was read.
    pub fn has_trapped(&self) -> bool {
        self.console.contains(TRAP)
    }

    /// The last lines of the guest's console, oldest first, made harmless.
    pub fn last_lines(&mut self) -> Vec<String> {
        let read = self.ask("ringbuf-read", json!({"device": CONSOLE, "size": CONSOLE_BYTES}));
        if let Ok(Value::String(text)) = read {
            self.console.push_str(&text);
            let mut from = self.console.len().saturating_sub(CONSOLE_BYTES);
            while !self.console.is_char_boundary(from) {
                from += 1;
            }
            self.console.drain(..from);
        }
        let lines: Vec<String> = self.console.lines().map(plain).filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(LINES);
        // What a kernel says before it gives up stands before a list of functions.
        let cause = lines[..from].iter().rfind(|line| line.contains(PANIC) && !line.contains("end Kernel"));
        cause.into_iter().chain(&lines[from..]).cloned().collect()
    }

    /// The next line, waited for until then.
    fn line(&mut self, until: Option<Instant>) -> io::Result<Value> {
        loop {
            match self.next()? {
                Some(line) => return Ok(line),
                None => self.wait(PollFlags::IN, until)?,
            }
        }
    }

    /// The next line, if it has come. What it tells of the guest's end is kept.
    fn next(&mut self) -> io::Result<Option<Value>> {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                // The end of a line whose beginning another process has read is none.
                let Ok(line) = serde_json::from_slice::<Value>(&line) else { continue };
                self.note(&line);
                return Ok(Some(line));
            }
            if self.unread.len() > LONGEST_LINE {
                return Err(io::Error::other(say!("a line without an end")));
            }
            let mut part = [0; PART];
            match rustix::net::recv(&self.socket, &mut part[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((length, _)) => self.unread.extend_from_slice(&part[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn note(&mut self, line: &Value) {
        let reason = line["data"]["reason"].as_str();
        let is_stopping = line["data"]["action"].as_str() == Some("stop");
        let stopped = match (line.get("event").and_then(Value::as_str), reason) {
            (Some("SHUTDOWN"), Some("guest-reset" | "guest-panic")) => Stopped::Reset,
            (Some("SHUTDOWN"), Some("guest-shutdown")) => Stopped::PoweredOff,
            (Some("BLOCK_IO_ERROR"), _) if is_stopping && line["data"]["nospace"].as_bool() == Some(true) => {
                Stopped::NoRoom
            }
            (Some("SHUTDOWN" | "STOP"), _) => Stopped::ByQemu,
            _ => return,
        };
        self.stopped.get_or_insert(stopped);
    }

    fn wait(&self, what: PollFlags, until: Option<Instant>) -> io::Result<()> {
        let at_most = left(until).unwrap_or(timing().monitor);
        let time = Timespec::try_from(at_most).ok();
        match poll(&mut [PollFd::new(&self.socket, what)], time.as_ref()) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, say!("it does not answer"))),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A line without the sequences that steer a terminal: firmware and kernels write them.
fn plain(line: &str) -> String {
    let (mut text, mut chars) = (String::new(), line.chars());
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                if chars.next() == Some('[') {
                    chars.by_ref().find(|c| ('@'..='~').contains(c));
                }
            }
            c => text.push(c),
        }
    }
    shown(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    /// A monitor, and who stands for QEMU.
    fn pair() -> (Monitor, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Monitor::of(ours.into()), theirs)
    }

    /// Answers the requests of a monitor with these lines, in which ID stands for the request's own.
    fn answers(mut qemu: UnixStream, lines: Vec<&'static str>) -> std::thread::JoinHandle<UnixStream> {
        std::thread::spawn(move || {
            for line in lines {
                let mut request = Vec::new();
                while request.last() != Some(&b'\n') {
                    let mut byte = [0];
                    qemu.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                let request: Value = serde_json::from_slice(&request).unwrap();
                let line = line.replace("ID", request["id"].as_str().unwrap());
                qemu.write_all((line + "\n").as_bytes()).unwrap();
            }
            qemu
        })
    }

    #[test]
    fn the_version_comes_from_the_greeting() {
        let (mut monitor, mut qemu) = pair();
        let greeting = r#"{"QMP":{"version":{"qemu":{"micro":22,"minor":2,"major":7},"package":"Debian\u001b 1:7.2"},"capabilities":[]}}"#;
        qemu.write_all((greeting.to_owned() + "\n").as_bytes()).unwrap();
        let answered = answers(qemu, vec![r#"{"return":{},"id":"ID"}"#]);
        assert_eq!(monitor.greet(timing().monitor).unwrap(), "QEMU 7.2.22 (Debian\u{fffd} 1:7.2)");
        answered.join().unwrap();
    }

    #[test]
    fn what_answers_another_is_passed_over_and_an_error_is_reported() {
        let (mut monitor, mut qemu) = pair();
        qemu.write_all(b"rest of a line\"}\n{\"return\":1,\"id\":\"7-1\"}\n").unwrap();
        let answered =
            answers(qemu, vec![r#"{"return":2,"id":"ID"}"#, r#"{"error":{"desc":"no\u0007 such"},"id":"ID"}"#]);
        assert_eq!(monitor.ask("x", json!({})).unwrap(), 2);
        assert_eq!(monitor.ask("x", json!({})).unwrap_err().to_string(), "no\u{fffd} such");
        answered.join().unwrap();
    }

    #[test]
    fn the_end_of_a_guest_is_noticed() {
        let (mut monitor, mut qemu) = pair();
        assert_eq!(monitor.stopped(), None);
        qemu.write_all(
            b"{\"event\":\"RESUME\"}\n{\"event\":\"SHUTDOWN\",\"data\":{\"guest\":true,\"reason\":\"guest-reset\"}}\n",
        )
        .unwrap();
        assert_eq!(monitor.stopped(), Some(Stopped::Reset));
        let (mut monitor, qemu) = pair();
        drop(qemu);
        assert_eq!(monitor.stopped(), Some(Stopped::Gone));
        let (mut monitor, mut qemu) = pair();
        qemu.write_all(
            b"{\"event\":\"BLOCK_IO_ERROR\",\"data\":{\"nospace\":true,\"action\":\"stop\"}}\n{\"event\":\"STOP\"}\n",
        )
        .unwrap();
        assert_eq!(monitor.stopped(), Some(Stopped::NoRoom));
    }

    #[test]
    fn the_last_lines_are_few_and_steer_no_terminal() {
        let (mut monitor, qemu) = pair();
        let answered = answers(
            qemu,
            vec![
                r#"{"return":"\u001b[2J\u001b[1;31mone\r\n\r\ntwo\u202e\r\n3\n4\n5\n6\n7\n8\n9\nha","id":"ID"}"#,
                r#"{"return":"lf","id":"ID"}"#,
            ],
        );
        assert_eq!(monitor.last_lines(), ["3", "4", "5", "6", "7", "8", "9", "ha"]);
        assert_eq!(monitor.last_lines().last().unwrap(), "half");
        assert_eq!(plain("\u{1b}[2J\u{1b}[1;31mone\u{202e}x\u{1b}"), "one\u{fffd}x");
        answered.join().unwrap();
    }
}
