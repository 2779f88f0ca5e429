//! No more than so many of something within any time of one length.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Remembers the last ones.
#[derive(Debug)]
pub struct RateLimiter {
    most: usize,
    within: Duration,
    times: VecDeque<Instant>,
}

impl RateLimiter {
    /// So many in this time, whenever it begins.
    pub fn of(most: usize, within: Duration) -> RateLimiter {
        RateLimiter { most, within, times: VecDeque::with_capacity(most) }
    }

    /// How long the next one has to wait; none when it need not.
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
}
