//! Statistics as pure functions: order statistics, intervals, repetition, comparisons of two sides and of groups, outliers, change points.
//!
//! Nothing here knows a probe, a unit or a clock. Values come in one unit and leave in it; an answer that the data
//! do not carry is `None`, never a panic and never a NaN.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod capacity;
pub mod change;
pub mod compare;
pub mod descriptive;
pub mod extreme;
pub mod halves;
pub mod histogram;
pub mod interval;
#[cfg(test)]
mod made_up;
pub mod max_t;
pub mod outlier;
pub mod phases;
pub mod random_effects;
pub mod repetition;
pub mod scalability;
pub mod scale;
pub mod selection;
pub mod steps;
pub mod trend;
