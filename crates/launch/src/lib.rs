//! Where does it run? Whoever is started somewhere is supervised here: its lines are carried, and nothing is left of it. What
//! the lines mean is not decided here.
#![forbid(unsafe_code)]

pub mod agent;
pub mod channel;
mod copy_in;
pub mod crowd;
pub mod dial;
pub mod group;
pub mod guest;
pub mod guest_channel;
pub mod guest_session;
pub mod ignored;
pub mod link;
pub mod link_speed;
pub mod local;
pub mod monitor;
pub mod program;
mod relay;
pub mod serve;
mod starved;
pub mod supervise;
pub mod timing;
pub mod token;
pub mod transport;
mod transport_error;

pub use link::{Received, ServiceLink, WorkerLink};

#[cfg(test)]
#[path = "../../../tests/support/mutated.rs"]
mod mutated;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
