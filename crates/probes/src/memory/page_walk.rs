//! Probe memory.page_walk: what a load pays whose page the TLB does not have, by page size and by what of the page table it needs.

use crate::kernels::chase::{Chain, shuffled};
use crate::workloads::mappings::mapping::Sparse;
use hostmark_engine::prelude::*;

/// Most memory for one huge page that is filled: kernels of large base pages have huge ones of 512 MiB.
const MOST_HUGE_BYTES: usize = 64 << 20;
/// Bytes of an entry of a page table.
const ENTRY_BYTES: usize = 8;
/// Tables that a page takes at most beside its own memory, where it shares none with others.
const TABLES_A_PAGE: usize = 2;
/// Passes after which tables and lines are in a cache that others use too: what a slow pass brings is often gone before the next needs it.
const SETTLING_PASSES: f64 = 20.0;
/// Share of a round's time for settling at most, where each load takes so long, ns, as it does while none of it is in a cache.
const SETTLING_SHARE: f64 = 0.3;
const SLOW_LOAD_NS: f64 = 1000.0;

pub static PROBE: Probe = Probe {
    revision: 3,
    also: &[Quantity::CORE_CYCLES, Quantity::WHOLE, Quantity::OVERHEAD],
    axes: &[
        Axis::choice("page", "base", Points::quick(&["base"]).standard(&["pmd"])),
        Axis::choice("apart", "page", Points::quick(&["page"]).standard(&["table", "directory"])),
        Axis::count(
            "pages",
            "8192",
            Points::quick(&["8192"]).standard(&["1024"]).thorough(&["256", "512", "2048", "4096", "16384"]),
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["page", "apart"] }],
    core_bound: CoreBound::Within(lines_bytes),
    section: super::STRUCTURE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::memory::PAGE_WALK
};

/// Returns the bytes of a line in each page, and of one of each table that it shares with no other; of 64 bytes, as nearly everywhere.
fn lines_bytes(params: &Params) -> Option<f64> {
    let lines = match params.get("apart")? {
        "page" => 1.0,
        "table" => 2.0,
        _ => 3.0,
    };
    Some(params.get("pages")?.parse::<f64>().ok()? * lines * 64.0)
}

fn measure(case: &mut Case) -> Result<()> {
    let (count, apart): (usize, String) = (case.param("pages")?, case.param("apart")?);
    let pages = super::pages(case)?;
    let (base, line) = (Pages::Base.bytes(), case.line_bytes() as usize);
    let places = Places::of(pages, &apart, line)?;
    // Of base pages each takes its own memory and tables, of huge ones its tables.
    case.may_fill(count.saturating_mul((1 + TABLES_A_PAGE) * base) as u64)?;
    let mut packed = case.buffer(count.saturating_mul(line) as u64, Pages::Pmd, None)?;
    let bytes = count.checked_mul(places.apart).and_then(|bytes| bytes.checked_add(places.apart));
    let bytes = bytes.ok_or_else(|| RoundError::not_applicable(say!("there are not so many addresses")))?;
    let unavailable = |error| RoundError::lacking(say!("so many addresses cannot be mapped"), &error);
    let mut spread = match pages {
        Pages::Base => Sparse::base(bytes).map_err(unavailable)?,
        Pages::Pmd if pages.bytes() > MOST_HUGE_BYTES => {
            return Err(RoundError::skipped(ReasonCode::HugePages, say!("pages of this size need gigabytes")));
        }
        Pages::Pmd => {
            let starts = (0..count).map(|page| places.start(page));
            let none = || RoundError::skipped(ReasonCode::HugePages, say!("the kernel gave no huge pages"));
            Sparse::huge(bytes, starts).map_err(unavailable)?.ok_or_else(none)?
        }
    };
    let order = shuffled(count, case.seed());
    let lines: Vec<usize> = order.iter().map(|page| page * line).collect();
    let nodes: Vec<usize> = order.iter().map(|&page| places.start(page) + places.inside(page)).collect();
    let mut packed = Chain::through(packed.bytes_mut(), &lines).map_err(crate::fastest::refused)?;
    let mut spread = Chain::through(spread.bytes_mut(), &nodes).map_err(crate::fastest::refused)?;
    spread.walk(settling_passes(case.grant_ns(), count) * count as u64);
    // A walk through the other lines in between would drive tables and lines out of the caches, and they come back slowly.
    case.loops(|n| spread.walk(n)).beyond(|n| packed.walk(n)).steady().time()
}

/// Passes before anything is measured, one at least.
fn settling_passes(grant_ns: f64, count: usize) -> u64 {
    (SETTLING_SHARE * grant_ns / (count as f64 * SLOW_LOAD_NS)).clamp(1.0, SETTLING_PASSES) as u64
}

/// Layout of the pages in the address space, and of the line in each.
#[derive(Debug, Clone, Copy)]
struct Places {
    page: usize,
    base: usize,
    line: usize,
    apart: usize,
}

impl Places {
    fn of(pages: Pages, apart: &str, line: usize) -> Result<Places> {
        let (page, base) = (pages.bytes(), Pages::Base.bytes());
        let entries = base / ENTRY_BYTES;
        let table = base * entries;
        let apart = match (apart, pages) {
            ("page", _) => page,
            ("table", Pages::Pmd) => {
                return Err(RoundError::not_applicable(say!("a huge page has no page table")));
            }
            ("table", _) => table,
            _ => table
                .checked_mul(entries)
                .ok_or_else(|| RoundError::not_applicable(say!("there are not so many addresses")))?,
        };
        Ok(Places { page, base, line, apart })
    }

    /// Pages apart lie at another entry of each table than the page before, as else all their entries would fall on a few sets of the
    /// caches, and they themselves on one of the TLB.
    fn start(&self, page: usize) -> usize {
        let entries = self.base / ENTRY_BYTES;
        let on = |step: usize| if step < self.apart { page % entries * step } else { 0 };
        let huge = self.base * entries;
        page * self.apart + if self.page == self.base { on(self.base) } else { 0 } + on(huge)
    }

    /// The line of a page: each another one, also where all pages are the same memory. Huge pages that are cut into base pages would
    /// otherwise fall on one set of the TLB.
    fn inside(&self, page: usize) -> usize {
        page * (self.line + if self.page == self.base { 0 } else { self.base }) % self.page
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_walk_settles_as_far_as_the_round_has_time() {
        assert_eq!([1e9, 1e8, 1e6, 0.0].map(|grant_ns| settling_passes(grant_ns, 8192)), [20, 3, 1, 1]);
    }

    #[test]
    fn pages_are_whole_apart_from_each_other_and_have_lines_of_their_own() {
        for (pages, apart) in [
            (Pages::Base, "page"),
            (Pages::Base, "table"),
            (Pages::Base, "directory"),
            (Pages::Pmd, "page"),
            (Pages::Pmd, "directory"),
        ] {
            let places = Places::of(pages, apart, 64).unwrap();
            let page = pages.bytes();
            let starts: Vec<usize> = (0..8192).map(|number| places.start(number)).collect();
            assert!(starts.iter().all(|start| start.is_multiple_of(page)), "{pages:?} {apart}");
            assert!(starts.windows(2).all(|pair| pair[1] >= pair[0] + page), "{pages:?} {apart}");
            assert!(starts.iter().enumerate().all(|(number, start)| start + page <= (number + 1) * places.apart));
            let units: HashSet<usize> = starts.iter().map(|start| start / places.apart).collect();
            assert_eq!(units.len(), 8192, "{pages:?} {apart}");
            let lines: HashSet<usize> = (0..8192).map(|number| places.inside(number)).collect();
            let distinct = if pages == Pages::Base { page / 64 } else { 8192 };
            assert_eq!(lines.len(), distinct, "{pages:?} {apart}");
            assert!(lines.iter().all(|line| line % 64 == 0 && line + 64 <= page));
        }
        assert!(Places::of(Pages::Pmd, "table", 64).is_err());
    }
}
