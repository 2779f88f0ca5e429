//! Kernel side shared by several groups: the axis `irq`, its needs, and the calls to the module.

use hostmark_engine::prelude::*;
use rustix::io::Errno;

use crate::kernels::arith::PRIMES;
use crate::workloads::machine::kernel_module::{Interrupts, KernelModule, KernelOperation};

/// Axis irq: whether the CPU takes interrupts while it measures.
pub const IRQ: Axis = Axis::choice("irq", "on", Points::quick(&["on", "off"]));
/// Axes measured at every combination from the standard profile on.
pub const FULL_FACTORIAL: &[FullFactorial] = &[FullFactorial { from: Profile::Standard, axes: &["bind", "irq"] }];
/// The module, and root, who alone may open its device.
pub const NEEDS: &[Need] = &[Need::Module, Need::Root];
/// Reason why files are not accessed with interrupts off.
pub fn files_wait() -> Message {
    say!(
        "an access to a file may wait for its disk, which answers by an interrupt: with interrupts off it would wait for ever, \
         and the module refuses it"
    )
}

/// Has the module do `operation` in batches of `times` ten thousand, on the CPU that the case is bound to.
pub fn measure(case: &mut Case, times: u64, operation: KernelOperation<'_>) -> Result<()> {
    let interrupts = match case.param::<String>("irq")?.as_str() {
        "off" => Interrupts::Off,
        _ => Interrupts::On,
    };
    let module = KernelModule::open().or_unable(ReasonCode::Kernel, || say!("the module hostmark cannot be used"))?;
    let is_file = matches!(operation, KernelOperation::FileRead(_) | KernelOperation::FileWrite(_));
    if is_file && interrupts == Interrupts::Off {
        // Not on our word: the module is asked.
        return match module.batch(operation, interrupts, 1, 0) {
            Err(error) if sys::call::errno(&error) == Some(Errno::OPNOTSUPP.raw_os_error()) => {
                Err(RoundError::not_applicable(files_wait()))
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err(RoundError::wrong(say!(
                "the module accessed a file with interrupts off, which may hang the machine"
            ))),
        };
    }
    let is_sieve = matches!(operation, KernelOperation::Sieve);
    let batches = case.timed_batches(|clock, operations, most_ns| {
        let (batch, primes) = module.batch(operation, interrupts, times * operations, most_ns as u64)?;
        if is_sieve && primes != PRIMES as u64 {
            return Err(RoundError::wrong(say!("the module found {primes} primes below 10^6, not {PRIMES}")));
        }
        // The counter is the same in user space and inside the kernel.
        let ticks = match clock {
            Clock::Counter { .. } => Ticks(batch.cycles),
            _ => clock.ticks(batch.ns as f64),
        };
        Ok((ticks, batch.operations))
    });
    // A sieve is a rate of whole sieves.
    if is_sieve { batches.rate(1) } else { batches.time() }
}
