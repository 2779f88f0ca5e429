//! Where the cost of translation rises from one level to the next.

use hostmark_engine::prelude::*;

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
/// How far the number found may be from such a number. Two of them are 11 % apart at least.
const NEAR: f64 = 0.04;
/// The step is followed from here to here, as parts of its height.
const FOOT: f64 = 0.2;
const MIDDLE: f64 = 0.5;

/// Which step of which curve.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    /// The level whose end is sought, from 1.
    pub level: usize,
    /// Pages of the last point.
    pub most: usize,
}

/// The end of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Pages from which on the cost rises.
    pub pages: f64,
    /// Pages of the last point that cost as little as those before.
    pub flat: f64,
    /// What a load costs beyond it, over one that hits the first level, ns.
    pub miss_ns: f64,
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

/// What translation adds to a load, ns.
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
#[path = "reach_tests.rs"]
mod tests;
