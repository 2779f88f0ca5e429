//! Authentication of a far end's clients: those that know its nonce are served, and nobody else. Timed transfers never go through it.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use hostmark_engine::prelude::sys::clock;
use hostmark_engine::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, sockopt};

use crate::workloads::{network::local, network::socket};

/// Longest wait of a client for its server: one that died or hangs is an error, and never a hang of the client.
pub const PATIENCE: Duration = Duration::from_secs(2);
const NONCE_BYTES: usize = Nonce::BYTES;

fn no_socket(at: &[IpAddr], error: &io::Error) -> RoundError {
    let at: Vec<String> = at.iter().map(IpAddr::to_string).collect();
    RoundError::lacking(say!("cannot open a socket at {at}", at = at.join(" or ")), error)
}

/// Client that has connected, and has not yet sent the whole nonce.
#[derive(Debug)]
struct Stranger {
    stream: TcpStream,
    from: IpAddr,
    received: [u8; NONCE_BYTES],
    bytes: usize,
    until_ns: u64,
}

impl Stranger {
    /// Tells whether it has sent the nonce by now; `None` where it sent something else, or closed the connection. Nothing is said
    /// before all bytes are there: a client shown out at the first wrong one would learn the right ones in turn.
    fn has_sent(&mut self, nonce: &Nonce) -> Option<bool> {
        use rustix::io::Errno;
        match rustix::net::recv(&self.stream, &mut self.received[self.bytes..], RecvFlags::DONTWAIT) {
            Ok((_, bytes)) if bytes > 0 => self.bytes += bytes,
            Err(Errno::AGAIN | Errno::INTR) => {}
            _ => return None,
        }
        let is_whole = self.bytes == NONCE_BYTES;
        (!is_whole || nonce.is(&self.received)).then_some(is_whole)
    }
}

/// Listener that accepts the connections of a far end's clients.
#[derive(Debug)]
pub struct AuthenticatedListener {
    listener: TcpListener,
    nonce: Nonce,
    /// The first to come is the first here.
    strangers: RefCell<Vec<Stranger>>,
}

impl AuthenticatedListener {
    pub fn open(serving: &mut Serving) -> Result<AuthenticatedListener> {
        AuthenticatedListener::open_with(serving, |_| Ok(()))
    }

    /// The same; what `prepare` sets holds for every connection from its first packet on.
    pub fn open_with(
        serving: &mut Serving,
        prepare: impl FnOnce(&TcpListener) -> Result<()>,
    ) -> Result<AuthenticatedListener> {
        let opened = local::tcp_listener(serving.addresses());
        let (listener, address) = opened.map_err(|error| no_socket(serving.addresses(), &error))?;
        prepare(&listener)?;
        let door = AuthenticatedListener { listener, nonce: serving.nonce(), strangers: RefCell::default() };
        serving.listens(address)?;
        Ok(door)
    }

    /// Accepts the next connection whose first bytes are the nonce, and returns it with its origin: the client gets the nonce
    /// back, so that it does not go on before. Data written to it leaves at once. A silent client keeps nobody waiting.
    pub fn admit(&self) -> io::Result<(TcpStream, IpAddr)> {
        let mut strangers = self.strangers.borrow_mut();
        loop {
            let (has_connection, is_readable) = self.wait(&strangers)?;
            let (now_ns, mut index) = (clock::monotonic_ns(), 0);
            for is_readable in is_readable {
                let stranger = &mut strangers[index];
                match if is_readable { stranger.has_sent(&self.nonce) } else { Some(false) } {
                    Some(true) => {
                        let Stranger { mut stream, from, .. } = strangers.remove(index);
                        if stream.set_nodelay(true).and_then(|()| stream.write_all(self.nonce.told())).is_ok() {
                            return Ok((stream, from));
                        }
                    }
                    Some(false) if now_ns < stranger.until_ns => index += 1,
                    _ => drop(strangers.remove(index)),
                }
            }
            if has_connection {
                self.accept_stranger(&mut strangers)?;
            }
        }
    }

    /// Waits until somebody connects, speaks or has been silent for too long; tells which stranger is to be heard.
    fn wait(&self, strangers: &[Stranger]) -> io::Result<(bool, Vec<bool>)> {
        let mut watched = vec![PollFd::new(&self.listener, PollFlags::IN)];
        watched.extend(strangers.iter().map(|stranger| PollFd::new(&stranger.stream, PollFlags::IN)));
        let left_ns = strangers.first().map(|first| first.until_ns.saturating_sub(clock::monotonic_ns()));
        let at_most = left_ns.and_then(|ns| Timespec::try_from(Duration::from_nanos(ns)).ok());
        rustix::io::retry_on_intr(|| poll(&mut watched, at_most.as_ref())).call("poll")?;
        let mut is_ready = watched.iter().map(|fd| !fd.revents().is_empty());
        Ok((is_ready.next().unwrap_or_default(), is_ready.collect()))
    }

    fn accept_stranger(&self, strangers: &mut Vec<Stranger>) -> io::Result<()> {
        match self.listener.accept().call("accept4") {
            Ok((stream, client)) => {
                if strangers.len() >= MOST_AT_DOOR {
                    make_room(strangers);
                }
                let until_ns = clock::monotonic_ns() + PATIENCE.as_nanos() as u64;
                strangers.push(Stranger { stream, from: client.ip(), received: [0; NONCE_BYTES], bytes: 0, until_ns });
            }
            // They have all the files that this process may open.
            Err(_) if !strangers.is_empty() => make_room(strangers),
            Err(error) => return Err(error),
        }
        Ok(())
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

fn make_room(strangers: &mut Vec<Stranger>) {
    if let Some(place) = who_makes_room(strangers.iter().map(|stranger| Some(stranger.from))) {
        strangers.remove(place);
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
        let mut received = [0; ROOM_FOR_NONCE];
        let (bytes, client) = socket.recv_from(&mut received).call("recvfrom")?;
        if nonce.is(&received[..bytes]) {
            socket.send_to(nonce.told(), client).call("sendto")?;
            return Ok(Admitted { socket, client, nonce });
        }
    }
}

impl Admitted {
    /// Returns the socket, which takes datagrams from anywhere.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Returns the socket, connected: it takes datagrams from the client alone, and sends to the client.
    pub fn connected(&self) -> io::Result<&UdpSocket> {
        self.socket.connect(self.client).call("connect")?;
        Ok(&self.socket)
    }

    /// Tells whether this is the client's nonce once more, which it sends where no answer came; it is answered again.
    #[inline]
    pub fn is_knock(&self, message: &[u8]) -> io::Result<bool> {
        if !self.nonce.is(message) {
            return Ok(false);
        }
        // To the client, whatever the socket is connected to.
        self.socket.send_to(self.nonce.told(), self.client).call("sendto")?;
        Ok(true)
    }

    /// The next datagram of the client, and where it came from. `message` has room for more than a nonce.
    #[inline]
    pub fn receive(&self, message: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        loop {
            let (bytes, from) = self.socket.recv_from(message).call("recvfrom")?;
            if from == self.client && !self.is_knock(&message[..bytes])? {
                return Ok((bytes, from));
            }
        }
    }
}

/// A client's connection: the far end has admitted it, what is written leaves at once, and a read ends when it does not answer.
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
    stream.write_all(far.nonce.told()).call("sendto")?;
    let mut back = [0; NONCE_BYTES];
    stream.read_exact(&mut back).call("recvfrom").map_err(unanswered)?;
    if far.nonce.is(&back) { Ok(stream) } else { Err(wrong_answer().into()) }
}

/// Largest number of times that a client sends its nonce: each datagram there and back may be lost.
const KNOCKS: u32 = 8;

/// A client's socket for datagrams to and from a far end, which knows it. A second answer to the nonce may still come.
pub fn correspond(far: &FarEnd) -> Result<UdpSocket> {
    let socket = local::udp_connected(far.address)?;
    socket.set_read_timeout(Some(PATIENCE / KNOCKS)).call("setsockopt")?;
    for _ in 0..KNOCKS {
        socket.send(far.nonce.told()).call("sendto").map_err(unanswered)?;
        let mut back = [0; ROOM_FOR_NONCE];
        match socket.recv(&mut back).call("recvfrom") {
            Ok(bytes) if far.nonce.is(&back[..bytes]) => {
                socket.set_read_timeout(Some(PATIENCE)).call("setsockopt")?;
                return Ok(socket);
            }
            Ok(_) => return Err(wrong_answer().into()),
            // A signal ends a wait that has a limit.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(unanswered(error)),
        }
    }
    Err(unanswered(io::ErrorKind::TimedOut.into()))
}

/// Tells whether a datagram is a second answer to the client's nonce.
pub fn is_second_answer(far: &FarEnd, message: &[u8]) -> bool {
    far.nonce.is(message)
}

/// Explains a client's error when its server does not answer.
pub fn unanswered(error: io::Error) -> RoundError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RoundError::failed(
            ReasonCode::TimedOut,
            say!("the far end did not answer within {patience} s", patience = PATIENCE.as_secs()),
        ),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused => {
            RoundError::failed(ReasonCode::ConnectionLost, say!("the far end is gone: {error}"))
        }
        _ => error.into(),
    }
}

pub fn wrong_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, say!("the far end answered something else"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: Nonce = Nonce::of([9; NONCE_BYTES]);

    fn door() -> (AuthenticatedListener, FarEnd) {
        let (listener, address) = local::tcp_listener(&["127.0.0.1".parse().unwrap()]).unwrap();
        (
            AuthenticatedListener { listener, nonce: NONCE, strangers: RefCell::default() },
            FarEnd { address, nonce: NONCE },
        )
    }

    /// Connects `count` clients, each of which sends `says`.
    fn strangers(far: &FarEnd, count: usize, says: &[u8]) -> Vec<TcpStream> {
        let come = |_| {
            let mut stream = TcpStream::connect(far.address).unwrap();
            stream.write_all(says).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        };
        (0..count).map(come).collect()
    }

    fn is_held(mut stream: &TcpStream) -> bool {
        stream.read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    #[test]
    fn a_client_is_admitted_while_strangers_are_silent() {
        for count in [20, 200] {
            let (door, far) = door();
            std::thread::scope(|scope| {
                let admitted = scope.spawn(|| door.admit().map(|_| door));
                let says: [&[u8]; 2] = [b"", &NONCE.told()[..5]];
                let silent: Vec<_> = says.iter().flat_map(|says| strangers(&far, count / 2, says)).collect();
                let other = strangers(&far, 3, b"GET / HTTP/1.1\r\n\r\n");
                connect(&far).unwrap();
                // One after the other they would have been shown out before.
                assert!(silent.iter().filter(|stream| is_held(stream)).count() > count / 2);
                assert!(!other.iter().any(is_held));
                drop(admitted.join());
            });
        }
    }

    /// Connects from an address of loopback, and is heard at the door.
    fn comes(door: &AuthenticatedListener, far: &FarEnd, from: u8, waiting: &mut Vec<Stranger>) -> TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, from], 0))).unwrap();
        rustix::net::connect(&socket, &far.address).unwrap();
        door.accept_stranger(waiting).unwrap();
        socket.into()
    }

    /// Tells whether it has sent the nonce, once what was just written is there: loopback may deliver it later than the write ends.
    fn has_delivered(stranger: &mut Stranger) -> Option<bool> {
        poll(&mut [PollFd::new(&stranger.stream, PollFlags::IN)], None).unwrap();
        stranger.has_sent(&NONCE)
    }

    #[test]
    fn a_right_beginning_is_answered_as_a_wrong_one_until_all_is_told() {
        let (door, far) = door();
        let mut waiting = Vec::new();
        let mut answers = |says: &[u8], more: &[u8]| {
            let mut client = comes(&door, &far, 1, &mut waiting);
            let mut stranger = waiting.remove(0);
            [says, more].map(|part| {
                client.write_all(part).unwrap();
                has_delivered(&mut stranger)
            })
        };
        let right = *NONCE.told();
        for length in 1..NONCE_BYTES {
            for wrong in 0..NONCE_BYTES {
                let mut other = right;
                other[wrong] ^= 1;
                assert_eq!(answers(&other[..length], &other[length..]), [Some(false), None], "{length} {wrong}");
            }
            assert_eq!(answers(&right[..length], &right[length..]), [Some(false), Some(true)], "{length}");
        }
    }

    #[test]
    fn a_crowd_of_one_network_makes_room_for_itself_and_ends_no_one_elses_connection() {
        let (door, far) = door();
        let mut waiting = Vec::new();
        let mut slow = comes(&door, &far, 1, &mut waiting);
        let crowd: Vec<_> = (0..MOST_AT_DOOR + 40).map(|_| comes(&door, &far, 9, &mut waiting)).collect();
        assert_eq!(waiting.len(), MOST_AT_DOOR);
        slow.write_all(NONCE.told()).unwrap();
        assert_eq!(has_delivered(&mut waiting[0]), Some(true));
        // The oldest of the crowd are gone.
        assert!(crowd.iter().take(41).all(|mut gone| gone.read(&mut [0]).unwrap_or_default() == 0));
    }

    #[test]
    #[ignore = "takes long"]
    fn who_is_silent_for_too_long_is_shown_out() {
        let (door, far) = door();
        std::thread::scope(|scope| {
            let admitted = scope.spawn(|| door.admit().map(|_| door));
            let mut silent = TcpStream::connect(far.address).unwrap();
            assert_eq!(silent.read(&mut [0]).unwrap_or_default(), 0);
            connect(&far).unwrap();
            drop(admitted.join());
        });
    }
}
