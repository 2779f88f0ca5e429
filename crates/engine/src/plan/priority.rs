//! How much a case tells: the first screen and the curves of bandwidth first, then each probe's default, then the cells of lmbench's tables,
//! then what shorter profiles have.

use std::collections::HashSet;

use hostmark_model::{Params, Profile, Reason, ReasonCode};
use hostmark_say::say;

/// How much a case tells. In the order of worth: what comes first is measured whatever becomes of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// What a person looks at first: the first screen, and the tables of bandwidth and latency by size.
    First,
    /// Its probe's default: no run is without it.
    Default,
    /// A cell of a table that people know.
    Cell,
    /// Any other, by the first profile that has it: what a shorter one measures tells more than what a longer one adds.
    Further(Profile),
}

/// A case that a well-known table shows, by the axes on which it is not at its probe's default.
#[derive(Debug, Clone, Copy)]
pub struct TableCell {
    /// The probe.
    pub probe: &'static str,
    /// Values on axes.
    pub at: &'static [(&'static str, &'static str)],
}

/// The reason of a case for which a run has no time.
pub(crate) fn no_time() -> Reason {
    ReasonCode::TimeBudget.because(say!("time budget"))
}

/// What a case of a probe tells; `shorter`: the probe's cases in the profiles before the plan's own.
pub(super) fn of_case(
    params: &Params,
    base: &Params,
    shorter: &[(Profile, HashSet<Params>)],
    own: Profile,
) -> Priority {
    if params == base {
        return Priority::Default;
    }
    Priority::Further(shorter.iter().find(|(_, cases)| cases.contains(params)).map_or(own, |(profile, _)| *profile))
}
