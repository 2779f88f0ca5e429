//! Times at which a series has no turn, of which nothing is known.

use serde::Serialize;

use super::Turn;

/// Least time from turn to turn that is a gap, in multiples of the usual one.
const LEAST: f64 = 1.5;
/// The fact that tells one boot of a machine from another.
const BOOT: &str = "host.boot_id";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// Start of the turns before it and behind it.
    pub from: String,
    pub to: String,
    /// Delay of the overdue turn, seconds.
    pub seconds: f64,
    /// True where the machine was rebooted meanwhile, where that is known.
    pub restarted: Option<bool>,
}

/// Ages from which on a series has one turn an hour, and one a day, days, and these times in seconds.
pub const THINNED: [(i64, f64); 2] = [(7, 3600.0), (30, 86_400.0)];

/// Usual time from the turns before this one to this, where old turns are thinned.
fn spacing_s(turns: &[Turn], turn: usize, every_s: f64) -> f64 {
    let age_s = turns.last().map_or(0.0, |last| last.started.since(turns[turn - 1].started));
    let thinned = THINNED.iter().filter(|(days, _)| age_s > *days as f64 * 86_400.0);
    thinned.map(|(_, spacing_s)| *spacing_s).fold(every_s, f64::max)
}

/// Tells whether there is a gap between this turn and the one before it. Runs that a person put together have no distance to keep.
pub(super) fn is_before(turns: &[Turn], turn: usize, every_s: f64) -> bool {
    let pair = turn.checked_sub(1).and_then(|before| Some((turns.get(before)?, turns.get(turn)?)));
    pair.is_some_and(|(before, now)| {
        now.series.is_some() && now.started.since(before.started) >= LEAST * spacing_s(turns, turn, every_s)
    })
}

pub(super) fn gaps(turns: &[Turn], every_s: f64) -> Vec<Gap> {
    let of = |turn: usize| {
        let (before, now) = (&turns[turn - 1], &turns[turn]);
        let boots = before.facts.get(BOOT).zip(now.facts.get(BOOT));
        Gap {
            from: before.started.to_string(),
            to: now.started.to_string(),
            seconds: now.started.since(before.started) - spacing_s(turns, turn, every_s),
            restarted: boots.map(|((_, before), (_, now))| before != now),
        }
    };
    (1..turns.len()).filter(|turn| is_before(turns, *turn, every_s)).map(of).collect()
}
