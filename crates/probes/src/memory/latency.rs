//! Probe memory.latency: one load that needs the one before, by size, pattern and page.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{Chain, WINDOW_PAGES};

/// Lines that the adjacent-line prefetcher brings in together: of each pair one is visited, or every second load would find its
/// line under way, or not, as the machine's load decides.
const PAIR_BYTES: usize = 128;

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory latency", zh: "内存延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "Every cache line of a buffer holds the address of another line. One instruction, mov r,[r], follows \
                 this chain, so no load can start before the previous one has finished; the value is the time of one \
                 load. pattern=random visits all lines once, in random order. in_page visits one line of every 128 \
                 bytes (hardware prefetches lines in pairs), in random order within a window of 64 pages, then goes \
                 on to the next window, so that address translation stays cheap. A number is a forward stride in \
                 bytes, as in lmbench. page=pmd asks for transparent huge pages (2 MiB on x86), base for base pages \
                 (4 KiB). copies is the number of processes that do this at the same time, each on its own CPU.",
            zh: "缓冲区的每个缓存行存放另一行的地址；一条指令 mov r,[r] 沿链前进，前一次加载未完成，后一次就无法开\
                 始；数值为一次加载的时间。pattern=random 以随机顺序访问每一行各一次；in_page 每 128 字节访问一行（\
                 硬件成对预取缓存行），走完一个 64 页的窗口再进入下一个，使地址转换的代价很小；数字表示向前的步长（\
                 字节），与 lmbench 相同。page=pmd 请求透明大页（x86 上为 2 MiB），base 为基本页（4 KiB）。copies 为\
                 同时这样做的进程数，各在自己的 CPU 上。",
        },
        why: Text {
            en: "Trees, hash tables, linked lists and interpreters chase pointers. Their speed depends on this \
                 latency, not on bandwidth. It differs a hundredfold between L1 and DRAM.",
            zh: "树、哈希表、链表和解释器都在追指针。决定它们速度的是延迟而不是带宽，而 L1 与 DRAM 之间的延迟相差上百倍。",
        },
        reading: Text {
            en: "Along size, each step marks the end of a cache level. random above in_page is the cost of TLB \
                 misses that the page size at hand leaves; base above pmd is what huge pages save of them. The \
                 default size, 64 MiB, may still fit a large L3: DRAM is where the curve is flat again \
                 (memory.hierarchy). A small stride looks faster than random beyond L2, because prefetchers predict \
                 it. A guest shares its L3 with neighbours: a wide interval at L3 sizes comes from them.",
            zh: "沿 size 看，台阶处即某一级缓存的边界。random 高出 in_page 的部分，是在所用页大小下 TLB 未命中的代\
                 价；base 高出 pmd 的部分，是大页从中省去的。默认的 64 MiB 可能仍装得进很大的 L3：曲线再次变平处才是 \
                 DRAM（见 memory.hierarchy）。小步长在 L2 之外看起来比 random 快，因为预取器能猜中。虚拟机与邻居虚拟机\
                 共享 L3：L3 大小处的区间若很宽，是他们造成的。",
        },
        typical: Text {
            en: "In core cycles L1d 4 or 5 and L2 12 to 18 (Intel's and AMD's optimisation manuals), L3 40 to 80; in \
                 DRAM 81 ns on a 2-socket Cascade Lake server (published run of Memory Latency Checker). A Core \
                 i5-2520M of 2011: L1d 1.34 ns, L2 4.0, L3 10 to 12, DRAM 55. Measured with hostmark \
                 on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): L1d 1.29 ns (4.0 cycles), L2 4.52 (14.0), L3 20 to \
                 27, DRAM 115 to 125, 161 with base pages, 9 at stride 64.",
            zh: "以核心周期计，L1d 为 4 或 5，L2 为 12 到 18（Intel 与 AMD 的优化手册），L3 为 40 到 80；双路 \
                 Cascade Lake 服务器的 DRAM 为 81 ns（Memory Latency Checker 的公开结果）。2011 年的 Core i5-2520M：\
                 L1d 1.34 ns、L2 4.0、L3 10 到 12，DRAM 55。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux \
                 6.18）上实测：L1d 1.29 ns（4.0 个周期）、L2 4.52（14.0）、L3 20 到 27，DRAM 115 到 125，基本页 \
                 161，步长 64 时为 9。",
        },
        causes: Text {
            en: "Base pages where huge pages would do (THP=madvise or never), in the guest or on its host; neighbours \
                 in a shared L3; memory on another node; a power-saving uncore or memory clock; an unexpected sub-NUMA \
                 mode. L1d above 5 cycles: a disturbed core, or a chain that does not fit L1d.",
            zh: "本可用大页却用了基本页（THP 为 madvise 或 never），在虚拟机内或宿主机上；共享 L3 的邻居虚拟机；内存位于\
                 另一节点；非核心部分或内存降频节能；sub-NUMA 模式与预期不同。L1d 超过 5 个周期：核心受到干扰，或链超\
                 出了 L1d。",
        },
    },
    related: &["memory.hierarchy", "memory.tlb", "memory.parallelism", "memory.loaded_latency", "memory.numa_latency"],
    differs: Some(Text {
        en: "lat_mem_rd walks at a fixed stride, which prefetchers follow: with its 128 bytes it may show a tenth of \
             the DRAM latency. Its -t visits base pages in random order, as page=base does here. It reports the \
             smallest of its repetitions; hostmark reports the quiet value in the core's own caches, else the median, over several processes. \
             With the same pattern both agree within 3 % (docs/accuracy.md).",
        zh: "lat_mem_rd 用固定步长，预取器跟得上：其 128 字节可能只显示 DRAM 延迟的十分之一；其 -t 在基本页中按随机顺\
             序，相当于这里的 page=base。lat_mem_rd 报告各次重复的最小值，hostmark 在核心自有缓存内报告多个进程的空闲值，此外报告中位数。相同模式下两\
             者相差 3% 以内（见 docs/accuracy.md）。",
    }),
    axes: &[
        Axis {
            at_a_glance: Some(few_sizes),
            ..Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain)
        },
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
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "pattern"] }],
    // Of a fixed stride prefetchers guess the more the longer it goes on, and a few lines may meet in one set.
    limit: Limit::RisingOf("size", ("pattern", &["random", "in_page"])),
    replaces: &["lat_mem_rd"],
    core_bound: CoreBound::SIZE,
    section: crate::section::LATENCY,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Sizes beside the quarter octaves and those around the host's own caches, KiB: those of the classic tables of latency by size and stride.
const THOROUGH_KIB: [u64; 22] = [
    48, 160, 192, 224, 320, 448, 576, 768, 832, 1280, 1536, 1792, 2304, 2560, 3072, 3328, 3584, 4352, 5120, 6144, 6400,
    7168,
];

/// Two points an octave (one beyond 64 MiB, where the largest has to leave a very large cache), from the standard profile on four, so that a level's end lies between two close points.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let an_octave = if profile == Profile::Quick { 2 } else { 4 };
    let largest = super::largest(host, profile);
    let first = if profile == Profile::Thorough { 1 << 10 } else { 4 << 10 };
    let point = |step: u32| {
        let bytes = first as f64 * 2_f64.powf(f64::from(step) / f64::from(an_octave));
        (bytes / 1024.0).round() as u64 * 1024
    };
    let own = single(host).map(|cpu| host.sizes_around_caches(cpu)).into_iter().flatten();
    let between = own.flat_map(|around| around.sizes).chain(THOROUGH_KIB.map(|kib| kib * 1024));
    let between = between.filter(|&size| profile == Profile::Thorough && size <= largest);
    let far = super::beyond(host, super::largest(host, Profile::Quick));
    let is_kept = |size: &u64| profile > Profile::Quick || *size <= super::USUAL_BYTES || size.is_power_of_two();
    (0..).map(point).take_while(|&size| size <= largest).filter(is_kept).chain(between).chain(far).collect()
}

/// Of the quick profile's sizes those that tell each level: three of each cache, near four times the one before, where it answers however much of it
/// others use; and the two largest.
fn few_sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = sizes(host, profile);
    let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let ends: Vec<u64> = caches.map(|cache| host.effective_bytes(cache)).filter(|&bytes| bytes > 0).collect();
    let begins = ends.first().map(|first| first / 16).into_iter().chain(ends.iter().copied());
    let of_cache = |(begin, &end): (u64, &u64)| {
        let from_fourfold = |size: &u64| (*size as f64 / (4 * begin) as f64).ln().abs();
        let mut inside: Vec<u64> = all.iter().copied().filter(|size| (begin + begin / 4..end).contains(size)).collect();
        inside.sort_by(|one, other| from_fourfold(one).total_cmp(&from_fourfold(other)));
        inside.truncate(3);
        inside
    };
    let largest = all.iter().rev().take(2).copied();
    if ends.is_empty() { all } else { begins.zip(&ends).flat_map(of_cache).chain(largest).collect() }
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let pattern: String = case.param("pattern")?;
    let pages = super::pages(case)?;
    let line = case.line_bytes() as usize;
    let mut buffer = crate::chained::chained(case, size, pages, None)?;
    let memory = buffer.bytes_mut();
    let chain = match pattern.as_str() {
        "random" => Chain::random(memory, line, case.seed()),
        "in_page" => Chain::windowed(memory, line.max(PAIR_BYTES), 4096, WINDOW_PAGES, case.seed()),
        stride => {
            let stride: u64 = stride.parse()?;
            if stride > size {
                return Err(RoundError::skipped(
                    ReasonCode::NotApplicable,
                    format!("a stride of {stride} bytes does not fit a smaller buffer"),
                ));
            }
            Chain::strided(memory, stride as usize)
        }
    };
    let chain = chain.map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line as u64, &case.steady());
    case.loops(|n| chain.walk(n)).time()
}
