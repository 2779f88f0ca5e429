//! Group external: programs of others as loads.

mod command;

crate::group!("external": command);
