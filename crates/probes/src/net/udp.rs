//! Probe net.udp: a datagram of one byte goes to a server, and one comes back.

pub(super) mod questions;

use std::io;

use hostmark_engine::prelude::*;
use questions::Question;

use crate::authenticated::receive;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: questions::ALSO,
    related: &["net.tcp", "net.rpc_udp", "ipc.round_trip", "net.udp_bandwidth"],
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
    ..crate::texts::net::UDP
};

/// Sends back each datagram.
static ECHO: Service = Service { name: "udp_echo", serve };

fn measure(case: &mut Case) -> Result<()> {
    questions::measure::<Byte>(case)
}

/// A datagram of one byte, the last of the question's number.
struct Byte;

impl Question for Byte {
    type Number = u8;

    fn numbered(count: u64) -> u8 {
        count as u8
    }

    fn write(number: u8) -> impl AsRef<[u8]> {
        [number]
    }

    fn read(answer: &[u8]) -> io::Result<u8> {
        if let &[number] = answer { Ok(number) } else { Err(super::wrong_answer()) }
    }
}

/// Sends each datagram of its client back to where it came from.
pub(super) fn serve(serving: &mut Serving) -> Result<()> {
    let admitted = receive(serving)?;
    // The longest that is asked, and one of 16 bytes would be the client's nonce.
    let mut datagram = [0; 32];
    loop {
        let (bytes, client) = admitted.receive(&mut datagram)?;
        admitted.socket().send_to(&datagram[..bytes], client).call("sendto")?;
    }
}
