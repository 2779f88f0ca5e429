//! Absence of such a guest of Arm cores.

use std::io;

use hostmark_engine::prelude::ReasonCode;
use hostmark_engine::prelude::say;

use super::{ExitCause, Pass};
use crate::workloads::call::fault;

/// A guest that is made nowhere.
#[derive(Debug)]
pub enum TinyGuest {}

impl TinyGuest {
    pub fn new(_: ExitCause) -> io::Result<TinyGuest> {
        Err(fault(ReasonCode::Architecture, say!("the guest's instructions are those of x86_64")))
    }

    pub fn pass(&mut self, _: Pass) -> io::Result<()> {
        match *self {}
    }

    pub fn is_nested(&self) -> bool {
        match *self {}
    }
}
