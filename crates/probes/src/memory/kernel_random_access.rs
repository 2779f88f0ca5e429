//! Probe memory.kernel_random_access: the accesses of memory.random_access inside the kernel, with interrupts on and off.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

/// Ten thousand accesses are over too soon.
const TIMES: u64 = 16;
const OP: Axis = Axis::choice("op", "read", Points::quick(&["read", "write"]));
const SIZE: Axis =
    Axis::size("size", "67108864", Points::quick(&["67108864"]).standard(&["1048576"]).thorough(&["268435456"]))
        .fills(Fill::InAll(1));

pub static PROBE: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[OP, SIZE, Axis::bind(), in_kernel::IRQ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "bind", "irq"] }],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::SIZE,
    section: super::LATENCY,
    measure: Measure::Run(measure),
    ..crate::texts::memory::KERNEL_RANDOM_ACCESS
};

fn measure(case: &mut Case) -> Result<()> {
    let (bytes, seed) = (case.param("size")?, case.seed());
    case.may_fill(bytes)?;
    let operation = match case.param::<String>("op")?.as_str() {
        "write" => KernelOperation::RandomWrite { bytes, seed },
        _ => KernelOperation::RandomRead { bytes, seed },
    };
    in_kernel::measure(case, TIMES, operation)
}
