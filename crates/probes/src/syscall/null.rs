//! Probe syscall.null: into the kernel and back with next to nothing done there.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.getpid", "syscall.byte", "cpu.scaling", "clock.read"],
    axes: &[Axis::copies(Profile::Quick)],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::NULL
};

fn measure(case: &mut Case) -> Result<()> {
    case.loops(|n| {
        for _ in 0..n {
            std::hint::black_box(workloads::getppid());
        }
    })
    .time()
}
