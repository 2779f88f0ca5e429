//! What a round fills before it measures, by its axes.

use super::Axis;

/// What a number of an axis makes a round fill, in bytes for each of its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Nothing that takes time.
    Nothing,
    /// So much in all, by all threads together.
    InAll(u64),
    /// So much for each thread.
    EachThread(u64),
    /// A chain of as many bytes, by one thread.
    Chain,
}

impl Axis {
    /// The same axis with what a round fills for it.
    pub const fn fills(self, fill: Fill) -> Axis {
        Axis { fill, ..self }
    }
}
