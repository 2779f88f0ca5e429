//! Probe net.tcp_connect: a TCP connection is made, accepted and closed.

use std::io::Read;

use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect};
use crate::workloads;

pub static PROBE: Probe = Probe {
    also: super::TAILS,
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    limit: Limit::HandOvers(2),
    blocking: true,
    measure: Measure::Between { service: &SERVICE, measure },
    ..crate::texts::net::TCP_CONNECT
};

/// Accepts connections, and closes each at once.
static SERVICE: Service = Service { name: "tcp_connect", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let door = AuthenticatedListener::open(serving)?;
    let (_known, client) = door.admit()?;
    loop {
        door.accept_of(client)?;
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let far = case.far_end()?;
    let (_known, address) = (connect(far)?, far.address);
    super::exchanges(case, || {
        let mut stream = workloads::network::socket::connect(address, super::PATIENCE)?;
        match received(|| stream.read(&mut [0]))? {
            0 => Ok(()),
            _ => Err(super::wrong_answer()),
        }
    })
}
