//! How is it measured? Clock, calibration, samples, rounds, plan, worker, journal, janitor. Knows no probe by name.
#![warn(missing_docs)]
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "reads the counter and runs the chain of adds by their instructions")]
pub mod clock;

mod allotment;
mod arena;
mod bind;
mod case;
mod choice;
mod contention;
mod copies;
mod core_monitor;
mod counter_blocks;
mod cpu;
mod derived;
mod difference;
mod estimate;
mod eta;
pub mod far;
mod fit;
#[cfg(test)]
mod fixture;
mod free_running;
mod gate;
pub mod janitor;
mod job;
mod journal;
mod last_cache;
mod latencies;
mod lockstep;
#[cfg(any(test, feature = "tests"))]
pub mod mock;
pub mod outcomes;
mod patience;
pub mod plan;
pub mod prelude;
pub mod probe;
mod quantity;
mod quiet;
mod record;
pub mod reestimate;
mod resource_limits;
mod round_error;
mod run;
mod sample;
mod sampler;
pub mod service;
mod serving;
mod session;
mod setup;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
pub mod threads;
mod time_budget;
mod totals;
mod vote;
mod wall;
pub mod worker;

pub use contention::{KernelMeters, Meters};
pub use estimate::estimate;
pub use eta::Eta;
pub use hostmark_sys as sys;
pub use journal::{Header, Journal, Origin, PastRound, PlanLine, ResumeError, RoundSink, Took, line_of};
pub use record::{CaseRounds, Record, Round, RoundResult};
pub use round_error::{Checked, Result, RoundError};
pub use run::{Observer, OpenLink, Resource, Results, Setting, Taken, run};
pub use time_budget::largest_buffer;
pub use wall::Wall;
