//! Probe cpu.frequency: the core's actual clock under load.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::kernels::flops::FlopsKernel;
use crate::kernels::{arith, flops};
use hostmark_engine::prelude::*;

/// The clock once the vectors are over.
const AFTER: Quantity = Quantity::given("after", Unit::Hertz, Better::Higher, term!("4 ms after the vectors"));

pub static PROBE: Probe = Probe {
    unit: Unit::Hertz,
    better: Better::Higher,
    also: &[AFTER],
    axes: &[
        Axis::choice("load", "scalar", Points::quick(&["scalar", "simd"]).standard(&["avx2", "avx512"])),
        Axis::threads("threads", Points::OfHost(one_and_all)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["load", "threads"] }],
    measure: Measure::Run(measure),
    ..crate::texts::cpu::FREQUENCY
};

fn one_and_all(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, host.usable_cpus().len() as u64]
}

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("load")?.as_str() {
        "scalar" => {}
        "simd" => return beside_vectors(case, flops::widest(), false),
        name => {
            let kernel = flops::kernel(name);
            let none = || RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name}"));
            return beside_vectors(case, kernel.ok_or_else(none)?, true);
        }
    }
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(add).rate(1),
        cpus => {
            // Of n threads each counts an n-th, so that the sum over all is their mean.
            let share = cpus.len() as u64;
            case.workers(cpus, |_| Ok(move |n| add(n * share))).rate(1)
        }
    }
}

/// Additions that are timed at once: 50 µs, long against the clock's cost, and short against the two thirds of a
/// millisecond for which cores keep the clock of wide vectors after the last of them.
const ADDITIONS: u64 = 150_000;
/// Turns of multiply-adds before: 0.1 to 0.5 ms, by the width and the number of pipes.
const TURNS: u64 = 4_000;

/// Additions after which the clock is looked at again: 4 ms and more, several times as long as a clock is kept.
const ADDITIONS_AFTER: u64 = 80 * ADDITIONS;

fn beside_vectors(case: &mut Case, kernel: &FlopsKernel, is_followed: bool) -> Result<()> {
    let none = || RoundError::skipped(ReasonCode::Hardware, say!("this CPU has no {name}", name = kernel.name));
    let vectors = kernel.runnable(true).ok_or_else(none)?;
    case.note("isa", kernel.name);
    let mut after_hz = Vec::new();
    let stop = AtomicBool::new(false);
    let others = case.thread_cpus().split_off(1);
    let load = |cpu: Cpu| {
        threads::bind(cpu)?;
        while !stop.load(Ordering::Relaxed) {
            vectors.run(TURNS / 8);
        }
        Ok(())
    };
    let load = &load;
    std::thread::scope(|scope| {
        let loads = threads::start(scope, others.iter().map(|&cpu| move || load(cpu)))?;
        let observed = case
            .timed(|clock| {
                vectors.run(TURNS);
                let start = clock.start();
                add(ADDITIONS);
                let beside = clock.end().since(start);
                if is_followed {
                    add(ADDITIONS_AFTER);
                    after_hz.push(ADDITIONS as f64 * 1e9 / clock.time(|| add(ADDITIONS)));
                }
                Ok(beside)
            })
            .rate(ADDITIONS);
        stop.store(true, Ordering::Relaxed);
        // A frequency without its load would be the wrong one.
        threads::join(loads).and(observed)
    })?;
    case.also(AFTER.name, after_hz)
}

fn add(n: u64) {
    std::hint::black_box(arith::add_chain(n, 1, std::hint::black_box(1)));
}
