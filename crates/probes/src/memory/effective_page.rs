//! Probe memory.effective_page: the pages by which huge pages are really translated, as a hypervisor may cut them up.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

/// Lines of the points of the curve, and the pages among which each line's page is drawn: with four times as many pages as lines
/// no entry that covers neighbours in one saves a walk.
const LINES: [usize; 3] = [1024, 2048, 4096];
const PAGES_A_LINE: usize = 4;
const TIMES: usize = 4;
/// Most memory of each kind that is filled: kernels of large base pages have huge ones of 512 MiB.
const MOST_BYTES: usize = 256 << 20;
/// Share of huge pages below which they are not what is measured.
const MOSTLY_HUGE: f64 = 0.9;

/// Cost of address translation to a load in base pages.
const BASE: Quantity = walk("base", term!("translation, base pages"));
/// The same in huge pages.
const HUGE: Quantity = walk("huge", term!("translation, huge pages"));
/// The second over the first.
const SHARE: Quantity = Quantity::given("share", Unit::Ratio, Better::Lower, term!("huge over base"));

const fn walk(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::Nanoseconds, Better::Lower, title)
}

pub static PROBE: Probe = Probe {
    unit: Unit::Bytes,
    better: Better::Higher,
    also: &[BASE, HUGE, SHARE],
    limit: Limit::PowerOfTwo,
    // With base pages of 4 KiB.
    fills_bytes: 2 * (LINES[LINES.len() - 1] * PAGES_A_LINE) as u64 * 4096,
    needs: &[Need::HugePages],
    section: super::STRUCTURE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::EFFECTIVE_PAGE
};

fn measure(case: &mut Case) -> Result<()> {
    let (base_page, line) = (Pages::Base.bytes(), case.line_bytes() as usize);
    let most_pages = LINES[LINES.len() - 1] * PAGES_A_LINE;
    let bytes = (most_pages * base_page).next_multiple_of(Pages::Pmd.bytes());
    if bytes > MOST_BYTES {
        return Err(RoundError::skipped(ReasonCode::HugePages, say!("pages of this size need gigabytes")));
    }
    let mut buffers = [case.buffer(bytes as u64, Pages::Base, None)?, case.buffer(bytes as u64, Pages::Pmd, None)?];
    if buffers[1].huge_fraction().unwrap_or(0.0) < MOSTLY_HUGE {
        return Err(RoundError::skipped(ReasonCode::HugePages, say!("the kernel gave no huge pages")));
    }
    let mut seed = case.seed();
    let (mut base_ns, mut huge_ns, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    case.search(|clock| {
        let mut points = Vec::with_capacity(LINES.len());
        for lines in LINES {
            seed = seed.wrapping_add(1);
            let pages = &shuffled(lines * PAGES_A_LINE, seed)[..lines];
            // A line of each page by chance, so that the sets of the caches are used alike in both kinds of memory.
            let of_page = shuffled(lines * PAGES_A_LINE, !seed);
            let spread: Vec<usize> =
                pages.iter().map(|&page| page * base_page + of_page[page] % (base_page / line) * line).collect();
            let packed: Vec<usize> = shuffled(lines, seed).into_iter().map(|node| node * line).collect();
            let mut cost = |buffer: usize| -> Result<f64> {
                let mut time =
                    |offsets: &[usize]| fastest_ns(clock, buffers[buffer].bytes_mut(), offsets, lines, TIMES);
                Ok(time(&spread)? - time(&packed)?)
            };
            points.push(Costs { base_ns: cost(0)?, huge_ns: cost(1)? });
        }
        let Some(found) = verdict(&points) else { return Ok(None) };
        base_ns.push(found.costs.base_ns);
        huge_ns.push(found.costs.huge_ns);
        shares.push(found.share);
        Ok(found.is_huge.map(|is_huge| if is_huge { Pages::Pmd } else { Pages::Base }.bytes() as f64))
    })?;
    case.also(BASE.name, base_ns)?;
    case.also(HUGE.name, huge_ns)?;
    case.also(SHARE.name, shares)
}

/// Base pages must cost this much, ns, or nothing is told: a walk takes 10 at least, a miss of the first level 2.
const LEAST_WALK_NS: f64 = 5.0;
/// Huge pages that cost this share of what base pages cost, or less, are translated as huge ones …
const HUGE_SHARE: f64 = 0.25;
/// … and those that cost this share of it, or more, as small ones.
const SMALL: f64 = 0.5;

/// Cost of translation to a load over as many pages of either kind of memory, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    pub base_ns: f64,
    pub huge_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveVerdict {
    /// The costs at the point where base pages are dearest.
    pub costs: Costs,
    /// The second over the first.
    pub share: f64,
    /// True where huge pages are translated as such; `None` where part of them is.
    is_huge: Option<bool>,
}

/// Returns the verdict of a curve's points; `None` where base pages cost too little to tell anything by.
pub fn verdict(points: &[Costs]) -> Option<CurveVerdict> {
    let costs = *points.iter().max_by(|one, other| one.base_ns.total_cmp(&other.base_ns))?;
    let share = costs.huge_ns / costs.base_ns;
    let is_huge = match share {
        _ if share <= HUGE_SHARE => Some(true),
        _ if share >= SMALL => Some(false),
        _ => None,
    };
    (costs.base_ns >= LEAST_WALK_NS && share.is_finite()).then_some(CurveVerdict { costs, share, is_huge })
}

#[cfg(test)]
#[path = "effective_page_tests.rs"]
mod tests;
