//! Probe virt.port: a write to an I/O port inside a guest.

use crate::workloads::machine::tiny_guest::Port;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    needs: &[Need::Guest, Need::Root],
    measure: Measure::Run(measure),
    ..crate::texts::virt::PORT
};

fn measure(case: &mut Case) -> Result<()> {
    let port = Port::open().map_err(|error| RoundError::lacking(say!("the kernel gives no I/O port"), &error))?;
    case.calls(|| port.write()).time()
}
