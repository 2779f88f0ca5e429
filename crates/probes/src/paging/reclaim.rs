//! Probe paging.reclaim: pages that the kernel takes back on request or at a lower limit, and what it costs to have them again.

mod limit;

use super::fault::AGAIN;
use crate::workloads::mappings::mapping::{Mapping, Sharing};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[AGAIN],
    related: &["paging.fault", "paging.unmap", "disk.read"],
    axes: &[Axis::choice(
        "kind",
        "file",
        Points::Listed { quick: &["file"], standard: &["cold", "limit"], thorough: &[] },
    )],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::RECLAIM
};

const BYTES: usize = 4 << 20;

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("kind")?.as_str() {
        "cold" => cold(case),
        "limit" => limit::measure(case),
        _ => clean(case),
    }
}

fn cold(case: &mut Case) -> Result<()> {
    case.may_fill(BYTES as u64)?;
    let page = Pages::Base.bytes();
    case.timed(|clock| {
        let mapping = Mapping::anonymous(BYTES, Pages::Base)?;
        mapping.write_every(page, BYTES);
        let start = clock.start();
        let advised = mapping.deactivate();
        let took = clock.end().since(start);
        advised.map_err(refused)?;
        match mapping.pages_in_memory()? * page {
            BYTES => Ok((took, (BYTES / page) as u64)),
            _ => Err(RoundError::failed(ReasonCode::CheckFailed, say!("pages left memory that were to stay"))),
        }
    })
    .time()
}

/// Takes clean pages of a file back again and again, and touches them.
fn clean(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    let file = crate::place::on_device(case, BYTES as u64)?;
    let mapping = Mapping::file(&file, BYTES, Sharing::Private, false)?;
    let mut again_ns = Vec::new();
    mapping.read_every(page, BYTES);
    case.timed(|clock| {
        let before = mapping.pages_in_memory()?;
        let start = clock.start();
        let reclaimed = mapping.reclaim();
        let took = clock.end().since(start);
        reclaimed.map_err(refused)?;
        let gone = before.saturating_sub(mapping.pages_in_memory()?);
        if 2 * gone < BYTES / page {
            return Err(crate::place::keeps_pages());
        }
        again_ns.push(clock.time(|| mapping.read_every(page, BYTES)) / gone as f64);
        Ok((took, gone as u64))
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}

fn refused(error: std::io::Error) -> RoundError {
    RoundError::lacking(say!("the kernel reclaims no pages on request"), &error)
}
