//! Sockets beyond the standard library: connections that leave nothing behind, and ways to send without copying.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, SocketType, sockopt};
use rustix::pipe::SpliceFlags;

use crate::workloads::by_function;
use crate::workloads::call::{Call, named, returned};

/// Resets a stream on close: ends in TIME_WAIT would use up the ports of later rounds.
#[cfg(test)]
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_linger(stream, Some(Duration::ZERO)).call("setsockopt")
}

/// A connection that is reset when closed, with reads of at most `patience`: socket, two options, connect. Fails at once without a far end.
#[inline]
pub fn connect(address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    connect_with(address, patience, |_| Ok(()))
}

/// The same; what `prepare` sets holds from the first packet on: how large a window it can ever offer, how it sends.
#[inline]
pub fn connect_with<E: From<io::Error>>(
    address: SocketAddr,
    patience: Duration,
    prepare: impl FnOnce(&OwnedFd) -> Result<(), E>,
) -> Result<TcpStream, E> {
    let family = crate::workloads::network::local::family(address.ip());
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).call("socket")?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).call("setsockopt")?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(patience)).call("setsockopt")?;
    prepare(&socket)?;
    // Where the time to send is bounded, the kernel says so when it is over.
    let timed_out = |error| if error == Errno::INPROGRESS { Errno::TIMEDOUT } else { error };
    rustix::net::connect(&socket, &address).map_err(timed_out).call("connect")?;
    Ok(socket.into())
}

/// Gives a socket, and what it accepts, a send buffer of so many bytes, as far as the kernel gives them, and ends its own tuning.
pub fn set_send_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    sockopt::set_socket_send_buffer_size(socket, bytes).call("setsockopt")
}

/// The same of the receive buffer: by what a socket has when it connects it is settled how large a window it can ever offer.
pub fn set_receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    sockopt::set_socket_recv_buffer_size(socket, bytes).call("setsockopt")
}

/// Sets the congestion control of a socket and of what it accepts. A connection that was once paced stays paced.
pub fn set_congestion_control(socket: &impl AsFd, name: &str) -> io::Result<()> {
    sockopt::set_tcp_congestion(socket, name).call("setsockopt")
}

/// The algorithms that the kernel has loaded; to ask for another would load it.
pub fn congestion_controls() -> io::Result<Vec<String>> {
    const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    Ok(std::fs::read_to_string(AVAILABLE).call("read")?.split_whitespace().map(str::to_owned).collect())
}

/// Bytes of data that a stream's send buffer has room for: the kernel tells twice as many, half of them for its own structures.
pub fn send_buffer(stream: &TcpStream) -> io::Result<u64> {
    Ok(sockopt::socket_send_buffer_size(stream).call("getsockopt")? as u64 / 2)
}

pub fn receive_buffer(stream: &TcpStream) -> io::Result<u64> {
    Ok(sockopt::socket_recv_buffer_size(stream).call("getsockopt")? as u64 / 2)
}

/// Constant of asm-generic/socket.h, which both of our architectures have.
const SO_MEMINFO: libc::c_int = 55;

/// Returns a number of a socket's memory, by its place in linux/sock_diag.h (SK_MEMINFO_…); `None` where the kernel does not tell.
pub fn memory(socket: &impl AsFd, place: usize) -> Option<u64> {
    let mut info = [0_u32; 16];
    let mut size = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `info`.
    let result = unsafe {
        let (socket, to) = (socket.as_fd().as_raw_fd(), info.as_mut_ptr().cast());
        libc::getsockopt(socket, libc::SOL_SOCKET, SO_MEMINFO, to, &raw mut size)
    };
    info.get(place).filter(|_| result == 0 && size as usize > place * size_of::<u32>()).map(|&number| number.into())
}

/// Tells whether all that has come of a stream is in order, as far as the kernel tells: memory that its buffer takes while nothing
/// can be read is of packets behind one that was lost. `None` while something can be read: what lies behind it is unknown.
pub fn is_in_order(stream: &TcpStream) -> io::Result<Option<bool>> {
    /// SK_MEMINFO_RMEM_ALLOC.
    const RECEIVED: usize = 0;
    if memory(stream, RECEIVED).unwrap_or(0) == 0 {
        return Ok(Some(true));
    }
    let is_empty = rustix::io::ioctl_fionread(stream).call("ioctl")? == 0;
    Ok(is_empty.then_some(false))
}

/// The algorithm by which the kernel decides how much of a stream may be under way, as `cubic`.
pub fn congestion_control(stream: &impl AsFd) -> io::Result<String> {
    // By hand: the library's function panics where an emulator or a sandbox gives back less than the whole name.
    let mut name = [0_u8; NAME_BYTES];
    let mut given = NAME_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `given` bytes to `name`, which is so long.
    let result = unsafe {
        let to = name.as_mut_ptr().cast();
        libc::getsockopt(stream.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, to, &raw mut given)
    };
    returned("getsockopt", result)?;
    Ok(name_of(&name[..NAME_BYTES.min(given as usize)]))
}

/// TCP_CA_NAME_MAX of linux/tcp.h: bytes of an algorithm's name, with a 0 at its end.
pub const NAME_BYTES: usize = 16;

/// Returns the text before the first 0, or all.
pub fn name_of(name: &[u8]) -> String {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("message", rustix::fs::MemfdFlags::CLOEXEC).call("memfd_create")?;
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(&file, rest).call("write")?..];
    }
    Ok(file)
}

/// Sends the first `bytes` of a file by sendfile(2): its pages, not copies of them.
#[inline]
pub fn send_file(stream: &TcpStream, file: &OwnedFd, bytes: usize) -> io::Result<()> {
    let mut offset = 0;
    while (offset as usize) < bytes {
        let left = bytes - offset as usize;
        let send = || rustix::fs::sendfile(stream, file, Some(&mut offset), left);
        if by_function(send).call("sendfile")? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// The end to read and the end to write of a pipe of `bytes` capacity, as far as the kernel gives it.
pub fn pipe_of(bytes: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    let (read_end, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).call("pipe2")?;
    // Without the right to so much it stays at its default.
    let _ = rustix::pipe::fcntl_setpipe_size(&write_end, bytes);
    Ok((read_end, write_end))
}

/// A pipe through which pages of a file are moved into a stream.
#[derive(Debug)]
pub struct Splicer {
    read_end: OwnedFd,
    write_end: OwnedFd,
}

impl Splicer {
    /// A pipe of `bytes` capacity, as far as the kernel gives it.
    pub fn new(bytes: usize) -> io::Result<Splicer> {
        let (read_end, write_end) = pipe_of(bytes)?;
        Ok(Splicer { read_end, write_end })
    }

    /// Sends the first `bytes` of a file by splice(2), twice for each pipe full: file to pipe, pipe to stream.
    #[inline]
    pub fn send(&self, stream: &TcpStream, file: &OwnedFd, bytes: usize) -> io::Result<()> {
        let mut offset = 0_u64;
        while (offset as usize) < bytes {
            let left = bytes - offset as usize;
            let flags = SpliceFlags::MOVE;
            let fill = || rustix::pipe::splice(file, Some(&mut offset), &self.write_end, None, left, flags);
            let mut inside = by_function(fill).call("splice")?;
            if inside == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            while inside > 0 {
                let empty = || rustix::pipe::splice(&self.read_end, None, stream, None, inside, flags);
                inside -= by_function(empty).call("splice")?;
            }
        }
        Ok(())
    }
}

/// Sending memory itself by MSG_ZEROCOPY: the kernel tells later, by the stream's queue of errors, what it is done with.
#[derive(Debug)]
pub struct ZeroCopySender<'a> {
    stream: BorrowedFd<'a>,
    /// Sends that the kernel has not yet told to be done.
    under_way: u32,
    /// True where the kernel reported for a send that it copied after all.
    pub copied: bool,
    /// True where the kernel reported on any send.
    pub is_reported: bool,
}

/// Sends that may be under way: each holds memory of the socket's that is accounted for.
const MOST_UNDER_WAY: u32 = 32;

impl<'a> ZeroCopySender<'a> {
    /// An error where the kernel has no such sending.
    pub fn new(stream: &'a impl AsFd) -> io::Result<ZeroCopySender<'a>> {
        let stream = stream.as_fd();
        let on: libc::c_int = 1;
        // SAFETY: the option is an int, which the kernel only reads.
        let result = unsafe {
            let size = size_of_val(&on) as libc::socklen_t;
            libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ZEROCOPY, (&raw const on).cast(), size)
        };
        returned("setsockopt", result)?;
        Ok(ZeroCopySender { stream, under_way: 0, copied: false, is_reported: false })
    }

    /// Sends all of `message`, which the caller leaves as it is until it was received.
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut rest = message;
        while !rest.is_empty() {
            let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
            // SAFETY: the kernel reads at most `rest.len()` bytes of `rest`, now or later; pages that it still reads when
            // they are unmapped are kept by it.
            let sent = unsafe { libc::send(self.stream.as_raw_fd(), rest.as_ptr().cast(), rest.len(), flags) };
            match usize::try_from(sent) {
                Ok(sent) => {
                    rest = &rest[sent..];
                    self.under_way += 1;
                }
                Err(_) => {
                    let error = io::Error::last_os_error();
                    // No memory is left to account for what is under way.
                    if error.raw_os_error() != Some(libc::ENOBUFS) || self.under_way == 0 {
                        return Err(named("send", error));
                    }
                    self.wait()?;
                }
            }
            if self.under_way >= MOST_UNDER_WAY {
                self.wait()?;
            }
        }
        Ok(())
    }

    /// Waits until the kernel tells of something that is done.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let before = self.under_way;
            while self.take()? {}
            if self.under_way < before {
                return Ok(());
            }
            let mut polled = libc::pollfd { fd: self.stream.as_raw_fd(), events: 0, revents: 0 };
            // SAFETY: one entry, as said. Errors are told without being asked for.
            returned("poll", unsafe { libc::poll(&raw mut polled, 1, -1) })?;
            if polled.revents & libc::POLLHUP != 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    /// Takes one message from the queue of errors; false when there is none.
    fn take(&mut self) -> io::Result<bool> {
        let mut room = [0_u64; 16];
        // SAFETY: all of a msghdr may be zero.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = room.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&room) as _;
        // SAFETY: the header names `room` and nothing else; with MSG_ERRQUEUE the call never waits.
        if unsafe { libc::recvmsg(self.stream.as_raw_fd(), &raw mut header, libc::MSG_ERRQUEUE) } < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(named("recvmsg", error)) };
        }
        // SAFETY: the kernel has filled the header that these walk.
        let mut control = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
        while !control.is_null() {
            // SAFETY: `control` is a header within `room`; of either family a message of its queue of
            // errors holds a sock_extended_err.
            unsafe {
                let kind = ((*control).cmsg_level, (*control).cmsg_type);
                if [(libc::SOL_IP, libc::IP_RECVERR), (libc::SOL_IPV6, libc::IPV6_RECVERR)].contains(&kind) {
                    let info = libc::CMSG_DATA(control).cast::<libc::sock_extended_err>().read_unaligned();
                    if info.ee_origin == ORIGIN_ZEROCOPY {
                        let done = info.ee_data.wrapping_sub(info.ee_info).wrapping_add(1);
                        self.under_way = self.under_way.saturating_sub(done);
                        self.copied |= info.ee_code & COPIED != 0;
                        self.is_reported = true;
                    }
                }
                control = libc::CMSG_NXTHDR(&raw const header, control);
            }
        }
        Ok(true)
    }
}

/// SO_EE_ORIGIN_ZEROCOPY and SO_EE_CODE_ZEROCOPY_COPIED of linux/errqueue.h.
const ORIGIN_ZEROCOPY: u8 = 5;
const COPIED: u8 = 1;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    type Way<'a> = &'a dyn Fn(&TcpStream) -> io::Result<()>;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let near = connect(listener.local_addr().unwrap(), Duration::from_millis(20)).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn a_connection_goes_both_ways_and_ends_with_a_reset_and_a_read_of_a_silent_far_end_ends() {
        let (mut near, mut far) = pair();
        assert_eq!(near.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();
        drop(near);
        assert_eq!(far.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn nobody_listening_is_an_error_at_once() {
        let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let refused = connect(address, Duration::from_secs(1)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn every_way_of_sending_sends_all_bytes_in_order() {
        let message: Vec<u8> = (0..3_000_000_u32).map(|index| (index % 251) as u8).collect();
        let file = memory_file(&message).unwrap();
        let splicer = Splicer::new(1 << 20).unwrap();
        let ways: [Way; 3] = [
            &|stream| send_file(stream, &file, message.len()),
            &|stream| splicer.send(stream, &file, message.len()),
            &|stream| ZeroCopySender::new(stream)?.send(&message),
        ];
        for way in ways {
            let (near, mut far) = pair();
            let received = std::thread::scope(|scope| {
                let reader = scope.spawn(move || {
                    let mut received = vec![0; 3_000_000];
                    far.read_exact(&mut received).map(|()| received)
                });
                way(&near).unwrap();
                reader.join().unwrap().unwrap()
            });
            assert!(received == message);
        }
    }

    #[test]
    fn a_name_that_is_cut_or_no_text_is_reported_all_the_same() {
        assert_eq!(
            [&b"cubic\0\0"[..], b"cubi", b"", b"\0x", b"a\xff"].map(name_of),
            ["cubic", "cubi", "", "", "a\u{fffd}"]
        );
    }

    #[test]
    fn what_comes_in_order_is_in_order_read_or_not() {
        let (near, mut far) = pair();
        assert_eq!(is_in_order(&near).unwrap(), Some(true));
        far.write_all(&[1; 10_000]).unwrap();
        while rustix::io::ioctl_fionread(&near).unwrap() < 10_000 {}
        assert_eq!(is_in_order(&near).unwrap().is_none(), memory(&near, 0).is_some_and(|bytes| bytes > 10_000));
    }

    #[test]
    fn what_a_listener_is_given_its_connections_have() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        // Every kernel has it, and lets everybody use it.
        assert!(congestion_controls().unwrap().contains(&"reno".to_owned()));
        set_congestion_control(&listener, "reno").unwrap();
        set_send_buffer(&listener, 40_000).unwrap();
        let address = listener.local_addr().unwrap();
        let near = connect_with(address, Duration::from_millis(20), |near| set_receive_buffer(near, 50_000)).unwrap();
        let far = listener.accept().unwrap().0;
        assert_eq!(congestion_control(&far).unwrap(), "reno");
        assert_eq!((send_buffer(&far).unwrap(), receive_buffer(&near).unwrap()), (40_000, 50_000));
        // Beyond what the kernel allows it gives what it allows, and tells that.
        let greedy =
            connect_with(address, Duration::from_millis(20), |near| set_receive_buffer(near, 1 << 30)).unwrap();
        let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
        assert_eq!(receive_buffer(&greedy).unwrap(), limit.trim().parse::<u64>().unwrap().min(1 << 30));
    }

    #[test]
    fn the_kernel_reports_memory_that_was_sent_without_a_copy() {
        let (near, mut far) = pair();
        let message = vec![1; 1 << 20];
        std::thread::scope(|scope| {
            scope.spawn(move || far.read_exact(&mut vec![0; 40 << 20]).unwrap());
            let mut sender = ZeroCopySender::new(&near).unwrap();
            (0..40).for_each(|_| sender.send(&message).unwrap());
            assert!(sender.is_reported, "after 32 sends one is waited for");
            assert!(sender.copied, "over loopback the kernel copies");
        });
    }
}
