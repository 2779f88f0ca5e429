//! Reachability of a far end at an address, before anything is measured.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};

use hostmark_engine::prelude::*;

use crate::authenticated;

pub const REACHED: &str = crate::net::REACHED;

/// Sends a byte to the far end of [`REACHED`] and has it back: the address that this host has on the way there.
///
/// # Errors
///
/// Where it does not answer, with the reason.
pub fn reach(far: &FarEnd) -> Result<IpAddr> {
    let exchange = |mut stream: &TcpStream| {
        let mut back = [0];
        stream.write_all(&[7]).call("sendto")?;
        stream.read_exact(&mut back).call("recvfrom")?;
        if back == [7] { stream.local_addr().call("getsockname") } else { Err(authenticated::wrong_answer()) }
    };
    let stream = authenticated::connect(far)?;
    Ok(exchange(&stream).map_err(authenticated::unanswered)?.ip())
}
