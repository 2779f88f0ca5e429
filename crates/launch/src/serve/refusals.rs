//! What is told of those who were refused: a line a second of each kind at most, however many there were.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The time between two lines of one kind.
const QUIET: Duration = Duration::from_secs(1);

/// Why somebody was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    const ALL: [Refusal; 10] = [
        Refusal::Garbage,
        Refusal::Token,
        Refusal::Late,
        Refusal::Crowded,
        Refusal::Full,
        Refusal::Altered,
        Refusal::Bytes,
        Refusal::Time,
        Refusal::NoAgent,
        Refusal::NoAccept,
    ];

    fn sentence(self) -> &'static str {
        match self {
            Refusal::Garbage => "sent what is no handshake",
            Refusal::Token => "has another token",
            Refusal::Late => "did not end its handshake in time",
            Refusal::Crowded => "made room for later connections before its handshake was over",
            Refusal::Full => "found all sessions taken",
            Refusal::Altered => "sent an altered record; its session was ended",
            Refusal::Bytes => "sent or got more than a session may; its session was ended",
            Refusal::Time => "stayed longer than a session may; its session was ended",
            Refusal::NoAgent => "got no agent: no process can be started",
            Refusal::NoAccept => "could not be accepted: no more files or memory",
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
    kinds: [RefusalKind; Refusal::ALL.len()],
}

impl Refusals {
    pub fn count(&mut self, refusal: Refusal, from: Option<IpAddr>) {
        let kind = &mut self.kinds[refusal as usize];
        kind.unreported += 1;
        kind.last = from;
    }

    /// The lines that are due, for `report`.
    pub fn report(&mut self, now: Instant, report: &mut dyn FnMut(&str)) {
        for (kind, refusal) in self.kinds.iter_mut().zip(Refusal::ALL) {
            if kind.unreported == 0 || left(kind, now).is_some() {
                continue;
            }
            let from = kind.last.map_or_else(|| "a connection".to_owned(), |from| from.to_string());
            match kind.unreported {
                1 => report(&format!("{from} {}", refusal.sentence())),
                more => {
                    report(&format!("{from} {} (and {} more since the last such line)", refusal.sentence(), more - 1))
                }
            }
            *kind = RefusalKind { reported: Some(now), unreported: 0, last: None };
        }
    }

    /// When the next line is due; none when nothing is to be told.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.kinds.iter().filter(|kind| kind.unreported > 0).map(|kind| left(kind, now).unwrap_or_default()).min()
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
            let at = begin + Duration::from_millis(ms);
            refusals.count(Refusal::Token, Some([10, 0, 0, 7].into()));
            refusals.report(at, &mut |line| lines.push(line.to_owned()));
        }
        assert_eq!(refusals.wait(begin + Duration::from_millis(3500)), Some(Duration::from_millis(500)));
        refusals.report(begin + Duration::from_secs(9), &mut |line| lines.push(line.to_owned()));
        assert_eq!(lines[0], "10.0.0.7 has another token");
        assert_eq!(lines[1], "10.0.0.7 has another token (and 999 more since the last such line)");
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(refusals.wait(begin), None);
    }

    #[test]
    fn one_kind_does_not_silence_another() {
        let (begin, mut refusals, mut lines) = (now(), Refusals::default(), 0);
        for (index, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, index);
            refusals.count(refusal, None);
        }
        refusals.report(begin, &mut |line| lines += usize::from(line.starts_with("a connection ")));
        assert_eq!(lines, Refusal::ALL.len());
    }
}
