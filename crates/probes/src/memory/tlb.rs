//! Probe memory.tlb: how many pages each level of the TLB reaches, and what a load pays beyond it.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

/// A page's node lies this many lines further than that of the page before, so that the caches' sets are used alike.
const LINES_ON: usize = 1;
/// Pages that a curve ends with, by level and kind of page; the huge ones are what 224 MiB hold.
const FIRST_LEVEL_PAGES: usize = 512;
const SECOND_LEVEL_PAGES: usize = 8192;
const HUGE_PAGES: usize = 112;
/// Searches of the first level a sample, of which the one that reaches furthest counts: each is short, and whoever shares the
/// core only takes entries away.
const FIRST_LEVEL_SEARCHES: usize = 3;
/// Share of huge pages below which they are not what is measured.
const MOSTLY_HUGE: f64 = 0.9;
/// Loads of a walk at least.
const LOADS: usize = 2048;

/// The pages up to which it costs nothing.
const FLAT: Quantity = Quantity::given("flat", Unit::Count, Better::Higher, term!("no misses up to"));
/// Cost of a load beyond a level.
const MISS: Quantity = Quantity::given("miss", Unit::Nanoseconds, Better::Lower, term!("a miss costs"));

pub static PROBE: Probe = Probe {
    revision: 3,
    unit: Unit::Count,
    better: Better::Higher,
    also: &[FLAT, MISS],
    axes: &[
        Axis::count("level", "1", Points::quick(&["1", "2"])),
        Axis::choice("page", "base", Points::quick(&["base"]).standard(&["pmd"])),
    ],
    is_structure: true,
    section: super::STRUCTURE,
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
            found = if again.map(|one| one.pages) > found.map(|one: Reach| one.pages) { again } else { found };
        }
        flat.extend(found.map(|found| found.flat));
        miss_ns.extend(found.map(|found| found.miss_ns));
        Ok(found.map(|found| built(found.pages).unwrap_or(found.pages)))
    })?;
    case.also(FLAT.name, flat)?;
    case.also(MISS.name, miss_ns)
}

/// The fewest pages that a curve begins with: no first level is smaller.
const LEAST_PAGES: f64 = 8.0;
/// Points of a curve an octave.
const AN_OCTAVE: f64 = 4.0;
/// Walks of a point of the curve, and of a point on the step.
const TIMES: usize = 4;
const TIMES_ON_STEP: usize = 6;
/// Walks again of a point that seems to be over the step's foot: whoever shares the TLB only takes from it, and not all the
/// time. So many for few pages, and for many.
const TIMES_AGAIN: (usize, usize) = (24, 6);
const FEW_PAGES: usize = 512;
/// Entries of TLBs are a power of two times one of these: 64, 96, 160, 72.
const ODD_PARTS: [f64; 4] = [1.0, 3.0, 5.0, 9.0];
/// Tolerance of the number found to such a number. Two of them are 11 % apart at least.
const NEAR: f64 = 0.04;
/// The step is followed from here to here, as parts of its height.
const FOOT: f64 = 0.2;
const MIDDLE: f64 = 0.5;

/// Curve, and the step of it that is sought.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    /// The level whose end is sought, from 1.
    pub level: usize,
    /// Pages of the last point.
    pub most: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Pages from which on the cost rises.
    pub pages: f64,
    /// Pages of the last point that cost as little as those before.
    pub flat: f64,
    /// Cost of a load beyond it, over one that hits the first level, ns.
    miss_ns: f64,
}

/// Finds the end of a level. `time(pages, times)` gives the time of a load, ns, over so many pages and over as many lines
/// side by side, each the fastest of some walks.
///
/// Where the pages spread evenly over the sets of a TLB that lets the oldest entry go, each page too many makes one more set
/// miss always: from the capacity on the cost rises by a straight line. Its foot is what two points on it point at.
pub fn reach(curve: &Curve, time: &mut impl FnMut(usize, usize) -> Result<(f64, f64)>) -> Result<Option<Reach>> {
    let mut points: Vec<(usize, f64)> = Vec::new();
    let mut hit_ns = f64::INFINITY;
    for pages in sweep(curve.most) {
        let (spread, packed) = time(pages, TIMES)?;
        hit_ns = hit_ns.min(packed);
        points.push((pages, spread - packed));
    }
    // As if each load hit the first cache: what the caches add is in both.
    let latencies: Vec<(f64, f64)> = points.iter().map(|&(pages, ns)| (pages as f64, hit_ns + ns)).collect();
    let levels = plateaus(&latencies);
    let (Some(fits), Some(beyond)) = (levels.get(curve.level - 1), levels.get(curve.level)) else { return Ok(None) };
    let (low, high) = (fits.latency - hit_ns, beyond.latency - hit_ns);
    let mut crossing = |part: f64| -> Result<f64> {
        let target = low + part * (high - low);
        // The last point of a plateau may already be on the step.
        let (mut under, mut over) = (fits.first_size.max(fits.last_size / 2.0) as usize, beyond.first_size as usize);
        let (mut under_ns, mut over_ns) = (low, high);
        while over - under > 1 {
            let pages = usize::midpoint(under, over);
            let mut cost_ns = cost(pages, TIMES_ON_STEP, time)?;
            if cost_ns >= target {
                let again = if pages <= FEW_PAGES { TIMES_AGAIN.0 } else { TIMES_AGAIN.1 };
                cost_ns = cost_ns.min(cost(pages, again, time)?);
            }
            if cost_ns < target {
                (under, under_ns) = (pages, cost_ns);
            } else {
                (over, over_ns) = (pages, cost_ns);
            }
        }
        Ok(under as f64 + ((target - under_ns) / (over_ns - under_ns)).clamp(0.0, 1.0))
    };
    let (foot, middle) = (crossing(FOOT)?, crossing(MIDDLE)?);
    let pages = foot - (middle - foot).max(0.0) * FOOT / (MIDDLE - FOOT);
    Ok((pages >= 1.0).then(|| Reach { pages: pages.round(), flat: fits.last_size, miss_ns: high }))
}

/// The number of entries of a TLB that is built, nearest to the number of pages found; none where that is not near: the step is
/// blurred, or part of the entries serves others.
pub fn built(pages: f64) -> Option<f64> {
    let sizes = (0..13).flat_map(|power| ODD_PARTS.map(|part| part * f64::from(1 << power)));
    sizes
        .min_by(|one, other| (one - pages).abs().total_cmp(&(other - pages).abs()))
        .filter(|size| (size / pages - 1.0).abs() <= NEAR)
}

/// Returns the cost of translation to a load, ns.
fn cost(pages: usize, times: usize, time: &mut impl FnMut(usize, usize) -> Result<(f64, f64)>) -> Result<f64> {
    time(pages, times).map(|(spread, packed)| spread - packed)
}

/// Numbers of pages, evenly in the logarithm, each once.
fn sweep(most: usize) -> Vec<usize> {
    let mut pages: Vec<usize> = (0..)
        .map(|step| LEAST_PAGES * 2_f64.powf(f64::from(step) / AN_OCTAVE))
        .map(|pages| pages.round() as usize)
        .take_while(|&pages| pages <= most)
        .collect();
    pages.dedup();
    pages
}

#[cfg(test)]
#[path = "tlb_tests.rs"]
mod tests;
