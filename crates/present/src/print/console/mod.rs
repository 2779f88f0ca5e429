//! A document in a terminal.

pub(crate) mod grid;
pub(crate) mod page;
