//! Probes of address translation: the reach of the TLB, the pages that it really holds, and walks of the page table.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{Chain, fastest_ns, shuffled};
use crate::workloads::mappings::mapping::Sparse;

/// A page's node lies this many lines further than that of the page before, so that the caches' sets are used alike.
const LINES_ON: usize = 1;
/// Pages that a curve ends with, by level and kind of page; the huge ones are what 224 MiB hold.
const FIRST_LEVEL_PAGES: usize = 512;
const SECOND_LEVEL_PAGES: usize = 8192;
const HUGE_PAGES: usize = 112;
/// Searches of the first level a sample, of which the furthest counts: whoever shares the core only takes entries away.
const FIRST_LEVEL_SEARCHES: usize = 3;
/// Share of huge pages below which they are not what is measured.
const MOSTLY_HUGE: f64 = 0.9;
/// Loads of a walk at least.
const LOADS: usize = 2048;

/// The pages up to which it costs nothing.
const FLAT: Quantity = Quantity::given("flat", Unit::Count, Better::Higher, term!("no misses up to"));
/// Cost of a load beyond a level.
const MISS: Quantity = Quantity::given("miss", Unit::Nanoseconds, Better::Lower, term!("a miss costs"));

/// Probe memory.tlb: how many pages each level of the TLB reaches, and what a load pays beyond it.
pub static TLB: Probe = Probe {
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
    measure: Measure::Run(measure_tlb),
    ..crate::texts::memory::TLB
};

fn measure_tlb(case: &mut Case) -> Result<()> {
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
    if pages == Pages::Pmd {
        check_huge(&buffer)?;
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

/// Skips where the kernel backed the buffer by other pages than it was asked for.
fn check_huge(buffer: &Buffer) -> Result<()> {
    if buffer.huge_fraction().unwrap_or(0.0) < MOSTLY_HUGE { Err(no_huge_pages()) } else { Ok(()) }
}

fn no_huge_pages() -> RoundError {
    RoundError::skipped(ReasonCode::HugePages, say!("the kernel gave no huge pages"))
}

/// The fewest pages that a curve begins with: no first level is smaller.
const LEAST_PAGES: f64 = 8.0;
/// Points of a curve an octave.
const AN_OCTAVE: f64 = 4.0;
/// Walks of a point of the curve, and of a point on the step.
const TIMES: usize = 4;
const TIMES_ON_STEP: usize = 6;
/// Repeated walks of a point above the step's foot, for few pages and for many: a sharer of the TLB only takes, and not always.
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

/// The number of entries of a TLB nearest to the pages found; none where that is not near: the step is blurred, or entries serve others.
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

/// Lines of the curve's points, and the pages of which each line's is drawn: four times as many, so that no entry covers neighbours.
const LINES: [usize; 3] = [1024, 2048, 4096];
const PAGES_A_LINE: usize = 4;
/// Most memory of each kind that is filled: kernels of large base pages have huge ones of 512 MiB.
const MOST_BYTES: usize = 256 << 20;

/// Cost of address translation to a load in base pages.
const BASE: Quantity = walk("base", term!("translation, base pages"));
/// The same in huge pages.
const HUGE: Quantity = walk("huge", term!("translation, huge pages"));
/// The second over the first.
const SHARE: Quantity = Quantity::given("share", Unit::Ratio, Better::Lower, term!("huge over base"));

const fn walk(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::Nanoseconds, Better::Lower, title)
}

/// Probe memory.effective_page: the pages by which huge pages are really translated, as a hypervisor may cut them up.
pub static EFFECTIVE_PAGE: Probe = Probe {
    unit: Unit::Bytes,
    better: Better::Higher,
    also: &[BASE, HUGE, SHARE],
    limit: Limit::PowerOfTwo,
    // With base pages of 4 KiB.
    fills_bytes: 2 * (LINES[LINES.len() - 1] * PAGES_A_LINE) as u64 * 4096,
    needs: &[Need::HugePages],
    section: super::STRUCTURE,
    measure: Measure::Run(measure_effective_page),
    ..crate::texts::memory::EFFECTIVE_PAGE
};

fn measure_effective_page(case: &mut Case) -> Result<()> {
    let (base_page, line) = (Pages::Base.bytes(), case.line_bytes() as usize);
    let most_pages = LINES[LINES.len() - 1] * PAGES_A_LINE;
    let bytes = (most_pages * base_page).next_multiple_of(Pages::Pmd.bytes());
    if bytes > MOST_BYTES {
        return Err(RoundError::skipped(ReasonCode::HugePages, say!("pages of this size need gigabytes")));
    }
    let mut buffers = [case.buffer(bytes as u64, Pages::Base, None)?, case.buffer(bytes as u64, Pages::Pmd, None)?];
    check_huge(&buffers[1])?;
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

/// Probe memory.page_walk: what a load pays whose page the TLB does not have, by page size and by what of the page table it needs.
pub static PAGE_WALK: Probe = Probe {
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
    measure: Measure::Run(measure_page_walk),
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

fn measure_page_walk(case: &mut Case) -> Result<()> {
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
            Sparse::huge(bytes, starts).map_err(unavailable)?.ok_or_else(no_huge_pages)?
        }
    };
    let order = shuffled(count, case.seed());
    let lines: Vec<usize> = order.iter().map(|page| page * line).collect();
    let nodes: Vec<usize> = order.iter().map(|&page| places.start(page) + places.inside(page)).collect();
    let mut packed = Chain::through(packed.bytes_mut(), &lines)?;
    let mut spread = Chain::through(spread.bytes_mut(), &nodes)?;
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

    /// The line of a page, another for each: huge pages cut into base pages would otherwise share one set of the TLB.
    fn inside(&self, page: usize) -> usize {
        page * (self.line + if self.page == self.base { 0 } else { self.base }) % self.page
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Misses a load over pages that spread evenly over sets of so many ways, the oldest entry going first.
    fn misses(pages: usize, sets: usize, ways: usize) -> f64 {
        let over = (0..sets).map(|set| pages / sets + usize::from(set < pages % sets)).filter(|&in_set| in_set > ways);
        over.sum::<usize>() as f64 / pages as f64
    }

    /// Times of a load with two levels of TLB, the caches' share in both.
    fn machine(first: (usize, usize), second: (usize, usize)) -> impl FnMut(usize, usize) -> Result<(f64, f64)> {
        move |pages, _| {
            let cache = if pages > 512 { 4.5 } else { 1.3 };
            let translation = 2.9 * misses(pages, first.0, first.1) + 15.5 * misses(pages, second.0, second.1);
            Ok((cache + translation, cache))
        }
    }

    #[test]
    fn each_level_ends_at_its_capacity_and_a_miss_costs_what_it_adds_to_a_hit_of_the_first() {
        let found =
            |level, most, first, second| reach(&Curve { level, most }, &mut machine(first, second)).unwrap().unwrap();
        for (first, second) in [((16, 4), (128, 12)), ((1, 64), (1, 2048)), ((16, 6), (256, 8)), ((1, 48), (256, 5))] {
            for (level, most, (sets, ways)) in [(1, 512, first), (2, 8192, second)] {
                let pages = found(level, most, first, second).pages;
                assert!((pages / (sets * ways) as f64 - 1.0).abs() < 0.03, "{pages} of {sets} sets of {ways}");
            }
        }
        assert!((found(1, 512, (16, 4), (128, 12)).miss_ns - 2.9).abs() < 0.1);
        assert!((found(2, 8192, (16, 4), (128, 12)).miss_ns - 18.4).abs() < 0.4);
    }

    #[test]
    fn without_a_step_there_is_no_reach() {
        assert_eq!(reach(&Curve { level: 1, most: 512 }, &mut |_, _| Ok((1.3, 1.3))), Ok(None));
        assert_eq!(reach(&Curve { level: 2, most: 512 }, &mut machine((16, 4), (1, 100_000))), Ok(None));
    }

    #[test]
    fn a_reach_is_the_number_of_entries_that_a_tlb_has_or_none() {
        for (pages, entries) in
            [(95.0, 96.0), (97.0, 96.0), (64.0, 64.0), (73.0, 72.0), (1510.0, 1536.0), (2101.0, 2048.0)]
        {
            assert_eq!(built(pages), Some(entries), "{pages}");
        }
        for pages in [89.0, 110.0, 1700.0, 0.0] {
            assert_eq!(built(pages), None, "{pages}");
        }
    }

    /// A TLB of two levels (entries), each for pages of any size, and what missing them costs.
    struct Machine {
        first: f64,
        second: f64,
        second_ns: f64,
        walk_ns: f64,
    }

    const SERVER: Machine = Machine { first: 64.0, second: 1536.0, second_ns: 2.5, walk_ns: 22.0 };

    impl Machine {
        /// Returns the cost to a load whose lines need so many entries, each used alike and the place of an entry left to chance.
        fn cost(&self, entries: f64) -> f64 {
            let missing = |held: f64| (1.0 - held / entries).max(0.0);
            missing(self.first) * self.second_ns + missing(self.second) * self.walk_ns
        }

        /// The curve over growing spans where the part `small` of the huge pages is backed by small ones, each point off by `noise`.
        fn curve(&self, small: f64, noise: impl Fn(usize) -> f64) -> Vec<Costs> {
            let point = |(index, lines): (usize, &f64)| {
                let huge = lines * 4.0 / 512.0;
                let entries = small * lines + (1.0 - small) * huge;
                Costs {
                    base_ns: self.cost(*lines) + noise(2 * index),
                    huge_ns: self.cost(entries) + noise(2 * index + 1),
                }
            };
            [1024.0, 2048.0, 4096.0].iter().enumerate().map(point).collect()
        }
    }

    #[test]
    fn huge_pages_and_those_that_are_cut_up_are_distinguished_under_noise() {
        let noises: [fn(usize) -> f64; 3] = [|_| 0.0, |index| [1.5, -1.5][index % 2], |index| [-1.5, 1.5][index % 2]];
        let expensive = Machine { walk_ns: 60.0, ..SERVER };
        let large = Machine { second: 3072.0, ..SERVER };
        for machine in [SERVER, expensive, large] {
            for noise in noises {
                let found = |small: f64| verdict(&machine.curve(small, noise)).unwrap();
                assert_eq!((found(0.0).is_huge, found(1.0).is_huge), (Some(true), Some(false)));
                assert!(found(0.0).share < 0.25 && found(1.0).share > 0.6);
            }
        }
        let half = verdict(&SERVER.curve(0.5, |_| 0.0)).unwrap();
        assert!(half.is_huge.is_none() && half.share > 0.25 && half.share < 0.5, "{half:?}");
    }

    #[test]
    fn where_base_pages_cost_nothing_nothing_is_reported() {
        let vast = Machine { second: 1e6, ..SERVER };
        assert_eq!(verdict(&vast.curve(1.0, |_| 0.0)), None);
        assert_eq!(verdict(&[]), None);
        assert_eq!(verdict(&[Costs { base_ns: f64::NAN, huge_ns: 1.0 }]), None);
        // Noise may put huge pages below the lines side by side: they are huge.
        assert_eq!(verdict(&[Costs { base_ns: 20.0, huge_ns: -0.7 }]).unwrap().is_huge, Some(true));
    }

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
