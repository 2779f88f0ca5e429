//! Probe cpu.core_to_core: how long a cache line takes from one CPU to another.

mod pairs;

use std::sync::atomic::Ordering;

use crate::kernels::atomic::{self, Lonely};
use crate::kernels::hand_over::{ByStore, BySwap, HandOver};
use hostmark_engine::prelude::*;

use pairs::places;

/// Pages that a round chooses one of, so that rounds differ in where the line's home is.
const PAGES: u64 = 64;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["cpu.atomic", "memory.line", "sched.ipi", "ipc.round_trip"],
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
    ..crate::texts::cpu::CORE_TO_CORE
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("method")?.as_str() {
        "load_store" => to_and_fro(case, &ByStore),
        _ => {
            let method = atomic::method("best").ok_or_else(|| {
                RoundError::skipped(ReasonCode::Architecture, say!("no atomic operation is known here"))
            })?;
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
