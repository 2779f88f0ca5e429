//! Probe cpu.front_end: how fast the core gets its instructions, by the size of the loop that they are in.

use hostmark_engine::prelude::*;

use crate::kernels::straight::{MOST_BYTES, StraightCode};

pub static PROBE: Probe = Probe {
    title: Text { en: "Instruction supply", zh: "取指与译码" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "A loop of `size` bytes of straight code: instructions of `length` bytes that no unit executes, and one branch back. Of 4 \
                 and 8 bytes they do nothing (nop); of 2, on x86-64, xor sets a register to zero. The code is generated into base pages of its own, which are executable once they are written. The value is \
                 instructions per second; times `length` it is bytes.",
            zh: "`size` 字节的直线代码构成的循环：长度为 `length` 字节、不占执行单元的指令，末尾一条跳转回到开头。4 与 8 字节为 nop；2 字节（x86-64）用 xor 把\
                 寄存器清零。代码生成在单独的基本页中，写完后\
                 才改为可执行。数值为每秒指令数，乘以 `length` 即字节数。",
        },
        why: Text {
            en: "Servers, databases, browsers and interpreters execute megabytes of code. What does not fit the micro-operation cache is \
                 decoded again each time; what does not fit L1i comes from L2 or beyond, as data does, but nothing overlaps with it.",
            zh: "服务器、数据库、浏览器和解释器要执行数兆字节的代码。微操作缓存放不下的部分每次都要重新译码；L1i 放不下的部分与数据一样来自 L2 或更远处，但没\
                 有其他工作可与之重叠。",
        },
        reading: Text {
            en: "Small loops run at the width of the pipeline. The first fall is the end of the micro-operation cache, the next that of L1i, \
                 then L2, then L3: compare with memory.hierarchy. Where the two lengths fetch equally many bytes, fetch is the \
                 limit; where they have equally many instructions, decoding or the width is. Straight code is what prefetchers of \
                 instructions do best: code with branches gets less. Cores that put two nops into one entry (Zen 4) or drop \
                 them show twice their width and more; length=2 shows it as it is.",
            zh: "小循环以流水线宽度运行。第一次下降是微操作缓存的尽头，随后依次是 L1i、L2、L3：可与 memory.hierarchy 比较。两种长度每周期字节数相同处，\
                 瓶颈在取指；每周期指令数相同处，瓶颈在译码或宽度。直线代码最利于指令预取，有分支的代码更低。把两条 nop 放进一项的核心（Zen 4）\
                 或丢弃 nop 的核心会显示宽度的两倍或更多，length=2 显示实际宽度。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), instructions per cycle: length=2 6.0 to 8 KiB, \
                 4.6 at 16 KiB, 4.3 at 32 KiB, 4.0 beyond; length=4 12.1 to 32 KiB, 4.0 to 512 KiB, 3.8 at 1 MiB, 2.7 at 4 MiB; length=8 \
                 6.0, 2.0, 1.9 and 1.4. So 16 bytes per cycle come from L2 and 11 from L3. Published of the design: 6 a cycle, 4 \
                 decoders, 6.75 K entries in the micro-operation cache, 32 KiB of L1i.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测，每周期指令数：length=2 到 8 KiB 为 6.0，16 KiB 4.6，32 KiB \
                 4.3，再大为 4.0；length=4 到 32 KiB 为 12.1，到 512 KiB 为 4.0，1 MiB 3.8，4 MiB 2.7；length=8 为 6.0、2.0、1.9 与 1.4。即每周期从 \
                 L2 取 16 字节，从 L3 取 11 字节。该设计公布的数值：每周期 6 条，4 个译码器，微操作缓存 6.75 K 项，L1i 32 KiB。",
        },
        causes: Text {
            en: "A busy sibling thread, which takes turns at decoding and shares the caches; a lower clock (see instructions per cycle); \
                 beyond L2 neighbours in L3, and base pages for code, of which the TLB for instructions holds few.",
            zh: "兄弟线程繁忙：译码轮流进行，缓存共用；频率较低（见每周期指令数）；超出 L2 后，邻居虚拟机占用 L3，以及代码位于基本页而指令 TLB 能容纳的\
                 页很少。",
        },
    },
    related: &["cpu.throughput", "cpu.reorder_window", "cpu.branch", "memory.hierarchy"],
    axes: &[
        Axis::size(
            "size",
            "16384",
            Points::Listed {
                quick: &["4096", "65536", "1048576"],
                standard: &[
                    "2048", "8192", "16384", "24576", "32768", "131072", "262144", "524288", "2097152", "4194304",
                ],
                thorough: &["12288", "49152", "98304", "196608", "393216", "786432", "8388608", "67108864"],
            },
        )
        .fills(Fill::EachThread(1)),
        Axis::count("length", "4", Points::Listed { quick: &["4"], standard: &["2"], thorough: &["8"] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["size", "length"] }],
    limit: Limit::OperationsPerCycle(&[("", MOST_A_CYCLE)]),
    core_bound: CoreBound::SIZE,
    section: crate::section::CORE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// More than the widest cores take: those sold rename up to 10 instructions a cycle.
const MOST_A_CYCLE: u32 = 16;

fn measure(case: &mut Case) -> Result<()> {
    let (size, length): (usize, usize) = (case.param("size")?, case.param("length")?);
    if size > MOST_BYTES {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, "the loop has 64 MiB at most"));
    }
    case.may_fill(size as u64)?;
    let code = StraightCode::new(size, length).ok_or_else(|| {
        let text = format!("this architecture has no filler of {length} bytes");
        RoundError::skipped(ReasonCode::Architecture, text)
    })?;
    let code = code.map_err(|error| RoundError::lacking("cannot execute generated code", &error))?;
    case.loops(|turns| code.run(turns)).rate(code.instructions())
}
