//! Probe memory.tlb: how many pages each level of the TLB reaches, and what a load pays beyond it.

use crate::kernels::chase::{fastest_ns, shuffled};
use hostmark_engine::prelude::*;

mod reach;

use reach::{Curve, reach};

/// A page's node lies this many lines further than that of the page before, so that the caches' sets are used alike.
const LINES_ON: usize = 1;
/// Pages that a curve ends with, by level and kind of page; the huge ones are what 224 MiB hold.
const FIRST_LEVEL_PAGES: usize = 512;
const SECOND_LEVEL_PAGES: usize = 8192;
const HUGE_PAGES: usize = 112;
/// Searches of the first level a sample, of which the one that reaches furthest counts: each is short, and whoever shares the
/// core only takes entries away.
const FIRST_LEVEL_SEARCHES: usize = 3;
/// Below this share of huge pages they are not what is measured.
const MOSTLY_HUGE: f64 = 0.9;
/// Loads of a walk at least.
const LOADS: usize = 2048;

/// The pages up to which it costs nothing.
const FLAT: Quantity = Quantity::given("flat", Unit::Count, Better::Higher, term!("flat to"));
/// What a load pays beyond a level.
const MISS: Quantity = Quantity::given("miss", Unit::Nanoseconds, Better::Lower, term!("cost of a miss"));

pub static PROBE: Probe = Probe {
    revision: 3,
    unit: Unit::Count,
    better: Better::Higher,
    also: &[FLAT, MISS],
    related: &["memory.latency", "memory.hierarchy", "paging.fault", "memory.random_access"],
    axes: &[
        Axis::count("level", "1", Points::Listed { quick: &["1", "2"], standard: &[], thorough: &[] }),
        Axis::choice("page", "base", Points::Listed { quick: &["base"], standard: &["pmd"], thorough: &[] }),
    ],
    replaces: &["tlb"],
    is_structure: true,
    section: crate::section::STRUCTURE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::TLB
};

fn measure(case: &mut Case) -> Result<()> {
    let level: usize = case.param("level")?;
    let pages = super::pages(case)?;
    let most = match (level, pages) {
        (1, Pages::Base) => FIRST_LEVEL_PAGES,
        (2, Pages::Base) => SECOND_LEVEL_PAGES,
        (1, Pages::Pmd) => HUGE_PAGES,
        (2, Pages::Pmd) => {
            return Err(RoundError::skipped(
                ReasonCode::HugePages,
                say!("as many huge pages as a second level holds are gigabytes"),
            ));
        }
        _ => {
            return Err(RoundError::skipped(
                ReasonCode::Hardware,
                say!("the page table is walked beyond the second level"),
            ));
        }
    };
    let page = pages.bytes();
    let mut buffer = case.buffer((most * page) as u64, pages, None)?;
    if pages == Pages::Pmd && buffer.huge_fraction().unwrap_or(0.0) < MOSTLY_HUGE {
        return Err(RoundError::skipped(ReasonCode::HugePages, say!("the kernel gave no huge pages")));
    }
    let line = case.line_bytes() as usize;
    // Huge pages that are cut into base pages would otherwise all fall on one set of the TLB.
    let on = LINES_ON * line + if pages == Pages::Pmd { Pages::Base.bytes() } else { 0 };
    let mut seed = case.seed();
    let (mut flat, mut miss_ns) = (Vec::new(), Vec::new());
    case.search(|clock| {
        let mut time = |nodes: usize, spread: bool, times: usize| -> Result<f64> {
            seed = seed.wrapping_add(1);
            let place = |node: usize| if spread { node * page + node * on % page } else { node * line };
            let offsets: Vec<usize> = shuffled(nodes, seed).into_iter().map(place).collect();
            fastest_ns(clock, buffer.bytes_mut(), &offsets, nodes.max(LOADS), times)
        };
        let curve = Curve { level, most };
        let mut time = |nodes, times| Ok((time(nodes, true, times)?, time(nodes, false, times)?));
        let mut found = None;
        for _ in 0..if level == 1 { FIRST_LEVEL_SEARCHES } else { 1 } {
            let again = reach(&curve, &mut time)?;
            found = if again.map(|one| one.pages) > found.map(|one: reach::Reach| one.pages) { again } else { found };
        }
        flat.extend(found.map(|found| found.flat));
        miss_ns.extend(found.map(|found| found.miss_ns));
        Ok(found.map(|found| reach::built(found.pages).unwrap_or(found.pages)))
    })?;
    case.also(FLAT.name, flat)?;
    case.also(MISS.name, miss_ns)
}
