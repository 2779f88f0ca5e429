//! Probe memory.tlb: how many pages each level of the TLB reaches, and what a load pays beyond it.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

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
const FLAT: Quantity = Quantity::given("flat", Unit::Count, Better::Higher, Text { en: "flat to", zh: "平坦至" });
/// What a load pays beyond a level.
const MISS: Quantity =
    Quantity::given("miss", Unit::Nanoseconds, Better::Lower, Text { en: "cost of a miss", zh: "未命中代价" });

pub static PROBE: Probe = Probe {
    title: Text { en: "TLB reach", zh: "TLB 覆盖的页数" },
    revision: 3,
    unit: Unit::Count,
    better: Better::Higher,
    also: &[FLAT, MISS],
    explain: Explain {
        what: Text {
            en: "A chain of dependent loads visits one line in each of n pages in random order, at a different offset \
                 in every page. The same number of lines packed side by side is timed too; the difference is the cost \
                 of address translation. n grows; the value is the number of pages at which that cost starts to rise \
                 to the next level, the largest that repeats: others only take entries away. level=1 finds the end of the first-level TLB; level=2 the end of the second, \
                 beyond which the CPU walks the page table. A result within 4 % of a size that TLBs really have (64, \
                 72, 80, 96 and their powers-of-two multiples) is rounded to it; any other stays as it was seen. `flat` is \
                 the last number of pages up to which the cost had not risen. The cost of a miss is the extra time of a load beyond the level, compared with a first-level \
                 hit.",
            zh: "相关加载链以随机顺序访问 n 个页，每页一行、页内偏移各不相同；再测同样数目但紧密排列的行，两者之差就是地址转换的代价。n 逐步\
                 增大，数值是代价开始升向下一级时的页数，取能重复得到的最大值：他人只会占去一部分。level=1 止于一级 TLB 的尽头，level=2 止于二级 TLB 的尽头，此后要遍历页表。测得的页数\
                 若与某个实际存在的 TLB 项数（64、72、80、96 及其 2 的幂倍）相差不超过 4%，即取该项数，否则保留所见的页数。\
                 `flat` 是代价尚未上升的最后页数。未命中代价是超出\
                 该级后一次加载比命中一级 TLB 多花的时间。",
        },
        why: Text {
            en: "Beyond 64 pages (256 KiB with 4 KiB pages) each load waits for the second level; beyond some 1500 to \
                 3000 pages (6 to 12 MiB) it waits for a page walk, even if the data itself is cached. Huge pages \
                 reach 512 times as far.",
            zh: "超过 64 页（4 KiB 页时为 256 KiB），每次加载都要等二级 TLB；超过约 1500 到 3000 页（6 到 12 MiB）就要遍历页表，哪怕数据本身都在\
                 缓存里。大页的覆盖范围是其 512 倍。",
        },
        reading: Text {
            en: "Beyond the first level each load waits for the second; beyond that for a page walk. In a guest each \
                 walk goes through two page tables. If the host backs a guest's huge pages with small ones, the TLB \
                 splits its entries: page=pmd then reaches no further than page=base. At level=2 page tables, the cache of \
                 page walks and the hypervisor's own pages blur the step: the number can lie well under the TLB's own, \
                 and only where it is one that TLBs have does it say how many entries there are.",
            zh: "一级结束处每次加载要等二级，二级结束处要等页表遍历。虚拟机里每次遍历要走两层页表；若宿主用小页支撑虚拟机的大页，表项会被拆成小页，此时 page=pmd 能覆盖的页\
                 数与 page=base 一样少。level=2 处，页表、页表遍历缓存与宿主机自己的页会使台阶模糊：页数可能远小于 TLB 的\
                 项数，只有恰为实际存在的项数时才说明有多少项。",
        },
        typical: Text {
            en: "Level 1 by the makers' manuals: 64 on Intel to Ice Lake, 96 since; 64 on Zen 2 and 3, 72 on Zen 4; \
                 48 on Neoverse N1. Level 2: 1536 since Skylake, 2048 since Ice Lake, 2048 on Zen 2 and 3, 3072 on \
                 Zen 4, 1280 on Neoverse N1. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): \
                 64, a miss 2.9 ns (9 cycles); 1510 to 1540 of 1536, a walk 21 to 25 ns.",
            zh: "一级，据厂商手册：Intel 到 Ice Lake 为 64，此后 96；Zen 2 与 Zen 3 为 64，Zen 4 为 72；Neoverse N1 为 48。二级：\
                 Skylake 起 1536，Ice Lake 起 2048，Zen 2 与 Zen 3 为 2048，Zen 4 为 3072，Neoverse N1 为 1280。用 hostmark 在双 \
                 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：64，未命中 2.9 ns（9 个周期）；1510 到 1540（共 1536），遍历 21 到 \
                 25 ns。",
        },
        causes: Text {
            en: "Fewer pages than the hardware has: the core's other thread uses the rest, or code does, in a shared \
                 second level. An expensive miss: nested paging without huge pages on the host, or page tables that do \
                 not stay in the caches.",
            zh: "比硬件少：其余被同一核心的另一线程占用，或被共享二级中的指令一侧占用。未命中很贵：宿主机的嵌套页表没有用大页，或页表留不在缓存中。",
        },
    },
    related: &["memory.latency", "memory.hierarchy", "paging.fault", "memory.random_access"],
    differs: Some(Text {
        en: "tlb doubles the number of pages and takes the last step before the first slow one. It does not separate \
             cache misses from TLB misses: it gave 5 to 31 where the first level has 64 (docs/accuracy.md). Here the \
             same number of packed lines is timed alongside, so the difference is translation alone.",
        zh: "tlb 将页数逐次加倍，取第一个变慢之前的那步，也不区分缓存缺失：在一级有 64 项的机器上给出 5 到 31（见 docs/accuracy.md）。这里同时测相同数量、紧密排列\
             的行，差值只剩地址转换。",
    }),
    axes: &[
        Axis::count("level", "1", Points::Listed { quick: &["1", "2"], standard: &[], thorough: &[] }),
        Axis::choice("page", "base", Points::Listed { quick: &["base"], standard: &["pmd"], thorough: &[] }),
    ],
    replaces: &["tlb"],
    is_structure: true,
    section: crate::section::STRUCTURE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
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
                "as many huge pages as a second level holds are gigabytes",
            ));
        }
        _ => return Err(RoundError::skipped(ReasonCode::Hardware, "the page table is walked beyond the second level")),
    };
    let page = pages.bytes();
    let mut buffer = case.buffer((most * page) as u64, pages, None)?;
    if pages == Pages::Pmd && buffer.huge_fraction().unwrap_or(0.0) < MOSTLY_HUGE {
        return Err(RoundError::skipped(ReasonCode::HugePages, "the kernel gave no huge pages"));
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
