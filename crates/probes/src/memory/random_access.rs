//! Probe memory.random_access: loads and stores of single words at random places, none of which waits for another.

use hostmark_engine::prelude::*;

use crate::kernels::random_access::{Access, Blocks};

pub static PROBE: Probe = Probe {
    title: Text { en: "Random access", zh: "随机访问" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "8-byte loads (op=read) or stores (op=write) hit random words in `size` bytes of memory. within=all \
                 picks any word; l1_blocks_1k and l1_blocks_4k make 64 accesses in a block of 1 or 4 KiB before they \
                 enter the next block, so most hit L1. One access per line precedes the first sample. Four generators \
                 in registers choose the words: no address waits for a load, and many accesses are in flight at once. \
                 This is throughput; memory.latency is a chain. Each access includes a multiplication, a shift and a \
                 mask, about 2 core cycles that overlap it.",
            zh: "对 `size` 字节内存中的随机字做 8 字节加载（op=read）或存储（op=write）。within：all 为任意位置；l1_blocks_1k、\
                 l1_blocks_4k 为在 1 或 4 KiB 的块内访问 64 次后进入下一块，因而多数命中 L1。首个样本之前先按行数各访问一次。四个寄存器中的\
                 生成器选择位置，地址不依赖任何加载，许多访问同时在途：这是吞吐，而 memory.latency 是一条链。每次访问含一次乘法、一次移位和一次\
                 掩码，约 2 个核心周期，与访问重叠。",
        },
        why: Text {
            en: "Hash tables, scattered updates and graph analytics touch single words. In a guest this loop never \
                 leaves user space: compared with the native value it shows the cost of nested paging for memory \
                 accesses alone.",
            zh: "哈希表、分散更新和图分析都只碰单个字。在虚拟机中该循环从不离开用户态：与本机值并列，即为嵌套分页给内存访问单独带来的开销。",
        },
        reading: Text {
            en: "all shows the rate of the level that holds the memory: its latency divided among the outstanding \
                 misses. With l1_blocks the first misses bring a block into L1, and the rest hit. The gap between base \
                 and pmd is the cost of page walks.",
            zh: "all 显示容纳该内存的一级的速率：一次延迟由未完成的缺失分摊。l1_blocks 时最初几次缺失把块带入 L1，其余都命中。base 高出 pmd 的部分是页表\
                 遍历的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1 MiB with l1_blocks_1k: 0.45 \
                 to 0.6 ns per read and 0.74 per write, 2 core cycles, which is the loop's own pace. 64 MiB with all, \
                 in DRAM: 14 ns per read, close to memory.latency divided by memory.parallelism.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：1 MiB、l1_blocks_1k 时每次读 0.45 到 0.6 ns，写 0.74 \
                 ns，约 2 个核心周期，即循环自身的节奏。64 MiB、all（DRAM 中）：每次读 14 ns，接近 memory.latency 除以 \
                 memory.parallelism。",
        },
        causes: Text {
            en: "Base pages beyond the TLB's reach; nested page tables in a guest, which double the walk; stores to \
                 uncached lines, each of which costs a read and a write-back; neighbours.",
            zh: "超出 TLB 覆盖范围的基本页；虚拟机里的嵌套页表使遍历加倍；对未缓存行的存储各要一次读取和一次写回；同机\
                 租户。",
        },
    },
    related: &["memory.latency", "memory.parallelism", "memory.tlb"],
    axes: &[
        Axis::choice("op", "read", Points::Listed { quick: &["read"], standard: &["write"], thorough: &[] }),
        Axis::size(
            "size",
            "67108864",
            Points::Listed {
                quick: &["67108864"],
                standard: &["1048576"],
                thorough: &["32768", "16777216", "268435456"],
            },
        )
        .fills(Fill::InAll(1)),
        Axis::choice(
            "within",
            "all",
            Points::Listed { quick: &["all"], standard: &["l1_blocks_1k"], thorough: &["l1_blocks_4k"] },
        ),
        super::PMD_FIRST,
        Axis::bind_elsewhere(),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "size", "within"] }],
    core_bound: CoreBound::SIZE,
    section: crate::section::LATENCY,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let access = match case.param::<String>("op")?.as_str() {
        "write" => Access::Write,
        _ => Access::Read,
    };
    let block = match case.param::<String>("within")?.as_str() {
        "l1_blocks_1k" => 1 << 10,
        "l1_blocks_4k" => 4 << 10,
        _ => usize::try_from(size)?,
    };
    let pages = super::pages(case)?;
    let seed = case.seed();
    let mut buffer = case.buffer(size, pages, None)?;
    let mut blocks = Blocks::new(buffer.bytes_mut(), block, seed).map_err(crate::fastest::refused)?;
    let lines = size / case.line_bytes();
    case.steady().after(|| blocks.access(access, lines));
    case.loops(|n| blocks.access(access, n)).time()
}
