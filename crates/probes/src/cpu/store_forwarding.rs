//! Probe cpu.store_forwarding: a load of what was stored just before, by how the two overlap.

use hostmark_engine::prelude::*;

use crate::kernels::forwarding::{Forwarding, Overlap};

pub static PROBE: Probe = Probe {
    title: Text { en: "Store-to-load forwarding", zh: "存储到加载的转发" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "A chain of pairs, 64 unrolled: a register is stored and loaded back, and the next pair stores what was loaded. \
                 The value is the time per pair. overlap=same stores and loads the same 8 aligned bytes; line and page do so \
                 across the boundary of two cache lines or pages. narrower loads the upper 4 of the 8 bytes. wider stores 4 bytes \
                 and loads 8, half of which are not in the store. In alias and apart the load reads another word, which holds its \
                 own address, so the addresses of each pair wait for the load before: with alias the store goes 4096 bytes below the \
                 load, with apart 2048, where the low 12 bits differ too.",
            zh: "一条由“存储、加载”对组成的链，展开 64 次：把寄存器存入内存再读回，下一对存入刚读到的值；数值为每对的时间。overlap=same \
                 存取同样的 8 个对齐字节；line 与 page 同样如此，但跨越两个缓存行或两个页的边界。narrower 读 8 字节中的高 4 字节。\
                 wider 存 4 字节而读 8 字节，其中一半不在这次存储中。alias 与 apart 读另一个字，它存放自身的地址，因此每对的地址都\
                 要等待前一次加载：alias 中存储位于其下 4096 字节处，apart 为 2048 字节处，低 12 位也不同。",
        },
        why: Text {
            en: "Stored data stays in the store buffer until the store retires and reaches L1d. Spilled variables, arguments on the \
                 stack and fields written just before all depend on forwarding. Code that writes parts and reads the whole \
                 (unions, parsers, memcpy of small pieces, vector loads of scalars) waits for the cache instead.",
            zh: "存储的数据在退役并进入 L1d 之前一直位于存储缓冲中。溢出到栈的变量、栈上的参数、刚写过的字段都依赖转发。分段写、整体读\
                 的代码（联合体、解析器、小块 memcpy、对标量的向量加载）则只能等待缓存。",
        },
        reading: Text {
            en: "narrower is the store buffer's own latency. same may be far below it: cores that recognise the pair take the value from the \
                 register and rename memory. wider minus same is the price of a blocked load. apart is an L1d hit beside a store; \
                 alias above it: the core first compares 12 bits of the addresses, and has to repeat the load.",
            zh: "narrower 是存储缓冲本身的延迟。same 可能远低于它：能认出这一对的核心直接取寄存器中的值，即对内存重命名。wider 减 same 是加载被阻塞\
                 的代价。apart 是存储旁的一次 L1d 命中；alias 高于它：核心先只比较地址的 12 位，加载须重来。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18, 4.1 GHz): same 0.5 core cycles (the core \
                 renames memory), narrower 5, wider 20, line 8.7, page 43, alias 12, apart 5. Agner Fog's microarchitecture guide has \
                 4 to 5 cycles for a forwarded load on Intel and AMD before that, and about 12 more for one that fails.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18，4.1 GHz）上实测：same 0.5 个核心周期（核心对内存重命名），\
                 narrower 5，wider 20，line 8.7，page 43，alias 12，apart 5。Agner Fog 的微架构手册：更早的 Intel 与 AMD 上转发成功的加载为 4 \
                 到 5 个周期，失败时约多 12 个。",
        },
        causes: Text {
            en: "Speculative store bypass turned off (PR_SET_SPECULATION_CONTROL, spec_store_bypass_disable=on), which makes \
                 loads wait for the addresses of all older stores; predictive store forwarding turned off on AMD Zen 3 and later.",
            zh: "关闭了推测性存储绕过（PR_SET_SPECULATION_CONTROL、spec_store_bypass_disable=on），加载须等待之前所有存储的地址；AMD Zen \
                 3 及以后关闭了预测性存储转发。",
        },
    },
    related: &["memory.unaligned_access", "cpu.latency", "memory.latency", "cpu.atomic"],
    axes: &[Axis::choice(
        "overlap",
        "same",
        Points::Listed {
            quick: &["same", "narrower", "wider", "line", "page", "alias", "apart"],
            standard: &[],
            thorough: &[],
        },
    )],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let overlap: Overlap = case.param("overlap")?;
    let page_bytes = Pages::Base.bytes();
    let mut memory = case.buffer(2 * page_bytes as u64, Pages::Base, None)?;
    let mut pairs =
        Forwarding::new(overlap, memory.bytes_mut(), page_bytes, case.seed()).map_err(crate::fastest::refused)?;
    case.loops(|n| {
        std::hint::black_box(pairs.chain(n));
    })
    .time()
}
