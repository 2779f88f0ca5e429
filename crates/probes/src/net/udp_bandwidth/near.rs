//! The near end of a flow: it receives what the far end sends, or sends and asks the far end what came.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::time::Duration;

use hostmark_engine::prelude::*;
use rustix::net::RecvFlags;

use super::messages::{self, MESSAGE_BYTES, Message, NUMBERS};
use super::quantities::{self, Received};
use crate::authenticated::{self, PATIENCE};
use crate::net::RECEIVER_CPUS;
use crate::workloads::machine::busy::Busy;
use crate::workloads::network::datagrams::{Arrivals, DatagramPlan, FLOW_SHIFT, Receiver, Sender, dropped, path_mtu};

/// A sample is what comes in this time: two ends on one CPU take turns of some milliseconds, and a sample has many of them.
const SAMPLE_NS: f64 = 50e6;
/// It ends with a datagram that was waited for, as long as one comes in so many times that time: what had been kept is read faster
/// than it came.
const MOST_SAMPLES: f64 = 2.0;
/// What is told may be lost: it is told again after this time, so often at most.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
const MOST_REPORTS: u32 = 25;
/// What is sent before a flow without pause: it fills the queues on the way, and uses up what a rate limit has saved for a burst.
/// At a rate that takes as long as the flow.
const FILLING_NS: u64 = 15_000_000;
/// How long a flow lasts at least: some hundred times the burst that rate limits allow.
const FLOW_NS: u64 = 60_000_000;
/// On a slow link it lasts until it has so many datagrams, or ten times as long and three.
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
    let (sent, path_mtu) = messages::sent(ask(&socket, &mut receiver, 0)?);
    let received = Received::of(arrivals, busy.cpu_ns(), dropped);
    quantities::give(case, flow.datagram, arrivals.missing(), sent, received)?;
    case.also(RECEIVER_CPUS.name, busy.cpus())?;
    quantities::note(case, flow.is_cut, sent, received);
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
            let received = messages::received(ask(&socket, &mut receiver, id)?);
            if received.datagrams > 1 && received.span_ns > 0 {
                flows.push((sent, received));
                let (count, in_ns) = received.in_time(sent);
                return Ok((clock.ticks(in_ns as f64), count));
            }
            empty += 1;
            if empty >= MOST_EMPTY {
                let (sent, came) = (sent.datagrams, received.datagrams);
                return Err(RoundError::failed(ReasonCode::CheckFailed, say!("{came} of {sent} datagrams came to the far end: look for a packet filter or a full queue on the way")));
            }
        }
    }).rate_of_the_whole(flow.datagram as u64)?;
    for &(sent, received) in &flows {
        let came = received.datagrams.min(sent.datagrams) as f64 / sent.datagrams as f64;
        quantities::give(case, flow.datagram, Some(1.0 - came), sent, received)?;
        case.also(RECEIVER_CPUS.name, [received.cpu_ns as f64 / received.span_ns.max(sent.passed_ns) as f64])?;
    }
    if let Some(&(sent, received)) = flows.last() {
        quantities::note(case, flow.is_cut, sent, received);
    }
    note_path(case, &socket, flow, u32::MAX)
}

/// Whether a flow has lasted long enough.
fn is_over(passed_ns: u64, count: u64) -> bool {
    passed_ns >= FLOW_NS && (count >= MANY || (passed_ns >= 10 * FLOW_NS && count >= FEW))
}

/// Has the far end begin.
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

/// What the far end tells of a flow.
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

/// What says that no datagram came.
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

/// What says that the kernel has no such offload.
fn uncut(error: io::Error) -> RoundError {
    RoundError::lacking(say!("the kernel neither cuts nor joins datagrams"), &error)
}
