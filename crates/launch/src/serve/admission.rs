//! The connections whose handshake is under way: few of them, for a short time, with next to nothing kept of each, and no more
//! than so many within a time; and what is told of those who were refused.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::time::{Duration, Instant};

use hostmark_model::Message;
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::set_tcp_user_timeout;

use crate::channel::{Admitted, CONFIRMATION, Channel, Greeting, HANDSHAKE_MESSAGE, Records, Token};
use crate::relay::is_later;
use crate::serve::{MOST_AT_DOOR, who_makes_room};
use crate::timing::timing;

/// Handshakes at most within a second: each multiplies two points of the curve.
pub const MOST_HANDSHAKES: usize = 10;
/// Time for a refused client to receive the reason.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes of what nobody reads any more that are dropped at once.
const DROPPED_AT_ONCE: usize = 1 << 12;

/// Somebody whose handshake is over.
pub struct AdmittedClient {
    /// The connection, which does not wait.
    pub socket: TcpStream,
    pub from: Option<IpAddr>,
    pub channel: Box<Channel>,
}

enum HandshakeStep {
    Greeted(Greeting),
    /// Client has the token, and waits for its turn.
    Admitted(Box<Admitted>),
    /// Client was answered, and has to show that it is there.
    Answered(Box<Channel>),
    /// Client was told why it is refused.
    Leaving,
}

struct Knocker {
    socket: TcpStream,
    from: Option<IpAddr>,
    records: Records,
    step: HandshakeStep,
    until: Instant,
}

/// Everybody at the door, the oldest first.
pub struct Admission {
    token: Token,
    knockers: Vec<Knocker>,
    handshakes: RateLimiter,
}

/// Result of looking at one.
enum Look {
    Stays,
    Refused(Refusal),
    Gone,
    In(Box<Channel>),
}

impl Admission {
    /// Admission of clients with this token.
    pub fn new(token: Token) -> Admission {
        let handshakes = RateLimiter::of(MOST_HANDSHAKES, Duration::from_secs(1));
        Admission { token, knockers: Vec::new(), handshakes }
    }

    pub fn greet(&mut self, socket: TcpStream, now: Instant, refusals: &mut Refusals) {
        let from = socket.peer_addr().ok().map(|address| address.ip().to_canonical());
        let Ok(greeting) = Greeting::fresh() else { return refusals.count(Refusal::NoAccept, from) };
        let record = greeting.record();
        // A host that has lost its power takes up no session for long.
        let unacknowledged = timing().unacknowledged.as_millis();
        let _ = set_tcp_user_timeout(&socket, u32::try_from(unacknowledged).unwrap_or(u32::MAX));
        // What is sent first always has room.
        let is_ready = socket.set_nonblocking(true).is_ok() && socket.set_nodelay(true).is_ok();
        if !is_ready || !matches!((&socket).write(&record), Ok(sent) if sent == record.len()) {
            return;
        }
        if self.knockers.len() >= MOST_AT_DOOR {
            let evicted = self.knockers.remove(self.who_makes_room());
            refusals.count(Refusal::Crowded, evicted.from);
        }
        let (records, step) = (Records::of_at_most(HANDSHAKE_MESSAGE), HandshakeStep::Greeted(greeting));
        self.knockers.push(Knocker { socket, from, records, step, until: now + timing().handshake });
    }

    /// Index of the client that is sent away where there are too many: of those who have shown nothing yet.
    fn who_makes_room(&self) -> usize {
        let is_unknown = |knocker: &Knocker| matches!(knocker.step, HandshakeStep::Greeted(_) | HandshakeStep::Leaving);
        let all = self.knockers.iter().enumerate();
        let (places, from): (Vec<_>, Vec<_>) =
            all.filter(|(_, knocker)| is_unknown(knocker)).map(|(place, knocker)| (place, knocker.from)).unzip();
        who_makes_room(from.into_iter()).map(|index| places[index]).unwrap_or_default()
    }

    /// Sees somebody off who has been sent the last: what is still under way would be lost if our end were closed at once.
    pub fn see_off(&mut self, socket: TcpStream, from: Option<IpAddr>, now: Instant) {
        if self.knockers.len() < MOST_AT_DOOR && socket.shutdown(Shutdown::Write).is_ok() {
            let records = Records::of_at_most(HANDSHAKE_MESSAGE);
            self.knockers.push(Knocker { socket, from, records, step: HandshakeStep::Leaving, until: now + FAREWELL });
        }
    }

    /// Adds what is to be waited for: one for each, in order, of which some want nothing.
    pub fn watch<'a>(&'a self, watched: &mut Vec<PollFd<'a>>) {
        let of = |knocker: &'a Knocker| {
            let waits = matches!(knocker.step, HandshakeStep::Admitted(_));
            PollFd::new(&knocker.socket, if waits { PollFlags::empty() } else { PollFlags::IN })
        };
        watched.extend(self.knockers.iter().map(of));
    }

    /// Longest time until there is something to do without anybody's word; none when there is nobody.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let late = self.knockers.iter().map(|knocker| knocker.until.saturating_duration_since(now)).min();
        let is_waiting = self.knockers.iter().any(|knocker| matches!(knocker.step, HandshakeStep::Admitted(_)));
        let turn = is_waiting.then(|| self.handshakes.wait(now).unwrap_or_default());
        late.into_iter().chain(turn).min()
    }

    /// Goes on with everybody for whom there is something, as `ready` says in order; those whose handshake is over come back.
    pub fn turn(&mut self, ready: &[bool], now: Instant, refusals: &mut Refusals) -> Vec<AdmittedClient> {
        let mut guests = Vec::new();
        for (index, mut knocker) in std::mem::take(&mut self.knockers).into_iter().enumerate() {
            let is_ready = ready.get(index).copied().unwrap_or_default();
            match knocker.step(is_ready, &self.token, &mut self.handshakes, now).unwrap_or(Look::Stays) {
                Look::Stays => self.knockers.push(knocker),
                Look::Gone => {}
                Look::Refused(refusal) => refusals.count(refusal, knocker.from),
                Look::In(channel) => {
                    guests.push(AdmittedClient { socket: knocker.socket, from: knocker.from, channel })
                }
            }
        }
        guests
    }
}

impl Knocker {
    /// A step on, if there is one; none where nothing has changed.
    fn step(&mut self, is_ready: bool, token: &Token, handshakes: &mut RateLimiter, now: Instant) -> Option<Look> {
        if now >= self.until {
            let is_known = matches!(self.step, HandshakeStep::Leaving);
            return Some(if is_known { Look::Gone } else { Look::Refused(Refusal::Late) });
        }
        if is_ready {
            if matches!(self.step, HandshakeStep::Admitted(_)) {
                // Nothing is wanted of it now, so that this is its end.
                return Some(Look::Gone);
            }
            let record = match self.read_record() {
                Ok(record) => record?,
                Err(look) => return Some(look),
            };
            match std::mem::replace(&mut self.step, HandshakeStep::Leaving) {
                HandshakeStep::Greeted(_) if record.len() != HANDSHAKE_MESSAGE => {
                    return Some(Look::Refused(Refusal::Garbage));
                }
                HandshakeStep::Greeted(greeting) => match Admitted::of(token, &greeting, &record) {
                    Ok(admitted) => self.step = HandshakeStep::Admitted(Box::new(admitted)),
                    Err(_) => return Some(Look::Refused(Refusal::Token)),
                },
                HandshakeStep::Answered(mut channel) => {
                    return Some(match channel.open(&record) {
                        Ok(carried) if carried.is_empty() => Look::In(channel),
                        _ => Look::Refused(Refusal::Altered),
                    });
                }
                HandshakeStep::Admitted(_) | HandshakeStep::Leaving => {}
            }
        }
        if matches!(self.step, HandshakeStep::Admitted(_)) && handshakes.wait(now).is_none() {
            handshakes.count(now);
            let HandshakeStep::Admitted(admitted) = std::mem::replace(&mut self.step, HandshakeStep::Leaving) else {
                return None;
            };
            return Some(self.answer(*admitted));
        }
        None
    }

    /// Answers one that has the token.
    fn answer(&mut self, admitted: Admitted) -> Look {
        let Ok((channel, record)) = admitted.answer() else { return Look::Gone };
        match self.socket.write(&record) {
            Ok(sent) if sent == record.len() => {
                (self.step, self.records) =
                    (HandshakeStep::Answered(Box::new(channel)), Records::of_at_most(CONFIRMATION));
                Look::Stays
            }
            Ok(_) | Err(_) => Look::Gone,
        }
    }

    /// A whole record, if one is there now.
    fn read_record(&mut self) -> Result<Option<Vec<u8>>, Look> {
        if matches!(self.step, HandshakeStep::Leaving) {
            return self.drop_what_comes();
        }
        // Twice: its length, and the rest.
        for _ in 0..2 {
            let mut part = vec![0; self.records.wants()];
            let length = match self.socket.read(&mut part) {
                Ok(0) => return Err(Look::Gone),
                Ok(length) => length,
                Err(error) if is_later(&error) => return Ok(None),
                Err(_) => return Err(Look::Gone),
            };
            if self.records.take(&part[..length]).is_err() {
                return Err(Look::Refused(Refusal::Garbage));
            }
            if let Some(record) = self.records.whole() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Reads and drops a client's further input.
    fn drop_what_comes(&mut self) -> Result<Option<Vec<u8>>, Look> {
        match self.socket.read(&mut [0; DROPPED_AT_ONCE]) {
            Err(error) if is_later(&error) => Ok(None),
            Ok(1..) => Ok(None),
            Ok(0) | Err(_) => Err(Look::Gone),
        }
    }
}

#[derive(Debug)]
pub struct RateLimiter {
    most: usize,
    within: Duration,
    times: VecDeque<Instant>,
}

impl RateLimiter {
    /// Limits to so many in this time, whenever it begins.
    pub fn of(most: usize, within: Duration) -> RateLimiter {
        RateLimiter { most, within, times: VecDeque::with_capacity(most) }
    }

    /// Time until the next one may come; none when it need not wait.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let oldest = self.times.front().filter(|_| self.times.len() >= self.most)?;
        let left = self.within.saturating_sub(now.saturating_duration_since(*oldest));
        (!left.is_zero()).then_some(left)
    }

    pub fn count(&mut self, now: Instant) {
        if self.times.len() >= self.most {
            self.times.pop_front();
        }
        self.times.push_back(now);
    }
}

/// The time between two lines of one kind.
const QUIET: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Message of another protocol.
    Garbage,
    /// The first message was not made with this token.
    Token,
    /// Too slow in its handshake.
    Late,
    /// Made room for others that came later.
    Crowded,
    Full,
    /// A record of a session was altered.
    Altered,
    /// More bytes than a session may have.
    Bytes,
    /// More time than a session may have.
    Time,
    /// No agent could be started.
    NoAgent,
    /// No connection could be accepted.
    NoAccept,
}

impl Refusal {
    fn sentence(self, from: &Message) -> Message {
        match self {
            Refusal::Garbage => say!("{from} sent what is no handshake"),
            Refusal::Token => say!("{from} has another token"),
            Refusal::Late => say!("{from} did not end its handshake in time"),
            Refusal::Crowded => say!("{from} made room for later connections before its handshake was over"),
            Refusal::Full => say!("{from} found all sessions taken"),
            Refusal::Altered => say!("{from} sent an altered record; its session was ended"),
            Refusal::Bytes => say!("{from} sent or got more than a session may; its session was ended"),
            Refusal::Time => say!("{from} stayed longer than a session may; its session was ended"),
            Refusal::NoAgent => say!("{from} got no agent: no process can be started"),
            Refusal::NoAccept => say!("{from} could not be accepted: no more files or memory"),
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct RefusalKind {
    reported: Option<Instant>,
    unreported: u64,
    last: Option<IpAddr>,
}

#[derive(Debug, Default)]
pub struct Refusals {
    kinds: BTreeMap<Refusal, RefusalKind>,
}

impl Refusals {
    pub fn count(&mut self, refusal: Refusal, from: Option<IpAddr>) {
        let kind = self.kinds.entry(refusal).or_default();
        kind.unreported += 1;
        kind.last = from;
    }

    /// The lines that are due, for `report`.
    pub fn report(&mut self, now: Instant, report: &mut dyn FnMut(&Message)) {
        for (refusal, kind) in &mut self.kinds {
            if kind.unreported == 0 || left(kind, now).is_some() {
                continue;
            }
            let from = kind.last.map_or_else(|| say!("a connection"), Message::plain);
            let sentence = refusal.sentence(&from);
            report(&match kind.unreported - 1 {
                0 => sentence,
                more => say!("{sentence} (and {more} more since the last such line)"),
            });
            *kind = RefusalKind { reported: Some(now), unreported: 0, last: None };
        }
    }

    /// Time until the next line is due; none when there is nothing to report.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.kinds.values().filter(|kind| kind.unreported > 0).map(|kind| left(kind, now).unwrap_or_default()).min()
    }
}

/// Time for which this kind must still be silent.
fn left(kind: &RefusalKind, now: Instant) -> Option<Duration> {
    let left = QUIET.saturating_sub(now.saturating_duration_since(kind.reported?));
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::now;

    #[test]
    fn in_no_second_are_there_more_than_may_be() {
        let (begin, mut done) = (now(), Vec::new());
        let mut pace = RateLimiter::of(10, Duration::from_secs(1));
        for ms in (0..5000).step_by(7) {
            let at = begin + Duration::from_millis(ms);
            if pace.wait(at).is_none() {
                pace.count(at);
                done.push(at);
            }
        }
        assert!(done.windows(11).all(|window| window[10] - window[0] >= Duration::from_secs(1)), "{done:?}");
        assert!(done.len() >= 50, "{}", done.len());
    }

    #[test]
    fn who_has_waited_as_long_as_was_said_waits_no_more() {
        let begin = now();
        let mut pace = RateLimiter::of(2, Duration::from_secs(1));
        pace.count(begin);
        assert_eq!(pace.wait(begin), None);
        pace.count(begin);
        let left = pace.wait(begin + Duration::from_millis(300)).unwrap();
        assert_eq!(left, Duration::from_millis(700));
        assert_eq!(pace.wait(begin + Duration::from_secs(1)), None);
    }

    #[test]
    fn a_flood_is_reported_in_a_line_a_second_and_every_one_is_counted() {
        let (begin, mut refusals, mut lines) = (now(), Refusals::default(), Vec::new());
        for ms in 0..3500 {
            refusals.count(Refusal::Token, Some([10, 0, 0, 7].into()));
            refusals.report(begin + Duration::from_millis(ms), &mut |line| lines.push(line.to_string()));
        }
        assert_eq!(refusals.wait(begin + Duration::from_millis(3500)), Some(Duration::from_millis(500)));
        refusals.report(begin + Duration::from_secs(9), &mut |line| lines.push(line.to_string()));
        assert_eq!(lines[0], "10.0.0.7 has another token");
        assert_eq!(lines[1], "10.0.0.7 has another token (and 999 more since the last such line)");
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(refusals.wait(begin), None);
    }

    #[test]
    fn one_kind_does_not_silence_another() {
        let (begin, mut refusals, mut lines) = (now(), Refusals::default(), 0);
        use Refusal::{Altered, Bytes, Crowded, Full, Garbage, Late, NoAccept, NoAgent, Time, Token};
        let all = [Garbage, Token, Late, Crowded, Full, Altered, Bytes, Time, NoAgent, NoAccept];
        all.into_iter().for_each(|refusal| refusals.count(refusal, None));
        refusals.report(begin, &mut |line| lines += usize::from(line.to_string().starts_with("a connection ")));
        assert_eq!(lines, all.len());
    }
}
