//! Probe paging.protect: taking the right to write from a page and giving it back, by running threads.

use hostmark_engine::prelude::*;

use super::THREADS;
use crate::running::beside;
use crate::workloads::mappings::mapping::Mapping;

pub static PROBE: Probe = Probe {
    axes: &[THREADS],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::paging::PROTECT
};

fn measure(case: &mut Case) -> Result<()> {
    let mapping = Mapping::plain(Pages::Base.bytes())?;
    mapping.write_every(1, 1);
    let protect_and_store = || {
        mapping.protect(false)?;
        mapping.protect(true)?;
        mapping.write_every(1, 1);
        std::io::Result::Ok(())
    };
    beside(case, || mapping.read_at(&[0]), |case, _| case.calls(protect_and_store).time())
}
