//! What is told of those who were refused: a line a second of each kind at most, however many there were.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use hostmark_model::Message;
use hostmark_say::say;

/// The time between two lines of one kind.
const QUIET: Duration = Duration::from_secs(1);

/// Why somebody was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// What came is no message of this protocol.
    Garbage,
    /// The first message was not made with this token.
    Token,
    /// Too slow in its handshake.
    Late,
    /// Made room for others that came later.
    Crowded,
    /// All sessions are taken.
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

/// One kind.
#[derive(Debug, Default, Clone, Copy)]
struct RefusalKind {
    reported: Option<Instant>,
    unreported: u64,
    last: Option<IpAddr>,
}

/// What is to be told.
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

    /// When the next line is due; none when nothing is to be told.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.kinds.values().filter(|kind| kind.unreported > 0).map(|kind| left(kind, now).unwrap_or_default()).min()
    }
}

/// How long this kind has to be quiet still.
fn left(kind: &RefusalKind, now: Instant) -> Option<Duration> {
    let left = QUIET.saturating_sub(now.saturating_duration_since(kind.reported?));
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::now;

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
