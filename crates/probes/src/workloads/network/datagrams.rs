//! Flows of numbered datagrams: who sends them without pause or at a pace, and what their receiver counts of them. No moment of
//! one machine is held against one of another: differences of each are.

use std::io;
use std::net::UdpSocket;
use std::num::NonZeroU64;
use std::ops::Range;
use std::time::Duration;

use rustix::fd::AsRawFd;
use rustix::net::{RecvFlags, SendFlags};

use crate::workloads::call::{Call, named, returned};
use crate::workloads::{by_function, clock, network::socket, usage};

/// A datagram begins with its number and the moment at which it was sent, 8 bytes each.
pub const HEADER_BYTES: usize = 16;
/// Datagrams that the kernel cuts one message into at most (UDP_MAX_SEGMENTS of older kernels).
const MOST_SEGMENTS: usize = 64;
/// Bytes of a message that is cut at most: all of a packet, without the headers of either family.
const LONGEST_MESSAGE: usize = 65_535 - 48;
/// Longest delay that a paced sender catches up on: the rest is given up, so that no burst is longer.
const MOST_BEHIND_NS: f64 = 1e6;
/// Datagrams that are due in less than this leave together: to sleep takes longer than to send.
const LEAST_SLEPT_NS: f64 = 100e3;
/// Longest sleep before it checks whether the flow is over.
const MOST_SLEPT_NS: f64 = 10e6;
// Of linux/udp.h: not every library has them.
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatagramPlan {
    /// Bytes of each.
    pub datagram: usize,
    /// Bits of them a second; `None`: without pause.
    pub bits_a_second: Option<f64>,
    /// True where the kernel cuts them from longer messages, and joins them for the receiver.
    pub is_cut: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Datagrams that the kernel took.
    pub datagrams: u64,
    /// The time that passed, ns.
    pub passed_ns: u64,
    /// Time while the kernel took none, ns.
    pub blocked_ns: u64,
    /// The process' time on a CPU, ns.
    pub cpu_ns: u64,
}

#[derive(Debug)]
pub struct Sender<'a> {
    socket: &'a UdpSocket,
    message: Vec<u8>,
    datagram: usize,
    /// Time between two datagrams, ns; `None` where nothing is waited for.
    period_ns: Option<f64>,
}

impl<'a> Sender<'a> {
    /// Sends by a connected socket. An error where the kernel cannot cut messages.
    pub fn new(socket: &'a UdpSocket, flow: DatagramPlan) -> io::Result<Sender<'a>> {
        let period_ns = flow.bits_a_second.map(|bits| flow.datagram as f64 * 8e9 / bits);
        let mut together = 1;
        if flow.is_cut {
            set(socket, UDP_SEGMENT, flow.datagram as libc::c_int)?;
            let in_time = period_ns.map_or(MOST_SEGMENTS, |period| (MOST_BEHIND_NS / period) as usize);
            together = (LONGEST_MESSAGE / flow.datagram).min(MOST_SEGMENTS).min(in_time).max(1);
        }
        if period_ns.is_some() {
            // What is slept beyond the moment that was asked for would be sent in bursts. A kernel may refuse.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
        Ok(Sender { socket, message: vec![1; together * flow.datagram], datagram: flow.datagram, period_ns })
    }

    /// Sends numbers from `first` on until `is_over`, which is told by the clock the time and how many were sent.
    pub fn send(&mut self, first: u64, mut is_over: impl FnMut(u64, u64) -> io::Result<bool>) -> io::Result<Sent> {
        let (begun_ns, begun_cpu_ns) = (clock::monotonic_ns(), usage::cpu_ns_of_process()?);
        let (mut sent, mut due_ns) = (Sent::default(), begun_ns as f64);
        loop {
            let mut now_ns = clock::monotonic_ns();
            sent.passed_ns = now_ns - begun_ns;
            if is_over(sent.passed_ns, sent.datagrams)? {
                sent.cpu_ns = usage::cpu_ns_of_process()?.saturating_sub(begun_cpu_ns);
                return Ok(sent);
            }
            let together = (self.message.len() / self.datagram) as u64;
            if let Some(period_ns) = self.period_ns {
                if due_ns > now_ns as f64 {
                    let least_ns = if period_ns < LEAST_SLEPT_NS { LEAST_SLEPT_NS } else { 0.0 };
                    let slept_ns = (due_ns - now_ns as f64).clamp(least_ns, MOST_SLEPT_NS);
                    std::thread::sleep(Duration::from_nanos(slept_ns as u64));
                    now_ns = clock::monotonic_ns();
                    if due_ns > now_ns as f64 {
                        continue;
                    }
                }
                due_ns = due_ns.max(now_ns as f64 - MOST_BEHIND_NS) + period_ns * together as f64;
            }
            for (number, datagram) in (first + sent.datagrams..).zip(self.message.chunks_mut(self.datagram)) {
                datagram[..8].copy_from_slice(&number.to_le_bytes());
                datagram[8..HEADER_BYTES].copy_from_slice(&now_ns.to_le_bytes());
            }
            sent.blocked_ns += self.send_message()?;
            sent.datagrams += together;
        }
    }

    /// Sends the message; returns how long the kernel did not take it, ns.
    #[inline]
    fn send_message(&self) -> io::Result<u64> {
        match by_function(|| rustix::net::send(self.socket, &self.message, SendFlags::DONTWAIT)) {
            Err(rustix::io::Errno::AGAIN) => {
                let blocked_from = clock::monotonic_ns();
                rustix::net::send(self.socket, &self.message, SendFlags::empty()).call("sendto")?;
                Ok(clock::monotonic_ns() - blocked_from)
            }
            sent => sent.call("sendto").map(|_| 0),
        }
    }
}

/// The bits of a number that say which flow it is of: what is late of the one before is none of the next one.
pub const FLOW_SHIFT: u32 = 40;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Arrivals {
    /// Number of the flow: the latest of which anything came.
    pub flow: u64,
    pub received: u64,
    /// Datagrams that came after one with a higher number.
    pub reordered: u64,
    /// The interarrival jitter of RFC 3550, section 6.4.1, ns.
    pub jitter_ns: f64,
    /// The most that the kernel joined to one message.
    pub most_joined: u64,
    lowest: u64,
    highest: u64,
    first_ns: u64,
    last_ns: u64,
    transit_ns: u64,
    /// The first and the last that were waited for: how many had come by then, and when.
    waited_for: Option<[(u64, u64); 2]>,
}

impl Arrivals {
    /// A datagram that came at this moment: its number, and when it was sent by its sender's clock.
    #[inline]
    fn take(&mut self, number: u64, sent_ns: u64, now_ns: u64) {
        let (flow, transit_ns) = (number >> FLOW_SHIFT, now_ns.wrapping_sub(sent_ns));
        if flow < self.flow {
            return;
        }
        if flow > self.flow || self.received == 0 {
            *self = Arrivals { flow, lowest: number, highest: number, first_ns: now_ns, ..Arrivals::default() };
        } else {
            let differs_ns = (transit_ns.wrapping_sub(self.transit_ns) as i64).unsigned_abs();
            self.jitter_ns += (differs_ns as f64 - self.jitter_ns) / 16.0;
            self.reordered += u64::from(number < self.highest);
        }
        self.lowest = self.lowest.min(number);
        self.highest = self.highest.max(number);
        (self.transit_ns, self.last_ns) = (transit_ns, now_ns);
        self.received += 1;
    }

    /// Notes that the last datagram was waited for: it was read when it came, and those before it had not been kept for long.
    #[inline]
    fn was_waited_for(&mut self) {
        let this = (self.received, self.last_ns);
        self.waited_for = Some([self.waited_for.map_or(this, |[first, _]| first), this]);
    }

    /// Tells whether the last one was waited for.
    pub fn is_last_waited_for(&self) -> bool {
        self.waited_for.is_some_and(|[_, (received, _)]| received == self.received)
    }

    /// The time from the first to the last, as they were read, ns.
    pub fn span_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }

    /// Returns how many came in which time, ns, between two moments at which the receiver waited: what was kept for a receiver
    /// that had no CPU is read faster than it came. `None` where it waited for little of the time.
    pub fn steady(&self) -> Option<(u64, u64)> {
        let [(first, from_ns), (last, until_ns)] = self.waited_for?;
        let (count, ns) = (last - first, until_ns - from_ns);
        (count > 0 && 2 * ns >= self.span_ns()).then_some((count, ns))
    }

    /// The share of the numbers from the lowest to the highest that did not come; none where nothing came.
    pub fn missing(&self) -> Option<f64> {
        let all = (self.received > 0).then_some(self.highest - self.lowest + 1)?;
        Some(all.saturating_sub(self.received) as f64 / all as f64)
    }
}

#[derive(Debug)]
pub struct Receiver<'a> {
    socket: &'a UdpSocket,
    block: Vec<u8>,
    datagram: usize,
    is_joined: bool,
    /// True where it notes which datagrams it waited for.
    notes_waits: bool,
    /// Part of the block that holds a message outside the flow.
    message: Range<usize>,
}

impl<'a> Receiver<'a> {
    /// Receives by a socket. Messages of up to `longest` bytes that are none of the flow may come too. An error where the kernel
    /// cannot join datagrams.
    pub fn new(socket: &'a UdpSocket, flow: DatagramPlan, longest: usize) -> io::Result<Receiver<'a>> {
        let mut room = flow.datagram.max(longest) + 1;
        if flow.is_cut {
            set(socket, UDP_GRO, 1)?;
            room = 1 << 16;
        }
        Ok(Receiver {
            socket,
            block: vec![1; room],
            datagram: flow.datagram,
            is_joined: flow.is_cut,
            notes_waits: false,
            message: 0..0,
        })
    }

    /// Notes from now on which datagrams it waited for, by one more call for each of these.
    pub fn noting_waits(self) -> Receiver<'a> {
        Receiver { notes_waits: true, ..self }
    }

    /// Waits for the next message, and returns how many datagrams of the flow it was; they go to `arrivals`. A message
    /// outside the flow is [`Receiver::message`].
    #[inline]
    pub fn receive(&mut self, arrivals: &mut Arrivals, flags: RecvFlags) -> io::Result<u64> {
        self.message = 0..0;
        let at_once = self.notes_waits.then(|| self.take(RecvFlags::DONTWAIT));
        let (is_waited_for, taken) = match at_once {
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => (true, self.take(flags)),
            Some(taken) => (false, taken),
            None => (false, self.take(flags)),
        };
        let (bytes, each) = taken?;
        let (mut count, now_ns) = (0, clock::monotonic_ns());
        for (index, one) in self.block[..bytes].chunks(each.max(1)).enumerate() {
            let number = |at: usize| one.get(at..)?.first_chunk().copied().map(u64::from_le_bytes);
            match number(0).filter(|&number| number != NO_NUMBER && one.len() == self.datagram).zip(number(8)) {
                Some((number, sent_ns)) => {
                    arrivals.take(number, sent_ns, now_ns);
                    count += 1;
                }
                // The kernel may join it to the datagrams before it.
                None => self.message = index * each..index * each + one.len(),
            }
        }
        arrivals.most_joined = arrivals.most_joined.max(count);
        if is_waited_for && count > 0 {
            arrivals.was_waited_for();
        }
        Ok(count)
    }

    /// Takes what comes next into the block: its bytes, and those of each datagram but the last.
    #[inline]
    fn take(&mut self, flags: RecvFlags) -> io::Result<(usize, usize)> {
        if self.is_joined {
            return receive_joined(self.socket, &mut self.block, flags);
        }
        let received = by_function(|| rustix::net::recv(self.socket, &mut self.block[..], flags));
        let (_, bytes) = received.call("recvfrom")?;
        Ok((bytes.min(self.block.len()), bytes))
    }

    /// The message that is none of the flow, of what came last; empty where there was none.
    pub fn message(&self) -> &[u8] {
        self.block.get(self.message.clone()).unwrap_or_default()
    }

    /// Waits for a message that is none of the flow and that `wanted` takes, for so long; meanwhile the flow may go on.
    pub fn receive_matching<T>(
        &mut self,
        time: Duration,
        wanted: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let (mut others, begun_ns) = (Arrivals::default(), clock::monotonic_ns());
        self.socket.set_read_timeout(Some(time)).call("setsockopt")?;
        while clock::monotonic_ns() - begun_ns < time.as_nanos() as u64 {
            match self.receive(&mut others, RecvFlags::empty()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                came => came?,
            };
            if let Some(message) = wanted(self.message()) {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}

/// Datagrams that came to a socket and that its buffer had no room for, so far; 0 where the kernel does not tell.
pub fn dropped(socket: &UdpSocket) -> u64 {
    /// SK_MEMINFO_DROPS of linux/sock_diag.h.
    const DROPS: usize = 8;
    socket::memory(socket, DROPS).unwrap_or(0)
}

/// First word of a message that is outside a flow.
pub const NO_NUMBER: u64 = u64::MAX;

/// Bytes of the largest packet that goes to where a socket is connected, as far as is known.
pub fn path_mtu(socket: &UdpSocket) -> io::Result<u32> {
    let (level, option) = match socket.local_addr().call("getsockname")?.is_ipv4() {
        true => (libc::IPPROTO_IP, libc::IP_MTU),
        false => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mut mtu: libc::c_int = 0;
    let mut size = size_of_val(&mtu) as libc::socklen_t;
    // SAFETY: the kernel writes one int.
    let result = unsafe {
        let to = (&raw mut mtu).cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, to, &raw mut size)
    };
    returned("getsockopt", result)?;
    Ok(u32::try_from(mtu).unwrap_or(0))
}

fn set(socket: &UdpSocket, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the option is an int, which the kernel only reads.
    let result = unsafe {
        let size = size_of_val(&value) as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, option, (&raw const value).cast(), size)
    };
    returned("setsockopt", result).map(drop)
}

/// Receives a message that may have been joined of several datagrams: its bytes, and those of each but the last.
fn receive_joined(socket: &UdpSocket, block: &mut [u8], flags: RecvFlags) -> io::Result<(usize, usize)> {
    let mut room = [0_u64; 8];
    let mut part = libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: block.len() };
    // SAFETY: all of a msghdr may be zero.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    header.msg_control = room.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&room) as _;
    // SAFETY: the header names `block` and `room` with their sizes, and nothing else.
    let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags.bits() as libc::c_int) };
    let bytes = usize::try_from(got).map_err(|_| named("recvmsg", io::Error::last_os_error()))?;
    let mut each = bytes;
    // SAFETY: the kernel has filled the header that these walk.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    while !control.is_null() {
        // SAFETY: `control` is a header within `room`; of this kind it holds an int.
        unsafe {
            if ((*control).cmsg_level, (*control).cmsg_type) == (libc::SOL_UDP, UDP_GRO) {
                let size = libc::CMSG_DATA(control).cast::<libc::c_int>().read_unaligned();
                each = usize::try_from(size).unwrap_or(bytes).clamp(1, bytes.max(1));
            }
            control = libc::CMSG_NXTHDR(&raw const header, control);
        }
    }
    Ok((bytes, each))
}

#[cfg(test)]
#[path = "datagrams_tests.rs"]
mod tests;
