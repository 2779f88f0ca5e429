//! Probe cpu.core_to_core: how long a cache line takes from one CPU to another.

use std::sync::atomic::Ordering;

use hostmark_engine::prelude::*;

use crate::kernels::atomic::{self, Lonely};
use crate::kernels::hand_over::{ByStore, BySwap, HandOver};
use crate::kernels::random::Random;

/// Pairs of CPUs in the standard profile at most, and in the thorough one: the matrix of 64 CPUs.
const STANDARD_PAIRS: usize = 64;
const THOROUGH_PAIRS: usize = 64 * 63 / 2;
/// Pages that a round chooses one of, so that rounds differ in where the line's home is.
const PAGES: u64 = 64;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Core to core", zh: "核心间传输" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "Two threads, each on a CPU of its own, hand one word to and fro, spinning meanwhile without a pause; the value \
                 is half of a round trip. The word is alone on a page, another one each round. method: with compare_and_swap each waits by \
                 trying to swap, so that the line moves once for a hand-over; with load_store each waits by reading and \
                 answers by a plain store, as flags and queues do, so that the line is first shared and then taken.",
            zh: "两个线程各占一个 CPU，来回传递一个字，等待时不停自旋；数值为往返时间的一半。该字独占一页，每轮换一页。method：compare_and_swap \
                 以尝试交换来等待，每次交接缓存行只移动一次；load_store 以读取来等待、以普通存储来应答，如同标志和队列，缓存行先共享再被独占。",
        },
        why: Text {
            en: "Locks, queues and counters between threads cost at least this. It shows which cores are near each other, and \
                 so which threads should be: what the topology of a guest may hide.",
            zh: "线程间的锁、队列和计数器至少要付出这个代价。它显示哪些核心相近，也就说明哪些线程该放在一起：虚拟机的拓扑可能把这些隐藏起来。",
        },
        reading: Text {
            en: "compare_and_swap: SMT siblings 5 to 15 ns; one last-level cache 15 to 35 ns on AMD, 40 to 70 on the \
                 meshes of Intel Xeon and arm; another cache of the socket 80 to 150 ns on AMD; another socket 100 to 250 ns. load_store about \
                 twice as much. Two CPUs of a guest that cost as little as siblings probably are siblings, whatever \
                 the guest is told; pairs whose order contradicts the topology mean that it is made up, or that the hypervisor moves CPUs.",
            zh: "compare_and_swap：SMT 兄弟线程 5 到 15 ns；同一末级缓存内 AMD 为 15 到 35 ns，Intel Xeon 和 arm 的网状互连为 40 到 70 ns；同一插槽的另一\
                 缓存 AMD 为 80 到 150 ns；另一插槽 100 到 250 ns。load_store 约为其两倍。虚拟机的两个 CPU 若快得像兄弟线程，多半就是兄弟\
                 线程，不论虚拟机被告知什么；若各对的远近与拓扑矛盾，说明拓扑是虚构的，或虚拟机监控程序在迁移 CPU。",
        },
    },
    axes: &[
        Axis::placements("cpus", "same_cache", Points::NamesOfHost(places)),
        Axis::choice(
            "method",
            "compare_and_swap",
            Points::Listed { quick: &["compare_and_swap"], standard: &["load_store"], thorough: &[] },
        ),
    ],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[Need::Cpus(2)],
    replaces: &[],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
};

/// One pair a placement; from the standard profile on pairs of CPUs, all of them or a sample that is always the same.
fn places(host: &HostFacts, profile: Profile) -> Vec<String> {
    let classes = ["smt_sibling", "same_cache", "other_cache", "other_node"].map(str::to_owned);
    let most = match profile {
        Profile::Quick => 0,
        Profile::Standard => STANDARD_PAIRS,
        Profile::Thorough => THOROUGH_PAIRS,
    };
    let cpus = host.usable_cpus();
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    if most > 0 {
        let of = |(index, &one): (usize, &usize)| cpus[index + 1..].iter().map(move |&other| (one, other)).collect();
        let all = cpus.iter().enumerate().flat_map(|one| -> Vec<(usize, usize)> { of(one) });
        pairs.extend(all.map(|(one, other)| (Random::new((one as u64) << 32 | other as u64).next(), one, other)));
    }
    // A smaller sample is part of every larger one.
    pairs.sort_unstable();
    pairs.truncate(most);
    pairs.sort_unstable_by_key(|&(_, one, other)| (one, other));
    classes.into_iter().chain(pairs.into_iter().map(|(_, one, other)| format!("{one}-{other}"))).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("method")?.as_str() {
        "load_store" => to_and_fro(case, &ByStore),
        _ => {
            let method = atomic::method("best").ok_or_else(|| Stop::skipped("no atomic operation is known here"))?;
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
        scope.spawn(|| {
            if sys::affinity::bind(&[there.0]).is_err() {
                return state.0.store(LOST, Ordering::Release);
            }
            state.0.store(READY, Ordering::Release);
            let mut turn = 1;
            while state.0.load(Ordering::Relaxed) != END {
                way.hand_over(word, turn, turn + 1);
                turn += 2;
            }
        });
        while state.0.load(Ordering::Acquire) == STARTING {}
        if state.0.load(Ordering::Acquire) == LOST {
            return Err(Stop::skipped(format!("CPU {} cannot be had", there.0)));
        }
        let (mut turn, mut halves) = (0, 0);
        let mut round_trip = || {
            way.hand_over(word, turn, turn + 1);
            turn += 2;
        };
        let measured = case.time_n(|n| {
            halves += n;
            (0..halves / 2).for_each(|_| round_trip());
            halves %= 2;
        });
        // The other sees the end after its next turn, which it gets once more.
        state.0.store(END, Ordering::Release);
        round_trip();
        measured
    })
}

#[cfg(test)]
#[path = "core_to_core_tests.rs"]
mod tests;
