//! Path of the bytes from their source to their sink, as a case's axis names it.

use std::str::FromStr;
use std::{fmt, io};

use hostmark_engine::prelude::{Message, say};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::SpliceFlags;

use crate::workloads::by_function;
use crate::workloads::call::Call;
use crate::workloads::network::socket::{ZeroCopySender, pipe_of};
use crate::workloads::storage::files;

/// Source or sink of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Zero,
    /// A file that the page cache holds.
    File,
    /// A file that it does not hold.
    ColdFile,
    /// The process' own memory: nothing is called.
    Memory,
    /// A pipe to the next process.
    Pipe,
    /// A TCP connection over loopback to the next process.
    Socket,
    Null,
}

impl Endpoint {
    fn name(self) -> &'static str {
        match self {
            Endpoint::Zero => "zero",
            Endpoint::File => "file",
            Endpoint::ColdFile => "cold_file",
            Endpoint::Memory => "memory",
            Endpoint::Pipe => "pipe",
            Endpoint::Socket => "socket",
            Endpoint::Null => "null",
        }
    }
}

/// Method by which a process moves bytes from one place to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// read(2) into a block and write(2) of it.
    Copy,
    /// The same as Debian's nc does it: 16 KiB at a time, and poll(2) before each call.
    Poll,
    /// splice(2), by way of a pipe of its own where neither place is one.
    Splice,
    /// sendfile(2).
    SendFile,
    /// send(2) with MSG_ZEROCOPY.
    ZeroCopy,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::Copy => "copy",
            Method::Poll => "poll",
            Method::Splice => "splice",
            Method::SendFile => "sendfile",
            Method::ZeroCopy => "zero_copy",
        }
    }
}

/// Turns of two processes on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Turns as the scheduler and the queue between them have it.
    Free,
    /// The sender leaves the CPU after each block: the receiver takes it at once.
    Close,
    /// Turns in which both leave it after each block, and several lie between them at any time.
    Behind,
}

/// A process: where it reads, how it moves, where it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    pub from: Endpoint,
    pub by: Method,
    pub to: Endpoint,
}

impl fmt::Display for Stage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}>{} {}", self.from.name(), self.to.name(), self.by.name())
    }
}

/// All processes in the order of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Stages, one to [`MOST_STAGES`].
    pub stages: Vec<Stage>,
    pub pace: Pace,
}

/// Processes of a path at most.
pub const MOST_STAGES: usize = 5;

#[derive(Clone, Copy)]
enum Word {
    At(Endpoint),
    By(Method),
    Paced(Pace),
}

/// Longer words before those that they begin with.
const WORDS: &[(&str, Word)] = &[
    ("cold_file", Word::At(Endpoint::ColdFile)),
    ("zero_copy", Word::By(Method::ZeroCopy)),
    ("zero", Word::At(Endpoint::Zero)),
    ("file", Word::At(Endpoint::File)),
    ("memory", Word::At(Endpoint::Memory)),
    ("pipe", Word::At(Endpoint::Pipe)),
    ("socket", Word::At(Endpoint::Socket)),
    ("null", Word::At(Endpoint::Null)),
    ("poll", Word::By(Method::Poll)),
    ("splice", Word::By(Method::Splice)),
    ("sendfile", Word::By(Method::SendFile)),
    ("close", Word::Paced(Pace::Close)),
    ("behind", Word::Paced(Pace::Behind)),
];

impl FromStr for Path {
    type Err = Message;

    fn from_str(name: &str) -> Result<Path, Message> {
        let no_path = || say!("there is no path '{name}'");
        let (mut stages, mut pace) = (Vec::new(), Pace::Free);
        let (mut last, mut by) = (None, Method::Copy);
        let mut rest = Some(name);
        while let Some(words) = rest {
            let (text, word) = WORDS.iter().find(|(text, _)| words.starts_with(text)).ok_or_else(no_path)?;
            match *word {
                Word::At(to) => {
                    stages.extend(last.map(|from| Stage { from, by, to }));
                    (last, by) = (Some(to), Method::Copy);
                }
                Word::By(method) => by = method,
                Word::Paced(how) => pace = how,
            }
            rest = match &words[text.len()..] {
                "" => None,
                more => Some(more.strip_prefix('_').ok_or_else(no_path)?),
            };
        }
        let path = Path { stages, pace };
        if path.is_possible() && by == Method::Copy { Ok(path) } else { Err(no_path()) }
    }
}

impl Path {
    /// Tells whether it begins at a source, ends at a sink, has only ways between that there are, and not too many processes.
    fn is_possible(&self) -> bool {
        use Endpoint::{ColdFile, File, Memory, Null, Pipe, Socket, Zero};
        let (Some(first), Some(last)) = (self.stages.first(), self.stages.last()) else { return false };
        let each = |stage: &Stage| match stage.by {
            Method::Copy => true,
            Method::Poll => stage.from != Memory && stage.to != Memory,
            Method::Splice => matches!(
                (stage.from, stage.to),
                (Pipe, Socket | Pipe | Null) | (Socket, Pipe | Null) | (File | ColdFile, Socket | Pipe)
            ),
            Method::SendFile => matches!((stage.from, stage.to), (File | ColdFile, Socket)),
            Method::ZeroCopy => matches!((stage.from, stage.to), (Memory, Socket)),
        };
        let is_between = |stage: &Stage| matches!(stage.to, Pipe | Socket);
        matches!(first.from, Zero | File | ColdFile | Memory)
            && matches!(last.to, Null | Memory)
            && self.stages[..self.stages.len() - 1].iter().all(is_between)
            && self.stages.len() <= MOST_STAGES
            && self.stages.iter().all(each)
            && (self.pace == Pace::Free || self.stages.len() == 2)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<String> = self.stages.iter().map(Stage::to_string).collect();
        to.write_str(&stages.join("; "))
    }
}

/// Largest read of netcat-openbsd: its `BUFSIZE`.
const NC_BYTES: usize = 16 << 10;

/// The two descriptors of a process, none where its own memory is the place, and its block.
pub struct Mover<'a> {
    stage: Stage,
    from: Option<&'a OwnedFd>,
    to: Option<&'a OwnedFd>,
    block: &'a mut [u8],
    /// Pipe between two places of which neither is a pipe.
    own_pipe: Option<(OwnedFd, OwnedFd)>,
    zero_copy: Option<ZeroCopySender<'a>>,
}

impl<'a> Mover<'a> {
    /// Prepares the move; an error where the kernel has no such way.
    pub fn new(
        stage: Stage,
        from: Option<&'a OwnedFd>,
        to: Option<&'a OwnedFd>,
        block: &'a mut [u8],
    ) -> io::Result<Mover<'a>> {
        let is_pipe = |place| place == Endpoint::Pipe;
        let needs_pipe = stage.by == Method::Splice && !is_pipe(stage.from) && !is_pipe(stage.to);
        let own_pipe = needs_pipe.then(|| pipe_of(block.len())).transpose()?;
        let sender = to.filter(|_| stage.by == Method::ZeroCopy);
        let zero_copy = sender.map(ZeroCopySender::new).transpose()?;
        Ok(Mover { stage, from, to, block, own_pipe, zero_copy })
    }

    /// Prepares a transfer: a file is read from its start, and one that is to be cold is dropped from the cache.
    pub fn begin(&self) -> io::Result<()> {
        if let (Endpoint::File | Endpoint::ColdFile, Some(file)) = (self.stage.from, self.from) {
            rustix::fs::seek(file, rustix::fs::SeekFrom::Start(0)).call("lseek")?;
            if self.stage.from == Endpoint::ColdFile {
                files::drop_cache(file)?;
            }
        }
        Ok(())
    }

    /// The call that reads, where there is one: bytes that came, `most` at most and one at least.
    #[inline]
    pub fn read(&mut self, most: usize) -> io::Result<usize> {
        let came = match (self.stage.by, self.from, &self.own_pipe) {
            (Method::Copy, Some(from), _) => {
                by_function(|| rustix::io::read(from, &mut self.block[..most])).call("read")?
            }
            (Method::Poll, Some(from), _) => {
                self.poll(PollFlags::IN, PollFlags::empty())?;
                by_function(|| rustix::io::read(from, &mut self.block[..most.min(NC_BYTES)])).call("read")?
            }
            (Method::Splice, Some(from), Some((_, write_end))) => splice(from, write_end, most)?,
            (Method::Splice, Some(from), None) => {
                // One call reads and writes: what it waits for on this side is waited for before it.
                let mut readable = [PollFd::new(from, PollFlags::IN)];
                by_function(|| rustix::event::poll(&mut readable, None)).call("poll")?;
                most
            }
            _ => most,
        };
        if came == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(came) }
    }

    /// The call that writes, where there is one: of `came` bytes those that went on; all of them where one call does both.
    #[inline]
    pub fn write(&mut self, came: usize) -> io::Result<usize> {
        let Some(to) = self.to else { return Ok(came) };
        match (self.stage.by, &self.own_pipe, self.from) {
            (Method::Splice, Some((read_end, _)), _) => all(came, |left| splice(read_end, to, left)),
            (Method::Splice, None, Some(from)) => splice(from, to, came),
            (Method::SendFile, _, Some(from)) => {
                all(came, |left| by_function(|| rustix::fs::sendfile(to, from, None, left)).call("sendfile"))
            }
            (Method::ZeroCopy, ..) => match &mut self.zero_copy {
                Some(sender) => sender.send(&self.block[..came]).map(|()| came),
                None => Err(io::ErrorKind::Unsupported.into()),
            },
            (method, ..) => {
                let mut at = 0;
                all(came, |left| {
                    if method == Method::Poll {
                        self.poll(PollFlags::empty(), PollFlags::OUT)?;
                    }
                    let wrote = by_function(|| rustix::io::write(to, &self.block[at..at + left])).call("write")?;
                    at += wrote;
                    Ok(wrote)
                })
            }
        }
    }

    /// Waits as nc does: on all four descriptors where it sends, the network's twice; where it receives, its input has ended.
    fn poll(&self, from_for: PollFlags, to_for: PollFlags) -> io::Result<()> {
        let (Some(from), Some(to)) = (self.from, self.to) else { return Ok(()) };
        let all = [(from, from_for), (to, to_for), (to, PollFlags::IN), (from, PollFlags::empty())];
        let mut all = all.map(|(at, flags)| PollFd::new(at, flags));
        let polled = if self.stage.to == Endpoint::Socket { &mut all[..] } else { &mut all[..2] };
        by_function(|| rustix::event::poll(polled, None)).call("poll").map(drop)
    }

    /// Writes as much of a block as its queue takes without waiting, none when it is full.
    pub fn write_some(&mut self, bytes: usize) -> io::Result<usize> {
        let Some(to) = self.to else { return Ok(0) };
        match rustix::net::send(to, &self.block[..bytes], rustix::net::SendFlags::DONTWAIT).call("sendto") {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            sent => sent,
        }
    }

    /// Bytes that were copied between user and kernel for each that moved, on the side that reads and on that which writes.
    pub fn copies(&self) -> [bool; 2] {
        let copied = self.zero_copy.as_ref().is_some_and(|sender| sender.copied);
        match self.stage.by {
            Method::Copy | Method::Poll => [self.from.is_some(), self.to.is_some() && self.stage.to != Endpoint::Null],
            Method::Splice | Method::SendFile => [false, false],
            Method::ZeroCopy => [false, copied],
        }
    }

    /// The same of bytes handed over by a call of read or write, whether the kernel copies them or not.
    pub fn crossings(&self) -> [bool; 2] {
        match self.stage.by {
            Method::Copy | Method::Poll => [self.from.is_some(), self.to.is_some()],
            Method::Splice | Method::SendFile => [false, false],
            Method::ZeroCopy => [false, true],
        }
    }
}

/// Repeats `part` until `came` bytes have gone.
#[inline]
fn all(came: usize, mut part: impl FnMut(usize) -> io::Result<usize>) -> io::Result<usize> {
    let mut left = came;
    while left > 0 {
        match part(left)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            moved => left -= moved,
        }
    }
    Ok(came)
}

#[inline]
fn splice(from: impl AsFd, to: impl AsFd, most: usize) -> io::Result<usize> {
    by_function(|| rustix::pipe::splice(from, None, to, None, most, SpliceFlags::MOVE)).call("splice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_processes() {
        let parsed = |name: &str| name.parse::<Path>().map(|path| path.to_string());
        let of = |name: &str| parsed(name).unwrap();
        assert_eq!(of("zero_pipe_socket_null"), "zero>pipe copy; pipe>socket copy; socket>null copy");
        assert_eq!(of("cold_file_sendfile_socket_null"), "cold_file>socket sendfile; socket>null copy");
        assert_eq!(of("memory_zero_copy_socket_memory"), "memory>socket zero_copy; socket>memory copy");
        assert_eq!(of("zero_pipe_socket_splice_null"), "zero>pipe copy; pipe>socket copy; socket>null splice");
        assert_eq!(of("zero_pipe_poll_socket_poll_null"), "zero>pipe copy; pipe>socket poll; socket>null poll");
        assert_eq!(of("zero_null"), "zero>null copy");
        assert_eq!(parsed("memory_socket_memory_behind").unwrap(), parsed("memory_socket_memory").unwrap());
        assert_eq!("memory_socket_memory_behind".parse::<Path>().unwrap().pace, Pace::Behind);
    }

    #[test]
    fn what_cannot_be_has_no_path() {
        for name in [
            "",
            "zero",
            "null_zero",
            "zero_pipe",
            "pipe_null",
            "zero_",
            "zeronull",
            "zero__null",
            "zero_null_pipe_null",
            "zero_splice_null",
            "zero_null_splice",
            "memory_sendfile_socket_null",
            "socket_socket_null",
            "zero_pipe_zero_copy_socket_null",
            "zero_pipe_pipe_pipe_pipe_pipe_null",
            "zero_pipe_socket_null_close",
        ] {
            assert!(name.parse::<Path>().is_err(), "{name}");
        }
    }
}
