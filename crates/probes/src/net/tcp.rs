//! Probe net.tcp: a byte goes to a server over a TCP connection, and one comes back.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect};

pub static PROBE: Probe = Probe {
    also: super::TAILS,
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &ECHO, measure },
    ..crate::texts::net::TCP
};

/// Sends back each byte.
pub(super) static ECHO: Service = Service { name: "tcp_echo", serve };

fn measure(case: &mut Case) -> Result<()> {
    let mut stream = connect(case.far_end()?)?;
    let mut sent = 0_u8;
    super::exchanges(case, || {
        sent = sent.wrapping_add(1);
        stream.write_all(&[sent]).call("sendto")?;
        let mut back = [0];
        stream.read_exact(&mut back).call("recvfrom")?;
        if back == [sent] { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

pub(super) fn serve(serving: &mut Serving) -> Result<()> {
    Ok(AuthenticatedListener::open(serving)?.serve(echo)?)
}

/// Sends back each byte until the client is gone.
pub(super) fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).call("recvfrom")?;
        stream.write_all(&byte).call("sendto")?;
    }
}
