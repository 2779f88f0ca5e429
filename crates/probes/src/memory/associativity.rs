//! Probe memory.associativity: the ways of the first-level data cache, by lines that must all lie in one set.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

/// Lines that are tried at most: twice the ways of the widest L1d known.
const MOST_LINES: usize = 32;
/// The smallest distance of two lines: what a page of 4 KiB leaves to the virtual index.
const LEAST_STRIDE_BYTES: usize = 4096;
/// The largest: a 128 KiB cache of 2 ways.
const MOST_STRIDE_BYTES: usize = 65536;
/// A load that misses L1d takes over twice as long; under random replacement one line too many makes few miss.
const STEP: f64 = 1.12;
/// Numbers of lines in a row over the step that make it one.
const LASTING: usize = 3;
/// Loads of a walk, and walks of a number of lines.
const LOADS: usize = 2048;
const WALKS: usize = 6;

pub static PROBE: Probe = Probe {
    title: Text { en: "Ways of the L1 data cache", zh: "一级数据缓存的路数" },
    revision: 1,
    unit: Unit::Count,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "A chain of dependent loads cycles through 2, 3, 4 … lines, one stride apart, in random order. If the \
                 stride is a multiple of a way's size, all lines compete for one set, and loads slow down as soon as \
                 there are more lines than ways. The stride doubles from 4 KiB until twice the stride gives the same \
                 number. The value is the one that most rounds find, among the numbers of ways that real L1d caches \
                 have (a power of two, or three times one).",
            zh: "相关加载链以随机顺序循环访问 2、3、4…… 个相隔固定步长的缓存行。当步长是一路大小的整数倍时，这些行争用同一组，行数一旦超过\
                 路数，加载就变慢。步长从 4 KiB 起加倍，直到再加倍也得到同一数目。各轮投票：取多数轮得到的数目，且只认可 L1d 实际会有的路数（2 的幂，或其三倍）。",
        },
        why: Text {
            en: "Data a power of two apart (columns of a matrix, buffers at page boundaries, per-thread stacks) shares sets: with 8 \
                 ways the ninth such line evicts the first, in a cache that is otherwise empty.",
            zh: "相隔 2 的幂的数据（矩阵的列、页对齐的缓冲区、各线程的栈）落在同一组：8 路时第九个这样的行就会挤出第一个，哪怕缓存其余部分是空的。",
        },
        reading: Text {
            en: "With 8 ways, the ninth line of a set evicts the first. A way is no larger than a 4 KiB page, because \
                 its index needs no translation: L1d size / 4 KiB is the smallest possible number of ways. Only L1d is \
                 measured: other caches are indexed by physical address, which programs cannot see.",
            zh: "8 路缓存中，同一组的第九行逐出第一行。一路不大于 4 KiB 页，索引因而无需地址转换：L1d 容量 ÷ 4 KiB 即最少的路数。只测 L1d：其他缓存按物理地址索引，\
                 而程序看不到物理地址。",
        },
        typical: Text {
            en: "By design 8 on most x86 cores with 32 KiB, 12 with an L1d of 48 KiB (Ice Lake and later), 4 to 8 on \
                 Arm. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 8 in every run, as sysfs \
                 says.",
            zh: "按设计，32 KiB 的多数 x86 核心为 8，48 KiB 的（Ice Lake 及以后）为 12，Arm 为 4 到 8。用 hostmark 在双 CPU 的 KVM 虚拟机\
                 （Cascade Lake，Linux 6.18）上实测：每次都是 8，与 sysfs 一致。",
        },
        causes: Text {
            en: "Fewer ways than reported: something else keeps lines there, mostly the core's other thread, which a \
                 guest may not see.",
            zh: "少于标称值：有别人占用其中的行，多半是同一核心的另一线程，虚拟机可能看不见它。",
        },
    },
    related: &["memory.line", "memory.hierarchy", "memory.tlb"],
    limit: Limit::Voted,
    section: crate::section::STRUCTURE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    // Huge pages where there are any: with base pages the lines are as many pages, which larger strides crowd in the TLB.
    let mut buffer = case.buffer((MOST_LINES * MOST_STRIDE_BYTES) as u64, Pages::Pmd, None)?;
    let mut seed = case.seed();
    case.search(|clock| {
        let mut time = |lines: usize, stride: usize| -> Result<f64> {
            seed = seed.wrapping_add(1);
            let offsets: Vec<usize> = shuffled(lines, seed).into_iter().map(|line| line * stride).collect();
            fastest_ns(clock, buffer.bytes_mut(), &offsets, LOADS, WALKS)
        };
        Ok(ways(&mut time)?.filter(|&ways| is_built(ways)).map(|ways| ways as f64))
    })
}

/// Whether an L1d of so many ways is built: a power of two or three times one, since its ways are as large as powers of two and
/// its size is such a number. Whoever shares the cache takes ways away, and leaves 11 or 10 of 12.
fn is_built(ways: usize) -> bool {
    ways.is_power_of_two() || (ways.is_multiple_of(3) && (ways / 3).is_power_of_two())
}

/// The ways that the times of so many lines at such a stride show.
fn ways(time: &mut impl FnMut(usize, usize) -> Result<f64>) -> Result<Option<usize>> {
    let mut before = None;
    let mut stride = LEAST_STRIDE_BYTES;
    while stride <= MOST_STRIDE_BYTES {
        let fit = fitting(&mut |lines| time(lines, stride))?;
        if fit.is_some() && fit == before {
            return Ok(fit);
        }
        (before, stride) = (fit, 2 * stride);
    }
    Ok(None)
}

/// The largest number of lines before loads become slower, and stay so.
fn fitting(time: &mut impl FnMut(usize) -> Result<f64>) -> Result<Option<usize>> {
    let (mut fastest, mut slow) = (f64::INFINITY, 0);
    for lines in 1..=MOST_LINES {
        let ns = time(lines)?;
        fastest = fastest.min(ns);
        slow = if ns > STEP * fastest { slow + 1 } else { 0 };
        if slow == LASTING {
            return Ok(Some(lines - LASTING));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "associativity_tests.rs"]
mod tests;
