//! Probe syscall.kernel_null: an indirect call of an empty function inside the kernel.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    related: &["syscall.null", "file.kernel_read", "cpu.kernel_sieve"],
    axes: &[Axis::bind_elsewhere(), in_kernel::IRQ],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::KERNEL_NULL
};

fn measure(case: &mut Case) -> Result<()> {
    in_kernel::measure(case, 16, KernelOperation::NullCall)
}
