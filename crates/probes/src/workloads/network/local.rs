//! Sockets that reach no further than this machine, made call by call: an error says which of the calls it was.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

use hostmark_engine::prelude::say;
use rustix::event::epoll;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::workloads::call::Call;
use crate::workloads::checked;
use crate::workloads::machine::arch;

/// Addresses that no other host reaches.
pub const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// Connections that may wait to be accepted: more than any probe makes at once.
const WAITING: i32 = 128;

fn socket(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).call("socket")
}

pub fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// Makes something at the first of these addresses at which it can be made; else returns why it cannot at the first.
fn at_first<T>(addresses: &[IpAddr], make: impl Fn(IpAddr) -> io::Result<T>) -> io::Result<T> {
    let mut first = None;
    for &address in addresses {
        match make(address) {
            Ok(made) => return Ok(made),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

/// A socket at any free port of an address, and its address.
fn bound(address: IpAddr, kind: SocketType) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = socket(family(address), kind)?;
    if kind == SocketType::STREAM {
        sockopt::set_socket_reuseaddr(&socket, true).call("setsockopt")?;
    }
    rustix::net::bind(&socket, &SocketAddr::new(address, 0)).call("bind")?;
    let address = rustix::net::getsockname(&socket).call("getsockname")?;
    let address = SocketAddr::try_from(address).call("getsockname")?;
    Ok((socket, address))
}

/// A socket that accepts connections at the first of these addresses that can be had, and its address.
pub fn tcp_listener(addresses: &[IpAddr]) -> io::Result<(TcpListener, SocketAddr)> {
    at_first(addresses, |address| {
        let (listener, address) = bound(address, SocketType::STREAM)?;
        rustix::net::listen(&listener, WAITING).call("listen")?;
        Ok((listener.into(), address))
    })
}

/// A socket that receives datagrams at the first of these addresses that can be had, and its address.
pub fn udp_socket(addresses: &[IpAddr]) -> io::Result<(UdpSocket, SocketAddr)> {
    at_first(addresses, |address| {
        let (socket, address) = bound(address, SocketType::DGRAM)?;
        Ok((socket.into(), address))
    })
}

/// A socket that exchanges datagrams with one address alone.
pub fn udp_connected(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket(family(address.ip()), SocketType::DGRAM)?;
    rustix::net::connect(&socket, &address).call("connect")?;
    Ok(socket.into())
}

/// Makes both ends of a connection over loopback, and the listener that accepted it.
pub fn tcp_pair() -> io::Result<(TcpListener, TcpStream, TcpStream)> {
    let (listener, address) = tcp_listener(&LOOPBACK)?;
    let near = socket(family(address.ip()), SocketType::STREAM)?;
    rustix::net::connect(&near, &address).call("connect")?;
    let near = TcpStream::from(near);
    let ours = near.local_addr().call("getsockname")?;
    loop {
        let (far, theirs) = listener.accept().call("accept4")?;
        // Whoever else has come is let go.
        if theirs == ours {
            return Ok((listener, near, far));
        }
    }
}

/// A socket that accepts connections at a file, which is made.
pub fn unix_listener(path: &Path) -> io::Result<UnixListener> {
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM)?;
    rustix::net::bind(&listener, &SocketAddrUnix::new(path)?).call("bind")?;
    rustix::net::listen(&listener, WAITING).call("listen")?;
    Ok(listener.into())
}

/// A connection to a socket's file.
pub fn unix_stream(path: &Path) -> io::Result<UnixStream> {
    let stream = socket(AddressFamily::UNIX, SocketType::STREAM)?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(path)?).call("connect")?;
    Ok(stream.into())
}

/// A socket for datagrams at a file, which is made.
pub fn unix_datagram(path: &Path) -> io::Result<UnixDatagram> {
    let socket = socket(AddressFamily::UNIX, SocketType::DGRAM)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?).call("bind")?;
    Ok(socket.into())
}

/// Descriptors that select can name.
const SELECTABLE: usize = 1024;
/// Words of a set of descriptors.
const SET_WORDS: usize = SELECTABLE / 64;

/// Set of many descriptors of one open file or socket, to be asked about at once.
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
        let (listener, near, far) = tcp_pair()?;
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
    /// Returns how many are ready to be read.
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

    /// Returns how many are ready to be read.
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
    /// Returns how many are ready to be read.
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
    use std::io::{Read, Write};

    use super::*;
    use crate::workloads::call::failed;

    #[test]
    fn what_is_sent_on_loopback_arrives() {
        let (_listener, mut near, mut far) = tcp_pair().unwrap();
        near.write_all(b"x").unwrap();
        let mut byte = [0];
        far.read_exact(&mut byte).unwrap();
        for at in LOOPBACK {
            // A machine may have one of them alone.
            let Ok((other, address)) = udp_socket(&[at]) else { continue };
            let one = udp_connected(address).unwrap();
            one.send(&byte).unwrap();
            assert_eq!((other.recv(&mut byte).unwrap(), byte), (1, *b"x"));
        }
    }

    #[test]
    fn the_first_address_that_can_be_had_is_taken() {
        // Kept for documentation: no machine has it.
        let nowhere: IpAddr = "192.0.2.1".parse().unwrap();
        let (_listener, address) = tcp_listener(&[nowhere, LOOPBACK[0], LOOPBACK[1]]).unwrap();
        assert!(address.ip().is_loopback());
        let (_socket, address) = udp_socket(&[nowhere, LOOPBACK[0], LOOPBACK[1]]).unwrap();
        assert!(address.ip().is_loopback());
        assert_eq!(failed(&udp_socket(&[nowhere]).unwrap_err()), Some("bind"));
        assert!(tcp_listener(&[]).is_err());
    }

    #[test]
    fn the_call_that_failed_is_reported() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("socket");
        let call = |error: io::Error| failed(&error);
        assert_eq!(unix_stream(&path).map_err(call).unwrap_err(), Some("connect"));
        let _listener = unix_listener(&path).unwrap();
        unix_stream(&path).unwrap();
        assert_eq!(unix_listener(&path).map_err(call).unwrap_err(), Some("bind"));
        assert_eq!(unix_datagram(&path).map_err(call).unwrap_err(), Some("bind"));
    }

    #[test]
    fn all_three_agree_on_what_is_ready_as_often_as_they_are_asked() {
        let (read, _write) = ready_pipe().unwrap();
        for (all, ready) in [(Descriptors::of_file(&read, 7), 7), (Descriptors::of_connection(5), 0)] {
            let all = all.unwrap();
            let (select, mut poll, mut epoll) = (all.select().unwrap(), all.poll(), all.epoll().unwrap());
            for _ in 0..10 {
                assert_eq!([select.ask().unwrap(), poll.ask().unwrap(), epoll.ask().unwrap()], [ready; 3]);
            }
        }
    }
}
