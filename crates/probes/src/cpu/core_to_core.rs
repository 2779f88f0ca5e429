//! Probe cpu.core_to_core: how long a cache line takes from one CPU to another.

mod pairs;

use std::sync::atomic::Ordering;

use hostmark_engine::prelude::*;

use crate::kernels::atomic::{self, Lonely};
use crate::kernels::hand_over::{ByStore, BySwap, HandOver};

use pairs::places;

/// Pages that a round chooses one of, so that rounds differ in where the line's home is.
const PAGES: u64 = 64;

pub static PROBE: Probe = Probe {
    title: Text { en: "Core to core", zh: "核心间传输" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Two threads, each on its own CPU, pass one word back and forth and spin without a pause \
                 instruction. The value is half a round trip. The word is alone on its page; each of the case's \
                 processes (rounds) takes another page. method=compare_and_swap waits by trying to swap, which takes \
                 the line exclusively each time; when the other's value arrives, the same instruction reads it and \
                 writes the answer, so the line is never fetched for reading first. load_store waits by reading and \
                 answers with a plain store, as flags and queues do: the line is fetched for reading, then again for \
                 writing.",
            zh: "两个线程各占一个 CPU，来回传递一个字，等待时不停自旋；数值为往返时间的一半。该字独占一页；用例的每\
                 一轮（一个新进程）换一页。method：compare_and_swap 以尝试交换来等待，每次都独占缓存行；对方的值一到，\
                 同一条指令既读出它又写入应答，不必先为读取而取一次缓存行；load_store 以读取来等待、以普通存储来应答，\
                 如同标志和队列，缓存行先为读取、再为写入各取一次。",
        },
        why: Text {
            en: "Locks, queues and counters between threads cost at least this. It shows which cores are close to each \
                 other, and thus which threads to keep together; a guest's topology may hide that.",
            zh: "线程间的锁、队列和计数器至少要付出这个代价。它显示哪些核心相近，也就说明哪些线程该放在一起：虚拟机\
                 的拓扑可能把这些隐藏起来。",
        },
        reading: Text {
            en: "The value is one way. load_store costs about twice compare_and_swap, since the line is fetched \
                 twice. Sort the pairs by value: close CPUs should share a cache or a die. The quick profile \
                 measures one pair per placement (same_cache, other_node …). The standard profile measures every \
                 pair of up to 11 CPUs, the thorough one of up to 32; on larger machines both pick pairs by what \
                 they share, and --set cpus=matrix measures all.",
            zh: "数值是单程。load_store 约为 compare_and_swap 的两倍，因为缓存行要取两次。按此把各对 CPU \
                 排序：相近的应当共享缓存或位于同一裸片（die）。quick 对每种位置（same_cache、other_node 等）各测一\
                 对；standard 在不超过 11 个 CPU 时测全部，thorough 在不超过 32 个时测全部；更大的机器上按共享关系选\
                 取若干对，--set cpus=matrix 测量全部。",
        },
        typical: Text {
            en: "Published by core-to-core-latency, which measures the same (compare and swap, one way): SMT siblings \
                 5 to 10 ns; one socket 47 ns on Cascade Lake, 51 on Ice Lake servers, 46 on Graviton 3, on AMD Milan \
                 23 within a cache and 107 to another; the other socket 108 to 136 on Intel, 197 on Milan. Measured \
                 with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 48 to 50 ns, load_store 108.",
            zh: "core-to-core-latency 以同样方法（比较并交换，单程）公布：SMT 兄弟线程 5 到 10 ns；同一插槽 Cascade \
                 Lake 47 ns，Ice Lake 服务器 51，Graviton 3 为 46，AMD Milan 缓存之内 23、跨缓存 107；另一插槽 Intel \
                 108 到 136，Milan 197。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：48 到 \
                 50 ns，load_store 108。",
        },
        causes: Text {
            en: "Too good: two CPUs of a guest that answer in 5 to 10 ns are threads of one core, whatever the \
                 guest's topology says. Pairs whose order contradicts the topology: it is invented, or the \
                 hypervisor moves CPUs. All pairs slow: power saving lowers the uncore or fabric clock.",
            zh: "好得过头：虚拟机的两个 CPU 若只需 5 到 10 ns，就是同一核心的两个线程，不论虚拟机看到的拓扑如何。各\
                 对的远近与拓扑矛盾：拓扑是虚构的，或虚拟机监控程序在迁移 CPU。所有对都慢：节能使非核心部分或互连频\
                 率降低。",
        },
    },
    related: &["cpu.atomic", "memory.line", "sched.ipi", "ipc.futex"],
    axes: &[
        Axis::placements("cpus", "same_cache", Points::NamesOfHost(places)),
        Axis::choice(
            "method",
            "compare_and_swap",
            Points::Listed { quick: &["compare_and_swap"], standard: &["load_store"], thorough: &[] },
        ),
    ],
    needs: &[Need::Cpus(2)],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("method")?.as_str() {
        "load_store" => to_and_fro(case, &ByStore),
        _ => {
            let method = atomic::method("best")
                .ok_or_else(|| RoundError::skipped(ReasonCode::Architecture, "no atomic operation is known here"))?;
            case.note("method", method.name);
            to_and_fro(case, &BySwap(method))
        }
    }
}

fn to_and_fro(case: &mut Case, way: &impl HandOver) -> Result<()> {
    /// What the other thread says and is told, on a line that only changes at the beginning and at the end.
    const STARTING: u64 = 0;
    const READY: u64 = 1;
    const LOST: u64 = 2;
    const END: u64 = 3;
    let [_, there] = case.cpus::<2>()?;
    let pages: Vec<Lonely> = (0..PAGES).map(|_| Lonely::default()).collect();
    let (word, state) = (&pages[(case.seed() % PAGES) as usize].0, Lonely::default());
    std::thread::scope(|scope| {
        let other = || {
            let bound = threads::bind(there);
            state.0.store(if bound.is_ok() { READY } else { LOST }, Ordering::Release);
            bound?;
            let mut turn = 1;
            while state.0.load(Ordering::Relaxed) != END {
                way.hand_over(word, turn, turn + 1);
                turn += 2;
            }
            Ok(())
        };
        let others = threads::start(scope, [other])?;
        while state.0.load(Ordering::Acquire) == STARTING {}
        if state.0.load(Ordering::Acquire) == LOST {
            return threads::join(others).map(drop);
        }
        let (mut turn, mut halves) = (0, 0);
        let mut round_trip = || {
            way.hand_over(word, turn, turn + 1);
            turn += 2;
        };
        let measured = case
            .loops(|n| {
                halves += n;
                (0..halves / 2).for_each(|_| round_trip());
                halves %= 2;
            })
            .time();
        // The other sees the end after its next turn, which it gets once more.
        state.0.store(END, Ordering::Release);
        round_trip();
        measured
    })
}

#[cfg(test)]
#[path = "core_to_core_tests.rs"]
mod tests;
