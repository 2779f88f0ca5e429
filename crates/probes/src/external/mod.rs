//! Group external: programs of others as loads.

mod command;
mod number;
mod operations;
mod rate;
mod time;

crate::group!("external": command rate time operations number);
