//! Probe net.http: a small file is fetched by HTTP/1.1, over a connection that stands or over one made for it.

mod server;

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::authenticated::connect;
use crate::kernels::http::{LONGEST_HEAD, get, length, read_head};
use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["net.tcp", "net.tcp_connect", "file.open_reread", "syscall.open_close"],
    axes: &[
        Axis::choice(
            "connection",
            "keep_alive",
            Points::Listed { quick: &["keep_alive"], standard: &["close"], thorough: &[] },
        ),
        Axis::size(
            "size",
            "1024",
            Points::Listed { quick: &["1024"], standard: &["128", "10240", "65536"], thorough: &[] },
        ),
        super::ENDS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["connection", "size"] }],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_http", "lmhttp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &server::SERVER, measure },
    ..crate::texts::net::HTTP
};

const NAME: &str = "page";

fn measure(case: &mut Case) -> Result<()> {
    let size: usize = case.param("size")?;
    let keep = case.param::<String>("connection")? == "keep_alive";
    case.may_fill(size as u64)?;
    let far = case.far_end()?;
    let request = get(NAME, keep);
    let mut bytes = vec![0; LONGEST_HEAD + size];
    let mut stream = connect(far)?;
    if keep {
        return super::exchanges(case, || fetch(&mut stream, &request, &mut bytes, size));
    }
    let address = far.address;
    super::exchanges(case, || {
        let mut stream = workloads::network::socket::connect(address, super::PATIENCE)?;
        fetch(&mut stream, &request, &mut bytes, size)?;
        // The server closes first: its end of the stream is part of the response.
        if received(|| stream.read(&mut bytes))? == 0 { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

/// Sends a request and reads the whole response, which has to be of so many bytes.
fn fetch(stream: &mut TcpStream, request: &[u8], bytes: &mut [u8], size: usize) -> io::Result<()> {
    stream.write_all(request).call("sendto")?;
    let (head, have) = read_head(stream, bytes, 0)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if length(&bytes[..head])? != size as u64 || have > head + size {
        return Err(super::wrong_answer());
    }
    stream.read_exact(&mut bytes[have..head + size]).call("recvfrom")
}
