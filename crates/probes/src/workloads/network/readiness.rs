//! Asking the kernel which of many descriptors are ready: select, poll and epoll by their system calls.

use std::io;
use std::net::{TcpListener, TcpStream};

use hostmark_engine::prelude::say;
use rustix::event::epoll;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};

use crate::workloads::call::Call;
use crate::workloads::{checked, machine::arch, network::local};

/// Descriptors that select can name.
const SELECTABLE: usize = 1024;
/// Words of a set of descriptors.
const SET_WORDS: usize = SELECTABLE / 64;

/// Many descriptors of one open file or socket, to be asked about at once.
#[derive(Debug)]
pub struct Descriptors {
    copies: Vec<OwnedFd>,
    /// The other end of a connection, and who accepted it.
    _peers: Option<(TcpListener, TcpStream)>,
}

impl Descriptors {
    /// `count` descriptors of `file`.
    pub fn of_file(file: &OwnedFd, count: usize) -> io::Result<Descriptors> {
        Ok(Descriptors { copies: copies(file, count)?, _peers: None })
    }

    /// `count` descriptors of a TCP connection over loopback on which nothing has come.
    pub fn of_connection(count: usize) -> io::Result<Descriptors> {
        let (listener, near, far) = local::tcp_pair()?;
        Ok(Descriptors { copies: copies(&near.into(), count)?, _peers: Some((listener, far)) })
    }

    /// Prepares pselect6(2) over all of them.
    pub fn select(&self) -> io::Result<Select> {
        let mut set = [0_u64; SET_WORDS];
        let mut width = 0;
        for copy in &self.copies {
            let number = copy.as_raw_fd() as usize;
            let word =
                set.get_mut(number / 64).ok_or_else(|| io::Error::other(say!("select ends at descriptor 1023")))?;
            *word |= 1 << (number % 64);
            width = width.max(number + 1);
        }
        Ok(Select { set, width })
    }

    /// Prepares ppoll(2) over all of them.
    pub fn poll(&self) -> Poll {
        Poll::of(self.copies.iter().map(OwnedFd::as_raw_fd))
    }

    /// Prepares epoll_pwait(2) over all of them. An error where the kernel refuses them, as it does regular files.
    pub fn epoll(&self) -> io::Result<Epoll> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC).call("epoll_create1")?;
        for (index, copy) in self.copies.iter().enumerate() {
            epoll::add(&set, copy, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN).call("epoll_ctl")?;
        }
        Ok(Epoll { set, events: vec![libc::epoll_event { events: 0, u64: 0 }; self.copies.len().max(1)] })
    }
}

/// Duplicates of `file`, a descriptor each.
fn copies(file: &OwnedFd, count: usize) -> io::Result<Vec<OwnedFd>> {
    (0..count).map(|_| rustix::io::fcntl_dupfd_cloexec(file, 3).call("fcntl")).collect()
}

/// A timeout of zero: ask, and do not wait.
const AT_ONCE: [i64; 2] = [0, 0];

/// A select over many descriptors.
#[derive(Debug)]
pub struct Select {
    set: [u64; SET_WORDS],
    width: usize,
}

impl Select {
    /// How many are ready to be read.
    #[inline(always)]
    pub fn ask(&self) -> io::Result<usize> {
        // The kernel writes its answer over the question.
        let mut set = self.set;
        let mut timeout = AT_ONCE;
        let arguments = [self.width, set.as_mut_ptr() as usize, 0, 0, timeout.as_mut_ptr() as usize, 0];
        // SAFETY: a set of as many bits as the width needs, and a timeout, both writable.
        checked("pselect6", unsafe { arch::call(libc::SYS_pselect6, arguments) })
    }
}

/// A poll over many descriptors.
#[derive(Debug)]
pub struct Poll {
    entries: Vec<libc::pollfd>,
}

impl Poll {
    /// Prepares it over files of these numbers.
    pub fn of(files: impl Iterator<Item = RawFd>) -> Poll {
        Poll { entries: files.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect() }
    }

    /// How many are ready to be read.
    #[inline(always)]
    pub fn ask(&mut self) -> io::Result<usize> {
        let mut timeout = AT_ONCE;
        let arguments =
            [self.entries.as_mut_ptr() as usize, self.entries.len(), timeout.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: as many entries as said, and a timeout, all writable.
        checked("ppoll", unsafe { arch::call(libc::SYS_ppoll, arguments) })
    }
}

/// An epoll over many descriptors.
#[derive(Debug)]
pub struct Epoll {
    set: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    /// How many are ready to be read.
    #[inline(always)]
    pub fn ask(&mut self) -> io::Result<usize> {
        let arguments = [self.set.as_raw_fd() as usize, self.events.as_mut_ptr() as usize, self.events.len(), 0, 0, 0];
        // SAFETY: room for as many events as said; a timeout of 0 and no mask.
        checked("epoll_pwait", unsafe { arch::call(libc::SYS_epoll_pwait, arguments) })
    }
}

/// A pipe with a byte in it, by its read end: always ready.
pub fn ready_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).call("pipe2")?;
    rustix::io::write(&write, b"x").call("write")?;
    Ok((read, write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_agree_on_what_is_ready() {
        let (read, _write) = ready_pipe().unwrap();
        let ready = Descriptors::of_file(&read, 7).unwrap();
        assert_eq!(ready.select().unwrap().ask().unwrap(), 7);
        assert_eq!(ready.poll().ask().unwrap(), 7);
        assert_eq!(ready.epoll().unwrap().ask().unwrap(), 7);
        let silent = Descriptors::of_connection(5).unwrap();
        assert_eq!(silent.select().unwrap().ask().unwrap(), 0);
        assert_eq!(silent.poll().ask().unwrap(), 0);
        assert_eq!(silent.epoll().unwrap().ask().unwrap(), 0);
    }

    #[test]
    fn asking_again_gives_the_same_answer() {
        let (read, _write) = ready_pipe().unwrap();
        let ready = Descriptors::of_file(&read, 3).unwrap();
        let select = ready.select().unwrap();
        assert!((0..10).all(|_| select.ask().unwrap() == 3));
    }
}
