//! Probe syscall.getpid: the process id, from the kernel by a function or by the bare instruction, and from the C library.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice("way", "syscall", Points::quick(&["syscall", "bare", "libc"]))],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::GETPID
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "libc" => by(case, || std::process::id().into()),
        "bare" => by(case, workloads::bare_getpid),
        _ => by(case, workloads::getpid),
    }
}

/// The time of `ask`, unrolled.
#[inline(always)]
fn by(case: &mut Case, ask: impl Fn() -> u64) -> Result<()> {
    case.loops(|n| {
        for _ in 0..n {
            std::hint::black_box(ask());
        }
    })
    .time()
}
