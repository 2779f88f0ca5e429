//! Probe memory.unaligned_access: loads and stores that span two cache lines or two pages, beside aligned ones.

use hostmark_engine::prelude::*;

use crate::kernels::unaligned::{Access, PLACES, Unaligned};

/// A boundary of the lines of every core, of 64, 128 or 256 bytes, as each quarter of it is.
const LINES_BYTES: usize = 1024;
/// Between accesses that need not lie at a boundary: to other banks of the cache as well, of which each serves one line at a time.
const APART_BYTES: usize = 256 + 8;

pub static PROBE: Probe = Probe {
    title: Text { en: "Unaligned access", zh: "非对齐访问" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "Accesses of 8 bytes to four places in turn, all in L1d; the value is the time of one. spans=nothing is aligned; \
                 inside begins 4 bytes later, within a line; line has 4 bytes on either side of a line's boundary, page on either side \
                 of a page's. The places of nothing and inside lie in different banks of the cache. op=load and op=store do not wait for each other, so the value is a \
                 throughput; op=dependent_load takes each address from the load before, which is the latency.",
            zh: "依次访问四处各 8 字节，均在 L1d 中；数值为一次访问的时间。spans=nothing 为对齐；inside 晚 4 字节开始，仍在一行之内；line 在缓存行\
                 边界两侧各 4 字节，page 在页边界两侧各 4 字节。nothing 与 inside 的四处位于缓存的不同存储体（bank）。op=load 与 op=store 互不等待，数值反映吞吐；op=dependent_load \
                 的每个地址来自前一次加载，即延迟。",
        },
        why: Text {
            en: "Packed structures, network headers, parsers and vector code over arrays of any start access memory unaligned. An \
                 access that spans two lines needs the cache twice; one that spans two pages needs two translations as well.",
            zh: "紧凑结构、网络报头、解析器，以及对任意起点数组的向量代码都会非对齐访问内存。跨两行的访问要用两次缓存，跨两页的还需要两次地址\
                 转换。",
        },
        reading: Text {
            en: "inside equals nothing on cores with unaligned access in hardware. line over nothing is the price of a split, page \
                 over line that of the second translation. With 64-byte vectors every unaligned access is a split, with 8 bytes \
                 at random offsets one in nine.",
            zh: "由硬件支持非对齐访问的核心上，inside 与 nothing 相等。line 比 nothing 多出的是跨行的代价，page 比 line 多出的是第二次地址\
                 转换的代价。64 字节向量的非对齐访问每次都跨行，随机偏移的 8 字节访问约九次有一次跨行。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18, 4.1 GHz), in core cycles for nothing, inside, \
                 line and page: load 0.33, 0.33, 1.06, 3.3; store 1, 1, 2, 25; dependent_load 5, 5, 12, 12.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18，4.1 GHz）上实测，核心周期数依次为 nothing、inside、line、page：\
                 load 0.33、0.33、1.06、3.3；store 1、1、2、25；dependent_load 5、5、12、12。",
        },
        causes: Text {
            en: "A sibling thread that shares the load and store ports. Only page is high: the other page's translation is not \
                 in the first-level TLB. Split atomic operations are another matter: they lock the bus, and Linux slows or kills \
                 their programs (split_lock_detect).",
            zh: "兄弟线程共用加载与存储端口。仅 page 高：另一页的地址转换不在一级 TLB 中。跨行的原子操作另当别论：它们锁住总线，Linux 会拖慢或终\
                 止这样的程序（split_lock_detect）。",
        },
    },
    related: &["cpu.store_forwarding", "memory.line", "memory.latency", "memory.tlb"],
    axes: &[
        Axis::choice(
            "spans",
            "line",
            Points::Listed { quick: &["nothing", "inside", "line", "page"], standard: &[], thorough: &[] },
        ),
        Axis::choice(
            "op",
            "load",
            Points::Listed { quick: &["load", "store", "dependent_load"], standard: &[], thorough: &[] },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["spans", "op"] }],
    core_bound: CoreBound::Yes,
    section: crate::section::STRUCTURE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let access: Access = case.param("op")?;
    let page_bytes = Pages::Base.bytes();
    let (first, distance) = match case.param::<String>("spans")?.as_str() {
        "nothing" => (LINES_BYTES, APART_BYTES),
        "inside" => (LINES_BYTES + 4, APART_BYTES),
        "line" => (LINES_BYTES - 4, LINES_BYTES / 4),
        _ => (page_bytes - 4, page_bytes),
    };
    let mut memory = case.buffer(((PLACES + 1) * page_bytes) as u64, Pages::Base, None)?;
    let offsets = std::array::from_fn(|place| first + place * distance);
    let mut accesses = Unaligned::new(access, memory.bytes_mut(), offsets).map_err(crate::fastest::refused)?;
    case.loops(|n| accesses.access(n)).time()
}
