//! Group net: two ends of the network's protocols. The far end is a process of this host, reached over loopback by its
//! address alone.

use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use hostmark_engine::prelude::sys::peer::Peer;
use hostmark_engine::prelude::*;

use crate::workloads;

mod http;
mod open_loop;
mod rpc_tcp;
mod rpc_udp;
mod tcp;
mod tcp_bandwidth;
mod tcp_connect;
mod udp;
mod udp_bandwidth;

crate::group!("net": tcp udp open_loop tcp_connect rpc_tcp rpc_udp http tcp_bandwidth udp_bandwidth);

/// Further quantities of the round trips: the last two tell of stalls that most operations do not meet, as under a limit that
/// is kept by slices of time.
const TAILS: &[Quantity] = &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::SUSTAINED];

/// How long a client waits for its server: one that died or hangs is an error, and never a hang of the client.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the two ends run: the client on the first CPU, the server on the other.
const ENDS: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::Listed {
        quick: &["same_cpu"],
        standard: &["smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node", "free"],
        thorough: &[],
    },
);

/// Starts the far end: a process that does `work` until it is dropped, placed as the case says. What it listens on is
/// moved into it, and closed here.
fn far_end(case: &Case, work: impl FnOnce() -> io::Result<()>) -> Result<Peer> {
    let cpus = case.thread_cpus();
    let cpus: Vec<usize> = match case.param::<String>("cpus")?.as_str() {
        "free" => cpus.iter().map(|cpu| cpu.0).collect(),
        _ => cpus.last().iter().map(|cpu| cpu.0).collect(),
    };
    far_end_on(&cpus, work)
}

/// The same on given CPUs.
fn far_end_on(cpus: &[usize], work: impl FnOnce() -> io::Result<()>) -> Result<Peer> {
    Peer::spawn(cpus, work).map_err(|error| Stop::lacking("no process for the far end", &error))
}

/// A socket that a server accepts connections on, and its address.
fn listen() -> Result<(TcpListener, SocketAddrV4)> {
    workloads::local::tcp_listener().map_err(no_socket)
}

/// A socket that a server of datagrams receives on, and its address.
fn receive() -> Result<(UdpSocket, SocketAddrV4)> {
    workloads::local::udp_socket().map_err(no_socket)
}

fn no_socket(error: io::Error) -> Stop {
    Stop::lacking("cannot open a socket at 127.0.0.1", &error)
}

/// A client's connection: what is written leaves at once, and a read ends when the server does not answer.
fn connect(address: SocketAddrV4) -> Result<TcpStream> {
    let stream = workloads::socket::connect(address, PATIENCE)?;
    stream.set_nodelay(true).call("setsockopt")?;
    Ok(stream)
}

/// A client's socket for datagrams to and from one server.
fn correspond(address: SocketAddrV4) -> Result<UdpSocket> {
    let (socket, _) = receive()?;
    socket.connect(address).call("connect")?;
    socket.set_read_timeout(Some(PATIENCE)).call("setsockopt")?;
    Ok(socket)
}

/// Serves one connection after the other; where a client is gone, that is the end of its connection alone.
fn serve(listener: &TcpListener, mut session: impl FnMut(TcpStream) -> io::Result<()>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().call("accept4")?;
        stream.set_nodelay(true).call("setsockopt")?;
        gone(session(stream))?;
    }
}

/// An error that tells of no more than a client who is gone is none of the server's.
fn gone(ended: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match ended {
        Err(error) if [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&error.kind()) => Ok(()),
        ended => ended,
    }
}

/// Times exchanges one by one: the value is their median, and the percentiles are those of all.
fn exchanges(case: &mut Case, mut exchange: impl FnMut() -> io::Result<()>) -> Result<()> {
    case.latencies(|clock| {
        let start = clock.start();
        exchange().map_err(unanswered)?;
        Ok(clock.end().since(start))
    })
}

/// What a client's error says of its server.
fn unanswered(error: io::Error) -> Stop {
    sys::last_words::settle();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Stop::failed(format!("the far end did not answer within {} s", PATIENCE.as_secs()))
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused => {
            Stop::failed(format!("the far end is gone: {error}"))
        }
        _ => error.into(),
    }
}

/// The answer was not the one to the question.
fn wrong_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the far end answered something else")
}
