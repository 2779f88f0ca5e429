//! Probe clock.read: what one reading of a clock costs.

use hostmark_engine::prelude::*;

use crate::workloads::machine::timer::ClockSource;

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[super::sources(&["tsc", "monotonic", "syscall"], &["monotonic_raw"])],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::clock::READ
};

fn measure(case: &mut Case) -> Result<()> {
    let source = super::source(case)?;
    // Told apart outside of the loop, so that only the reading is inside.
    match source {
        ClockSource::Counter => case.loops(|n| read_n(n, || ClockSource::Counter.read())).time(),
        ClockSource::Monotonic => case.loops(|n| read_n(n, || ClockSource::Monotonic.read())).time(),
        ClockSource::MonotonicRaw => case.loops(|n| read_n(n, || ClockSource::MonotonicRaw.read())).time(),
        ClockSource::Syscall => case.loops(|n| read_n(n, || ClockSource::Syscall.read())).time(),
    }
}

#[inline(always)]
fn read_n(n: u64, read: impl Fn() -> u64) {
    for _ in 0..n {
        std::hint::black_box(read());
    }
}
