//! Probe memory.migration: pages moved from one memory node to another by move_pages.

use crate::workloads::mappings::movable::Movable;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["memory.numa_latency", "memory.numa_bandwidth", "paging.unmap"],
    axes: &[
        Axis::nodes("nodes"),
        Axis::count("pages", "512", Points::Listed { quick: &["512"], standard: &["1"], thorough: &["64"] }),
    ],
    limit: Limit::CyclesPerOp,
    section: crate::section::NODES,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::memory::MIGRATION
};

fn measure(case: &mut Case) -> Result<()> {
    let (home, away) = super::nodes(case)?;
    let pages: usize = case.param("pages")?;
    case.may_fill(pages.saturating_mul(2 * Pages::Base.bytes()) as u64)?;
    let refused = |error| RoundError::lacking(say!("this process may move no pages"), &error);
    let mut movable = Movable::new(pages)?;
    let settle = |movable: &mut Movable, node: Node| -> Result<()> {
        let is_there = movable.on().map_err(refused)?.into_iter().eq([node.0 as i32]);
        if is_there { Ok(()) } else { Err(super::not_on(node)) }
    };
    case.timed(|clock| {
        movable.move_to(home).map_err(refused)?;
        settle(&mut movable, home)?;
        let start = clock.start();
        let moved = movable.move_to(away);
        let took = clock.end().since(start);
        moved.map_err(refused)?;
        settle(&mut movable, away)?;
        Ok((took, pages as u64))
    })
    .time()
}
