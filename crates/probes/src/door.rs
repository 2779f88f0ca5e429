//! The door of a far end: who knows its nonce is served, and nobody else. What is timed never goes through it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use hostmark_engine::prelude::*;
use rustix::fd::OwnedFd;
use rustix::net::sockopt;

use crate::workloads::{local, socket};

/// How long a client waits for its server: one that died or hangs is an error, and never a hang of the client.
pub const PATIENCE: Duration = Duration::from_secs(2);
const NONCE_BYTES: usize = 16;

fn no_socket(at: &[IpAddr], error: &io::Error) -> RoundError {
    let at: Vec<String> = at.iter().map(IpAddr::to_string).collect();
    RoundError::lacking(format_args!("cannot open a socket at {}", at.join(" or ")), error)
}

/// What accepts the connections of a far end's clients.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    nonce: Nonce,
}

impl Door {
    /// Opens it, and tells where.
    pub fn open(serving: &mut Serving) -> Result<Door> {
        Door::open_with(serving, |_| Ok(()))
    }

    /// The same; what `prepare` sets holds for every connection from its first packet on.
    pub fn open_with(serving: &mut Serving, prepare: impl FnOnce(&TcpListener) -> Result<()>) -> Result<Door> {
        let opened = local::tcp_listener(serving.addresses());
        let (listener, address) = opened.map_err(|error| no_socket(serving.addresses(), &error))?;
        prepare(&listener)?;
        let door = Door { listener, nonce: serving.nonce() };
        serving.listens(address)?;
        Ok(door)
    }

    /// The next connection whose first bytes are the nonce, and where it comes from. What is written to it leaves at once.
    pub fn admit(&self) -> io::Result<(TcpStream, IpAddr)> {
        loop {
            let (mut stream, client) = self.listener.accept().call("accept4")?;
            let mut told = [0; NONCE_BYTES];
            // Who says nothing keeps others waiting for no longer than a client waits.
            stream.set_read_timeout(Some(PATIENCE)).call("setsockopt")?;
            if stream.read_exact(&mut told).is_ok() && told == self.nonce.0 {
                stream.set_read_timeout(None).call("setsockopt")?;
                stream.set_nodelay(true).call("setsockopt")?;
                return Ok((stream, client.ip()));
            }
        }
    }

    /// The next connection of a client that was admitted before: it is made without a word, as its making is what is timed.
    #[inline]
    pub fn accept_of(&self, admitted: IpAddr) -> io::Result<TcpStream> {
        loop {
            let (stream, client) = self.listener.accept().call("accept4")?;
            if client.ip() == admitted {
                return Ok(stream);
            }
        }
    }

    /// Serves one connection after the other; where a client is gone, that is the end of its connection alone.
    pub fn serve(&self, mut session: impl FnMut(TcpStream) -> io::Result<()>) -> io::Result<()> {
        loop {
            gone(session(self.admit()?.0))?;
        }
    }
}

/// An error that tells of no more than a client who is gone is none of the server's.
pub fn gone(ended: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match ended {
        Err(error) if [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&error.kind()) => Ok(()),
        ended => ended,
    }
}

/// The far end of datagrams: it hears its client alone.
#[derive(Debug)]
pub struct Admitted {
    socket: UdpSocket,
    client: SocketAddr,
    nonce: Nonce,
}

/// Room for a nonce, and for a byte that one does not have.
const ROOM_FOR_NONCE: usize = NONCE_BYTES + 1;

/// Waits for a datagram that is the nonce, answers it with the same, and hears from then on who sent it.
pub fn receive(serving: &mut Serving) -> Result<Admitted> {
    let opened = local::udp_socket(serving.addresses());
    let (socket, address) = opened.map_err(|error| no_socket(serving.addresses(), &error))?;
    let nonce = serving.nonce();
    serving.listens(address)?;
    loop {
        let mut told = [0; ROOM_FOR_NONCE];
        let (bytes, client) = socket.recv_from(&mut told).call("recvfrom")?;
        if told[..bytes] == nonce.0 {
            socket.send_to(&nonce.0, client).call("sendto")?;
            return Ok(Admitted { socket, client, nonce });
        }
    }
}

impl Admitted {
    /// Its socket, which takes datagrams from anywhere.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Its socket when datagrams of the client alone are taken, and those sent go to the client.
    pub fn connected(&self) -> io::Result<&UdpSocket> {
        self.socket.connect(self.client).call("connect")?;
        Ok(&self.socket)
    }

    /// Whether this is the client's nonce once more, which it sends where no answer came; it is answered again.
    #[inline]
    pub fn is_knock(&self, message: &[u8]) -> io::Result<bool> {
        if message != self.nonce.0 {
            return Ok(false);
        }
        // To the client, whatever the socket is connected to.
        self.socket.send_to(&self.nonce.0, self.client).call("sendto")?;
        Ok(true)
    }

    /// The next datagram of the client, and where it came from. `message` has room for more than a nonce.
    #[inline]
    pub fn hear(&self, message: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        loop {
            let (bytes, from) = self.socket.recv_from(message).call("recvfrom")?;
            if from == self.client && !self.is_knock(&message[..bytes])? {
                return Ok((bytes, from));
            }
        }
    }
}

/// A client's connection: the far end knows it, what is written leaves at once, and a read ends when it does not answer.
pub fn connect(far: &FarEnd) -> Result<TcpStream> {
    connect_with(far, PATIENCE, |_| Ok(()))
}

/// The same where a read waits for so long; what `prepare` sets holds from the first packet on.
pub fn connect_with(
    far: &FarEnd,
    patience: Duration,
    prepare: impl FnOnce(&OwnedFd) -> Result<()>,
) -> Result<TcpStream> {
    // What drops the first packet is waited for no longer than what answers nothing.
    let prepared = |socket: &OwnedFd| {
        sockopt::set_socket_timeout(socket, sockopt::Timeout::Send, Some(patience)).call("setsockopt")?;
        prepare(socket)
    };
    let mut stream = socket::connect_with(far.address, patience, prepared)?;
    stream.set_write_timeout(None).call("setsockopt")?;
    stream.set_nodelay(true).call("setsockopt")?;
    stream.write_all(&far.nonce.0).call("sendto")?;
    Ok(stream)
}

/// How often a client sends its nonce at most: each datagram there and back may be lost.
const KNOCKS: u32 = 8;

/// A client's socket for datagrams to and from a far end, which knows it. A second answer to the nonce may still come.
pub fn correspond(far: &FarEnd) -> Result<UdpSocket> {
    let socket = local::udp_connected(far.address)?;
    socket.set_read_timeout(Some(PATIENCE / KNOCKS)).call("setsockopt")?;
    for _ in 0..KNOCKS {
        socket.send(&far.nonce.0).call("sendto").map_err(unanswered)?;
        let mut back = [0; ROOM_FOR_NONCE];
        match socket.recv(&mut back).call("recvfrom") {
            Ok(bytes) if back[..bytes] == far.nonce.0 => {
                socket.set_read_timeout(Some(PATIENCE)).call("setsockopt")?;
                return Ok(socket);
            }
            Ok(_) => return Err(wrong_answer().into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(unanswered(error)),
        }
    }
    Err(unanswered(io::ErrorKind::TimedOut.into()))
}

/// Whether a datagram is a second answer to the client's nonce.
pub fn is_second_answer(far: &FarEnd, message: &[u8]) -> bool {
    message == far.nonce.0
}

/// What a client's error says of its server.
pub fn unanswered(error: io::Error) -> RoundError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            RoundError::failed(format!("the far end did not answer within {} s", PATIENCE.as_secs()))
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused => {
            RoundError::failed(format!("the far end is gone: {error}"))
        }
        _ => error.into(),
    }
}

/// The answer was not the one to the question.
pub fn wrong_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the far end answered something else")
}
