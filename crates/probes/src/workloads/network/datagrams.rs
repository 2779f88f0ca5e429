//! Flows of numbered datagrams: senders with or without a pace, and receivers' counts. Only one machine's moments are compared.

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
    pub datagram: usize,
    /// Bits of them a second; `None`: without pause.
    pub bits_a_second: Option<f64>,
    /// True where the kernel cuts them from longer messages, and joins them for the receiver.
    pub is_cut: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub datagrams: u64,
    pub passed_ns: u64,
    /// Time while the kernel took none, ns.
    pub blocked_ns: u64,
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
                    crate::workloads::clock::sleep(Duration::from_nanos(slept_ns as u64));
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
    /// Receives by a socket; other messages of up to `longest` bytes may come too. Fails where the kernel cannot join datagrams.
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

    /// Waits for a message; returns its datagrams of the flow, which go to `arrivals`. A foreign one is [`Receiver::message`].
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
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::workloads::{network::local, process};

    const FLOW: DatagramPlan = DatagramPlan { datagram: 1000, bits_a_second: None, is_cut: false };

    /// Makes a sender and a receiver, over loopback.
    fn pair() -> (UdpSocket, UdpSocket) {
        let (receives, address) = local::udp_socket(&[IpAddr::V4(Ipv4Addr::LOCALHOST)]).unwrap();
        let sends = local::udp_connected(address).unwrap();
        receives.connect(sends.local_addr().unwrap()).unwrap();
        receives.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        (sends, receives)
    }

    /// Returns the account of numbers that come in this order, each 10 ns after the one before.
    fn arrivals(numbers: &[u64]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for (index, &number) in (0..).zip(numbers) {
            arrivals.take(number, 1_000 + 10 * index, 70 + 10 * index);
        }
        arrivals
    }

    #[test]
    fn what_is_missing_and_what_is_late_is_counted() {
        let all = arrivals(&[5, 6, 7, 8]);
        assert_eq!((all.missing(), all.reordered, all.span_ns(), all.jitter_ns), (Some(0.0), 0, 30, 0.0));
        // Of 5 to 14 five came, and 9 after 14.
        let some = arrivals(&[5, 6, 8, 14, 9]);
        assert_eq!((some.missing(), some.reordered, some.received), (Some(0.5), 1, 5));
        // One that comes twice makes up for none.
        assert_eq!(arrivals(&[5, 5, 5, 6]).missing(), Some(0.0));
        assert_eq!(Arrivals::default().missing(), None);
    }

    #[test]
    fn a_later_flow_begins_anew_and_what_is_late_of_an_earlier_one_is_none_of_it() {
        let next = 1 << FLOW_SHIFT;
        let second = arrivals(&[0, 1, next, 2, next + 1, next + 3]);
        assert_eq!((second.flow, second.received, second.missing(), second.reordered), (1, 3, Some(0.25), 0));
    }

    #[test]
    fn jitter_is_that_of_rfc_3550_and_no_offset_between_the_clocks_counts() {
        let sent_ns = [0, 1_000, 2_000, 3_000];
        // The way takes 500 ns, then 660, 660 and 340.
        for offset in [500, u64::MAX - 10_000, 1 << 60] {
            let mut arrivals = Arrivals::default();
            for (number, (sent_ns, more)) in
                (0..).zip(sent_ns.into_iter().zip([0_u64, 160, 160, 0_u64.wrapping_sub(160)]))
            {
                arrivals.take(number, sent_ns, sent_ns.wrapping_add(offset).wrapping_add(more));
            }
            let expected =
                [160.0, 0.0, 320.0].into_iter().fold(0.0, |jitter, differs| jitter + (differs - jitter) / 16.0);
            assert_eq!(arrivals.jitter_ns, expected, "{offset}");
        }
    }

    #[test]
    fn what_is_sent_is_received_whole_cut_or_not() {
        for is_cut in [false, true] {
            let (sends, receives) = pair();
            let flow = DatagramPlan { is_cut, ..FLOW };
            let mut receiver = Receiver::new(&receives, flow, 64).unwrap();
            let mut sender = Sender::new(&sends, flow).unwrap();
            let sent = sender.send(100, |_, count| Ok(count >= 40)).unwrap();
            assert!(sent.datagrams >= 40 && sent.passed_ns > 0 && sent.blocked_ns == 0, "{sent:?}");
            // Joined to what was before it, or by itself.
            let said = [&NO_NUMBER.to_le_bytes()[..], &[9; 56]].concat();
            sends.send(&[1; 3]).unwrap_or_else(|error| panic!("{error}"));
            sends.send(&said).unwrap();
            let mut arrivals = Arrivals::default();
            let mut came = 0;
            while came < sent.datagrams {
                came += receiver.receive(&mut arrivals, RecvFlags::empty()).unwrap();
            }
            assert_eq!((came, arrivals.received, arrivals.missing()), (sent.datagrams, sent.datagrams, Some(0.0)));
            assert_eq!(arrivals.lowest, 100);
            assert_eq!(arrivals.most_joined > 1, is_cut, "{arrivals:?}");
            let received = receiver
                .receive_matching(Duration::from_secs(5), |message| (message.len() == 64).then(|| message.to_vec()));
            assert_eq!(received.unwrap(), Some(said));
        }
    }

    #[test]
    fn a_flow_has_its_rate_and_no_burst_of_more_than_a_millisecond() {
        for is_cut in [false, true] {
            // In a process of its own: what the sender used is told of its process, which tests that run beside have a part in.
            process::in_a_child(|| {
                // 1000 bytes at 16 Mbit/s are two a millisecond.
                let flow = DatagramPlan { bits_a_second: Some(16e6), is_cut, ..FLOW };
                let (sends, _receives) = pair();
                let sent = Sender::new(&sends, flow)?
                    .send(0, |passed_ns, count| Ok(passed_ns >= 100_000_000 && count > 10))?;
                // A machine that is busy may give up some, and none is sent before it is due.
                let due = sent.passed_ns as f64 / 500_000.0;
                assert!(sent.datagrams as f64 <= due + 4.0, "{sent:?}");
                assert!(sent.cpu_ns < sent.passed_ns / 2, "it sleeps: {sent:?}");
                Ok(())
            });
        }
    }

    #[test]
    fn nobody_at_the_other_end_is_an_error() {
        let (sends, receives) = pair();
        drop(receives);
        let refused =
            Sender::new(&sends, FLOW).unwrap().send(0, |passed_ns, _| Ok(passed_ns > 5_000_000_000)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn the_largest_packet_of_the_way_is_known() {
        assert!(path_mtu(&pair().0).unwrap() >= 1280);
    }

    #[test]
    fn what_the_receivers_buffer_has_no_room_for_is_reported() {
        let (sends, receives) = pair();
        assert_eq!(dropped(&receives), 0);
        // Some megabytes, where the buffer holds a part of one.
        let sent = Sender::new(&sends, FLOW).unwrap().send(0, |_, count| Ok(count >= 20_000)).unwrap();
        receives.set_nonblocking(true).unwrap();
        let came = std::iter::from_fn(|| receives.recv(&mut [0; 1000]).ok()).count() as u64;
        assert!(came > 0 && came < sent.datagrams, "{came}");
        assert_eq!(came + dropped(&receives), sent.datagrams);
    }

    #[test]
    fn what_was_kept_for_a_receiver_without_a_cpu_did_not_come_so_fast() {
        let mut arrivals = Arrivals::default();
        let mut read = |number: u64, at_ns: u64, is_waited_for: bool| {
            arrivals.take(number, 1_000 * number, at_ns);
            if is_waited_for {
                arrivals.was_waited_for();
            }
            arrivals
        };
        // Ten that were kept, and are read in a moment: nothing tells how fast they came.
        let kept = (0..10).map(|number| read(number, 10_000 + number, false)).last().expect("there is one");
        assert_eq!((kept.steady(), kept.span_ns()), (None, 9));
        // One each microsecond after those.
        let steady = (10..40).map(|number| read(number, 1_000 * number + 1_000, true)).last().expect("there is one");
        assert_eq!(steady.steady(), Some((29, 29_000)));
        // Those that are kept again count by the next that is waited for.
        let kept_again = (40..60).map(|number| read(number, 60_000 + number, false)).last().expect("there is one");
        assert_eq!(kept_again.steady(), Some((29, 29_000)));
        assert_eq!(read(60, 61_000, true).steady(), Some((50, 50_000)));
    }
}
