//! Probe memory.kernel_random_access: the accesses of memory.random_access inside the kernel, with interrupts on and off.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::workloads::machine::kernel_module::KernelOperation;

/// Ten thousand accesses are over too soon.
const TIMES: u64 = 16;
const OP: Axis = Axis::choice("op", "read", Points::Listed { quick: &["read", "write"], standard: &[], thorough: &[] });
const SIZE: Axis = Axis::size(
    "size",
    "67108864",
    Points::Listed { quick: &["67108864"], standard: &["1048576"], thorough: &["268435456"] },
)
.fills(Fill::InAll(1));

pub static PROBE: Probe = Probe {
    title: Text { en: "Random access inside the kernel", zh: "内核态随机访问" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "The accesses of memory.random_access with within=all, by the same instructions, done and timed by the \
                 module hostmark (kmod/) in memory of the kernel (vmalloc), which has base pages. irq=off: the CPU \
                 takes no interrupts meanwhile, for 10 ms at most at a time. bind sets the CPU of the thread.",
            zh: "由内核模块 hostmark（kmod/）在内核自己的内存（vmalloc，基本页）中，以相同的指令执行并计时 within=all 的 memory.random_access。irq=off 时 CPU 其\
                 间不接受中断，每次最多 10 ms。bind 表示线程绑定在哪里。",
        },
        why: Text {
            en: "It is the base of the decomposition for memory: what interrupts and user space cost accesses \
                 that ask the kernel for nothing.",
            zh: "它是内存分解的基准：对不向内核提出任何请求的访问，中断与用户态的开销是多少。",
        },
        reading: Text {
            en: "Compare with memory.random_access at page=base: both have base pages and walk page tables of the \
                 same depth. A difference of a few percent is where the pages happened to lie.",
            zh: "与 page=base 的 memory.random_access 比较：二者都用基本页，页表深度相同。几个百分点的差异来自页恰好所处\
                 的位置。",
        },
        typical: Text {
            en: "By design that of memory.random_access at page=base, whose 64 MiB lie in DRAM.",
            zh: "按设计与 page=base 的 memory.random_access 相同，其 64 MiB 在 DRAM 中。",
        },
        causes: Text {
            en: "irq=on above irq=off: interrupts of this CPU (/proc/interrupts), which also displace what the \
                 caches held. More than in user space: page-table isolation has no part in it, but vmalloc may \
                 have its pages on another memory node.",
            zh: "irq=on 高于 irq=off：该 CPU 的中断（见 /proc/interrupts），它们还会挤占缓存。高于用户态：与页表隔离无关，\
                 但 vmalloc 的页可能在另一内存节点。",
        },
    },
    related: &["memory.random_access", "memory.latency", "cpu.kernel_sieve"],
    axes: &[OP, SIZE, Axis::bind(), in_kernel::IRQ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "bind", "irq"] }],
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::SIZE,
    section: crate::section::LATENCY,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (bytes, seed) = (case.param("size")?, case.seed());
    case.may_fill(bytes)?;
    let operation = match case.param::<String>("op")?.as_str() {
        "write" => KernelOperation::RandomWrite { bytes, seed },
        _ => KernelOperation::RandomRead { bytes, seed },
    };
    in_kernel::measure(case, TIMES, operation)
}
