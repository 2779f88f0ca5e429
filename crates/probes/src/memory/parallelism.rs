//! Probe memory.parallelism: how many times faster many independent chains of loads go than one, by size.

use hostmark_engine::prelude::*;

use crate::kernels::parallel::{Chains, LINKS_A_TURN};

/// A walk lasts at least so long, ns.
const WALK_NS: f64 = 200_000.0;

/// What a load comes to among the others.
const SHARE: Quantity = Quantity::given(
    "load",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "time per load over all chains", zh: "所有链合计的每次加载时间" },
);

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory parallelism", zh: "访存并行度" },
    revision: 2,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[SHARE],
    explain: Explain {
        what: Text {
            en: "Each line of a buffer carries two links: one belongs to a random cycle over all lines, the other to a \
                 separate chain over an equal part of them. The same loop walks one chain, then all chains side by \
                 side, in turn. The value is the time per load of the single walk divided by that of the parallel \
                 walk, the largest that repeats: others only take buffers away. Registers hold the chains' positions (on x86-64 vector registers hold most of them from the \
                 twelfth on, and memory the last six of 32, which costs a few cycles per link).",
            zh: "缓冲区每行带两个链接：一个属于遍历所有行的随机环，另一个属于各链在自己那一等份里的环。单链遍历与多链并行遍历（在同一循环里\
                 并排推进）交替进行；数值是前者每次加载的时间除以后者的，取能重复得到的最大值：他人只会占去缓冲。链的指针放在寄存器里（x86-64 上第十二条起多数放在向量寄存器，\
                 32 条中的最后六条放在内存里，每个链接多几个周期）。",
        },
        why: Text {
            en: "One miss at a time leaves memory idle. Hash joins, graph walks and key-value stores can gain this \
                 factor by working on several items at once (batching, prefetching, coroutines). Latency divided by it \
                 is the best average time of a random load.",
            zh: "一次只有一个缺失时内存多半闲着：哈希连接、图遍历、键值存储若同时处理多个元素（批处理、预取、协程），能快的倍数就是它。\
                 延迟除以它就是随机加载的最短平均时间。",
        },
        reading: Text {
            en: "Close to the number of chains until the core's line fill buffers are full, then flat. If it still \
                 rises at the largest number of chains measured, the value is marked as a lower bound. In L1d it \
                 equals latency × loads per cycle; the same buffers limit L2, L3 and DRAM.",
            zh: "链数不超过核心的行填充缓冲时接近链数，此后持平；若在所测的最大链数处仍在上升，数值备注中注明“至少”。\
                 在 L1d 为延迟乘以每周期加载数；L2 与 L3 受与 DRAM 同样的缓冲限制。",
        },
        typical: Text {
            en: "Line fill buffers by the makers' manuals: 10 on Intel to Broadwell, 12 from Skylake, 16 from Sunny \
                 Cove; 20 to 28 on Zen and recent Arm cores. Measured with hostmark on a 2-CPU KVM guest (Cascade \
                 Lake, Linux 6.18): 10 to 11 of 16 chains at 64 MiB, 12 ns a load; 11 at 512 KiB.",
            zh: "行填充缓冲，据厂商手册：Broadwell 及以前的 Intel 为 10，Skylake 起 12，Sunny Cove 起 16；Zen 与较新的 Arm 核心 20 到 28。用 \
                 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：64 MiB 时 16 条链得 10 到 11，每次加载 12 ns；512 \
                 KiB 时为 11。",
        },
        causes: Text {
            en: "Base pages, since a core does only one to four page walks at once; an SMT sibling that takes half the \
                 buffers; memory busy with other traffic, which moves the limit from the core to the channel.",
            zh: "基本页，核心同时只做一到四次页表遍历；兄弟线程占去一半缓冲；内存忙于他人，此时限制在通道而不在核心。",
        },
    },
    related: &["memory.latency", "memory.random_access", "cpu.parallelism"],
    differs: Some(Text {
        en: "par_mem runs 1 to 16 separate chains and prints the best speed-up; the summary takes it at the largest \
             size measured, which may still be a cache. Here one and many chains are timed side by side at 64 MiB, so \
             neighbours act on both alike.",
        zh: "par_mem 运行 1 到 16 条独立的链，打印最好的加速比；汇总表取所测的最大尺寸，那可能仍是缓存。这里在 64 MiB \
             让单链与多链交替计时，邻居虚拟机对两者的影响相同。",
    }),
    axes: &[
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain),
        Axis::count(
            "chains",
            "32",
            Points::Listed { quick: &["32"], standard: &["2", "4", "8", "16", "24"], thorough: &["12"] },
        ),
        Axis::choice("page", "pmd", Points::Listed { quick: &["pmd"], standard: &["base"], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "chains"] }],
    limit: Limit::Saturating("chains"),
    replaces: &["par_mem"],
    is_structure: true,
    section: crate::section::STRUCTURE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Half of each cache, in the quick profile only of the second level; and memory.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let Some(cpu) = single(host) else { return Vec::new() };
    let levels: &[u8] = if profile == Profile::Quick { &[2] } else { &[1, 2, 3] };
    let half = |level: &u8| Some(host.cache(cpu, *level)?.size_bytes / 2 / 4096 * 4096);
    let sizes = levels.iter().filter_map(half).chain([64 << 20]);
    sizes.filter(|&size| size > 0 && size <= super::largest(host, profile)).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let (size, chains): (u64, usize) = (case.param("size")?, case.param("chains")?);
    let pages = super::pages(case)?;
    let mut buffer = crate::chained::chained(case, size, pages, None)?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let walks = Chains::new(buffer.bytes_mut(), line, chains, seed);
    let mut walks = walks.map_err(crate::fastest::refused)?;
    let chains = chains as u64;
    // What stays cached is cached, and what does not is not.
    case.steady().after(|| walks.walk_each(walks.lines() / chains / LINKS_A_TURN + 1));
    let (mut turns_of_one, mut turns_of_each) = (16, 16);
    let mut loads_ns = Vec::new();
    case.search(|clock| {
        let one = paced(clock, &mut turns_of_one, |turns| walks.walk_one(turns));
        let each = paced(clock, &mut turns_of_each, |turns| walks.walk_each(turns)) / chains as f64;
        loads_ns.push(each);
        Ok(Some(one / each))
    })?;
    case.also(SHARE.name, loads_ns)
}

/// Nanoseconds a link of a walk, which is made longer until it lasts long enough.
fn paced(clock: &Clock, turns: &mut u64, mut walk: impl FnMut(u64)) -> f64 {
    loop {
        let ns = clock.time(|| walk(*turns));
        if ns >= WALK_NS {
            return ns / (*turns * LINKS_A_TURN) as f64;
        }
        *turns *= 2;
    }
}
