//! Probe memory.line: the size of a cache line, by what misses and by what two CPUs contend for.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

mod sharing;

/// Distances that are tried, bytes; no CPU's line is larger than half of the last.
const DISTANCES: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
/// Each pair of words lies in a space of its own, this large, at a multiple of [`ALIGN_BYTES`] that varies also among pairs
/// which lie a power of two apart: so that the lines fall on as many sets of the second-level cache as they can.
const SPACE_BYTES: usize = 2048;
const ALIGN_BYTES: usize = 256;
/// Pairs for each line of L1d. In an eighth of its sets, on which so aligned words fall, they are four times what it holds; and
/// a second cache of 256 KiB with four ways still holds both words of each.
const PAIRS_A_LINE: f64 = 0.5;
/// A distance counts as two lines from this part of the way between the lowest and the highest cost on.
const PART: f64 = 0.5;
/// Two misses instead of one: a smaller step is none.
const LEAST_STEP: f64 = 1.25;

/// The largest L1d known, where the host does not tell its own.
const LARGEST_L1D_BYTES: u64 = 128 << 10;
/// Walks of a distance.
const WALKS: usize = 6;

pub static PROBE: Probe = Probe {
    title: Text { en: "Cache line", zh: "缓存行大小" },
    revision: 2,
    unit: Unit::Bytes,
    better: Better::Neither,
    explain: Explain {
        what: Text {
            en: "sharers=1: a chain of dependent loads visits pairs of words, 8 to 512 bytes apart and the upper one \
                 first, in a buffer that misses L1d and hits L2. If both words share a line, the second load hits; the \
                 value is the smallest distance at which it misses as well. sharers=2: two CPUs each add atomically to \
                 their own word; the value is the smallest distance at which they no longer slow each other down \
                 (false sharing). The value is the one that most rounds find.",
            zh: "sharers=1：相关加载链在一个 L1d 装不下、L2 装得下的缓冲区里成对访问相距 8 到 512 字节的两个字，先高后低。两字同在一行时\
                 第二次加载命中；数值是第二次也未命中的最小距离。sharers=2：两个 CPU 各自对自己的字做原子加；数值是二者不再互相拖慢\
                 （伪共享消失）的最小距离。各轮投票，取多数轮得到的数目。",
        },
        why: Text {
            en: "A line is the unit that a miss fetches and that CPUs pass to each other. Put fields that are used \
                 together into one line, and fields that different threads write into separate lines.",
            zh: "一次缺失取回的是一行，CPU 之间传递的也是一行。一起使用的字段应放在同一行，不同线程写的字段应放在不同的行。",
        },
        reading: Text {
            en: "Both methods should agree with the size that the host reports. Beyond L2 a miss often fetches the \
                 neighbouring line too (adjacent-line prefetch), so the unit looks like 128 bytes there; libraries pad \
                 to 128 for that reason, although the line is 64. sharers=1 is skipped if prefetchers that fetch \
                 groups of lines make it exceed the reported line (256 bytes on Zen 5). sharers=2 is skipped if the \
                 two CPUs show no contention, like threads of one core, which share their L1d.",
            zh: "两种方法都应与宿主报告的一致。在 L2 之外，一次缺失常会把相邻行一并取回（相邻行预取），于是那里看起来像以 128 字节为单位：一些库因此按 128 字节填充，尽管\
                 行是 64 字节。若 sharers=1 得到的数值大于报告的行（成组预取所致，Zen 5 上为 256 字节），则跳过。若两个 CPU 之间看不出争用（例如共享 L1d 的同一核心的两个线程），sharers=2 会被跳过。",
        },
        typical: Text {
            en: "By design 64 bytes on x86 and most Arm servers, 128 on some Arm designs, 256 on A64FX. Measured with \
                 hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 64 both ways, in every run.",
            zh: "按设计，x86 和多数 Arm 服务器为 64 字节，部分 Arm 设计为 128，A64FX 为 256。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade \
                 Lake，Linux 6.18）上实测：两种方法每次都是 64。",
        },
        causes: Text {
            en: "A value that differs from sysfs: a hypervisor that reports another CPU's caches, or a core whose \
                 other thread evicts lines meanwhile. 128 with sharers=2: two CPUs whose coherence works in pairs of \
                 lines.",
            zh: "与 sysfs 不符：虚拟机监控程序报告了别的 CPU 的缓存，或同一核心的另一线程在此期间逐出缓存行。sharers=2 给出 128：两个 CPU 的一致性以一对缓存行为\
                 单位。",
        },
    },
    related: &["cpu.core_to_core", "memory.associativity", "memory.hierarchy"],
    differs: Some(Text {
        en: "line times strided walks in a buffer beyond the caches, where the adjacent-line prefetcher makes pairs: \
             it gave 128 in one run of four beside hostmark's 64 (docs/accuracy.md). Here the buffer misses L1d and \
             hits L2.",
        zh: "line 在超出缓存的缓冲区里测固定步长的遍历，那里相邻行预取使行成对：与 hostmark 的 64 并列，四次运行中有一次给出 128（见 docs/accuracy.md）。这里\
             的缓冲区在 L1d 未命中、在 L2 命中。",
    }),
    axes: &[Axis::threads("sharers", Points::Listed { quick: &["1", "2"], standard: &[], thorough: &[] })],
    limit: Limit::PowerOfTwo,
    replaces: &["line"],
    section: crate::section::STRUCTURE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<usize>("sharers")? > 1 {
        return sharing::measure(case);
    }
    let l1d_bytes = if case.l1d_bytes() == 0 { LARGEST_L1D_BYTES } else { case.l1d_bytes() };
    let pairs = pairs(l1d_bytes as usize, case.line_bytes() as usize);
    let mut buffer = case.buffer((pairs * SPACE_BYTES) as u64, Pages::Pmd, None)?;
    let (mut seed, reported) = (case.seed(), case.line_bytes() as usize);
    case.search(|clock| {
        let mut curve = Vec::new();
        for distance in DISTANCES {
            seed = seed.wrapping_add(1);
            let words: Vec<usize> = shuffled(pairs, seed).into_iter().flat_map(|pair| words(pair, distance)).collect();
            let ns = fastest_ns(clock, buffer.bytes_mut(), &words, words.len(), WALKS)?;
            curve.push((distance, ns));
        }
        Ok(line(&curve, reported).map(|bytes| bytes as f64))
    })
}

/// How many pairs miss an L1d of so many bytes, each by one line at least.
fn pairs(l1d_bytes: usize, line_bytes: usize) -> usize {
    (l1d_bytes as f64 / line_bytes as f64 * PAIRS_A_LINE) as usize
}

/// Where the two words of a pair lie: the upper first, as prefetchers of L1d follow ascending loads.
fn words(pair: usize, distance: usize) -> [usize; 2] {
    let places = SPACE_BYTES / ALIGN_BYTES / 2;
    let turned: usize =
        std::iter::successors(Some(pair), |pair| Some(pair / places)).take_while(|pair| *pair > 0).sum();
    let lower = pair * SPACE_BYTES + turned % places * ALIGN_BYTES;
    [lower + distance, lower]
}

/// The line that a curve shows. Where prefetchers bring lines in by groups, the second load hits within a group: on Zen 5 every
/// curve steps at 256 bytes. What is larger than the line that the host reports is such a group for all that can be told here.
fn line(curve: &[(usize, f64)], reported: usize) -> Option<usize> {
    first_apart(curve).filter(|&bytes| bytes <= reported)
}

/// The first distance of a curve of costs that is on its high side, when there is a low and a high side and all from there
/// on are high; none otherwise.
fn first_apart(curve: &[(usize, f64)]) -> Option<usize> {
    let (low, high) = (curve.first()?.1, curve.last()?.1);
    let is_apart = |cost: f64| cost > low + PART * (high - low);
    let first = curve.iter().position(|&(_, cost)| is_apart(cost))?;
    let is_one_step = curve[first..].iter().all(|&(_, cost)| is_apart(cost));
    (high > LEAST_STEP * low && is_one_step).then_some(curve[first].0)
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
