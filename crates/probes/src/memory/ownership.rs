//! Probe memory.ownership: what a line costs that a core takes to write, by the level that holds it.

use hostmark_engine::prelude::*;

use crate::kernels::chase::Chain;

pub static PROBE: Probe = Probe {
    title: Text { en: "Ownership of a line", zh: "取得缓存行的所有权" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "Every line of `size` bytes in huge pages holds the address of another; one random cycle goes through all of them, as in \
                 memory.latency. op=own follows it by atomic fetch-and-add of zero (lock xadd; on AArch64 an exclusive load and store): \
                 a core must own a line before it learns where the next one is (read for ownership). op=write follows it by plain loads \
                 and stores a word to each line behind its load. Both leave every line dirty, so each line that comes in pushes out one \
                 that must be written back.",
            zh: "`size` 字节（大页）中的每一行存放另一行的地址，一个随机环走遍所有行，与 memory.latency 相同。op=own 用加零的原子 fetch-and-add \
                 （lock xadd；AArch64 上为一对独占加载与存储）前进：核心必须先拥有该行，才知道下一行在哪里（read for ownership）。op=write 用普通加\
                 载前进，并在加载之后向每一行存一个字。两者都使所有行变脏，因此每取入一行，就要挤出一个必须写回的行。",
        },
        why: Text {
            en: "Counters, reference counts, locks, queues and in-place updates write to lines that no first-level cache holds. Their price \
                 is this latency, not that of a load.",
            zh: "计数器、引用计数、锁、队列和就地更新都要写一级缓存里没有的行，其代价是这里的延迟，而不是加载延迟。",
        },
        reading: Text {
            en: "Compare with memory.latency at the same size. op=write above it is what write-backs cost a program that waits for each \
                 line: little where buffers take them, more where a level has one port for both directions. In L1d op=own is the atomic \
                 operation alone (cpu.atomic); its excess over memory.latency at a larger size beyond that is the price of owning. What \
                 write-backs take of bandwidth is memory.read beside memory.write; stores that do not wait for each other are \
                 memory.random_access with op=write; a line that another core has is cpu.core_to_core.",
            zh: "与相同大小的 memory.latency 比较。op=write 高出的部分，是写回给逐行等待的程序带来的代价：有缓冲时很小，两个方向共用端口的一级上\
                 较大。在 L1d 中 op=own 只是原子操作本身（cpu.atomic）；在更大的 size 上，它高出 memory.latency 的部分再减去这一值，才是取得所有权\
                 的代价。写回占用的带宽见 memory.read 与 memory.write 之比；互不等待的存储见 memory.random_access 的 op=write；行在另一核心时见 \
                 cpu.core_to_core。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs beside other load: op=own 1.4 to 1.5 ns at \
                 16 KiB (5 cycles), 7.4 to 7.6 at 512 KiB, 18 to 19 at 4 MiB and 150 to 158 at 64 MiB; op=write 1.1, 4.8 to 5.0, 15 to \
                 16 and 145 to 153, as loads alone. In L1d a locked compare-and-swap takes 14 to 19 cycles on Alder Lake (uops.info).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测，五次运行，另有其他负载：op=own 在 16 KiB 为 1.4 到 1.5 \
                 ns（5 个周期），512 KiB 为 7.4 到 7.6，4 MiB 为 18 到 19，64 MiB 为 150 到 158；op=write 为 1.1、4.8 到 5.0、15 到 16 和 145 到 \
                 153，与单纯加载相同。在 L1d 中，带 lock 的比较并交换在 Alder Lake 上为 14 到 19 个周期（uops.info）。",
        },
        causes: Text {
            en: "A victim cache that takes every evicted line, dirty or not; memory on another node or behind CXL; directories between \
                 sockets that must be asked before a line is owned; neighbours on the last cache and the memory channels.",
            zh: "victim 缓存要接收每个被逐出的行，不论脏否；内存在另一节点或 CXL 之后；取得所有权之前须查询插槽间的目录；末级缓存与内存通道上\
                 的邻居虚拟机。",
        },
    },
    related: &["memory.latency", "memory.random_access", "memory.write", "cpu.atomic"],
    axes: &[
        Axis::choice("op", "own", Points::Listed { quick: &["own", "write"], standard: &[], thorough: &[] }),
        Axis::size("size", "67108864", Points::OfHost(sizes)).fills(Fill::Chain),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["op", "size"] }],
    limit: Limit::Rising("size"),
    core_bound: CoreBound::SIZE,
    section: crate::section::LATENCY,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Half of each cache; four times what all but the last hold, which a neighbour leaves of the next for certain; and what is beyond all. Powers
/// of two, which memory.latency has as well.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let largest = super::largest(host, profile);
    let caches = single(host).into_iter().flat_map(|cpu| (1..=5).filter_map(move |level| host.cache(cpu, level)));
    let powers: Vec<u64> =
        caches.filter_map(|cache| cache.size_bytes.checked_ilog2()).map(|power| 1 << power).collect();
    let halves = powers.iter().map(|power| power / 2);
    let fourfold = powers.iter().rev().skip(1).map(|power| 4 * power);
    let sizes = halves.chain(fourfold).chain([super::USUAL_BYTES]).filter(|&size| size <= largest);
    sizes.chain(super::beyond(host, super::USUAL_BYTES)).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let (op, size): (String, u64) = (case.param("op")?, case.param("size")?);
    let (line, seed) = (case.line_bytes(), case.seed());
    let mut buffer = crate::chained::chained(case, size, Pages::Pmd, None)?;
    let chain = Chain::random(buffer.bytes_mut(), line as usize, seed).map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line, &case.steady());
    let mut walk = |n| if op == "write" { chain.walk_writing(n) } else { chain.walk_owning(n) };
    // From the first sample on what leaves a cache is dirty.
    walk(size.min(case.llc_bytes().max(super::USUAL_BYTES)) / line);
    case.loops(walk).time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_in_each_cache_and_beyond_all() {
        let sizes = |kib: &[u64]| {
            let cache = |(level, kib): (u8, &u64)| CacheFact {
                level,
                size_bytes: kib << 10,
                shared_cpus: vec![0],
                ..CacheFact::default()
            };
            let cpu = CpuFact { id: 0, online: true, allowed: true, ..CpuFact::default() };
            let caches = (1..).zip(kib).map(cache).collect();
            let mut host = HostFacts { cpus: vec![cpu], caches, ..HostFacts::default() };
            host.memory.available_bytes = 64 << 30;
            super::sizes(&host, Profile::Standard).into_iter().map(|bytes| bytes >> 10).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[48, 1280, 30 << 10]), [16, 512, 8 << 10, 4096, 128, 64 << 10, 120 << 10]);
        assert_eq!(sizes(&[32, 1024, 260 << 10]), [16, 512, 128 << 10, 4096, 128, 64 << 10, 520 << 10]);
        assert_eq!(sizes(&[]), [64 << 10]);
        assert_eq!(sizes(&[0, 512]), [256, 64 << 10]);
    }
}
