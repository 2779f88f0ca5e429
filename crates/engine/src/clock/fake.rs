//! A clock that moves when a test says so, so that the whole engine can be tested exactly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock in nanoseconds; its clones are one clock. Every reading costs [`FakeClock::new`]'s `cost_ns`.
#[derive(Debug, Clone, Default)]
pub struct FakeClock {
    now_ns: Arc<AtomicU64>,
    cost_ns: u64,
}

impl FakeClock {
    /// A clock at 0 whose readings take `cost_ns` each.
    pub fn new(cost_ns: u64) -> FakeClock {
        FakeClock { now_ns: Arc::default(), cost_ns }
    }

    /// Lets `ns` nanoseconds pass.
    pub fn advance(&self, ns: u64) {
        self.now_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Reads the clock, which takes its cost.
    pub fn read(&self) -> u64 {
        self.now_ns.fetch_add(self.cost_ns, Ordering::Relaxed) + self.cost_ns
    }
}
