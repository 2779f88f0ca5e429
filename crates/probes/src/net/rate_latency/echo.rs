//! The small requests beside the bulk flows: who answers them, and who sends them.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::authenticated;
use crate::net::tcp;
use crate::net::tcp_bandwidth::{Direction, StreamOptions, StreamsFarEnd};
use hostmark_engine::prelude::*;

/// Answers small requests over one connection, and carries bulk flows over others.
pub static UNDER_LOAD: Service = Service { name: "tcp_under_load", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let terms = StreamOptions::plain(serving.param::<Direction>("load")?);
    let mut far = StreamsFarEnd::new(serving, &terms)?;
    let message = far.message(serving)?;
    let door = far.open(serving)?;
    let sender = far.sender(&message)?;
    loop {
        let (control, _) = door.admit()?;
        let (requests, _) = door.admit()?;
        std::thread::scope(|scope| -> Result<()> {
            let echoing = || authenticated::gone(tcp::echo(requests));
            let echoing = std::thread::Builder::new().spawn_scoped(scope, echoing).call("clone")?;
            far.carry(&door, control, sender.as_ref())?;
            Ok(echoing.join().unwrap_or(Ok(()))?)
        })?;
    }
}

/// A request waits for the whole of a queue, which on slow links may be seconds deep.
const PATIENCE: Duration = Duration::from_secs(4);
/// A request is sent so long after the last answer: it meets the load at a moment that has nothing to do with the last one, and
/// requests that follow one another at once do not keep the load from the CPU.
const PAUSE: Duration = Duration::from_millis(1);
/// Round trips without load: so many, and some however long they take.
const MOST_IDLE: usize = 30;
const LEAST_IDLE: usize = 5;
/// Round trips under load that are kept to tell their median.
const MOST_KEPT: usize = 1 << 16;

/// Who sends small requests.
pub struct EchoClient {
    stream: TcpStream,
    sent: u8,
}

impl EchoClient {
    /// One that the far end knows.
    pub fn connect(far: &FarEnd) -> Result<EchoClient> {
        Ok(EchoClient { stream: authenticated::connect_with(far, PATIENCE, |_| Ok(()))?, sent: 0 })
    }

    /// One round trip, after a pause.
    pub fn exchange(&mut self, clock: &Clock) -> Result<Ticks> {
        std::thread::sleep(PAUSE);
        let start = clock.start();
        self.there_and_back().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => RoundError::failed(
                ReasonCode::TimedOut,
                say!("a request under load was not answered within {patience} s", patience = PATIENCE.as_secs()),
            ),
            _ => authenticated::unanswered(error),
        })?;
        Ok(clock.end().since(start))
    }

    fn there_and_back(&mut self) -> io::Result<()> {
        self.sent = self.sent.wrapping_add(1);
        self.stream.write_all(&[self.sent]).call("sendto")?;
        let mut back = [0];
        self.stream.read_exact(&mut back).call("recvfrom")?;
        if back == [self.sent] { Ok(()) } else { Err(authenticated::wrong_answer()) }
    }

    /// Round trips without load within so long, ns. The first is thrown away.
    pub fn idle(&mut self, clock: &Clock, within_ns: f64) -> Result<Vec<f64>> {
        self.exchange(clock)?;
        let (start, mut taken) = (clock.start(), Vec::new());
        while taken.len() < MOST_IDLE && (taken.len() < LEAST_IDLE || clock.ns(clock.start().since(start)) < within_ns)
        {
            taken.push(self.exchange(clock).map(|ticks| clock.ns(ticks))?);
        }
        Ok(taken)
    }
}

/// Keeps one more time, as long as there is room.
pub fn keep(times: &mut Vec<f64>, ns: f64) {
    if times.len() < MOST_KEPT {
        times.push(ns);
    }
}
