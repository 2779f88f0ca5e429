//! Probe memory.effective_page: the pages by which huge pages are really translated, as a hypervisor may cut them up.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

mod verdict;

use verdict::{Costs, verdict};

/// Lines of the points of the curve, and the pages among which each line's page is drawn: with four times as many pages as lines
/// no entry that covers neighbours in one saves a walk.
const LINES: [usize; 3] = [1024, 2048, 4096];
const PAGES_A_LINE: usize = 4;
/// Walks of a point.
const TIMES: usize = 4;
/// More memory than this of each kind is not filled: kernels of large base pages have huge ones of 512 MiB.
const MOST_BYTES: usize = 256 << 20;
/// Below this share of huge pages they are not what is measured.
const MOSTLY_HUGE: f64 = 0.9;

/// What a load pays for translation in base pages.
const BASE: Quantity = walk("base", Text { en: "translation, base pages", zh: "基本页的地址转换" });
/// The same in huge pages.
const HUGE: Quantity = walk("huge", Text { en: "translation, huge pages", zh: "大页的地址转换" });
/// The second over the first.
const SHARE: Quantity =
    Quantity::given("share", Unit::Ratio, Better::Lower, Text { en: "huge over base", zh: "大页与基本页之比" });

const fn walk(name: &'static str, title: Text) -> Quantity {
    Quantity::given(name, Unit::Nanoseconds, Better::Lower, title)
}

pub static PROBE: Probe = Probe {
    title: Text { en: "Effective page size", zh: "有效页大小" },
    revision: 1,
    unit: Unit::Bytes,
    better: Better::Higher,
    also: &[BASE, HUGE, SHARE],
    explain: Explain {
        what: Text {
            en: "A chain of dependent loads visits one line in each of 1024, 2048 and 4096 base-size pages in random \
                 order, drawn from four times as many: once in base pages, once in huge pages. The same number of \
                 lines packed side by side is timed each time; the difference is the cost of translation. In huge \
                 pages a few TLB entries cover all these lines, unless the hypervisor backs them with small pages: \
                 then the TLB entries shrink to the smaller of both sizes. The value is the page size at which the CPU \
                 really translates huge pages. It is small if their translation costs at least half of that in base \
                 pages, huge if it costs a quarter or less. A round has no value between the two, or if translation in \
                 base pages is too cheap to compare.",
            zh: "相关加载链以随机顺序访问 1024、2048、4096 个（基本大小的）页，每页一行，从四倍数量的页中抽取：一次在基本页内存中，一次在大页中。\
                 旁边再测同样数目、紧密排列的行，差值就是地址转换的代价。大页中这些行只需少数 TLB 表项，除非虚拟机监控程序用小页支撑大页：\
                 此时硬件按两者中较小的一级切分表项。数值是大页实际按多大的页转换：大页的转换代价不低于基本页的一半为小页，\
                 不超过四分之一为大页。介于两者之间，或基本页的代价小到无法判断时，该轮没有数值。",
        },
        why: Text {
            en: "A guest's huge pages help only if its host backs them with huge pages too. The guest cannot ask, but \
                 its TLB shows it. If the pages below are small, every load from DRAM may wait for a page walk through \
                 two tables.",
            zh: "虚拟机的大页只有在宿主机同样用大页支撑时才真正有用。虚拟机无法查询，但 TLB 会说明：若底层是小页，每次访问 DRAM 都可能要等两层页表的遍历。",
        },
        reading: Text {
            en: "2 MiB: huge pages work as they should. 4 KiB: the hypervisor splits them, and all DRAM values in huge \
                 pages include page walks. `share` between a quarter and a half: small pages back part of the memory.",
            zh: "2 MiB：大页正常起作用。4 KiB：大页被虚拟机监控程序拆成小页，所有大页 DRAM 数值都含页表遍历。`share` \
                 介于四分之一与一半之间：部分内存由小页支撑。",
        },
        typical: Text {
            en: "By design the size of the huge pages and a share near 0 without a hypervisor; in a guest it depends on how the host \
                 backs the memory. Measured with hostmark on a 2-CPU KVM guest (AMD EPYC, Linux 6.18): 4 KiB, share 0.83, \
                 11.3 ns in base pages and 9.3 in huge ones.",
            zh: "没有虚拟机监控程序时，按设计是大页的大小，share 接近 0；虚拟机中取决于宿主机如何支撑内存。用 hostmark 在双 CPU 的 KVM \
                 虚拟机（AMD EPYC，Linux 6.18）上实测：4 KiB，share 0.83，基本页 11.3 ns，大页 9.3 ns。",
        },
        causes: Text {
            en: "The host's THP setting, a memory file without huge pages, memory that was swapped, migrated, deduplicated (KSM), \
                 ballooned or tracked for live migration: each leaves small pages behind.",
            zh: "宿主机的 THP 设置；内存文件没有用大页；内存经历过换出、迁移、合并（KSM）、气球回收或热迁移脏页跟踪：都会留下小页。",
        },
    },
    related: &["memory.tlb", "memory.latency", "memory.hierarchy"],
    limit: Limit::PowerOfTwo,
    // With base pages of 4 KiB.
    fills_bytes: 2 * (LINES[LINES.len() - 1] * PAGES_A_LINE) as u64 * 4096,
    needs: &[Need::HugePages],
    section: crate::section::STRUCTURE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (base_page, line) = (Pages::Base.bytes(), case.line_bytes() as usize);
    let most_pages = LINES[LINES.len() - 1] * PAGES_A_LINE;
    let bytes = (most_pages * base_page).next_multiple_of(Pages::Pmd.bytes());
    if bytes > MOST_BYTES {
        return Err(RoundError::skipped(ReasonCode::HugePages, "pages of this size need gigabytes"));
    }
    let mut buffers = [case.buffer(bytes as u64, Pages::Base, None)?, case.buffer(bytes as u64, Pages::Pmd, None)?];
    if buffers[1].huge_fraction().unwrap_or(0.0) < MOSTLY_HUGE {
        return Err(RoundError::skipped(ReasonCode::HugePages, "the kernel gave no huge pages"));
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
