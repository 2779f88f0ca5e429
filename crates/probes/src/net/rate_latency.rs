//! Probe net.rate_latency: small requests while a bulk flow fills the link (bufferbloat).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::authenticated::{self, connect};
use crate::net::round_trip;
use crate::net::tcp_bandwidth::{Direction, Flows, StreamOptions, StreamsFarEnd};

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, IDLE, ADDED, RATE],
    axes: &[
        Axis::choice("load", "receive", Points::quick(&["receive"]).standard(&["send", "both"])).of_links(),
        Axis::placements("cpus", "free", Points::quick(&["free"]).standard(super::PLACEMENTS.split_at(6).0)),
    ],
    blocking: true,
    measure: Measure::Between { service: &UNDER_LOAD, measure },
    ..crate::texts::net::RATE_LATENCY
};

const IDLE: Quantity = Quantity::given("idle", Unit::Nanoseconds, Better::Lower, term!("round trip without load"));
const ADDED: Quantity = Quantity::given("added", Unit::Nanoseconds, Better::Lower, term!("added by the load"));
const RATE: Quantity = Quantity::given("rate", Unit::BytesPerSecond, Better::Higher, term!("rate of the bulk flow"));

fn measure(case: &mut Case) -> Result<()> {
    let far = case.far_end()?.clone();
    let terms = StreamOptions::plain(case.param::<Direction>("load")?);
    let message = case.buffer(terms.message, Pages::Base, None)?;
    let control = connect(&far)?;
    let mut echo = EchoClient::connect(&far)?;
    let (mut idle, mut loaded, mut carried) = (Vec::new(), Vec::new(), None);
    let grant_ns = case.grant_ns();
    std::thread::scope(|scope| {
        let mut load = None;
        let mut control = Some(control);
        case.timed(|clock| {
            if let Some(control) = control.take() {
                idle = echo.idle(clock, grant_ns)?;
                let flows =
                    Flows::over(scope, &terms, message.bytes(), (std::slice::from_ref(&far), vec![control]), &[])?;
                let look = flows.settle(clock)?;
                load = Some((flows, look));
            }
            let ticks = echo.exchange(clock)?;
            keep(&mut loaded, clock.ns(ticks));
            // What the bulk flow carried is looked at between exchanges; one that broke off has none.
            if let Some((flows, look)) = &mut load {
                carried = look.so_far(flows)?.or(carried);
            }
            Ok(ticks)
        })
        .singly()
        .time()?;
        load.map_or(Ok(()), |(flows, _)| flows.end().map(drop))
    })?;
    let added = median(&loaded).zip(median(&idle)).map(|(loaded, idle)| loaded - idle);
    case.also(IDLE.name, idle)?;
    case.also(ADDED.name, added)?;
    case.also(RATE.name, carried.map(|[received, sent]| (received + sent) * 1e9))
}

/// Answers small requests over one connection, and carries bulk flows over others.
static UNDER_LOAD: Service = Service { name: "tcp_under_load", serve };

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
            let echoing = || authenticated::gone(round_trip::echo(requests));
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

/// Client that sends small requests.
struct EchoClient {
    stream: TcpStream,
    sent: u8,
}

impl EchoClient {
    /// Connects a client that the far end knows.
    pub fn connect(far: &FarEnd) -> Result<EchoClient> {
        Ok(EchoClient { stream: authenticated::connect_with(far, PATIENCE, |_| Ok(()))?, sent: 0 })
    }

    /// Makes a round trip, after a pause.
    pub fn exchange(&mut self, clock: &Clock) -> Result<Ticks> {
        sys::clock::sleep(PAUSE);
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
