//! Probe memory.stream: the four kernels of STREAM on arrays that no cache holds, with the threads together.

use std::sync::Mutex;

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, share_of_caches};
use crate::kernels::bandwidth::{Reach, copy_offset_bytes};
use crate::kernels::stream::{self, Kernel, StreamOperation};

mod elements;
mod share;

use elements::{note_short, settled};
use share::{Share, bytes, part};

/// The operation by which all are tried.
const TRIED: StreamOperation = StreamOperation::Triad;
/// Its rate on half of each array: caches that hold part of the whole hold more of that.
const HALF: Quantity = Quantity::given(
    "half",
    Unit::BytesPerSecond,
    Better::Neither,
    Text { en: "with half of each array", zh: "数组取一半时" },
);

pub static PROBE: Probe = Probe {
    title: Text { en: "STREAM", zh: "STREAM 内存带宽" },
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[HALF],
    explain: Explain {
        what: Text {
            en: "STREAM's four kernels run on three arrays a, b, c of 64-bit floating-point numbers: copy c=a, scale b=qc, add c=a+b, triad \
                 a=b+qc. Each thread is bound to its CPU and has an equal, fixed part of every array, which it touches first. A sample is one \
                 pass of all threads, from one barrier to the next. elements is the number of elements of each array; auto makes each array 4 \
                 times as large as all last-level caches together, as far as this machine has them, or twice or once if memory is short, and the \
                 case id shows the number; triad also runs on half of each array (half): where that is over 3 % faster, caches hold part of them. store \
                 is the kind of store: best is the fastest of hostmark's loops on this host, chosen by trials of triad once for all four kernels and named in a note; plain \
                 is the fastest of those with ordinary stores, chosen likewise, nt bypasses the caches, libc is memcpy (copy only). Each element counts 16, 16, 24 and 24 bytes. At the \
                 end every element is checked to within 1e-13; a wrong one fails the case.",
            zh: "三个 64 位浮点数组 a、b、c；内核：copy c=a，scale b=qc，add c=a+b，triad a=b+qc。每个线程固定负责每个数组的等份，由它首次访问（\
                 first touch），并绑定在自己的 CPU 上；一个样本是所有线程从一个屏障到下一个屏障的一遍。elements 为每个数组的元素个数；auto 使每\
                 个数组为本机实际可用的全部末级缓存之和的 4 倍，内存不足时为 2 倍或 1 倍，实际个数写入用例名；triad 还用一半的数组再测一次（half）：若快出 \
                 3% 以上，说明缓存装下了一部分。store 为存储方式：best 取本机上最快的一种循环，由 triad 的交替试测为四个内核一次选出，并记录在备注中；\
                 plain 是用普通存储的各循环中最快的一种，同样由试测选出；nt 用绕过缓存的非临时存储，libc 调用 memcpy（仅 copy）。每个元素分别\
                 计 16、16、24、24 字节。结束时逐个核对所有元素，相对误差超过 1e-13 则用例失败。",
        },
        why: Text {
            en: "Memory systems have been compared by it since 1991. It is the ceiling of every computation that touches its data once: solvers, \
                 stencils, analytics, language-model decoding.",
            zh: "自 1991 年以来比较内存系统的通用数字，也是每份数据只用一次的计算的上限：求解器、模板（stencil）计算、数据分析、语言模型的解码。",
        },
        reading: Text {
            en: "STREAM does not count the line that a plain store reads first. The bus therefore moves half as much again for copy and scale, \
                 and a third more for add and triad; nt avoids that. Compilers turn STREAM's Copy into memcpy, which uses non-temporal stores \
                 for large blocks. A published Copy thus corresponds to store=libc, the other three to store=plain; beside store=best, which may \
                 bypass the caches, these three look too low.",
            zh: "普通存储会先把该行读入，STREAM 不计这部分：总线实际搬运比 copy、scale 多一半，比 add、triad 多三分之一；nt 可省去。编译器把 \
                 STREAM 的 Copy 变成 memcpy，大块时使用非临时存储，因此公开的 Copy 数字对应 store=libc，其余三项对应 store=plain；与可能绕过缓存\
                 的 store=best 相比，后三项偏低。",
        },
        typical: Text {
            en: "With all cores reading, both sockets of a Cascade Lake server reach 226 of at most 282 GB/s (channels × transfer rate × 8 \
                 bytes), 80 %; in triad's ratio of reads and writes 187, 66 % (a published run of Memory Latency Checker). A Broadwell Xeon \
                 limited to 4 CPUs, gcc -O3: copy 46, scale 31, add 32, triad 34 GB/s; a KVM guest on it reached 95 to 97 % of that in scale to \
                 triad. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 6 to 10 GB/s copy, 8 to 19 triad and add.",
            zh: "全部核心只读时，一台 Cascade Lake 服务器的两个插槽共达 226 GB/s，为标称 282（通道数 × 传输速率 × 8 字节）的 80%；按 triad 的读\
                 写比例为 187，即 66%（Memory Latency Checker 的公开结果）。限用 4 个 CPU 的 Broadwell Xeon，gcc -O3：copy 46，scale 31，add 32，\
                 triad 34 GB/s；其上的 KVM 虚拟机在 scale、add、triad 三项上达到其 95 到 97%。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，\
                 Linux 6.18）上实测：copy 6 到 10 GB/s，triad 与 add 8 到 19。",
        },
        causes: Text {
            en: "Few CPUs (outstanding misses limit a single thread); unpopulated channels or DIMMs at a lower rate (hostmark host, dmidecode); \
                 arrays on one node only; base pages; neighbours, which a guest cannot see.",
            zh: "CPU 太少（单线程受限于可同时未完成的缓存缺失数）；通道未插满或内存条降速（见 hostmark host、dmidecode）；数组只在一个节点上；基\
                 本页；虚拟机看不到的邻居虚拟机。",
        },
    },
    related: &["memory.stream2", "memory.read", "memory.loaded_latency", "memory.numa_bandwidth"],
    differs: Some(Text {
        en: "lmbench's stream is McCalpin's four loops as compiled, at a size that the user must choose; what it prints as add is a sum over one \
             array, counted as three. hostmark uses hand-written vector loops, checks every element, and prints STREAM's own table (--format \
             stream).",
        zh: "lmbench 的 stream 是 McCalpin 的四个循环，由编译器决定指令，大小须由用户选择；它打印的 add 其实是对一个数组求和，却按三个数组计数。\
             hostmark 的循环为手工编写的向量代码，检查每个元素，--format stream 打印 STREAM 自己的表。",
    }),
    axes: &[
        Axis::choice(
            "kernel",
            "copy",
            Points::Listed { quick: &["copy", "scale", "add", "triad"], standard: &[], thorough: &[] },
        ),
        Axis::choice(
            "store",
            "best",
            Points::Listed { quick: &["best"], standard: &["plain", "nt", "libc"], thorough: &[] },
        ),
        Axis::all_threads("threads", Points::Listed { quick: &["all"], standard: &["1"], thorough: &[] }),
        super::PMD_FIRST,
        Axis::settled_count("elements", settled).fills(Fill::InAll(24)),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["kernel", "store"] },
        FullFactorial { from: Profile::Standard, axes: &["kernel", "threads"] },
    ],
    limit: Limit::DramBandwidth,
    replaces: &["stream"],
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let operation = StreamOperation::named(&name)
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, format!("STREAM has no {name}")))?;
    let kernels = candidates(operation, &case.param::<String>("store")?)?;
    let pages = super::pages(case)?;
    let cpus = case.thread_cpus();
    let elements: u64 = case.param("elements")?;
    note_short(case, elements);
    let total = usize::try_from(elements)?;
    let largest = (0..cpus.len()).map(|index| part(total, cpus.len(), index)).max().unwrap_or(0);
    let memory = case.allot(cpus.len() as u64, bytes(largest), pages, None)?;
    case.note("elements", elements);
    case.note("threads", cpus.len());
    case.note("offset_bytes", copy_offset_bytes(Reach::Memory));
    let (obtained, llc_bytes) = (Mutex::new(None), share_of_caches(case, &cpus));
    // One kind of store for all four kernels: they differ in how much they read alone.
    case.choose_for_all("kernel");
    let names = kernels.names();
    let mut lockstep = case.lockstep(&cpus, &names, |index| {
        let share = Share::new(part(total, cpus.len(), index), &kernels, &memory, llc_bytes)?;
        if let (0, Ok(mut obtained)) = (index, obtained.lock()) {
            *obtained = Some(share.pages());
        }
        Ok(share)
    });
    if operation == TRIED {
        lockstep = lockstep.with_half(HALF.name);
    }
    let way = lockstep.rate(elements * operation.bytes_per_element())?;
    case.note("kernel", kernels.at(way).name);
    let obtained = obtained.into_inner().ok().flatten();
    case.note("pages", obtained.unwrap_or_else(|| "unknown".to_owned()));
    Ok(())
}

fn candidates(operation: StreamOperation, store: &str) -> Result<Candidates<Kernel>> {
    let usual = stream::best(operation, Reach::Memory);
    let named = match store {
        "nt" => stream::non_temporal(operation),
        "libc" => stream::kernel(operation, "libc"),
        _ => usual,
    };
    let text = format!("there is no such operation with {store} stores: libc copies alone");
    let (named, usual) = named.zip(usual).ok_or(RoundError::skipped(ReasonCode::NotApplicable, text))?;
    let all = stream::kernels().filter(|kernel| kernel.operation == operation);
    match store {
        // Those that all four have.
        "best" => Ok(Candidates::among(all.filter(|kernel| stream::kernel(TRIED, kernel.name).is_some()), usual)),
        // Whether a prefetch helps, and how wide the stores best are, differs from core to core.
        "plain" => Ok(Candidates::among(all.filter(|kernel| kernel.has_plain_stores()), usual)),
        _ => Candidates::of(named.name, all, usual),
    }
}
