//! Start and supervision of programs elsewhere: their lines are carried, and nothing is left of them. The meaning of the lines is not
//! decided here.
#![forbid(unsafe_code)]

pub mod agent;
pub mod channel;
pub mod group;
pub mod guest;
pub mod guest_session;
pub mod local;
pub mod monitor;
pub mod program;
pub mod relay;
pub mod serve;
pub mod supervise;
pub mod timing;
pub mod transport;
mod transport_error;

pub use local::{Received, ServiceLink, WorkerLink};

#[cfg(test)]
#[path = "../../../tests/support/garbled.rs"]
mod garbled;
#[cfg(test)]
#[path = "../../../tests/support/mutated.rs"]
mod mutated;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
