//! The time since the command was given.

use std::time::{Duration, Instant};

use hostmark_engine::Wall;

/// Counts from when it was made.
#[derive(Debug, Clone, Copy)]
pub struct SinceStart(Instant);

impl SinceStart {
    /// Starts counting.
    #[expect(clippy::disallowed_methods, reason = "bounds the run; nothing is measured with it")]
    pub fn now() -> SinceStart {
        SinceStart(Instant::now())
    }
}

impl Wall for SinceStart {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
