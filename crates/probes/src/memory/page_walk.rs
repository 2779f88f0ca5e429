//! Probe memory.page_walk: what a load pays whose page the TLB does not have, by page size and by what of the page table it needs.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{Chain, shuffled};
use crate::workloads::mappings::sparse::Sparse;

/// More memory than this for one huge page is not filled: kernels of large base pages have huge ones of 512 MiB.
const MOST_HUGE_BYTES: usize = 64 << 20;
/// Bytes of an entry of a page table.
const ENTRY_BYTES: usize = 8;
/// Tables that a page takes at most beside its own memory, where it shares none with others.
const TABLES_A_PAGE: usize = 2;
/// Passes after which tables and lines are in a cache that others use too: what a slow pass brings is often gone before the next needs it.
const SETTLING_PASSES: f64 = 20.0;
/// They take so much of a round's time at most, where each load takes so long, ns, as it does while none of it is in a cache.
const SETTLING_SHARE: f64 = 0.3;
const SLOW_LOAD_NS: f64 = 1000.0;

pub static PROBE: Probe = Probe {
    title: Text { en: "Page walk", zh: "页表遍历" },
    revision: 3,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, Quantity::WHOLE, Quantity::OVERHEAD],
    explain: Explain {
        what: Text {
            en: "A random chain of dependent loads visits one line in each of `pages` pages; the time of a load through as many lines side \
                 by side in one huge page is taken away. Both sets of lines lie in the same cache, so translation alone is left. The walk is settled \
                 first, and goes on without a pause. \
                 apart=page: neighbours in the address space. table: each in a page table of its own, 2 MiB apart with 4 KiB pages. \
                 directory: each in a page directory of its own, 1 GiB apart. page=pmd maps the same huge page of memory at all \
                 places, so 2 MiB of memory suffice for thousands of entries.",
            zh: "随机的依赖加载链在 `pages` 个页中各访问一行，再减去在一个大页中访问同样多的相邻行时每次加载的时间。两组行位于同一级缓存，因此只剩地址转\
                 换。遍历先达到稳定，之后不停顿。apart=page：页在地址空间中相邻；table：每页各在一张页表中，4 KiB 页时相距 2 MiB；directory：每页各在一张页目录中，相距 1 GiB。\
                 page=pmd 把同一个大页映射到所有位置，因此只用 2 MiB 内存就能占用数千个表项。",
        },
        why: Text {
            en: "Databases, hash tables and virtual machines touch more pages than the TLB holds, and each miss is a walk. How much of \
                 the page table the walk still needs decides its price: neighbours share lines and upper levels of the table, scattered \
                 mappings do not.",
            zh: "数据库、散列表和虚拟机访问的页多于 TLB 的容量，每次未命中都要遍历页表。遍历还需要读多少级页表决定代价：相邻页共用页表的行和上级表项，分散的映\
                 射则不能。",
        },
        reading: Text {
            en: "8192 pages are more than second-level TLBs have: the value is a walk. 1024 pages fit most of them: the value is a hit \
                 of the second level. table over page: lines of the table that neighbours no longer share. directory over table: one \
                 level more, beyond the cache of page walks. pmd below base: one level less. In a guest each level is translated \
                 too, and if the host backs huge pages with small ones, the TLB holds them as small ones (memory.effective_page); \
                 the one huge page makes the host's part cheaper there than that of real memory.",
            zh: "8192 个页超过二级 TLB 的容量，数值就是一次遍历；1024 个页多半放得下，数值就是二级 TLB 命中。table 高出 page 的部分：相邻页不再共用的页表\
                 行。directory 高出 table 的部分：多读一级，超出了页表遍历缓存。pmd 低于 base：少一级。虚拟机里每一级本身也要转换；宿主机若用小页支撑大\
                 页，TLB 中存的就是小页（memory.effective_page）；由于只有一个大页，宿主机那部分比真实内存便宜。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18; its host backs memory with small pages): 1024 \
                 pages 2.2 ns (8 cycles) for base and huge pages, 2.8 for directory; 8192 pages 22 to 32 ns for base pages side \
                 by side, 57 to 74 for table, 90 to 100 for directory at best; huge pages 11.5 to 12.1 ns, 46 to 47 for directory. Each \
                 is several times that while other guests push the tables out of the last cache, where lines stay for 2 to 10 ms: a pass of \
                 directory that takes 0.8 ms still finds them, one of 5 ms does not, so it remains at 90 to 100 ns a load or at 600. AMD's \
                 manual for the design has 3072 entries, published tests 7 cycles more for the second level.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18；宿主机用小页支撑内存）上实测：1024 个页时，基本页与大页均为 2.2 ns（8 个\
                 周期），directory 为 2.8；8192 个页时，相邻的基本页 22 到 32 ns，table 57 到 74，directory 最好时 90 到 100；大页 11.5 到 12.1 ns，directory 46 到 47。\
                 其他虚拟机把页表挤出末级缓存时，各为其数倍：缓存行在那里只留 2 到 10 ms，directory 走一遍若用 0.8 ms，页表还在，若用 5 ms，则已不在，所以会停留在每次加载 \
                 90 到 100 ns，或停留在 600 ns。AMD 手册：该设计二级 TLB 3072 项；公开测试多 7 个周期。",
        },
        causes: Text {
            en: "A guest without huge pages on its host: up to 24 reads a walk instead of 4. Five levels of page tables. Page tables on \
                 another node, or pushed out of the caches by data; a sibling thread that shares the TLB.",
            zh: "宿主机没有为虚拟机使用大页：每次遍历最多读 24 次而不是 4 次；五级页表；页表在另一节点上，或被数据挤出缓存；兄弟线程共用 TLB。",
        },
    },
    related: &["memory.tlb", "memory.effective_page", "memory.latency"],
    axes: &[
        Axis::choice("page", "base", Points::Listed { quick: &["base"], standard: &["pmd"], thorough: &[] }),
        Axis::choice(
            "apart",
            "page",
            Points::Listed { quick: &["page"], standard: &["table", "directory"], thorough: &[] },
        ),
        Axis::count(
            "pages",
            "8192",
            Points::Listed {
                quick: &["8192"],
                standard: &["1024"],
                thorough: &["256", "512", "2048", "4096", "16384"],
            },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["page", "apart"] }],
    core_bound: CoreBound::Within(lines_bytes),
    section: crate::section::STRUCTURE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A line in each page, and one of each table that the page shares with no other. Of 64 bytes each, as on nearly every machine.
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
    let bytes =
        bytes.ok_or_else(|| RoundError::skipped(ReasonCode::NotApplicable, "there are not so many addresses"))?;
    let unavailable = |error| RoundError::lacking("so many addresses cannot be mapped", &error);
    let mut spread = match pages {
        Pages::Base => Sparse::base(bytes).map_err(unavailable)?,
        Pages::Pmd if pages.bytes() > MOST_HUGE_BYTES => {
            return Err(RoundError::skipped(ReasonCode::HugePages, "pages of this size need gigabytes"));
        }
        Pages::Pmd => {
            let starts = (0..count).map(|page| places.start(page));
            let none = || RoundError::skipped(ReasonCode::HugePages, "the kernel gave no huge pages");
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

/// Where pages lie in the address space, and the line of each.
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
                return Err(RoundError::skipped(ReasonCode::NotApplicable, "a huge page has no page table"));
            }
            ("table", _) => table,
            _ => table
                .checked_mul(entries)
                .ok_or_else(|| RoundError::skipped(ReasonCode::NotApplicable, "there are not so many addresses"))?,
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
