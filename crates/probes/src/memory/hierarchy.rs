//! Probe memory.hierarchy: the levels of the memory hierarchy as memory.latency shows them, beside what the host reports.

use hostmark_engine::prelude::*;

mod companions;
mod levels;
mod measured;
mod naming;
mod shared;

use companions::companions;
use levels::{LATENCY, absent, levels};
use measured::measured;

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory hierarchy", zh: "存储层次" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[
        measured::FITS,
        measured::LEAVES,
        Quantity::CORE_CYCLES,
        companions::READ,
        companions::WRITE,
        companions::COPY,
        companions::LINE,
        companions::WAYS,
        companions::TLB,
        companions::TLB_MISS,
    ],
    explain: Explain {
        what: Text {
            en: "Executes nothing itself. It splits memory.latency's curve over size (random pattern, huge pages, the \
                 best round of each size) into plateaus. Each plateau is a level, named by its order and by the caches \
                 that the host reports; in a guest that report is only a claim. A plateau that nothing identifies has \
                 no name. A level's size is given as two points of the curve. The first is the largest size whose \
                 whole interval is below 1.6 times the level's latency. The second is the smallest larger size whose \
                 whole interval is above that and above the geometric mean of this level and the next. A level's \
                 latency is that of the middle of its plateau, since near its end conflicts and translation already \
                 cost time; DRAM's is that of the largest size with an interval. Shown alongside are bandwidths (memory.read, write and \
                 copy at the largest size up to half the level), line size and ways for L1d, and the reach of the \
                 first TLB for L1d and of the second for L2.",
            zh: "本身不执行任何东西。把 memory.latency 随大小变化的曲线（随机模式、大页、每个大小取最好的一轮）切成若干平台：\
                 每个平台是一级，按次序和主机标称的缓存命名；虚拟机里的标称只是说法，无法确定的平台不命名。容量以曲线上的两个点给出：整个置信区间低于该级延迟 1.6 倍的最大测点，\
                 以及在它之上、整个区间高于该值且高于本级与下一级几何平均的最小测点。\
                 某级的延迟取其平台中间大小的延迟，因为接近边界处已含冲突与地址转换的代价；DRAM 取有区间的最大大小。\
                 旁边列出带宽（memory.read、write、copy 在不超过该级一半的最大大小处），L1d 旁列出缓存行与路数，一级 TLB 的覆盖页数列在 \
                 L1d 旁，二级的列在 L2 旁。",
        },
        why: Text {
            en: "A working set must fit a cache to be fast, and what the host reports is often not what you get: \
                 guests see wrong sizes, neighbours use a shared L3, firmware hides ways.",
            zh: "程序的工作集要装进缓存才快；而主机报告的容量常常不是实际可用的：虚拟机看到错误的大小，邻居虚拟机占用共\
                 享的 L3，固件隐藏了若干路。",
        },
        reading: Text {
            en: "The reported L1d and L2 sizes should lie between the two points. The reported topology does not \
                 confirm a level marked ≈. Of an L3 that others use the curve may show no plateau: its row has the \
                 value at a size that it still holds, and a remark says so. An unnamed last plateau may be a large cache or DRAM: measure larger sizes \
                 (--set memory.latency:size=) to find out. If the rounds' median is over 10 % above the best round, \
                 the machine was shared during the run.",
            zh: "L1d 与 L2 的报告容量应落在两点之间。标有 ≈ 的级别没有得到报告拓扑的证实。被他人占用的 L3 在曲线上可能没有平台：此时该行给出它仍能容纳的某个大小处的数值，并附说明。末尾未命名的平台可能是大缓存，也可能是 DRAM：测更大的大小（--set memory.latency:size=）即可分辨。各轮的中位数若比最好的一轮高出 10% 以上，说明测量时机器被共享。",
        },
        typical: Text {
            en: "Intel's optimisation manual has 4 to 6 core cycles for L1d and 14 for L2 of Skylake servers and \
                 their successors to Cascade Lake; AMD's guides 4 or 5, 12 or more, and on average 39 (Zen 2) or 46 \
                 (Zen 3) for L3. A published run of Intel's Memory Latency Checker on a 2-socket Cascade Lake server \
                 has 81 ns for DRAM. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 4.0 and \
                 14.0 cycles, L3 23 ns, DRAM 114 to 125 ns.",
            zh: "Intel 优化手册：Skylake 服务器到 Cascade Lake，L1d 为 4 到 6 个核心周期，L2 为 14；AMD 的指南为 4 或 5、不少于 12，L3 平均 39\
                 （Zen 2）或 46（Zen 3）。Intel Memory Latency Checker 在双路 Cascade Lake 服务器上的公开结果：DRAM 81 ns。用 \
                 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：4.0 与 14.0 个周期，L3 23 ns，DRAM 114 到 125 \
                 ns。",
        },
        causes: Text {
            en: "An L3 that ends early: neighbours use it, or it is split between core complexes. A missing L3: it is \
                 shared so heavily that no plateau is left. Wrong sizes in a guest are the hypervisor's claim. DRAM \
                 far slower than on similar hosts: a power-saving uncore, memory on another node, or pages that the \
                 hypervisor backs with small ones.",
            zh: "L3 提前结束，说明被邻居虚拟机占用，或按核心复合体划分；完全看不到 L3，说明共享过于激烈，曲线上没有平\
                 台。虚拟机里容量不符是虚拟机监控程序的说法。DRAM 远高于同类机器：非核心部分节能、内存位于另一节点，或\
                 虚拟机监控程序以小页支撑。",
        },
    },
    related: &["memory.latency", "memory.tlb", "memory.line", "memory.associativity", "memory.parallelism"],
    differs: Some(Text {
        en: "cache walks growing arrays at fixed strides, with the loads that the compiler chose. It prints sizes as \
             powers of two with their latency, and with neighbours its guesses vary freely. hostmark splits one curve, \
             of random chains in huge pages, into plateaus. The summary's L1 and L2 are lat_mem_rd at 1 KiB and 128 \
             KiB with a stride of 128 bytes, whatever the caches are.",
        zh: "cache 用编译器生成的加载以固定步长走过逐渐变大的数组，给出 2 的幂的容量及其延迟；有邻居虚拟机时只能乱猜。这\
             里从一条大页、随机链的曲线中切出平台。汇总表中的 L1 与 L2 是 lat_mem_rd 在 1 KiB 与 128 KiB、步长 128 字\
             节处的值，不管缓存实际多大。",
    }),
    axes: &[Axis::choice("level", "l1d", Points::Listed { quick: LEVELS, standard: &[], thorough: &[] })],
    replaces: &["cache"],
    section: crate::section::HIERARCHY,
    measure: Measure::Derive {
        from: &[
            Source::along(LATENCY, &["size"]),
            Source::along("memory.read", &["size"]),
            Source::along("memory.write", &["size"]),
            Source::along("memory.copy", &["size"]),
            Source::along("memory.line", &[]),
            Source::along("memory.associativity", &[]),
            Source::along("memory.tlb", &["level"]),
        ],
        derive,
    },
    ..Probe::PLAIN
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let found = levels(cases, host);
    let record = |key: String, outcome: Outcome| CaseRecord {
        id: format!("memory.hierarchy@level={key}"),
        probe: "memory.hierarchy".into(),
        params: Params(vec![("level".into(), key)]),
        outcome,
    };
    let mut records: Vec<CaseRecord> = found
        .iter()
        .map(|level| {
            record(level.name.key(), Outcome::Measured(Box::new(measured(level, companions(level, &found, cases)))))
        })
        .collect();
    for (place, key) in LEVELS.iter().enumerate() {
        if records.iter().all(|record| record.params.get("level") != Some(*key)) {
            let skipped = Outcome::Skipped { reason: absent(key, &found, cases) };
            records.insert(place.min(records.len()), record((*key).into(), skipped));
        }
    }
    records
}

/// The levels that have a name, on every machine in this order.
const LEVELS: &[&str] = &["l1d", "l2", "l3", "dram"];

#[cfg(test)]
#[path = "hierarchy_tests.rs"]
mod tests;
