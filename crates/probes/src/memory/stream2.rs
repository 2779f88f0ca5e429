//! Probe memory.stream2: the kernels of STREAM2 by size, through all levels of the memory hierarchy.

use hostmark_engine::prelude::*;

use crate::fastest::Candidates;
use crate::kernels::stream::{self, StreamOperation, numbers, starts};

pub static PROBE: Probe = Probe {
    title: Text { en: "STREAM2", zh: "STREAM2 各大小带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "One core works on arrays of `size` bytes of 64-bit floating-point numbers, over and over: fill a=q, \
                 copy a=b, daxpy a=a+qb, sum of all a. Each element counts 8, 16, 24 and 8 bytes, as in McCalpin's \
                 STREAM2. The kernel is the fastest on this host; trials in the case's first round choose it, and a \
                 note names it.",
            zh: "每个 `size` 字节的 64 位浮点数组，由单个核心反复处理：fill a=q，copy a=b，daxpy a=a+qb，sum 对 a 求和。每个元素分别计 8、16、24、8 \
                 字节，与 McCalpin 的 STREAM2 相同。内核是本机上所有内核中最快的一个，由该用例第一轮的交替试测选出，记录在备注中。",
        },
        why: Text {
            en: "STREAM has one size. These four kernels show at which size a linear-algebra loop leaves each cache, \
                 and how reading (sum), writing (fill) and both (copy, daxpy) differ there.",
            zh: "STREAM 只有一种大小；这四个内核显示线性代数循环在何种大小离开各级缓存，以及读（sum）、写（fill）、读写（copy、daxpy）在那里的差别。",
        },
        reading: Text {
            en: "In L1d sum reads at most two vectors per cycle, and fill writes one. daxpy writes where it has read, \
                 so no line is read only for a store: in DRAM it comes closest to the bus rate, while fill and copy \
                 lose to write-allocate. Two arrays fit a level only up to half its size.",
            zh: "在 L1d 中 sum 每周期最多两个向量，fill 一个。daxpy 写回它读过的位置，没有仅为存储而做的读取：在内存中它最接近总线速率，而 fill 与 copy 受写分\
                 配拖累。两个数组的内核，大小到某级的一半为止都装得下。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): daxpy 9 to 17 GB/s at 64 MiB \
                 with one thread.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：64 MiB、单线程的 daxpy 为 9 到 17 GB/s。",
        },
        causes: Text {
            en: "As for memory.read and memory.write. A sum far below memory.read at the same size waits for its \
                 additions: too few accumulators, which only a compiled STREAM2 has.",
            zh: "同 memory.read 与 memory.write。若 sum 在相同大小下远低于 memory.read，是在等待加法：累加器太少，这只出现在编译得到的 STREAM2 中。",
        },
    },
    related: &["memory.stream", "memory.read", "memory.write", "memory.copy"],
    differs: Some(Text {
        en: "lmbench's version is scalar, in base pages, and its sum is one dependent chain of additions, 4 cycles an \
             element: hostmark is 1.2 to 1.4 times as fast in fill, copy and daxpy and 2.2 times in sum \
             (docs/accuracy.md).",
        zh: "lmbench 的版本是标量、基本页，其 sum 是一条依赖的加法链，每个元素 4 个周期：hostmark 的 fill、copy、daxpy 为其 1.2 到 1.4 倍，sum 为 \
             2.2 倍（见 docs/accuracy.md）。",
    }),
    axes: &[
        Axis::choice(
            "kernel",
            "daxpy",
            Points::Listed { quick: &["daxpy"], standard: &["fill", "copy", "sum"], thorough: &[] },
        ),
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::InAll(2)),
        super::PMD_FIRST,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["kernel", "size"] }],
    limit: Limit::DramBandwidth,
    replaces: &["stream"],
    core_bound: CoreBound::SIZE,
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn sizes(_: &HostFacts, profile: Profile) -> Vec<u64> {
    // A size inside of each usual cache and one beyond them; then every power of four.
    const EACH: [u64; 4] = [8 << 10, 128 << 10, 2 << 20, 32 << 20];
    match profile {
        Profile::Glance | Profile::Quick => vec![64 << 20],
        Profile::Standard => EACH.into_iter().chain([64 << 20]).collect(),
        Profile::Thorough => (12..=28).step_by(2).map(|power| 1 << power).chain(EACH).collect(),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let size: u64 = case.param("size")?;
    let pages = super::pages(case)?;
    let operation = StreamOperation::named(&name)
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, format!("STREAM2 has no {name}")))?;
    let arrays = if matches!(operation, StreamOperation::Copy | StreamOperation::Daxpy) { 2 } else { 1 };
    let usual = stream::best(operation, super::reach(case, arrays * size))
        .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, "this architecture has no such kernel"))?;
    let kernels = Candidates::of("best", stream::kernels().filter(|kernel| kernel.operation == operation), usual)?;
    let elements = usize::try_from(size / 8)?;
    let [_, second] = starts(elements);
    let mut buffer = case.buffer(((second + elements) * 8) as u64, pages, None)?;
    let (a, b) = numbers(buffer.bytes_mut()).split_at_mut(second);
    let (a, b) = (&mut a[..elements], &mut b[..elements]);
    for (index, (a, b)) in a.iter_mut().zip(b.iter_mut()).enumerate() {
        (*a, *b) = (1.0 + (index % 512) as f64, 2.0 + (index % 256) as f64);
    }
    // A refusal would be one of the first run already.
    usual.run(a, b, &[], 3.0, 1).map_err(crate::fastest::refused)?;
    let kernel = kernels.chosen(case, (size / 8 * 8, ((second + elements) * 8) as u64), |kernel, part, n| {
        let part = part.start / 8..part.end / 8;
        let _ = kernel.run(&mut a[part.clone()], &b[part], &[], 3.0, n);
    })?;
    case.steady().after(|| kernel.run(a, b, &[], 3.0, 1));
    case.loops(|n| {
        let _ = kernel.run(a, b, &[], 3.0, n);
    })
    .rate(size / 8 * operation.bytes_per_element())
}
