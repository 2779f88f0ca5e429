//! Probe memory.random_access: loads and stores of single words at random places, none of which waits for another.

use hostmark_engine::prelude::*;

use crate::kernels::random_access::{Access, Blocks};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Random access", zh: "随机访问" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "8-byte loads (op=read) or stores (op=write) at random words of a block, 64 in a block before the next one is \
                 entered, through all blocks of a memory of `size` bytes. Four generators in registers choose the places, so that \
                 no address waits for a load and many accesses are under way at once: this is throughput, where memory.latency \
                 is a chain. A multiplication, a shift and a mask belong to each access, about 2 core cycles that overlap it.",
            zh: "对一个块中的随机字做 8 字节加载（op=read）或存储（op=write），每块 64 次后进入下一块，走遍 `size` 字节内存的所有块。四个寄存器中的\
                 生成器选择位置，地址不依赖任何加载，许多访问同时在途：这是吞吐，而 memory.latency 是一条链。每次访问含一次乘法、一次移位和一次\
                 掩码，约 2 个核心周期，与访问重叠。",
        },
        why: Text {
            en: "Hash tables, scattered updates and graph analytics touch single words. In a guest this loop never leaves user \
                 space: beside its native value it shows what nested paging costs memory alone.",
            zh: "哈希表、分散更新和图分析都只碰单个字。在虚拟机中该循环从不离开用户态：与本机值并列，即为嵌套分页给内存访问单独带来的开销。",
        },
        reading: Text {
            en: "With 1 MiB and blocks of 1 KiB 1 to 2 ns on most cores: a block comes into L1 by its first misses. Blocks as large \
                 as the memory show a level's own rate: in DRAM 5 to 15 ns, a latency shared by 10 or more outstanding misses. \
                 Stores to lines that are not cached cost about twice as much there. base above pmd is the price of page walks.",
            zh: "1 MiB、1 KiB 块时多数核心为 1 到 2 ns：块由最初几次缺失进入 L1。块与内存一样大时显示该级自身的速率：DRAM 中 5 到 15 ns，即一次\
                 延迟由 10 个以上未完成缺失分摊。对未缓存行的存储在那里约贵一倍。base 高出 pmd 的部分是页表遍历的代价。",
        },
    },
    axes: &[
        Axis::choice("op", "read", Points::Listed { quick: &["read", "write"], standard: &[], thorough: &[] }),
        Axis::size(
            "size",
            "1048576",
            Points::Listed {
                quick: &["1048576"],
                standard: &["67108864"],
                thorough: &["32768", "16777216", "268435456"],
            },
        ),
        Axis::choice("block", "1k", Points::Listed { quick: &["1k"], standard: &["all"], thorough: &["4k"] }),
        super::PMD_FIRST,
    ],
    cross: &[Cross { from: Profile::Standard, axes: &["op", "size", "block"] }],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::LATENCY,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let access = match case.param::<String>("op")?.as_str() {
        "write" => Access::Write,
        _ => Access::Read,
    };
    let block = match case.param::<String>("block")?.as_str() {
        "4k" => 4 << 10,
        "all" => usize::try_from(size).map_err(Stop::skipped)?,
        _ => 1 << 10,
    };
    let pages = super::pages(case)?;
    let seed = case.seed();
    let mut buffer = case.buffer(size, pages, None)?;
    let mut blocks =
        Blocks::new(buffer.bytes_mut(), block, seed).map_err(|refused| Stop::skipped(format!("cannot {refused}")))?;
    case.time_n(|n| blocks.access(access, n))
}
