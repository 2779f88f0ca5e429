//! Probe memory.associativity: the ways of the first-level data cache, by lines that must all lie in one set.

use hostmark_engine::prelude::*;

use crate::kernels::chase::{fastest_ns, shuffled};

/// Lines that are tried at most: twice the ways of the widest L1d known.
const MOST_LINES: usize = 32;
/// The smallest distance of two lines: what a page of 4 KiB leaves to the virtual index.
const LEAST_STRIDE_BYTES: usize = 4096;
/// The largest: a 128 KiB cache of 2 ways.
const MOST_STRIDE_BYTES: usize = 65536;
/// A load that misses L1d takes over twice as long; under random replacement one line too many makes few miss.
const STEP: f64 = 1.12;
/// Numbers of lines in a row over the step that make it one.
const LASTING: usize = 3;
/// Loads of a walk, and walks of a number of lines.
const LOADS: usize = 2048;
const WALKS: usize = 6;

pub static PROBE: Probe = Probe {
    unit: Unit::Count,
    better: Better::Higher,
    limit: Limit::Voted,
    section: super::STRUCTURE,
    measure: Measure::Run(measure),
    ..crate::texts::memory::ASSOCIATIVITY
};

fn measure(case: &mut Case) -> Result<()> {
    // Huge pages where there are any: with base pages the lines are as many pages, which larger strides crowd in the TLB.
    let mut buffer = case.buffer((MOST_LINES * MOST_STRIDE_BYTES) as u64, Pages::Pmd, None)?;
    let mut seed = case.seed();
    case.search(|clock| {
        let mut time = |lines: usize, stride: usize| -> Result<f64> {
            seed = seed.wrapping_add(1);
            let offsets: Vec<usize> = shuffled(lines, seed).into_iter().map(|line| line * stride).collect();
            fastest_ns(clock, buffer.bytes_mut(), &offsets, LOADS, WALKS)
        };
        Ok(ways(&mut time)?.filter(|&ways| is_built(ways)).map(|ways| ways as f64))
    })
}

/// Tells whether an L1d of so many ways is built: a power of two or three times one, since its ways are as large as powers of
/// two and its size is such a number. Others that share the cache take ways away, and leave 11 or 10 of 12.
fn is_built(ways: usize) -> bool {
    ways.is_power_of_two() || (ways.is_multiple_of(3) && (ways / 3).is_power_of_two())
}

/// The ways that the times of so many lines at such a stride show.
fn ways(time: &mut impl FnMut(usize, usize) -> Result<f64>) -> Result<Option<usize>> {
    let mut before = None;
    let mut stride = LEAST_STRIDE_BYTES;
    while stride <= MOST_STRIDE_BYTES {
        let fit = fitting(&mut |lines| time(lines, stride))?;
        if fit.is_some() && fit == before {
            return Ok(fit);
        }
        (before, stride) = (fit, 2 * stride);
    }
    Ok(None)
}

/// The largest number of lines before loads become slower, and stay so.
fn fitting(time: &mut impl FnMut(usize) -> Result<f64>) -> Result<Option<usize>> {
    let (mut fastest, mut slow) = (f64::INFINITY, 0);
    for lines in 1..=MOST_LINES {
        let ns = time(lines)?;
        fastest = fastest.min(ns);
        slow = if ns > STEP * fastest { slow + 1 } else { 0 };
        if slow == LASTING {
            return Ok(Some(lines - LASTING));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "associativity_tests.rs"]
mod tests;
