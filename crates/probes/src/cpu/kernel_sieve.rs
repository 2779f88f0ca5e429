//! Probe cpu.kernel_sieve: the sieve of cpu.sieve inside the kernel, with interrupts on and off.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    axes: &[Axis::bind(), in_kernel::IRQ],
    full_factorial: in_kernel::FULL_FACTORIAL,
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| in_kernel::measure(case, 1, KernelOperation::Sieve)),
    ..crate::texts::cpu::KERNEL_SIEVE
};
