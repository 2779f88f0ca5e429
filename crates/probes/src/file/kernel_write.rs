//! Probe file.kernel_write: 4 KiB at the start of a file are overwritten inside the kernel.

use hostmark_engine::prelude::*;

use crate::workloads::machine::kernel_module::KernelOperation;
use crate::{in_kernel, place};

pub static PROBE: Probe = Probe {
    also: Quantity::OF_BATCHES,
    axes: &[Axis::bind(), in_kernel::IRQ],
    blocking: true,
    needs: in_kernel::NEEDS,
    measure: Measure::Run(measure),
    ..crate::texts::file::KERNEL_WRITE
};

fn measure(case: &mut Case) -> Result<()> {
    let file = place::on_disk(case)?;
    in_kernel::measure(case, 1, KernelOperation::FileWrite(&file))
}
