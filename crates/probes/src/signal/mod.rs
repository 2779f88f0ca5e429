//! Group signal: installing handlers and running them.

mod handle;
mod install;
mod round_trip;

crate::group!("signal": install handle round_trip);
