//! Terms of a stream, which both of its ends know, and the axes that they come of: direction, congestion, window and block, method.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::str::FromStr;

use hostmark_engine::prelude::*;
use rustix::fd::{AsFd, OwnedFd};

use crate::workloads;
use crate::workloads::network::socket::{self, Splicer, ZeroCopySender};

#[derive(Debug, Clone)]
pub struct StreamOptions {
    pub direction: Direction,
    pub message: u64,
    pub method: SendMethod,
    /// The buffers of both ends.
    pub window: Window,
    /// The sender's congestion control.
    pub congestion: Congestion,
    /// Bytes that one read asks for.
    pub block: u64,
}

impl StreamOptions {
    /// Reads the options of a point of net.tcp_bandwidth, whose values `value` tells.
    pub fn of(value: impl Fn(&str) -> Result<String>) -> Result<StreamOptions> {
        Ok(StreamOptions {
            direction: parsed("direction", &value)?,
            message: parsed("message", &value)?,
            method: parsed("method", &value)?,
            window: parsed("window", &value)?,
            congestion: parsed("congestion", &value)?,
            block: parsed("block", &value)?,
        })
    }

    /// Returns the options of a plain bulk flow.
    pub fn plain(direction: Direction) -> StreamOptions {
        let (window, congestion) = (Window::default(), Congestion::default());
        StreamOptions { direction, message: 64 << 10, method: SendMethod::Write, window, congestion, block: 64 << 10 }
    }

    /// Sets what a socket that listens needs for all that it accepts.
    pub fn set_listener(&self, listener: &TcpListener) -> Result<()> {
        self.set(listener, self.direction.receives(), self.direction.sends())
    }

    /// Sets what a socket needs that is about to connect, to send or to receive.
    pub fn set_near(&self, socket: &impl AsFd, sends: bool) -> Result<()> {
        self.set(socket, sends, !sends)
    }

    fn set(&self, socket: &impl AsFd, sends: bool, receives: bool) -> Result<()> {
        if sends {
            self.congestion.set(socket)?;
        }
        let Some(bytes) = self.window.bytes() else { return Ok(()) };
        if sends {
            socket::set_send_buffer(socket, bytes)?;
        }
        if receives {
            socket::set_receive_buffer(socket, bytes)?;
        }
        Ok(())
    }

    pub fn block(&self) -> Result<Vec<u8>> {
        block_of(self.block)
    }
}

/// Room for a read of so many bytes, one at least.
pub fn block_of(bytes: u64) -> Result<Vec<u8>> {
    Ok(vec![1; usize::try_from(bytes.max(1))?])
}

fn parsed<T: FromStr>(axis: &str, value_of: &impl Fn(&str) -> Result<String>) -> Result<T> {
    let value = value_of(axis)?;
    value.parse().map_err(|_| RoundError::internal(say!("'{value}' is no value of the axis '{axis}'")))
}

/// The axis, as the case sees it.
pub const DIRECTION: Axis =
    Axis::choice("direction", "receive", Points::quick(&["receive"]).standard(&["send", "both"])).of_links();

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Direction {
        Receive = "receive",
        Send = "send",
        /// Sends and receives at once, each over a connection of its own.
        Both = "both",
    }
}

impl Direction {
    /// Tells whether the case receives.
    pub fn receives(self) -> bool {
        self != Direction::Send
    }

    pub fn sends(self) -> bool {
        self != Direction::Receive
    }
}

/// The axis: reno is in every kernel, and never paces.
pub const CONGESTION: Axis = Axis::choice("congestion", "default", Points::NamesOfHost(congestions));
/// Systems' own that do not pace, beside which a quick run would learn nothing from reno.
const WITHOUT_PACING: [&str; 2] = ["reno", "cubic"];

fn congestions(host: &HostFacts, profile: Profile) -> Vec<String> {
    let own = host.loopback.sysctls.get("tcp_congestion_control").map(String::as_str);
    let all: &[&str] = match profile {
        Profile::Glance | Profile::Quick if own.is_some_and(|own| WITHOUT_PACING.contains(&own)) => &["default"],
        Profile::Glance | Profile::Quick => &["default", "reno"],
        _ => &["default", "reno", "cubic", "bbr"],
    };
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// The algorithm that a sender uses: the system's where none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Congestion(Option<String>);

impl FromStr for Congestion {
    type Err = ();

    fn from_str(name: &str) -> std::result::Result<Congestion, ()> {
        Ok(Congestion((name != CONGESTION.default).then(|| name.to_owned())))
    }
}

impl Congestion {
    /// Sets it for a socket and what it accepts. Skipped where the kernel has not loaded it, and where it is the system's own.
    pub fn set(&self, socket: &impl AsFd) -> Result<()> {
        let Some(wanted) = &self.0 else { return Ok(()) };
        let of_system = workloads::network::socket::congestion_control(socket)?;
        if *wanted == of_system {
            return Err(RoundError::not_applicable(say!(
                "{wanted} is the system's own: congestion=default measures it"
            )));
        }
        let loaded = workloads::network::socket::congestion_controls()?;
        if !loaded.contains(wanted) {
            let loaded = loaded.join(", ");
            return Err(RoundError::skipped(
                ReasonCode::Kernel,
                say!("the kernel has not loaded {wanted}, only {loaded}: modprobe tcp_{wanted}"),
            ));
        }
        let refused = |error| RoundError::lacking(say!("only root may use {wanted} here"), &error);
        workloads::network::socket::set_congestion_control(socket, wanted).map_err(refused)
    }
}

/// Sizes of send and receive buffer, by name: from the standard profile on, and in the thorough one.
const SIZES: &[(&str, usize)] = &[
    ("64k", 64 << 10),
    ("128k", 128 << 10),
    ("256k", 256 << 10),
    ("512k", 512 << 10),
    ("1m", 1 << 20),
    ("2m", 2 << 20),
    ("4m", 4 << 20),
    ("8m", 8 << 20),
    ("16m", 16 << 20),
];

pub const WINDOW: Axis = Axis::choice(
    "window",
    "default",
    Points::quick(&["default"]).standard(&["64k", "256k", "1m", "4m"]).thorough(&["128k", "512k", "2m", "8m", "16m"]),
);

/// The axis of what one read asks for.
pub const BLOCK: Axis = Axis::size(
    "block",
    "65536",
    Points::quick(&["65536"]).standard(&["16384", "262144"]).thorough(&["4096", "1048576"]),
);

/// Buffer size that both ends ask for, bytes; `None` where the kernel tunes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window(Option<usize>);

impl FromStr for Window {
    type Err = ();

    fn from_str(name: &str) -> std::result::Result<Window, ()> {
        match SIZES.iter().find(|(known, _)| *known == name) {
            Some((_, bytes)) => Ok(Window(Some(*bytes))),
            None if name == WINDOW.default => Ok(Window(None)),
            None => Err(()),
        }
    }
}

impl Window {
    /// Returns the size to ask for, where there is one.
    pub fn bytes(self) -> Option<usize> {
        self.0
    }

    /// Checks the window; Skipped where a smaller window of the axis gives the same buffers.
    pub fn check(self, sends: u64, receives: u64) -> Result<()> {
        let Some(wanted) = self.0 else { return Ok(()) };
        let larger = sends.max(receives);
        let same = SIZES.iter().find(|(_, bytes)| *bytes < wanted && *bytes as u64 >= larger);
        same.map_or(Ok(()), |(name, _)| {
            Err(RoundError::not_applicable(say!(
                "the kernel gives {sends} bytes to send and {receives} to receive, as for window={name}; raise \
                 net.core.wmem_max and net.core.rmem_max"
            )))
        })
    }
}

/// The axis of how a message is sent.
pub const METHOD: Axis =
    Axis::choice("method", "write", Points::quick(&["write"]).standard(&["sendfile", "splice", "zero_copy"]));

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SendMethod {
        /// send(2).
        Write = "write",
        /// sendfile(2) from a file in memory.
        SendFile = "sendfile",
        /// splice(2) from a file in memory, by way of a pipe.
        Splice = "splice",
        /// send(2) with MSG_ZEROCOPY.
        ZeroCopy = "zero_copy",
    }
}

/// The pipe's capacity that a splice asks for: what any user may have on most hosts.
const PIPE_BYTES: usize = 1 << 20;

pub struct Sender<'a> {
    method: SendMethod,
    message: &'a [u8],
    file: Option<OwnedFd>,
    splicer: Option<Splicer>,
}

impl Sender<'_> {
    pub fn new(method: SendMethod, message: &[u8]) -> io::Result<Sender<'_>> {
        let file = match method {
            SendMethod::Write | SendMethod::ZeroCopy => None,
            SendMethod::SendFile | SendMethod::Splice => Some(socket::memory_file(message)?),
        };
        let splicer = if method == SendMethod::Splice { Some(Splicer::new(PIPE_BYTES)?) } else { None };
        Ok(Sender { method, message, file, splicer })
    }

    /// Sends until an error, as that the other end is gone. `copied`: the kernel copied in spite of MSG_ZEROCOPY.
    pub fn send_for_ever(&self, mut stream: &TcpStream, copied: &mut Option<bool>) -> io::Result<()> {
        let message = self.message;
        match (self.method, &self.file, &self.splicer) {
            (SendMethod::SendFile, Some(file), _) => loop {
                socket::send_file(stream, file, message.len())?;
            },
            (SendMethod::Splice, Some(file), Some(splicer)) => loop {
                splicer.send(stream, file, message.len())?;
            },
            (SendMethod::ZeroCopy, ..) => {
                let mut sender = ZeroCopySender::new(stream)?;
                loop {
                    let sent = sender.send(message);
                    *copied = sender.is_reported.then_some(sender.copied);
                    sent?;
                }
            }
            _ => loop {
                stream.write_all(message).call("sendto")?;
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::workloads::network::socket;

    fn set(name: &str) -> Result<String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        name.parse::<Congestion>().unwrap().set(&listener)?;
        Ok(socket::congestion_control(&listener).unwrap())
    }

    #[test]
    fn what_the_system_has_is_measured_once_and_nothing_is_loaded() {
        let of_system = set("default").unwrap();
        assert!(set(&of_system).unwrap_err().to_string().contains("congestion=default"));
        let other = if of_system == "reno" { None } else { Some("reno") };
        assert!(other.is_none_or(|name| set(name).unwrap() == name));
        let before = socket::congestion_controls().unwrap();
        assert!(set("no_such").unwrap_err().to_string().contains("has not loaded no_such"));
        assert_eq!(socket::congestion_controls().unwrap(), before);
    }

    #[test]
    fn a_window_that_gives_no_more_than_another_is_skipped_with_the_reason() {
        let window = |name: &str| name.parse::<Window>().unwrap();
        // What most kernels give by default.
        let limit = 208 << 10;
        for (name, given, as_for) in [
            ("64k", 64 << 10, None),
            ("256k", limit, None),
            ("512k", limit, Some("window=256k;")),
            ("16m", limit, Some("window=256k;")),
            ("16m", 4 << 20, Some("window=4m;")),
            ("4m", 4 << 20, None),
            ("64k", 1 << 10, None),
            ("default", limit, None),
        ] {
            let message = window(name).check(given, given).map_err(|error| error.to_string()).err();
            assert_eq!(message.is_some(), as_for.is_some(), "{name} {given}: {message:?}");
            assert!(message.zip(as_for).is_none_or(|(message, other)| message.contains(other)));
        }
        // One end alone may be refused: what the other has is more than a smaller window gives.
        window("1m").check(limit, 1 << 20).unwrap();
    }

    #[test]
    fn every_point_has_a_size() {
        let Points::Listed { quick, standard, thorough } = WINDOW.points else { panic!("the points are listed") };
        for name in [quick, standard, thorough].concat() {
            assert_eq!(name.parse::<Window>().unwrap().bytes().is_none(), name == WINDOW.default, "{name}");
        }
        assert!("3m".parse::<Window>().is_err());
    }
}
