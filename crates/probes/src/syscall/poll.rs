//! Probe syscall.poll: asking once about many descriptors.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.select", "syscall.epoll"],
    axes: &[super::DESCRIPTORS, super::KIND],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::POLL
};

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let mut poll = set.poll();
    let ask = || poll.ask();
    case.calls(ask).time()
}
