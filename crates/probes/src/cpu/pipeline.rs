//! Probes of the pipeline: getting instructions, holding them, and forwarding stores to loads.

use hostmark_engine::prelude::*;

use crate::kernels::branch::{MOST_BYTES, StraightCode};
use crate::kernels::forwarding::{Forwarding, Overlap};
use crate::kernels::parallel::{Chains, Filler, LINKS_A_TURN, MOST_FILLERS};

/// Probe cpu.front_end: how fast the core gets its instructions, by the size of the loop that they are in.
pub static FRONT_END: Probe = Probe {
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    axes: &[
        Axis::size(
            "size",
            "16384",
            Points::quick(&["4096", "65536", "1048576"])
                .standard(&[
                    "2048", "8192", "16384", "24576", "32768", "131072", "262144", "524288", "2097152", "4194304",
                ])
                .thorough(&["12288", "49152", "98304", "196608", "393216", "786432", "8388608", "67108864"]),
        )
        .fills(Fill::EachThread(1)),
        Axis::count("length", "4", Points::quick(&["4"]).standard(&["2"]).thorough(&["8"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["size", "length"] }],
    limit: Limit::OperationsPerCycle(&[("", MOST_A_CYCLE)]),
    core_bound: CoreBound::SIZE,
    from: Profile::Standard,
    measure: Measure::Run(measure_front_end),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::cpu::FRONT_END)
};

/// Largest plausible value, more than the widest cores take: those sold rename up to 10 instructions a cycle.
const MOST_A_CYCLE: u32 = 16;

fn measure_front_end(case: &mut Case) -> Result<()> {
    let (size, length): (usize, usize) = (case.param("size")?, case.param("length")?);
    if size > MOST_BYTES {
        return Err(RoundError::not_applicable(say!("the loop has 64 MiB at most")));
    }
    case.may_fill(size as u64)?;
    let code = StraightCode::new(size, length).ok_or_else(|| {
        let text = say!("this architecture has no filler of {length} bytes");
        RoundError::skipped(ReasonCode::Architecture, text)
    })?;
    let code = code.or_lacking(|| say!("cannot execute generated code"))?;
    case.loops(|turns| code.run(turns)).rate(code.instructions())
}

/// Loads of each chain in a walk, and walks whose fastest counts.
const LOADS: u64 = 128;
const WALKS: usize = 3;
/// Fillers between points of the first curve, and of the second around the step; the queues of loads and stores are shorter.
const WINDOW_STEPS: Steps = Steps { coarse: 32, fine: 4 };
const QUEUE_STEPS: Steps = Steps { coarse: 8, fine: 1 };
/// Loads one after the other take twice as long as together: the step is halfway.
const STEP: f64 = 1.5;
/// Number of points in a row above the step; fewer are noise.
const LASTING: usize = 3;

/// Probe cpu.reorder_window: how many instructions, loads and stores the core holds at once, so that loads overlap.
pub static REORDER_WINDOW: Probe = Probe {
    revision: 2,
    unit: Unit::Count,
    better: Better::Higher,
    axes: &[
        Axis::choice("filler", "mixed", Points::quick(&["mixed"]).standard(&["nop", "load", "store"])),
        Axis::size("size", "67108864", Points::quick(&["67108864"])).fills(Fill::Chain),
    ],
    is_structure: true,
    from: Profile::Standard,
    measure: Measure::Run(measure_reorder_window),
    ..crate::texts::cpu::REORDER_WINDOW
};

/// Fillers between two points of the curves.
#[derive(Clone, Copy)]
struct Steps {
    coarse: usize,
    fine: usize,
}

fn measure_reorder_window(case: &mut Case) -> Result<()> {
    let (size, filler): (u64, Filler) = (case.param("size")?, case.param("filler")?);
    let mut buffer = crate::memory::chained(case, size, Pages::Pmd, None)?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let mut chains = Chains::new(buffer.bytes_mut(), line, 2, seed)?;
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

/// Probe cpu.store_forwarding: a load of what was stored just before, by how the two overlap.
pub static STORE_FORWARDING: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice(
        "overlap",
        "same",
        Points::quick(&["same", "narrower", "wider", "line", "page", "alias", "apart"]),
    )],
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure_store_forwarding),
    ..crate::texts::cpu::STORE_FORWARDING
};

fn measure_store_forwarding(case: &mut Case) -> Result<()> {
    let overlap: Overlap = case.param("overlap")?;
    let page_bytes = Pages::Base.bytes();
    let mut memory = case.buffer(2 * page_bytes as u64, Pages::Base, None)?;
    let mut pairs = Forwarding::new(overlap, memory.bytes_mut(), page_bytes, case.seed())?;
    case.loops(|n| std::hint::black_box(pairs.chain(n))).time()
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
