//! Probe cpu.reorder_window: how many instructions, loads and stores the core holds at once, so that loads overlap.

use hostmark_engine::prelude::*;

use crate::kernels::parallel::{Chains, Filler, LINKS_A_TURN, MOST_FILLERS};

/// Loads of each chain in a walk, and walks whose fastest counts.
const LOADS: u64 = 128;
const WALKS: usize = 3;
/// Fillers between two points of the first curve, and of the second around the step that the first shows; the queues of loads and
/// stores are shorter.
const WINDOW_STEPS: Steps = Steps { coarse: 32, fine: 4 };
const QUEUE_STEPS: Steps = Steps { coarse: 8, fine: 1 };
/// Loads one after the other take twice as long as together: the step is halfway.
const STEP: f64 = 1.5;
/// So many points in a row lie above the step, or it is noise.
const LASTING: usize = 3;

pub static PROBE: Probe = Probe {
    title: Text { en: "Reorder window", zh: "乱序窗口" },
    revision: 2,
    unit: Unit::Count,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "Two chains of dependent loads that miss L1d and L2 take turns; behind each load stand N fillers and the jump to the first of \
                 them. While the core holds a load, its fillers and the next load at once, both loads are under way together; beyond, \
                 one waits until the other is done, and the time doubles. The value is the greatest number of entries with which it \
                 has not: with filler=nop (instructions that do nothing) and mixed those of both loads, the jump and the fillers; with \
                 load, of L1d, those of all loads; with store, of stores to L1d, those of the stores. mixed takes additions, vector \
                 operations and nops in turn, so that neither registers run out first nor the queues of loads and stores. The value is \
                 the largest that repeats: whoever shares the core only takes entries away, and a remark says what other rounds saw.",
            zh: "两条未命中 L1d 与 L2 的依赖加载链轮流前进；每次加载之后是 N 条填充指令和跳到其中第一条的跳转。核心能同时容纳一次加载、其填充指令与下一次\
                 加载时，两次加载同时进行；超出后要等前一次完成，时间加倍。数值是时间尚未加倍时的最大项数：filler=nop（什么也不做的指令）与 mixed 计入两次\
                 加载、跳转和填充指令；load（L1d 中的加载）计入全部加载；store（写入 L1d 的存储）计入全部存储。mixed 轮流使用加法、向量运算与空操作，\
                 使寄存器以及加载、存储队列都不会先用完。数值取能重复得到的最大值：共用核心者只会占去一部分；其他轮次所见在备注中说明。",
        },
        why: Text {
            en: "The reorder buffer bounds how far the core looks ahead while a load waits for memory, and so how many cache misses \
                 overlap in real code. The queues of loads and stores bound it earlier where most instructions are such.",
            zh: "重排序缓冲决定了加载等待内存时核心能往前看多远，也就决定了实际代码中有多少缓存未命中可以重叠。加载或存储很多的代码，会先受加载队列与存储队列\
                 限制。",
        },
        reading: Text {
            en: "mixed is the size of the reorder buffer; nop as well, unless the core puts two nops into one entry (Zen 4) or drops them \
                 (Apple's, by published tests), and shows more. load is how many loads the core holds until they retire, which may be more \
                 than the load queue of its manual: Zen 1 and later free an entry of that once the data is there, and remember \
                 the load elsewhere. store is the store queue.",
            zh: "mixed 即重排序缓冲的大小；nop 也是，除非核心把两条 nop 放进一项（Zen 4）或丢弃 nop（据公开测试，Apple 的核心如此），此时显示的值更大。\
                 load 是核心在加载退役之前能容纳的加载数，可能多于手册中的加载队列：Zen 1 及以后在数据到达后就释放队列项，另行记录该加载。store 即\
                 存储队列。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): mixed 314, nop 618 to 738, load 135, store 64; \
                 published sizes of the design are 320 for the reorder buffer, 64 for the store queue and 88 for the load queue, with \
                 136 loads in flight by published tests. On another (Granite Rapids, Linux 6.18): nop 491 to 505 of 512. \
                 Intel's optimisation manual and Agner Fog's microarchitecture guide have 224 for Skylake, 352 for Ice Lake, \
                 512 for Golden Cove, 224 for Zen 2 and 256 for Zen 3.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测：mixed 314，nop 618 到 738，load 135，store 64；该设计公布\
                 的大小为重排序缓冲 320、存储队列 64、加载队列 88，公开测试为 136 次加载在途。另一台（Granite Rapids，Linux 6.18）：nop 491 到 505\
                 （共 512）。Intel 优化手册与 Agner Fog 的微架构手册：Skylake 224，Ice Lake 352，Golden Cove 512，Zen 2 224，Zen 3 256。",
        },
        causes: Text {
            en: "Half of what the design has: a busy sibling thread, with which the buffer is shared.",
            zh: "只有设计值的一半：兄弟线程繁忙，缓冲由两者平分。",
        },
    },
    related: &["memory.parallelism", "memory.latency", "cpu.throughput", "cpu.misprediction"],
    axes: &[
        Axis::choice(
            "filler",
            "mixed",
            Points::Listed { quick: &["mixed"], standard: &["nop", "load", "store"], thorough: &[] },
        ),
        Axis::size("size", "67108864", Points::Listed { quick: &["67108864"], standard: &[], thorough: &[] })
            .fills(Fill::Chain),
    ],
    is_structure: true,
    section: crate::section::CORE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Fillers between two points of the curves.
#[derive(Clone, Copy)]
struct Steps {
    coarse: usize,
    fine: usize,
}

fn measure(case: &mut Case) -> Result<()> {
    let (size, filler): (u64, Filler) = (case.param("size")?, case.param("filler")?);
    let mut buffer = crate::chained::chained(case, size, Pages::Pmd, None)?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let mut chains = Chains::new(buffer.bytes_mut(), line, 2, seed).map_err(crate::fastest::refused)?;
    chains.walk_each(chains.lines() / 2 / LINKS_A_TURN + 1);
    // The first point beyond has one entry too many: fillers, and what else takes an entry, both loads and a jump, both loads, or neither.
    let (steps, beside) = match filler {
        Filler::Nop | Filler::Mixed => (WINDOW_STEPS, 3.0),
        Filler::Load => (QUEUE_STEPS, 2.0),
        Filler::Store => (QUEUE_STEPS, 0.0),
    };
    case.search(|clock| {
        let found = last_together(steps, &mut |fillers| {
            let walks = (0..WALKS).map(|_| clock.time(|| chains.walk_two_apart(LOADS, filler, fillers)));
            walks.fold(f64::INFINITY, f64::min)
        });
        Ok(found.map(|fillers| fillers + beside))
    })
}

/// The most fillers with which both loads are still under way together, as far as the fine curve tells.
fn last_together(steps: Steps, time: &mut impl FnMut(usize) -> f64) -> Option<f64> {
    let coarse: Vec<usize> = (0..=MOST_FILLERS).step_by(steps.coarse).collect();
    let (low, near) = step(&coarse, None, time)?;
    // A disturbed point before the step may have shown it too early.
    let fine = near.saturating_sub(steps.coarse)..=MOST_FILLERS.min(near + steps.coarse + LASTING * steps.fine);
    let fine: Vec<usize> = fine.step_by(steps.fine).collect();
    let (_, at) = step(&fine, Some(low), time)?;
    Some(at as f64 - 1.0)
}

/// The first point from which on the times lie above the step, and the time below it: that of the first point unless it is known.
fn step(points: &[usize], low: Option<f64>, time: &mut impl FnMut(usize) -> f64) -> Option<(f64, usize)> {
    let (mut low, mut above) = (low, 0);
    for (index, &fillers) in points.iter().enumerate() {
        let ns = time(fillers);
        let base = *low.get_or_insert(ns);
        above = if ns > STEP * base { above + 1 } else { 0 };
        if above == LASTING {
            return Some((base, points[index + 1 - LASTING]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_known_core_is_found_within_two_points_of_the_fine_curve() {
        for (steps, depths) in [(WINDOW_STEPS, [100, 224, 511, 512, 640]), (QUEUE_STEPS, [16, 44, 64, 136, 192])] {
            for depth in depths {
                // Two loads of 100 ns each: together while both are in the window; every seventh time is disturbed.
                let mut looks = 0;
                let found = last_together(steps, &mut |fillers| {
                    looks += 1;
                    let noise = if looks % 7 == 0 { 60.0 } else { 0.0 };
                    noise + if fillers <= depth { 100.0 } else { 200.0 }
                });
                let found = found.unwrap();
                assert!((found - depth as f64).abs() <= 2.0 * steps.fine as f64, "{found} of {depth}");
            }
        }
    }

    #[test]
    fn a_curve_without_a_step_shows_nothing() {
        for steps in [WINDOW_STEPS, QUEUE_STEPS] {
            assert_eq!(last_together(steps, &mut |_| 100.0), None);
            assert_eq!(last_together(steps, &mut |fillers| 100.0 + fillers as f64 / 50.0), None);
        }
    }
}
