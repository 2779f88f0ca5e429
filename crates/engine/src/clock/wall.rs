//! The time of a run, from which its limit is counted.

use std::time::Duration;

/// The time since the run's command was given: the hard limit counts from there.
pub trait Wall {
    /// How long that is by now.
    fn elapsed(&self) -> Duration;
}
