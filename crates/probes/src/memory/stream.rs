//! Probe memory.stream: the four kernels of STREAM on arrays that no cache holds, with the threads together.

use std::sync::Mutex;

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::{Reach, copy_offset_bytes};
use crate::kernels::stream::{self, Kernel, Operation};

mod share;

use share::{Share, part};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "STREAM", zh: "STREAM 内存带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "Three arrays a, b, c of 64-bit floating-point numbers; kernels copy c=a, scale b=qc, add c=a+b, triad a=b+qc. \
                 Each thread has a fixed, equal part of every array, which it touches first, and keeps its CPU; a sample is one \
                 pass of all, from a barrier to the next. Each array has 4 times the bytes of all last-level caches used \
                 (elements=auto), or as much as memory allows, which is then noted. store: plain, nt (past the caches), libc \
                 (memcpy, of copy alone). 16, 16, 24 and 24 bytes count for each element. At the end all elements are compared \
                 with what they should be, within 1e-13; a wrong one fails the case.",
            zh: "三个 64 位浮点数组 a、b、c；内核：copy c=a，scale b=qc，add c=a+b，triad a=b+qc。每个线程固定负责每个数组的等份，由它首次\
                 触碰，并固定在自己的 CPU 上；一个样本是所有线程从一个屏障到下一个屏障的一遍。每个数组为所用全部末级缓存之和的 4 倍\
                 （elements=auto），内存不足时取允许的最大值并在备注中说明。store：plain 普通存储，nt 绕过缓存，libc（memcpy，仅 copy）。\
                 每个元素分别计 16、16、24、24 字节。结束时逐个核对所有元素，相对误差超过 1e-13 则用例失败。",
        },
        why: Text {
            en: "The number by which memory systems have been compared since 1991, and the ceiling of every computation that \
                 touches its data once: solvers, stencils, analytics, the decoding of language models.",
            zh: "自 1991 年以来比较内存系统的通用数字，也是每份数据只用一次的计算的上限：求解器、差分格式、分析、语言模型的解码。",
        },
        reading: Text {
            en: "With all threads 70 to 85 % of the DIMMs' nominal rate; one thread reaches 8 to 30 GB/s, limited by its \
                 outstanding misses. STREAM does not count the line that a plain store reads first: the bus moves a half more \
                 than copy and scale tell, a third more than add and triad; nt saves that. Compilers turn STREAM's Copy into \
                 memcpy, which uses non-temporal stores for large blocks, so that a published Copy is store=libc while the \
                 other three are store=plain. In a guest, add far under the host's figure means few CPUs or a neighbour.",
            zh: "全部线程可达内存条标称速率的 70% 到 85%；单线程 8 到 30 GB/s，受限于未完成缺失数。普通存储会先把该行读入，STREAM 不计这部分：\
                 总线实际搬运比 copy、scale 多一半，比 add、triad 多三分之一；nt 可省去。编译器把 STREAM 的 Copy 变成 memcpy，大块时使用非临时存储，\
                 因此公开的 Copy 数字对应 store=libc，其余三项对应 store=plain。虚拟机中 add 远低于宿主机，说明 CPU 太少或有邻居。",
        },
    },
    axes: &[
        Axis::choice(
            "kernel",
            "copy",
            Points::Listed { quick: &["copy", "scale", "add", "triad"], standard: &[], thorough: &[] },
        ),
        Axis::choice("store", "plain", Points::Listed { quick: &["plain"], standard: &["nt", "libc"], thorough: &[] }),
        Axis::all_threads("threads", Points::Listed { quick: &["all"], standard: &["1"], thorough: &[] }),
        super::PMD_FIRST,
        Axis::count("elements", "auto", Points::Listed { quick: &["auto"], standard: &[], thorough: &[] }),
    ],
    cross: &[
        Cross { from: Profile::Standard, axes: &["kernel", "store"] },
        Cross { from: Profile::Standard, axes: &["kernel", "threads"] },
    ],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["stream"],
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
};

/// An array has this many times the bytes of the last-level caches, so that little of it is still there a pass later.
const TIMES_CACHES: u64 = 4;
/// Last-level cache of a host that does not tell: as large as most.
const USUAL_CACHE_BYTES: u64 = 32 << 20;
/// Bytes of three arrays' elements.
const BYTES_OF_THREE: u64 = 24;
/// What a thread's arrays take besides their elements, at most: their ends, and what parts them.
const SLACK_BYTES: u64 = 32 << 10;

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("kernel")?;
    let operation = Operation::named(&name).ok_or_else(|| Stop::failed(format!("STREAM has no {name}")))?;
    let kernel = kernel(operation, &case.param::<String>("store")?)?;
    let pages = super::pages(case)?;
    let cpus = case.thread_cpus();
    let elements = elements(case, cpus.len() as u64)?;
    case.may_fill(elements * BYTES_OF_THREE + SLACK_BYTES * cpus.len() as u64)?;
    for (key, value) in [
        ("elements", elements),
        ("threads", cpus.len() as u64),
        ("offset_bytes", copy_offset_bytes(Reach::Memory) as u64),
    ] {
        case.note(key, value);
    }
    case.note("kernel", kernel.name);
    let obtained = Mutex::new(None);
    let total = usize::try_from(elements).map_err(Stop::skipped)?;
    case.together(&cpus, elements * operation.bytes_per_element(), |index| {
        let share = Share::new(part(total, cpus.len(), index), kernel, pages)?;
        if let (0, Ok(mut obtained)) = (index, obtained.lock()) {
            *obtained = Some(share.pages(pages));
        }
        Ok(share)
    })?;
    let obtained = obtained.into_inner().ok().flatten();
    case.note("pages", obtained.unwrap_or_else(|| "unknown".to_owned()));
    Ok(())
}

fn kernel(operation: Operation, store: &str) -> Result<&'static Kernel> {
    let kernel = match store {
        "nt" => stream::non_temporal(operation),
        "libc" => stream::kernel(operation, "libc"),
        _ => stream::best(operation, Reach::Memory),
    };
    kernel.ok_or_else(|| Stop::skipped(format!("there is no such operation with {store} stores: libc copies alone")))
}

/// Elements of each array: as asked for, or by the rule, as far as memory allows.
fn elements(case: &mut Case, threads: u64) -> Result<u64> {
    let caches = if case.llc_sum_bytes() > 0 { case.llc_sum_bytes() } else { USUAL_CACHE_BYTES };
    let enough = TIMES_CACHES * caches / 8;
    let most = case.fillable_bytes().saturating_sub(SLACK_BYTES * threads) / BYTES_OF_THREE;
    let elements = match case.param::<String>("elements")?.as_str() {
        "auto" => enough.min(most.max(1)),
        _ => case.param("elements")?,
    };
    if elements < enough {
        let times = elements as f64 * 8.0 / caches as f64;
        case.note(
            "short",
            format!("each array has {times:.2} times the bytes of the last-level caches, not {TIMES_CACHES}"),
        );
    }
    Ok(elements)
}
