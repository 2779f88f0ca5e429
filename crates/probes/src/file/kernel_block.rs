//! Probe file.kernel_block: 4 KiB at the start of a file are read or overwritten inside the kernel.

use hostmark_engine::prelude::*;

use crate::workloads::machine::kernel_module::KernelOperation;
use crate::{in_kernel, place};

pub static PROBE: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[super::OP, Axis::bind(), in_kernel::IRQ],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["op", "bind"] },
        FullFactorial { from: Profile::Quick, axes: &["op", "irq"] },
    ],
    blocking: true,
    needs: in_kernel::NEEDS,
    measure: Measure::Run(measure),
    ..crate::texts::file::KERNEL_BLOCK
};

fn measure(case: &mut Case) -> Result<()> {
    let operation = if super::is_write(case)? { KernelOperation::FileWrite } else { KernelOperation::FileRead };
    let file = place::on_disk(case)?;
    in_kernel::measure(case, 1, operation(&file))
}
