//! Where does it run? A launcher starts a worker somewhere and carries its lines; what they mean is not its business.
#![forbid(unsafe_code)]

pub mod group;
pub mod local;
mod starved;
