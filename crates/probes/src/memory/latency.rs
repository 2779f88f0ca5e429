//! Probe memory.latency: one load that needs the one before, by size, pattern and page.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{Chain, WINDOW_PAGES};

/// Up to this multiple of the last-level cache a full pass precedes, so that what stays cached is cached.
const PASS_UP_TO_CACHES: u64 = 2;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory latency", zh: "内存延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "Every line of a buffer holds the address of another; one instruction, mov r,[r], follows the chain, so that \
                 no load can start before the last one has ended. Patterns: random is one cycle over all lines in \
                 random order (Sattolo's shuffle); in_page stays inside a window of 64 pages until all of its lines are \
                 done, which keeps address translation cheap; a number is a stride in bytes, forward, as lmbench does.",
            zh: "缓冲区的每个缓存行里存着另一行的地址；一条指令 mov r,[r] 沿链前进，前一次加载未完成，后一次就无法开始。模式：\
                 random 是以随机顺序走遍所有行的一个环（Sattolo 洗牌）；in_page 在 64 页的窗口内走完所有行再换窗口，使地址转换\
                 保持便宜；数字表示以字节计的向前步长，与 lmbench 相同。",
        },
        why: Text {
            en: "Pointer chasing is what trees, hash tables, linked lists and interpreters do. Their speed is this latency, \
                 not the bandwidth, and it differs a hundredfold between L1 and DRAM.",
            zh: "树、哈希表、链表和解释器都在追指针。决定它们速度的是延迟而不是带宽，而 L1 与 DRAM 之间的延迟相差上百倍。",
        },
        reading: Text {
            en: "4 or 5 core cycles in L1d, 12 to 18 in L2, 40 to 80 in L3, 70 to 130 ns in DRAM of one socket. Steps stand \
                 where a level ends. random above in_page is the price of TLB misses; base pages above pmd likewise. A \
                 small stride looks faster than random beyond L2, because prefetchers guess it. In a guest the L3 is \
                 shared with neighbours: a wide interval there is theirs.",
            zh: "L1d 为 4 到 5 个核心周期，L2 12 到 18，L3 40 到 80，单路 DRAM 70 到 130 ns。台阶处即某一级的边界。random \
                 高出 in_page 的部分是 TLB 未命中的代价，base 页高出 pmd 页也是如此。小步长在 L2 之外看起来比 random 快，\
                 因为预取器能猜中。虚拟机里 L3 与邻居共享：那里的宽区间来自邻居。",
        },
    },
    axes: &[
        Axis::size("size", "67108864", Points::OfHost(sizes)),
        Axis::choice(
            "pattern",
            "random",
            Points::Listed {
                quick: &["random", "in_page", "64", "4096"],
                standard: &["128", "256", "512", "1024", "8192", "16384"],
                thorough: &[],
            },
        ),
        super::PAGE,
        Axis::copies(Profile::Standard),
    ],
    cross: &[Cross { from: Profile::Thorough, axes: &["size", "pattern"] }],
    limit: Limit::Rising("size"),
    blocking: false,
    needs: &[],
    replaces: &["lat_mem_rd"],
    section: crate::section::LATENCY,
    measure: Measure::Run(measure),
};

/// Sizes beside the quarter octaves, KiB: those of the classic tables of latency by size and stride.
const THOROUGH_KIB: [u64; 22] = [
    48, 160, 192, 224, 320, 448, 576, 768, 832, 1280, 1536, 1792, 2304, 2560, 3072, 3328, 3584, 4352, 5120, 6144, 6400,
    7168,
];

/// Two points an octave, from the standard profile on four, so that a level's end lies between two close points.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let an_octave = if profile == Profile::Quick { 2 } else { 4 };
    let largest = super::largest(host, profile);
    let first = if profile == Profile::Thorough { 1 << 10 } else { 4 << 10 };
    let point = |step: u32| {
        let bytes = first as f64 * 2_f64.powf(f64::from(step) / f64::from(an_octave));
        (bytes / 1024.0).round() as u64 * 1024
    };
    let between = if profile == Profile::Thorough { &THOROUGH_KIB[..] } else { &[] };
    let between = between.iter().map(|kib| kib * 1024).filter(|&size| size <= largest);
    (0..).map(point).take_while(|&size| size <= largest).chain(between).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let pattern: String = case.param("pattern")?;
    let pages = super::pages(case)?;
    let line = case.line_bytes() as usize;
    let mut buffer = case.buffer(size, pages, None)?;
    let memory = buffer.bytes_mut();
    let chain = match pattern.as_str() {
        "random" => Chain::random(memory, line, case.seed()),
        "in_page" => Chain::windowed(memory, line, 4096, WINDOW_PAGES, case.seed()),
        stride => {
            let stride: u64 = stride.parse().map_err(Stop::failed)?;
            if stride > size {
                return Err(Stop::skipped(format!("a stride of {stride} bytes does not fit a smaller buffer")));
            }
            Chain::strided(memory, stride as usize)
        }
    };
    let mut chain = chain.map_err(|refused| Stop::skipped(format!("cannot {refused}")))?;
    if size <= PASS_UP_TO_CACHES * case.llc_bytes() {
        chain.walk(chain.nodes());
    }
    case.time_n(|n| chain.walk(n))
}
