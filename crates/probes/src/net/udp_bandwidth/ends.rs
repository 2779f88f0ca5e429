//! The two ends of a flow: the far one sends until it is asked to stop, or counts what comes; the near one receives, or sends and asks
//! the far one; messages between them may be lost, and are asked for again.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::time::Duration;

use hostmark_engine::prelude::sys::usage;
use hostmark_engine::prelude::*;
use rustix::net::RecvFlags;

use super::{Received, flow};
use crate::authenticated::{self, Admitted, PATIENCE};
use crate::net::{RECEIVER_CPUS, udp_bandwidth};
use crate::workloads::machine::busy::Busy;
use crate::workloads::network::datagrams::{
    Arrivals, DatagramPlan, FLOW_SHIFT, NO_NUMBER, Receiver, Sender, Sent, dropped, path_mtu,
};

pub static SERVICE: Service = Service { name: "udp_flow", serve };

/// A sender looks so often for what it is told.
const LOOKS_EVERY_NS: u64 = 1_000_000;
/// Room for a message, and for a byte that none has.
const ROOM: usize = MESSAGE_BYTES + 1;

fn serve(serving: &mut Serving) -> Result<()> {
    let (client_sends, flow) = flow(|axis| serving.param(axis))?;
    // What is sent, and what is received at once.
    serving.may_fill(2 * (1 << 16))?;
    let admitted = authenticated::receive(serving)?;
    let socket = admitted.connected()?;
    match client_sends {
        true => Ok(count_flows(&admitted, socket, flow)?),
        false => Ok(send_flow(&admitted, socket, flow)?),
    }
}

/// Reads a client's message, unless it sends its nonce again, or something else.
fn read_message(admitted: &Admitted, message: &[u8]) -> io::Result<Option<Message>> {
    Ok(if admitted.is_knock(message)? { None } else { Message::read(message) })
}

/// Sends a message; a client that is gone is no error of this end.
fn send_message(socket: &UdpSocket, message: Message) -> io::Result<()> {
    match socket.send(&message.bytes()).call("sendto") {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        message => message.map(drop),
    }
}

/// Sends once, from the word on until the client asks what became of it.
fn send_flow(admitted: &Admitted, socket: &UdpSocket, flow: DatagramPlan) -> io::Result<()> {
    let mut sender = Sender::new(socket, flow)?;
    let (mut sent, mut message) = (Sent::default(), [0; ROOM]);
    loop {
        let bytes = match received(|| socket.recv(&mut message)) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            bytes => bytes?,
        };
        match read_message(admitted, message.get(..bytes).unwrap_or_default())? {
            Some(Message::Begin) if sent.datagrams == 0 => match send_until_asked(admitted, socket, &mut sender) {
                // Nobody receives at the client's port any more.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => sent.datagrams = 1,
                all => {
                    sent = all?;
                    send_message(socket, Message::of_sent(0, sent, path_mtu(socket)?))?;
                }
            },
            Some(Message::Ask(_)) => send_message(socket, Message::of_sent(0, sent, path_mtu(socket)?))?,
            _ => {}
        }
    }
}

fn send_until_asked(admitted: &Admitted, socket: &UdpSocket, sender: &mut Sender) -> io::Result<Sent> {
    let (mut looked_ns, mut message) = (0, [0; ROOM]);
    sender.send(0, |passed_ns, _| {
        if passed_ns - looked_ns < LOOKS_EVERY_NS {
            return Ok(false);
        }
        looked_ns = passed_ns;
        match rustix::net::recv(socket, &mut message[..], RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN) => Ok(false),
            got => {
                let (_, bytes) = got.call("recvfrom")?;
                Ok(matches!(read_message(admitted, message.get(..bytes).unwrap_or_default())?, Some(Message::Ask(_))))
            }
        }
    })
}

/// Counts flow after flow, and tells of each when asked.
fn count_flows(admitted: &Admitted, socket: &UdpSocket, flow: DatagramPlan) -> io::Result<()> {
    let mut receiver = Receiver::new(socket, flow, MESSAGE_BYTES)?.noting_waits();
    let (mut arrivals, mut begun_cpu_ns, mut begun_dropped) = (Arrivals::default(), usage::cpu_ns_of_process()?, 0);
    loop {
        let counted = arrivals.flow;
        match receiver.receive(&mut arrivals, RecvFlags::empty()) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            came => came?,
        };
        if arrivals.flow != counted {
            (begun_cpu_ns, begun_dropped) = (usage::cpu_ns_of_process()?, dropped(socket));
        }
        if let Some(Message::Ask(flow)) = read_message(admitted, receiver.message())? {
            let mut message = Received::default();
            if arrivals.flow == flow && arrivals.received > 0 {
                let cpu_ns = usage::cpu_ns_of_process()?.saturating_sub(begun_cpu_ns);
                message = Received::of(arrivals, cpu_ns, dropped(socket) - begun_dropped);
            }
            send_message(socket, Message::of_received(flow, message))?;
        }
    }
}

/// A sample is what comes in this time: two ends on one CPU take turns of some milliseconds, and a sample has many of them.
const SAMPLE_NS: f64 = 50e6;
/// Longest sample, in multiples of the usual one, without a datagram that was waited for: a queue is read faster than it fills.
const MOST_SAMPLES: f64 = 2.0;
/// Time after which a report, which may be lost, is sent again, and how often at most.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
const MOST_REPORTS: u32 = 25;
/// Time of sending before an unpaced flow, ns: fills the queues and uses up the burst of a rate limit. A paced flow takes as long.
const FILLING_NS: u64 = 15_000_000;
/// Least duration of a flow, ns: some hundred times the burst that rate limits allow.
const FLOW_NS: u64 = 60_000_000;
/// Least number of datagrams of a flow on a slow link, and of one that has lasted ten times as long.
const MANY: u64 = 16;
const FEW: u64 = 3;
/// Flows of which less than two datagrams came, before that is an error.
const MOST_EMPTY: u32 = 3;

/// Receives what the far end sends.
pub fn receive(case: &mut Case, flow: DatagramPlan) -> Result<()> {
    let far = case.far_end()?.clone();
    let socket = authenticated::correspond(&far)?;
    let mut receiver = Receiver::new(&socket, flow, MESSAGE_BYTES).map_err(uncut)?.noting_waits();
    let (mut arrivals, mut busy) = (Arrivals::default(), Busy::default());
    begin(&socket, &mut receiver, &mut arrivals)?;
    let mut last = None;
    case.timed(|clock| {
        let (mut count, start) = (0, *last.get_or_insert_with(|| clock.start()));
        busy.begin()?;
        let end = loop {
            count += receiver.receive(&mut arrivals, RecvFlags::empty()).map_err(nothing_came)?;
            let (end, is_waited_for) = (clock.end(), arrivals.is_last_waited_for());
            let samples = clock.ns(end.since(start)) / SAMPLE_NS;
            if count > 0 && samples >= if is_waited_for { 1.0 } else { MOST_SAMPLES } {
                break end;
            }
        };
        busy.end()?;
        last = Some(end);
        Ok((end.since(start), count))
    })
    .rate_of_the_whole(flow.datagram as u64)?;
    let dropped = dropped(&socket);
    let (sent, path_mtu) = sent_of(ask(&socket, &mut receiver, 0)?);
    let received = Received::of(arrivals, busy.cpu_ns(), dropped);
    udp_bandwidth::give(case, flow.datagram, arrivals.missing(), sent, received)?;
    case.also(RECEIVER_CPUS.name, busy.cpus())?;
    udp_bandwidth::note(case, flow.is_cut, sent, received);
    note_path(case, &socket, flow, path_mtu)
}

/// Sends, and asks the far end what came.
pub fn send(case: &mut Case, flow: DatagramPlan) -> Result<()> {
    let far = case.far_end()?.clone();
    let socket = authenticated::correspond(&far)?;
    let mut sender = Sender::new(&socket, flow).map_err(uncut)?;
    let mut receiver = Receiver::new(&socket, DatagramPlan { is_cut: false, ..flow }, MESSAGE_BYTES)?;
    let (mut flows, mut id, mut empty) = (Vec::new(), 0, 0);
    let filling_ns = if flow.bits_a_second.is_some() { FLOW_NS } else { FILLING_NS };
    case.timed(|clock| {
        loop {
            id += 2;
            let filling = sender.send((id - 1) << FLOW_SHIFT, |passed_ns, _| Ok(passed_ns >= filling_ns));
            filling.map_err(authenticated::unanswered)?;
            let sent = sender.send(id << FLOW_SHIFT, |passed_ns, count| Ok(is_over(passed_ns, count)));
            let sent = sent.map_err(authenticated::unanswered)?;
            let received = received_of(ask(&socket, &mut receiver, id)?);
            if received.datagrams > 1 && received.span_ns > 0 {
                flows.push((sent, received));
                let (count, in_ns) = received.in_time(sent);
                return Ok((clock.ticks(in_ns as f64), count));
            }
            empty += 1;
            if empty >= MOST_EMPTY {
                let (sent, came) = (sent.datagrams, received.datagrams);
                return Err(RoundError::wrong(say!("{came} of {sent} datagrams came to the far end: look for a packet filter or a full queue on the way")));
            }
        }
    }).rate_of_the_whole(flow.datagram as u64)?;
    for &(sent, received) in &flows {
        let came = received.datagrams.min(sent.datagrams) as f64 / sent.datagrams as f64;
        udp_bandwidth::give(case, flow.datagram, Some(1.0 - came), sent, received)?;
        case.also(RECEIVER_CPUS.name, [received.cpu_ns as f64 / received.span_ns.max(sent.passed_ns) as f64])?;
    }
    if let Some(&(sent, received)) = flows.last() {
        udp_bandwidth::note(case, flow.is_cut, sent, received);
    }
    note_path(case, &socket, flow, u32::MAX)
}

/// Tells whether a flow has lasted long enough.
fn is_over(passed_ns: u64, count: u64) -> bool {
    passed_ns >= FLOW_NS && (count >= MANY || (passed_ns >= 10 * FLOW_NS && count >= FEW))
}

fn begin(socket: &UdpSocket, receiver: &mut Receiver, arrivals: &mut Arrivals) -> Result<()> {
    socket.set_read_timeout(Some(REPORT_INTERVAL)).call("setsockopt")?;
    for _ in 0..PATIENCE.div_duration_f64(REPORT_INTERVAL) as u32 {
        socket.send(&Message::Begin.bytes()).call("sendto").map_err(authenticated::unanswered)?;
        loop {
            match receiver.receive(arrivals, RecvFlags::empty()) {
                // A second answer to the nonce.
                Ok(0) => {}
                Ok(_) => return Ok(socket.set_read_timeout(Some(PATIENCE)).call("setsockopt")?),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(authenticated::unanswered(error)),
            }
        }
    }
    Err(nothing_came(ErrorKind::TimedOut.into()))
}

/// Asks the far end for its account of a flow.
fn ask(socket: &UdpSocket, receiver: &mut Receiver, flow: u64) -> Result<[u64; NUMBERS]> {
    for _ in 0..MOST_REPORTS {
        socket.send(&Message::Ask(flow).bytes()).call("sendto").map_err(authenticated::unanswered)?;
        let account = receiver.receive_matching(REPORT_INTERVAL, |message| match Message::read(message) {
            Some(Message::Account(of, numbers)) if of == flow => Some(numbers),
            _ => None,
        });
        if let Some(numbers) = account.map_err(authenticated::unanswered)? {
            return Ok(numbers);
        }
    }
    let waited = REPORT_INTERVAL * MOST_REPORTS;
    Err(RoundError::failed(
        ReasonCode::TimedOut,
        say!("the far end did not say within {waited} s what became of the datagrams", waited = waited.as_secs()),
    ))
}

/// Notes the largest packet on the way, as far as one of the two ends knows, where datagrams are longer.
fn note_path(case: &mut Case, socket: &UdpSocket, flow: DatagramPlan, known: u32) -> Result<()> {
    let (headers, ip) = if case.far_end()?.address.is_ipv4() { (28, 20) } else { (48, 48) };
    let mtu = path_mtu(socket)?.min(if known == 0 { u32::MAX } else { known });
    case.note("path_mtu", mtu);
    if flow.datagram as u64 + headers > mtu.into() {
        // Each part but the last has a multiple of 8 bytes.
        let room = (u64::from(mtu).saturating_sub(ip) & !7).max(8);
        case.note("fragments", (flow.datagram as u64 + 8).div_ceil(room));
    }
    Ok(())
}

/// Error of a case that received no datagram.
fn nothing_came(error: io::Error) -> RoundError {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => RoundError::failed(
            ReasonCode::TimedOut,
            say!(
                "no datagram came within {patience} s: look for a packet filter on the way, and whether the far end still runs",
                patience = PATIENCE.as_secs()
            ),
        ),
        _ => authenticated::unanswered(error),
    }
}

/// Error of a kernel without such an offload.
fn uncut(error: io::Error) -> RoundError {
    RoundError::lacking(say!("the kernel neither cuts nor joins datagrams"), &error)
}

pub const MESSAGE_BYTES: usize = 8 * WORDS;
const WORDS: usize = 10;
pub const NUMBERS: usize = WORDS - 2;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Message {
    Begin,
    /// Request to send no more, and to report this flow.
    Ask(u64),
    Account(u64, [u64; NUMBERS]),
}

const BEGIN: u64 = 1 << 56;
const ASK: u64 = 2 << 56;
const ACCOUNT: u64 = 3 << 56;
const KINDS: u64 = 0xff << 56;

impl Message {
    pub fn bytes(self) -> [u8; MESSAGE_BYTES] {
        let (kind, numbers) = match self {
            Message::Begin => (BEGIN, [0; NUMBERS]),
            Message::Ask(flow) => (ASK | flow, [0; NUMBERS]),
            Message::Account(flow, numbers) => (ACCOUNT | flow, numbers),
        };
        let mut bytes = [0; MESSAGE_BYTES];
        let words = [NO_NUMBER, kind].into_iter().chain(numbers);
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        bytes
    }

    /// Parses a datagram; `None` where it is no message.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let bytes: &[u8; MESSAGE_BYTES] = bytes.try_into().ok()?;
        let word = |index: usize| bytes.as_chunks().0.get(index).map_or(0, |&word| u64::from_le_bytes(word));
        if word(0) != NO_NUMBER {
            return None;
        }
        let flow = word(1) & !KINDS;
        match word(1) & KINDS {
            BEGIN => Some(Message::Begin),
            ASK => Some(Message::Ask(flow)),
            ACCOUNT => Some(Message::Account(flow, std::array::from_fn(|index| word(index + 2)))),
            _ => None,
        }
    }

    fn of_received(flow: u64, report: Received) -> Message {
        let Received { datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted } = report;
        Message::Account(flow, [datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted])
    }

    /// The account of a sender, and the largest packet that it knows of on the way.
    fn of_sent(flow: u64, report: Sent, path_mtu: u32) -> Message {
        let Sent { datagrams, passed_ns, blocked_ns, cpu_ns } = report;
        Message::Account(flow, [datagrams, passed_ns, blocked_ns, cpu_ns, path_mtu.into(), 0, 0, 0])
    }
}

pub fn received_of(numbers: [u64; NUMBERS]) -> Received {
    let [datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted] = numbers;
    Received { datagrams, span_ns, jitter_ns, reordered, cpu_ns, most_joined, dropped, counted }
}

/// Returns a sender's account, with the largest packet that it knows of on the way.
pub fn sent_of(numbers: [u64; NUMBERS]) -> (Sent, u32) {
    let [datagrams, passed_ns, blocked_ns, cpu_ns, path_mtu, ..] = numbers;
    (Sent { datagrams, passed_ns, blocked_ns, cpu_ns }, u32::try_from(path_mtu).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_nothing_else_is_one() {
        let account = Message::of_sent(7, Sent { datagrams: 1, passed_ns: 2, blocked_ns: 3, cpu_ns: 4 }, 1500);
        for message in [Message::Begin, Message::Ask(9), account] {
            assert_eq!(Message::read(&message.bytes()), Some(message));
        }
        let Message::Account(7, numbers) = account else { panic!("{account:?}") };
        assert_eq!(sent_of(numbers), (Sent { datagrams: 1, passed_ns: 2, blocked_ns: 3, cpu_ns: 4 }, 1500));
        let mut other = Message::Begin.bytes();
        // The number of a datagram of the flow.
        other[0] = 0;
        for bytes in [&other[..], &[], &[0xff; MESSAGE_BYTES], &Message::Begin.bytes()[1..]] {
            assert_eq!(Message::read(bytes), None);
        }
    }
}
