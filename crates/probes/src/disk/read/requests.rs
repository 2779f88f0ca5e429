//! Requests to a file on a device, a number of them under way at any time.

use std::collections::VecDeque;

use super::io_path::IoPath;
use crate::kernels::random::Random;
use crate::workloads::storage::files;
use crate::workloads::storage::uring::IoDirection;
use hostmark_engine::prelude::*;

/// Of so many requests a share is told.
pub const ALL: u32 = 100;
/// The scratch file: larger than what a device's own write buffer holds back for long, and quickly written.
const FILE_BYTES: u64 = 64 << 20;
/// A sample lasts so long, ns, and at least a request.
const SLICE_NS: f64 = 10e6;
/// Steady: so many slices in a row lie within this share of their mean (SNIA's Performance Test Specification has rounds of a
/// minute in the place of slices). It is waited for during so many slices at most, and no longer than [`WAIT`] times the round's samples and
/// twice as many slices as it takes.
const STEADY_SLICES: usize = 5;
const STEADY_SHARE: f64 = 0.1;
const MOST_UNSTEADY: usize = 20;
const WAIT: f64 = 4.0;

/// The scratch file past the cache, for so many requests of `block` bytes at once; and the blocks that it has.
pub fn open(case: &mut Case, writes: bool, depth: u32, block: u64) -> Result<(IoPath, u64)> {
    let file = crate::place::on_device(case, FILE_BYTES.max(block))?;
    files::drop_cache(&file)?;
    files::bypass_cache(&file).map_err(|error| {
        RoundError::unable(ReasonCode::Filesystem, say!("this filesystem has no direct input and output"), error)
    })?;
    case.may_fill(u64::from(depth) * block)?;
    Ok((IoPath::open(case, file, writes, depth, usize::try_from(block)?)?, FILE_BYTES.max(block) / block))
}

/// Keeps as many requests under way as the axis `depth` says, by slices of time, from the steady state on; so many of a hundred read.
/// Where some write as well, the percentiles are those of the reads.
pub fn keep(case: &mut Case, reads: u32) -> Result<()> {
    let (block, depth): (u64, u32) = (case.param("block")?, case.param("depth")?);
    let is_random = case.param::<String>("pattern")? == "random";
    let (mut io_path, places) = open(case, reads < ALL, depth, block)?;
    let (mut random, mut at) = (Random::new(case.seed()), 0);
    let mut next_offset = || {
        at = if is_random { u64::from(random.below(places as u32)) } else { (at + 1) % places };
        at * block
    };
    let mut which = Random::new(!case.seed());
    let mut next_direction = move || match reads {
        0 => IoDirection::Write,
        ALL => IoDirection::Read,
        _ if which.below(ALL) < reads => IoDirection::Read,
        _ => IoDirection::Write,
    };
    let device = crate::place::Device::of(case)?;
    let (mut begun, mut asked) = (vec![(Ticks(0), IoDirection::Read); io_path.depth()], 0);
    let mut written_ns = Vec::new();
    let (mut times, mut rates, mut steady_after) = (Vec::new(), Vec::new(), None);
    let mut is_first = true;
    let most = ((WAIT * case.grant_ns() / SLICE_NS) as usize).clamp(2 * STEADY_SLICES, MOST_UNSTEADY);
    let measured = case
        .timed(|clock| {
            if is_first {
                for (slot, begun) in begun.iter_mut().enumerate() {
                    *begun = (clock.start(), next_direction());
                    io_path.submit(slot, begun.1, next_offset())?;
                }
            }
            let mut slice = |times: &mut Vec<f64>| -> Result<(Ticks, u64)> {
                let (start, mut done) = (clock.start(), 0);
                loop {
                    let slot = io_path.wait()?;
                    let now = clock.start();
                    let (since, direction) = begun[slot];
                    match direction {
                        IoDirection::Write if reads > 0 => written_ns.push(clock.ns(now.since(since))),
                        _ => times.push(clock.ns(now.since(since))),
                    }
                    done += 1;
                    asked += block;
                    begun[slot] = (now, next_direction());
                    io_path.submit(slot, begun[slot].1, next_offset())?;
                    if clock.ns(now.since(start)) >= SLICE_NS {
                        return Ok((now.since(start), done));
                    }
                }
            };
            if std::mem::take(&mut is_first) {
                steady_after =
                    settle(most, || slice(&mut Vec::new()).map(|(took, done)| done as f64 / clock.ns(took)))?;
                // The slice after is thrown away too, as every round's first sample is.
                return slice(&mut Vec::new());
            }
            let (took, done) = slice(&mut times)?;
            rates.push(done as f64 * 1e9 / clock.ns(took));
            Ok((took, done))
        })
        .rate(block);
    measured?;
    let slices = steady_after.map(|slices| slices as f64 * SLICE_NS / 1e6);
    device.give(case, asked, |work| match reads {
        0 => work.written_bytes,
        ALL => work.read_bytes,
        _ => work.read_bytes + work.written_bytes,
    })?;
    if reads > 0 && reads < ALL {
        // One value a round, as there may be a hundred thousand writes.
        case.also(super::super::WRITES.name, median_in_place(&mut written_ns))?;
    }
    case.note("steady", slices.map_or("not reached".to_owned(), |ms| format!("after {ms:.0} ms")));
    case.also(super::super::OPERATIONS.name, rates)?;
    case.times(times)
}

/// Takes rates until they are steady, so many at most; after how many, if they became so.
fn settle(most: usize, mut rate: impl FnMut() -> Result<f64>) -> Result<Option<usize>> {
    let mut last = VecDeque::new();
    for taken in 1..=most {
        last.push_back(rate()?);
        if last.len() > STEADY_SLICES {
            last.pop_front();
        }
        let mean = last.iter().sum::<f64>() / last.len() as f64;
        if last.len() == STEADY_SLICES && last.iter().all(|rate| (rate - mean).abs() <= STEADY_SHARE * mean) {
            return Ok(Some(taken));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
