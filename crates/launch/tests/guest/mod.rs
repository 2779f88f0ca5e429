//! Guests that are booted under emulation: they answer, measure, end, and leave nothing.

mod devices;
mod hostile;
mod sessions;
mod spot;
