//! Probe syscall.select: asking once about many descriptors.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.poll", "syscall.epoll", "net.tcp"],
    axes: &[super::DESCRIPTORS, KIND],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::SELECT
};

/// lmbench's summary has a column for each of the quick ones.
const KIND: Axis =
    Axis { points: Points::Listed { quick: &["tcp", "file"], standard: &["pipe"], thorough: &[] }, ..super::KIND };

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let select = set.select()?;
    let ask = || select.ask();
    case.calls(ask).time()
}
