//! Probe disk.direct_io: direct reads and overwrites of a file, by pattern, block and queue depth.

use std::collections::VecDeque;

use hostmark_engine::prelude::*;

use crate::kernels::random_access::Random;
use crate::workloads::storage::files::{self, Content, OwnedFd};
use crate::workloads::storage::uring::{IoDirection, IoRing};

pub static PROBE: Probe = Probe {
    also: &[
        super::OPERATIONS,
        Quantity::P50,
        Quantity::P99,
        Quantity::P999,
        Quantity::MEAN,
        Quantity::SUSTAINED,
        Quantity::DEVICE_SHARE,
    ],
    axes: &[
        Axis::ways("op", "read", Points::quick(&["read", "write"])),
        Axis::choice("pattern", "random", Points::quick(&["random"]).standard(&["sequential"])),
        Axis::size(
            "block",
            "4096",
            Points::quick(&["4096"]).standard(&["16384", "131072", "1048576"]).thorough(&["65536"]),
        ),
        Axis::count("depth", "1", Points::quick(&["1"]).standard(&["2", "4", "8", "16", "32"]).thorough(&["64"])),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["op", "pattern", "block"] },
        FullFactorial { from: Profile::Quick, axes: &["op", "depth"] },
        FullFactorial { from: Profile::Thorough, axes: &["op", "pattern", "block", "depth"] },
    ],
    blocking: true,
    measure: Measure::Run(|case| {
        let reads = if case.param::<String>("op")? == "read" { ALL } else { 0 };
        keep(case, reads)
    }),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::disk::DIRECT_IO)
};

/// Path of requests to the file, and what they write there, if they do.
pub struct IoPath {
    way: IoMethod,
    written: Option<Content>,
}

enum IoMethod {
    Ring(IoRing),
    Plain { file: OwnedFd, memory: Buffer, is_done: bool },
}

impl IoPath {
    /// The ring, or plain calls where the kernel refuses one and one request is out at a time. `writes`: something is to be written.
    pub fn open(case: &mut Case, file: OwnedFd, writes: bool, depth: u32, block: usize) -> Result<IoPath> {
        let spare = files::copy(&file)?;
        let way = match IoRing::new(file, depth, block) {
            Ok(ring) => IoMethod::Ring(ring),
            Err(error) if depth > 1 => return Err(RoundError::lacking(say!("io_uring is not available"), &error)),
            Err(_) => {
                let memory = case.buffer(block as u64, Pages::Base, None)?;
                IoMethod::Plain { file: spare, memory, is_done: false }
            }
        };
        case.note("interface", if matches!(way, IoMethod::Ring(_)) { "io_uring" } else { "pread and pwrite" });
        let mut io_path = IoPath { way, written: None };
        if writes {
            let mut content = Content::new()?;
            (0..io_path.depth()).for_each(|slot| content.fill(io_path.way.block_mut(slot)));
            io_path.written = Some(content);
        }
        Ok(io_path)
    }

    /// Requests that it has room for.
    pub fn depth(&self) -> usize {
        match &self.way {
            IoMethod::Ring(ring) => ring.depth(),
            IoMethod::Plain { .. } => 1,
        }
    }

    /// Hands over a request of one block, in the memory of `slot`. No two blocks that are written are alike.
    pub fn submit(&mut self, slot: usize, direction: IoDirection, offset: u64) -> std::io::Result<()> {
        if let Some(content) = self.written.as_mut().filter(|_| direction == IoDirection::Write) {
            content.renew(self.way.block_mut(slot));
        }
        match &mut self.way {
            IoMethod::Ring(ring) => ring.submit(slot, direction, offset),
            IoMethod::Plain { file, memory, is_done } => {
                *is_done = true;
                match direction {
                    IoDirection::Read => files::read_at(file, offset, memory.bytes_mut()),
                    IoDirection::Write => files::write_at(file, offset, memory.bytes()),
                }
            }
        }
    }

    /// Waits for a request to be done: its slot.
    pub fn wait(&mut self) -> std::io::Result<usize> {
        match &mut self.way {
            IoMethod::Ring(ring) => ring.wait(),
            // It was done when it was handed over.
            IoMethod::Plain { is_done, .. } => {
                *is_done = false;
                Ok(0)
            }
        }
    }

    /// A request that is done, its slot, without waiting; none where none is.
    pub fn poll(&mut self) -> std::io::Result<Option<usize>> {
        match &mut self.way {
            IoMethod::Ring(ring) => ring.poll(),
            IoMethod::Plain { is_done, .. } => Ok(std::mem::take(is_done).then_some(0)),
        }
    }
}

impl IoMethod {
    fn block_mut(&mut self, slot: usize) -> &mut [u8] {
        match self {
            IoMethod::Ring(ring) => ring.block_mut(slot),
            IoMethod::Plain { memory, .. } => memory.bytes_mut(),
        }
    }
}

/// Number of requests that the share of reads is a part of.
pub const ALL: u32 = 100;
/// The scratch file: larger than what a device's own write buffer holds back for long, and quickly written.
const FILE_BYTES: u64 = 64 << 20;
/// A sample lasts so long, ns, and at least a request.
const SLICE_NS: f64 = 10e6;
/// Steady: so many slices in a row lie within this share of their mean (as SNIA's rounds of a minute). The wait lasts so many slices at
/// most, and [`WAIT`] times the round's samples or twice as many slices as it takes.
const STEADY_SLICES: usize = 5;
const STEADY_SHARE: f64 = 0.1;
const MOST_UNSTEADY: usize = 20;
const WAIT: f64 = 4.0;

/// The scratch file past the cache, for so many requests of `block` bytes at once; and the blocks that it has.
pub fn open(case: &mut Case, writes: bool, depth: u32, block: u64) -> Result<(IoPath, u64)> {
    let file = crate::place::on_device(case, FILE_BYTES.max(block))?;
    files::drop_cache(&file)?;
    files::bypass_cache(&file)
        .or_unable(ReasonCode::Filesystem, || say!("this filesystem has no direct input and output"))?;
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
        case.also(super::WRITES.name, median_in_place(&mut written_ns))?;
    }
    case.note("steady", slices.map_or("not reached".to_owned(), |ms| format!("after {ms:.0} ms")));
    case.also(super::OPERATIONS.name, rates)?;
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
#[path = "direct_io_tests.rs"]
mod tests;
