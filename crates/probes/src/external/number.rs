//! Probe external.number: a number without a unit that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::ASKED;

pub static PROBE: Probe = Probe {
    title: crate::texts::external::NUMBER.title,
    unit: Unit::Count,
    better: Better::Neither,
    needs: &[Need::CommandValue(Unit::Count)],
    related: &["external.command", "external.time", "external.operations"],
    explain: crate::texts::external::NUMBER.explain,
    ..ASKED
};
