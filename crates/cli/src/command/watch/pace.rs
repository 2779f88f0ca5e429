//! When turns of a watch begin, and what they may cost.

use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::format::percent;
use hostmark_engine::Wall;
use hostmark_engine::plan::profile_limits;
use hostmark_model::Profile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::language::{refused, said};
use crate::signals::StopRequest;

/// What a turn takes at most, most of which one CPU is busy: a turn is a glance.
const TURN_S: f64 = profile_limits(Profile::Glance).limit.as_secs() as f64;
/// The share of one CPU that is taken unless somebody asks otherwise.
const USUAL_SHARE: f64 = 0.02;

/// The share of one CPU that a watch may use on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load(f64);

impl Load {
    pub fn of_percent(percent: Option<f64>) -> Load {
        Load(percent.map_or(USUAL_SHARE, |percent| percent / 100.0))
    }

    /// This, or what turns of this distance use.
    pub fn at_least_of(self, every_s: f64) -> Load {
        Load(self.0.max((TURN_S / every_s).min(1.0)))
    }

    /// Refuses turns that follow each other faster than that.
    pub fn check(self, every_s: f64) -> Result<()> {
        // An error of rounding is no second.
        let least_s = (TURN_S / self.0 - 1e-6).ceil();
        if every_s >= least_s {
            return Ok(());
        }
        let (every, least, used, most) = (shown(every_s), shown(least_s), self.of(every_s), percent(self.0));
        Err(refused!(
            "--every {every} would use {used} of one CPU, and {most} is the limit; give --every {least} or longer, or raise --max-cpu"
        ))
    }

    /// What turns of this distance use at most, as text.
    pub fn of(self, every_s: f64) -> String {
        percent(TURN_S / every_s)
    }

    /// When the average is kept again after so much CPU time.
    pub fn kept_after(self, used: Duration) -> Duration {
        Duration::from_secs_f64(used.as_secs_f64() / self.0)
    }
}

/// The time of a watch since it began. A mock's goes on without waiting.
pub struct Pace<'a> {
    wall: &'a dyn Wall,
    begun: Duration,
    waits: bool,
    skipped: Duration,
}

impl<'a> Pace<'a> {
    pub fn new(wall: &'a dyn Wall, waits: bool) -> Pace<'a> {
        Pace { wall, begun: wall.elapsed(), waits, skipped: Duration::ZERO }
    }

    pub fn elapsed(&self) -> Duration {
        self.wall.elapsed().saturating_sub(self.begun) + self.skipped
    }

    /// Waits until this time, or until the person asks to stop.
    pub fn wait(&mut self, until: Duration, stop: &StopRequest) {
        if !self.waits {
            self.skipped += until.saturating_sub(self.elapsed());
            return;
        }
        let readable = stop.readable();
        while let Some(left) = until.checked_sub(self.elapsed()).filter(|left| !left.is_zero())
            && stop.signal().is_none()
        {
            // A signal ends the wait as well.
            let _ = poll(&mut [PollFd::new(&*readable, PollFlags::IN)], Timespec::try_from(left).ok().as_ref());
        }
    }
}

/// The time since a turn began, of a clock that goes on.
pub struct Since<'a> {
    pub wall: &'a dyn Wall,
    pub begun: Duration,
}

impl Wall for Since<'_> {
    fn elapsed(&self) -> Duration {
        self.wall.elapsed().saturating_sub(self.begun)
    }
}

/// Units of a span, the largest first.
const UNITS: [(char, f64); 4] = [('d', 86_400.0), ('h', 3600.0), ('m', 60.0), ('s', 1.0)];

/// A time as a person types it, in seconds: `90s`, `10m`, `1h30m`, `7d`.
pub fn span(typed: &str) -> Result<f64, String> {
    let mut seconds = 0.0;
    let mut rest = typed;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..digits].parse::<u32>().ok();
        let unit = rest[digits..].chars().next().and_then(|c| UNITS.iter().find(|(unit, _)| *unit == c));
        let (Some(number), Some((_, of_unit))) = (number, unit) else { return Err(no_span()) };
        seconds += f64::from(number) * of_unit;
        rest = &rest[digits + 1..];
    }
    // A year: who watches for longer resumes.
    if (1.0..=366.0 * 86_400.0).contains(&seconds) { Ok(seconds) } else { Err(no_span()) }
}

fn no_span() -> String {
    said!("give a time up to a year, e.g. 90s, 10m, 24h or 7d")
}

/// A time as it is typed: `8m20s`.
pub fn shown(seconds: f64) -> String {
    let mut left = seconds.round();
    let mut text = String::new();
    for (unit, of_unit) in UNITS {
        // A day is `24h` to everybody.
        let count = if unit == 'd' && left < 2.0 * of_unit { 0.0 } else { (left / of_unit).floor() };
        left -= count * of_unit;
        if count > 0.0 {
            text += &format!("{count}{unit}");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_shown() {
        for (typed, seconds) in [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("24h", 86_400.0), ("7d", 604_800.0)]
        {
            assert_eq!(span(typed).unwrap(), seconds, "{typed}");
            assert_eq!(span(&shown(seconds)).unwrap(), seconds, "{typed}");
        }
        assert_eq!(shown(500.0), "8m20s");
        assert_eq!(shown(86_400.0), "24h");
        for wrong in ["", "10", "m", "0s", "1w", "-1h", "2000d", "1.5h", "10 m", "99999999999s", "5秒"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn turns_that_cost_more_than_is_allowed_are_refused_with_the_shortest_that_fits() {
        let two_percent = Load::of_percent(None);
        assert!(two_percent.check(500.0).is_ok());
        assert!(two_percent.check(499.0).unwrap_err().to_string().contains("--every 8m20s"));
        assert!(Load::of_percent(Some(50.0)).check(20.0).is_ok());
        // A series goes on as often as it was allowed to.
        for every_s in [5.0, 60.0, 70.0, 333.0, 3600.0] {
            assert!(two_percent.at_least_of(every_s).check(every_s.max(TURN_S)).is_ok(), "{every_s}");
        }
        assert_eq!(two_percent.at_least_of(3600.0), two_percent);
        // What a turn used beyond what was expected puts off the next.
        assert_eq!(two_percent.kept_after(Duration::from_secs(20)), Duration::from_secs(1000));
    }
}
