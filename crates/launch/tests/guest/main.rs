//! Guests that are booted under emulation: they answer, measure, end, and leave nothing.

mod boots;
#[path = "../../../../tests/support/skip.rs"]
mod skip;
mod spot;
