//! Probe paging.collapse: base pages made into one huge page (MADV_COLLAPSE), by how many of them there are.

use crate::workloads::mappings::mapping::Mapping;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[Axis::count("pages", "512", Points::quick(&["512", "1"]).thorough(&["64"]))],
    limit: Limit::KernelEntry,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::COLLAPSE
};

fn measure(case: &mut Case) -> Result<()> {
    let (page, huge) = (Pages::Base.bytes(), Pages::Pmd.bytes());
    let pages = case.param::<usize>("pages")?.min(huge / page);
    case.may_have_huge_pages()?;
    case.may_fill(huge as u64)?;
    let faults = |work: &dyn Fn()| -> Result<u64> {
        let before = sys::usage::thread_faults()?.minor;
        work();
        Ok(sys::usage::thread_faults()?.minor - before)
    };
    let collapse = |clock: &Clock| -> Result<Ticks> {
        let mapping = Mapping::anonymous(huge, Pages::Pmd)?;
        mapping.want_huge_pages(false)?;
        if faults(&|| mapping.write_every(page, pages * page))? < pages as u64 {
            return Err(RoundError::wrong(say!("base pages came together")));
        }
        mapping.want_huge_pages(true)?;
        let start = clock.start();
        let collapsed = mapping.collapse();
        let took = clock.end().since(start);
        collapsed.map_err(|error| RoundError::lacking(say!("the kernel makes no huge page of base pages"), &error))?;
        match faults(&|| mapping.write_every(page, huge))? as usize {
            // What else this thread touches first meanwhile may fault as well.
            faults if faults >= (huge / page - pages).div_ceil(2).max(8) => {
                Err(RoundError::wrong(say!("it is still in base pages")))
            }
            _ => Ok(took),
        }
    };
    case.timed(collapse).singly().time()
}
