//! There is no such guest of Arm cores.

use std::io;

use super::{Cause, Pass};

/// A guest that is made nowhere.
#[derive(Debug)]
pub enum TinyGuest {}

impl TinyGuest {
    /// Says that there is none.
    pub fn new(_: Cause) -> io::Result<TinyGuest> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "the guest's instructions are those of x86_64"))
    }

    /// Has nobody to let run.
    pub fn pass(&mut self, _: Pass) -> io::Result<()> {
        match *self {}
    }

    /// The same.
    pub fn is_nested(&self) -> bool {
        match *self {}
    }
}
