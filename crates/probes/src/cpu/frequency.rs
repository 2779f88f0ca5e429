//! Probes of the clock of the core: under load, and after it has idled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::kernels::arith;
use crate::kernels::flops::FlopsKernel;

use super::arithmetic::flops_kernel;

/// The clock once the vectors are over.
const AFTER: Quantity = Quantity::given("after", Unit::Hertz, Better::Higher, term!("4 ms after the vectors"));

/// Probe cpu.frequency: the core's actual clock under load.
pub static FREQUENCY: Probe = Probe {
    unit: Unit::Hertz,
    better: Better::Higher,
    also: &[AFTER],
    axes: &[
        Axis::choice("load", "scalar", Points::quick(&["scalar", "simd"]).standard(&["avx2", "avx512"])),
        Axis::threads("threads", Points::OfHost(one_and_all)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["load", "threads"] }],
    measure: Measure::Run(measure_frequency),
    ..crate::texts::cpu::FREQUENCY
};

fn one_and_all(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, host.usable_cpus().len() as u64]
}

fn measure_frequency(case: &mut Case) -> Result<()> {
    match case.param::<String>("load")?.as_str() {
        "scalar" => {}
        "simd" => return beside_vectors(case, flops_kernel("best", "f64")?, false),
        name => return beside_vectors(case, flops_kernel(name, "f64")?, true),
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

/// Additions timed at once: 50 µs, long against the clock's cost, short against the 0.67 ms for which cores keep the wide vectors' clock.
const ADDITIONS: u64 = 150_000;
/// Turns of multiply-adds before: 0.1 to 0.5 ms, by the width and the number of pipes.
const TURNS: u64 = 4_000;

/// Additions after which the clock is looked at again: 4 ms and more, several times as long as a clock is kept.
const ADDITIONS_AFTER: u64 = 80 * ADDITIONS;

fn beside_vectors(case: &mut Case, vectors: &FlopsKernel, is_followed: bool) -> Result<()> {
    case.note("isa", vectors.name);
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

/// Probe cpu.ramp: how long a core takes to reach its steady speed after it has idled.
pub static RAMP: Probe = Probe {
    also: &[START],
    axes: &[Axis::count("idle_ms", "100", Points::quick(&["100"]).standard(&["10", "1000"]))],
    from: Profile::Standard,
    measure: Measure::Run(measure_ramp),
    ..crate::texts::cpu::RAMP
};

/// The speed at first, beside the steady one.
const START: Quantity =
    Quantity::given("start", Unit::Ratio, Better::Higher, term!("speed at first, of the steady one"));

/// Additions of a slice: 20 µs at 3 GHz, against which reading the clock is nothing.
const SLICE_ADDITIONS: u64 = 60_000;
/// Time for which the core is observed after it woke up, ns: governors look at it every some milliseconds.
const WINDOW_NS: f64 = 100e6;
/// Share of the steady speed that counts as reaching it.
const STEADY: f64 = 0.95;
/// Slices by which the speed at first is told.
const FIRST: usize = 5;

fn measure_ramp(case: &mut Case) -> Result<()> {
    let idle = Duration::from_millis(case.param("idle_ms")?);
    let (mut ends, mut lengths) = (Vec::new(), Vec::new());
    let mut starts = Vec::new();
    case.search(|clock| {
        ends.clear();
        lengths.clear();
        sys::clock::sleep(idle);
        let (begin, window) = (clock.start(), clock.ticks(WINDOW_NS));
        let mut last = begin;
        while last.since(begin) < window {
            std::hint::black_box(arith::add_chain(SLICE_ADDITIONS, 1, std::hint::black_box(1)));
            let now = clock.end();
            lengths.push(clock.ns(now.since(last)));
            ends.push(clock.ns(now.since(begin)));
            last = now;
        }
        let Some((reached, start)) = ramp(&lengths) else { return Ok(None) };
        starts.push(start);
        Ok(Some(ends[reached]))
    })?;
    case.also(START.name, starts)
}

/// Returns the first of equal slices that is as fast as the last ones, and the first ones' share of their speed. `None` of too few.
fn ramp(lengths: &[f64]) -> Option<(usize, f64)> {
    let steady = median(&lengths[lengths.len() - lengths.len() / 4..])?;
    let start = median(lengths.get(..FIRST)?)?;
    Some((lengths.iter().position(|&length| length * STEADY <= steady)?, steady / start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_planted_ramp_is_found_and_an_interruption_is_none() {
        // Half the speed for thirty slices, then some in between, then all of it.
        let mut lengths = vec![40.0; 30];
        lengths.extend([30.0, 25.0, 22.0, 21.0]);
        lengths.extend([20.0; 400]);
        assert_eq!(ramp(&lengths), Some((33, 0.5)));
        let mut steady = vec![20.0; 400];
        (steady[0], steady[300], steady[399]) = (90.0, 900.0, 5000.0);
        assert_eq!(ramp(&steady), Some((1, 1.0)));
        // One that falls, as from a turbo that does not last, has none.
        let falling: Vec<f64> = (0..400).map(|number| if number < 100 { 18.0 } else { 20.0 }).collect();
        assert_eq!(ramp(&falling), Some((0, 20.0 / 18.0)));
        assert_eq!(ramp(&[20.0; 3]), None);
    }
}
