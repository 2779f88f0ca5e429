//! Measurement: clock, calibration, samples, rounds, plan, worker, journal, janitor. Knows no probe by name.
#![deny(unsafe_code)]

/// The macro `term!`, made of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

#[expect(unsafe_code, reason = "reads the counter and runs the chain of adds by their instructions")]
pub mod clock;

mod case;
pub mod estimate;
#[cfg(test)]
mod fixture;
pub mod janitor;
#[cfg(any(test, feature = "tests"))]
pub mod mock;
pub mod plan;
pub mod prelude;
pub mod probe;
mod quantity;
mod record;
mod round_error;
mod run;
pub mod sampling;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
pub mod worker;

pub use clock::Wall;
pub use estimate::estimate;
pub use hostmark_sys as sys;
pub use plan::fit::Eta;
pub use plan::time_budget::largest_buffer;
pub use record::contention::{KernelMeters, Meters, is_contended, others_during};
pub use record::journal::{Header, Journal, Origin, PastRound, PlanLine, ResumeError, RoundSink, Took, line_of};
pub use record::{CaseRounds, Record, Round, RoundResult};
pub use round_error::{Checked, Result, RoundError, reason_of};
pub use run::{Observer, OpenLink, Resource, Results, RunContext, Taken, look_at_memory, run};
pub use sampling::counted::missing as missing_counters;
