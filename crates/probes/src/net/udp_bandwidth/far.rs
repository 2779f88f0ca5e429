//! The far end of a flow: it sends until it is asked to stop, or it counts what comes.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;

use hostmark_engine::prelude::sys::usage;
use hostmark_engine::prelude::*;
use rustix::net::RecvFlags;

use super::axes::flow;
use super::messages::{MESSAGE_BYTES, Message};
use super::quantities::Received;
use crate::authenticated::{self, Admitted};
use crate::workloads::network::datagrams::{Arrivals, DatagramPlan, Receiver, Sender, Sent, dropped, path_mtu};

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

/// What a client tells, unless it says its nonce again, or something else.
fn read_message(admitted: &Admitted, message: &[u8]) -> io::Result<Option<Message>> {
    Ok(if admitted.is_knock(message)? { None } else { Message::read(message) })
}

/// Who is not there any more is told nothing: that is no error of this end.
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
