//! Probe virt.cpuid: cpuid inside a guest, which the hypervisor answers.

use crate::workloads::machine::tiny_guest;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    needs: &[Need::Guest],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::virt::CPUID
};

fn measure(case: &mut Case) -> Result<()> {
    if tiny_guest::cpuid().is_none() {
        return Err(RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no cpuid")));
    }
    case.loops(|times| {
        for _ in 0..times {
            std::hint::black_box(tiny_guest::cpuid());
        }
    })
    .time()
}
