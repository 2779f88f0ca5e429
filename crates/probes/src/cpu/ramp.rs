//! Probe cpu.ramp: how long a core takes to reach its steady speed after it has idled.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::kernels::arith;

pub static PROBE: Probe = Probe {
    also: &[START],
    axes: &[Axis::count("idle_ms", "100", Points::quick(&["100"]).standard(&["10", "1000"]))],
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::cpu::RAMP
};

/// The speed at first, beside the steady one.
const START: Quantity =
    Quantity::given("start", Unit::Ratio, Better::Higher, term!("speed at first, of the steady one"));

/// Additions of a slice: 20 µs at 3 GHz, against which reading the clock is nothing.
const ADDITIONS: u64 = 60_000;
/// Time for which the core is observed after it woke up, ns: governors look at it every some milliseconds.
const WINDOW_NS: f64 = 100e6;
/// Share of the steady speed that counts as reaching it.
const STEADY: f64 = 0.95;
/// Slices by which the speed at first is told.
const FIRST: usize = 5;

fn measure(case: &mut Case) -> Result<()> {
    let idle = Duration::from_millis(case.param("idle_ms")?);
    let (mut ends, mut lengths) = (Vec::new(), Vec::new());
    let mut starts = Vec::new();
    case.search(|clock| {
        ends.clear();
        lengths.clear();
        std::thread::sleep(idle);
        let (begin, window) = (clock.start(), clock.ticks(WINDOW_NS));
        let mut last = begin;
        while last.since(begin) < window {
            std::hint::black_box(arith::add_chain(ADDITIONS, 1, std::hint::black_box(1)));
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

/// Returns, from the times of equal slices of work, the first slice that is as fast as the last ones, and the speed of the first few
/// as a share of theirs. `None` where there are too few.
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
