//! Probe cpu.reorder_window: how many instructions the core holds at once, so that loads overlap.

use hostmark_engine::prelude::*;

use crate::kernels::parallel::{Chains, LINKS_A_TURN, MOST_FILLERS};

/// Loads of each chain in a walk, and walks whose fastest counts.
const LOADS: u64 = 128;
const WALKS: usize = 3;
/// Fillers between two points of the first curve, and of the second around the step that the first shows.
const COARSE: usize = 32;
const FINE: usize = 4;
/// Loads one after the other take twice as long as together: the step is halfway.
const STEP: f64 = 1.5;
/// So many points in a row lie above the step, or it is noise.
const LASTING: usize = 3;

pub static PROBE: Probe = Probe {
    title: Text { en: "Reorder window", zh: "乱序窗口" },
    revision: 1,
    unit: Unit::Count,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "Two chains of dependent loads that miss L1d and L2 take turns; behind each load stand N instructions that do nothing \
                 (nop) and the jump to the first of them. While the core holds a load, its fillers and the next load at once, both loads \
                 are under way together; beyond, one waits until the other is done, and the time doubles. The value is the number \
                 of instructions from one load to the next at which the time is halfway.",
            zh: "两条未命中 L1d 与 L2 的依赖加载链轮流前进；每次加载之后是 N 条什么也不做的指令（nop）和跳到其中第一条的跳转。核心能同时容纳一次\
                 加载、其填充指令与下一次加载时，两次加载同时进行；超出后要等前一次完成，时间加倍。数值是时间升到一半时从一次加载到下一次的指令\
                 数。",
        },
        why: Text {
            en: "The reorder buffer bounds how far the core looks ahead while a load waits for memory, and so how many cache misses \
                 overlap in real code.",
            zh: "重排序缓冲决定了加载等待内存时核心能往前看多远，也就决定了实际代码中有多少缓存未命中可以重叠。",
        },
        reading: Text {
            en: "The size of the reorder buffer, as far as a nop takes an entry of it. Cores that fuse nops (Apple's, by published tests) \
                 show more. Loads, stores and branches have smaller queues of their own, which end the overlap of real code \
                 earlier.",
            zh: "即重排序缓冲的大小，前提是一条 nop 占一项；会合并 nop 的核心（据公开测试，Apple 的核心如此）显示的值更大。加载、存储和分支另有更小\
                 的队列，实际代码的重叠会更早到头。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18): 491 to 505; the published size of the design \
                 is 512. Intel's optimisation manual and Agner Fog's microarchitecture guide have 224 for Skylake, 352 for Ice Lake, \
                 512 for Golden Cove, 224 for Zen 2 and 256 for Zen 3.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18）上实测：491 到 505；该设计公布的大小为 512。Intel 优化手册与 \
                 Agner Fog 的微架构手册：Skylake 224，Ice Lake 352，Golden Cove 512，Zen 2 224，Zen 3 256。",
        },
        causes: Text {
            en: "Half of what the design has: a busy sibling thread, with which the buffer is shared.",
            zh: "只有设计值的一半：兄弟线程繁忙，缓冲由两者平分。",
        },
    },
    related: &["memory.parallelism", "memory.latency", "cpu.throughput", "cpu.misprediction"],
    axes: &[Axis::size("size", "67108864", Points::Listed { quick: &["67108864"], standard: &[], thorough: &[] })
        .fills(Fill::Chain)],
    section: crate::section::CORE,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let mut buffer = crate::chained::chained(case, size, Pages::Pmd, None)?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let mut chains = Chains::new(buffer.bytes_mut(), line, 2, seed).map_err(crate::fastest::refused)?;
    chains.walk_each(chains.lines() / 2 / LINKS_A_TURN + 1);
    case.search(|clock| {
        Ok(window(&mut |fillers| {
            let walks = (0..WALKS).map(|_| clock.time(|| chains.walk_two_apart(LOADS, fillers)));
            walks.fold(f64::INFINITY, f64::min)
        }))
    })
}

/// From one load to the next: the fillers at which the time steps up, the jump to them and the load.
fn window(time: &mut impl FnMut(usize) -> f64) -> Option<f64> {
    let coarse: Vec<usize> = (0..=MOST_FILLERS).step_by(COARSE).collect();
    let (low, near) = step(&coarse, None, time)?;
    // A disturbed point before the step may have shown it too early.
    let fine = near.saturating_sub(COARSE)..=MOST_FILLERS.min(near + COARSE + LASTING * FINE);
    let fine: Vec<usize> = fine.step_by(FINE).collect();
    let (_, at) = step(&fine, Some(low), time)?;
    Some(at as f64 + 2.0)
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
        for depth in [100, 224, 511, 512, 640] {
            // Two loads of 100 ns each: together while both are in the window; every seventh time is disturbed.
            let mut looks = 0;
            let found = window(&mut |fillers| {
                looks += 1;
                let noise = if looks % 7 == 0 { 60.0 } else { 0.0 };
                noise + if fillers + 2 <= depth { 100.0 } else { 200.0 }
            });
            let found = found.unwrap();
            assert!((found - depth as f64).abs() <= 2.0 * FINE as f64, "{found} of {depth}");
        }
    }

    #[test]
    fn a_curve_without_a_step_shows_nothing() {
        assert_eq!(window(&mut |_| 100.0), None);
        assert_eq!(window(&mut |fillers| 100.0 + fillers as f64 / 50.0), None);
    }
}
