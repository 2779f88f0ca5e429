//! Group clock: what reading the time costs and can tell apart.

mod r#loop;
mod read;
mod resolution;
mod sleep;

crate::group!("clock", shares_worker true: read resolution r#loop sleep);

use hostmark_engine::prelude::{Axis, Case, Points, ReasonCode, Result, RoundError, Text, say};

use crate::workloads::machine::timer::ClockSource;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Clocks");

/// Axis source: the kernel's clock as programs read it, and those beside it that have cases in the profiles named.
const fn sources(quick: &'static [&'static str], standard: &'static [&'static str]) -> Axis {
    Axis::choice("source", "monotonic", Points::quick(quick).standard(standard))
}

/// The clock that the case's axis `source` names.
fn source(case: &Case) -> Result<ClockSource> {
    let name: String = case.param("source")?;
    let source = ClockSource::of_name(&name).ok_or_else(|| RoundError::internal(say!("there is no clock '{name}'")))?;
    match source.is_readable() {
        true => Ok(source),
        false => {
            Err(RoundError::skipped(ReasonCode::Permission, say!("reading the counter is forbidden to this process")))
        }
    }
}
