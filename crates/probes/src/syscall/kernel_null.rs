//! Probe syscall.kernel_null: an indirect call of an empty function inside the kernel.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[Axis::bind_elsewhere(), in_kernel::IRQ],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| in_kernel::measure(case, 16, KernelOperation::NullCall)),
    ..crate::texts::syscall::KERNEL_NULL
};
