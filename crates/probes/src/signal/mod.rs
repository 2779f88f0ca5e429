//! Group signal: installing handlers and running them.

mod handle;
mod install;

crate::group!("signal": install handle);
