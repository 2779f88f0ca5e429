//! How one process of a pipeline moves its bytes: a call that reads, and one that writes.

use std::io;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::SpliceFlags;

use super::path::{Endpoint, Method, Stage};
use crate::workloads::by_function;
use crate::workloads::call::Call;
use crate::workloads::network::socket::{ZeroCopySender, pipe_of};
use crate::workloads::storage::files;

/// What netcat-openbsd reads at once at most: its `BUFSIZE`.
const NC_BYTES: usize = 16 << 10;

/// The two descriptors of a process, none where its own memory is the place, and its block.
pub struct Mover<'a> {
    stage: Stage,
    from: Option<&'a OwnedFd>,
    to: Option<&'a OwnedFd>,
    block: &'a mut [u8],
    /// Between two places of which neither is a pipe.
    own_pipe: Option<(OwnedFd, OwnedFd)>,
    zero_copy: Option<ZeroCopySender<'a>>,
}

impl<'a> Mover<'a> {
    /// Nothing is moved yet; an error where the kernel has no such way.
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

    /// What is done before a transfer: a file is read from its start, and one that is to be cold is dropped from the cache.
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

    /// The call that writes, where there is one: of `came` bytes those that went on, which are all but where one call reads
    /// and writes.
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

    /// What nc waits for: all four descriptors that it has where it sends, the network's twice; where it receives, its input has
    /// ended.
    fn poll(&self, from_for: PollFlags, to_for: PollFlags) -> io::Result<()> {
        let (Some(from), Some(to)) = (self.from, self.to) else { return Ok(()) };
        let all = [(from, from_for), (to, to_for), (to, PollFlags::IN), (from, PollFlags::empty())];
        let mut all = all.map(|(at, flags)| PollFd::new(at, flags));
        let polled = if self.stage.to == Endpoint::Socket { &mut all[..] } else { &mut all[..2] };
        by_function(|| rustix::event::poll(polled, None)).call("poll").map(drop)
    }

    /// Of a block what its queue takes without waiting, none when it is full.
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

/// Until `came` bytes have gone.
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
