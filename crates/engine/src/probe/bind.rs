//! The axis of where the one thread of a case is bound.

use super::{Axis, Points};
use crate::case::bind::{BIND, CPU, LAST, NONE};

impl Axis {
    /// Where the thread of a case is bound: nowhere (the default), to CPU 0, which on many hosts serves most interrupts, or to
    /// the last usable CPU; by hand to any. All from the quick profile on.
    pub const fn bind() -> Axis {
        Axis::choice(BIND, NONE, Points::Listed { quick: &[NONE, "0", LAST], standard: &[], thorough: &[] })
    }

    /// The same of a probe whose cases are else bound to the CPU of the plan: that is the default, and the others are measured
    /// from the standard profile on.
    pub const fn bind_elsewhere() -> Axis {
        Axis::choice(BIND, CPU, Points::Listed { quick: &[CPU], standard: &[NONE, "0", LAST], thorough: &[] })
    }

    /// Whether any CPU by its id is a value of it.
    pub(crate) fn takes_a_cpu(&self) -> bool {
        self.name == BIND
    }
}
