//! Probe syscall.null: into the kernel and back with next to nothing done there.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::copies(Profile::Quick)],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
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
