//! Probe net.open_loop: round trips that begin when they are due, whether or not the last one is over.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};

use hostmark_engine::prelude::*;

use super::round_trip::{ECHO, LOST};
use crate::authenticated::{self, PATIENCE};

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::REQUESTS_DUE, LOST],
    axes: &[
        Axis::count("load", "50", Points::quick(&["50"]).standard(&["10", "80"])),
        Axis::choice("protocol", "tcp", Points::quick(&["tcp"]).standard(&["udp"])),
        Axis::count("outstanding", "1", Points::quick(&["1"]).standard(&["64"]).thorough(&["8"])),
        Axis::count("rate", "auto", Points::quick(&["auto"])),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::quick(&["same_cache"]).standard(&[
                "smt_sibling",
                "other_cache",
                "same_package_other_node",
                "other_node",
            ]),
        ),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["load", "protocol"] },
        FullFactorial { from: Profile::Thorough, axes: &["protocol", "outstanding"] },
    ],
    blocking: true,
    needs: &[Need::Cpus(2)],
    measure: Measure::Between { service: &ECHO, measure },
    ..crate::texts::net::OPEN_LOOP
};

fn measure(case: &mut Case) -> Result<()> {
    let plan = RequestPlan {
        outstanding: case.param("outstanding")?,
        load: case.param::<f64>("load")? / 100.0,
        fixed: case.param::<String>("rate")?.parse().ok(),
        grant_ns: case.grant_ns(),
    };
    let (rate, lost) = match case.param::<String>("protocol")?.as_str() {
        "udp" => plan.measure::<Datagrams>(case)?,
        _ => plan.measure::<StreamCarrier>(case)?,
    };
    case.also(LOST.name, lost)?;
    case.also(Quantity::REQUESTS_DUE.name, [rate])
}

#[derive(Debug, Clone, Copy)]
struct RequestPlan {
    /// Largest number of requests under way.
    pub outstanding: usize,
    /// The share of what the connection can do.
    pub load: f64,
    pub fixed: Option<f64>,
    /// The round's time, ns.
    pub grant_ns: f64,
}

/// Answers to requests without pause, by which a round learns what the connection can do,
const CLOSED: u64 = 200;
/// in no more of its time than this share, but for the first answers.
const CLOSED_SHARE: f64 = 0.1;
const LEAST_CLOSED: u64 = 2;
/// Number of requests lost in a row from which on the far end counts as dead.
const MOST_UNANSWERED: u64 = 3;
/// A request that has not been answered after this many usual times makes room for others; it may still be answered.
const LATE_TIMES: f64 = 10.0;
const LEAST_LATE_NS: f64 = 20e6;
const MOST_LATE_NS: f64 = 1e9;

struct PendingRequest {
    number: u64,
    due: Ticks,
    sent: Ticks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Due {
    /// Requests as soon as there is room.
    AtOnce,
    Never,
    /// Requests from this moment on, one after so many ticks each.
    From(Ticks, u64),
}

struct Requests<C> {
    carrier: C,
    outstanding: usize,
    due: Due,
    /// Requests in the order in which they were sent: those that are waited for, and those that made room.
    waited_for: VecDeque<PendingRequest>,
    late: VecDeque<PendingRequest>,
    sent: u64,
    answered: u64,
    lost: u64,
    /// Number of requests sent since the last answer, and the time of that answer.
    unanswered: u64,
    last_answer: Ticks,
    /// Time without answers until a request made room.
    stalled: u64,
    /// Age at which a request makes room, and at which it is lost; ticks.
    late_after: u64,
    lost_after: u64,
}

impl RequestPlan {
    /// Measures the times of requests, and tells how many were due a second and which share was lost.
    pub fn measure<C: Carrier>(self, case: &mut Case) -> Result<(f64, Option<f64>)> {
        let carrier = C::to(case.far_end()?, self.outstanding)?;
        let mut requests = Requests {
            carrier,
            outstanding: self.outstanding,
            due: Due::AtOnce,
            waited_for: VecDeque::new(),
            late: VecDeque::new(),
            sent: 0,
            answered: 0,
            lost: 0,
            unanswered: 0,
            last_answer: Ticks(0),
            stalled: 0,
            late_after: 0,
            lost_after: 0,
        };
        let mut rate = None;
        case.timed(|clock| {
            if rate.is_none() {
                rate = Some(requests.begin(self, clock)?);
            }
            requests.next(clock).map_err(authenticated::unanswered)
        })
        .singly()
        .time()?;
        Ok((rate.unwrap_or(0.0), requests.lost()))
    }
}

impl<C: Carrier> Requests<C> {
    /// Learns what the connection can do, and tells how many requests are due a second from now on.
    fn begin(&mut self, plan: RequestPlan, clock: &Clock) -> Result<f64> {
        let ticks = |ns: f64| clock.ticks(ns).0;
        (self.late_after, self.lost_after) = (ticks(MOST_LATE_NS), ticks(PATIENCE.as_nanos() as f64));
        let (start, mut sum_ns) = (clock.start(), 0.0);
        let mut spent = Ticks(0);
        while self.answered < CLOSED && (self.answered < LEAST_CLOSED || clock.ns(spent) < CLOSED_SHARE * plan.grant_ns)
        {
            sum_ns += clock.ns(self.next(clock).map_err(authenticated::unanswered)?);
            let late_ns = LATE_TIMES * sum_ns / self.answered as f64;
            self.late_after = ticks(late_ns.clamp(LEAST_LATE_NS, MOST_LATE_NS));
            spent = clock.end().since(start);
        }
        let can = self.answered as f64 * 1e9 / clock.ns(Ticks(spent.0.saturating_sub(self.stalled))).max(1.0);
        // What is still under way is none of those that will be due.
        self.due = Due::Never;
        while !self.waited_for.is_empty() {
            self.turn(clock).map_err(authenticated::unanswered)?;
        }
        (self.late, self.answered, self.lost) = (VecDeque::new(), 0, 0);
        let rate = plan.fixed.unwrap_or(can * plan.load);
        let period = ticks(1e9 / rate).max(1);
        self.due = Due::From(Ticks(clock.start().0 + period), period);
        Ok(rate)
    }

    /// The time of the request that is answered next, from the moment at which it was due.
    #[inline]
    fn next(&mut self, clock: &Clock) -> io::Result<Ticks> {
        loop {
            if let Some(taken) = self.turn(clock)? {
                return Ok(taken);
            }
        }
    }

    /// Sends what is due, and takes what has come: the time of a request that is answered.
    #[inline]
    fn turn(&mut self, clock: &Clock) -> io::Result<Option<Ticks>> {
        let now = clock.start();
        if self.waited_for.len() < self.outstanding
            && let Some(due) = self.due.by(now)
        {
            self.sent += 1;
            self.unanswered += 1;
            if self.waited_for.is_empty() && self.late.is_empty() {
                self.last_answer = now;
            }
            self.carrier.send(self.sent)?;
            self.waited_for.push_back(PendingRequest { number: self.sent, due, sent: now });
        }
        if self.waited_for.is_empty() && self.late.is_empty() {
            std::hint::spin_loop();
            return Ok(None);
        }
        match self.carrier.receive()? {
            Some(low) => Ok(self.answered(low, clock.end())),
            None => self.age(now).map(|()| None),
        }
    }

    /// The time of the request with these low bits of its number, if it is one that is under way.
    #[inline]
    fn answered(&mut self, low: u64, now: Ticks) -> Option<Ticks> {
        let bits = self.carrier.bits();
        let find = |all: &VecDeque<PendingRequest>| all.iter().position(|request| request.number & bits == low);
        let found = match find(&self.waited_for) {
            Some(at) => self.waited_for.remove(at),
            // Late, and not lost: its time counts.
            None => find(&self.late).and_then(|at| self.late.remove(at)),
        }?;
        self.answered += 1;
        (self.unanswered, self.last_answer) = (0, now);
        Some(now.since(found.due))
    }

    /// Requests that have waited for too long make room, and are lost in the end. An error where all are.
    #[inline]
    fn age(&mut self, now: Ticks) -> io::Result<()> {
        let is_older =
            |request: Option<&PendingRequest>, ticks| request.is_some_and(|one| now.since(one.sent).0 > ticks);
        if C::IS_LOSSY && is_older(self.waited_for.front(), self.late_after) {
            let sent = self.waited_for.front().map_or(now, |one| one.sent);
            self.stalled += now.since(Ticks(self.last_answer.0.max(sent.0))).0;
            self.late.extend(self.waited_for.pop_front());
        }
        if is_older(self.late.front(), self.lost_after) {
            self.late.pop_front();
            self.lost += 1;
        }
        let most = if C::IS_LOSSY { MOST_UNANSWERED } else { 1 };
        if now.since(self.last_answer).0 > self.lost_after && self.unanswered >= most {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::hint::spin_loop();
        Ok(())
    }

    /// The share that was lost, those among it that made room and have not been answered; none where nothing was asked.
    fn lost(&self) -> Option<f64> {
        let lost = self.lost + self.late.len() as u64;
        let all = self.answered + lost;
        (all > 0).then(|| lost as f64 / all as f64)
    }
}

impl Due {
    /// Returns when the next request was due, if one is by now, and moves on to the one after it.
    #[inline]
    fn by(&mut self, now: Ticks) -> Option<Ticks> {
        match self {
            Due::AtOnce => Some(now),
            Due::Never => None,
            Due::From(due, period) => (now >= *due).then(|| {
                let this = *due;
                due.0 += *period;
                this
            }),
        }
    }
}

/// A way to a server and back.
trait Carrier: Sized {
    /// True where a request may be lost.
    const IS_LOSSY: bool;

    /// The way to a far end, for so many requests at once.
    fn to(far: &FarEnd, outstanding: usize) -> Result<Self>;

    fn send(&mut self, number: u64) -> io::Result<()>;

    /// The next answer: the low bits of its number; none where there is none yet.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// The bits of a number that come back.
    fn bits(&self) -> u64;
}

/// A connection: a byte each, and answers in the order of the requests.
struct StreamCarrier(TcpStream);

impl Carrier for StreamCarrier {
    const IS_LOSSY: bool = false;

    fn to(far: &FarEnd, _: usize) -> Result<StreamCarrier> {
        let stream = authenticated::connect(far)?;
        stream.set_nonblocking(true).call("ioctl")?;
        Ok(StreamCarrier(stream))
    }

    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.0.write_all(&[number as u8]).call("sendto")
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let mut back = [0];
        match ready(self.0.read(&mut back))? {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            got => Ok(got.map(|_| back[0].into())),
        }
    }

    fn bits(&self) -> u64 {
        0xff
    }
}

/// Datagrams: a byte each, and the whole number where several are under way.
pub struct Datagrams {
    socket: UdpSocket,
    far: FarEnd,
    bytes: usize,
}

impl Carrier for Datagrams {
    const IS_LOSSY: bool = true;

    fn to(far: &FarEnd, outstanding: usize) -> Result<Datagrams> {
        let socket = authenticated::correspond(far)?;
        socket.set_nonblocking(true).call("ioctl")?;
        Ok(Datagrams { socket, far: far.clone(), bytes: if outstanding == 1 { 1 } else { 8 } })
    }

    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.socket.send(&number.to_le_bytes()[..self.bytes]).call("sendto").map(drop)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let mut back = [0; 32];
        match ready(self.socket.recv(&mut back))? {
            Some(bytes) if bytes == self.bytes => {
                back[bytes..].fill(0);
                Ok(back.first_chunk().map(|&number| u64::from_le_bytes(number)))
            }
            Some(bytes) if !authenticated::is_second_answer(&self.far, &back[..bytes]) => Err(super::wrong_answer()),
            _ => Ok(None),
        }
    }

    fn bits(&self) -> u64 {
        if self.bytes == 1 { 0xff } else { u64::MAX }
    }
}

/// Returns the result of a call that never waits; `None` where it would have had to.
#[inline]
fn ready(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        result => result.call("recvfrom").map(Some),
    }
}
