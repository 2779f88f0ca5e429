//! Probe syscall.epoll: asking once about many descriptors.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.poll", "syscall.select", "syscall.io_uring"],
    axes: &[super::DESCRIPTORS, KIND],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::EPOLL
};

/// What epoll can watch.
const KIND: Axis =
    Axis { points: Points::Listed { quick: &["tcp"], standard: &["pipe"], thorough: &[] }, ..super::KIND };

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let mut epoll = set.epoll()?;
    let ask = || epoll.ask();
    case.calls(ask).time()
}
