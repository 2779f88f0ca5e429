//! Memory that a worker keeps from one case to the next: one mapping for a whole curve, touched once.
//!
//! A worker of one job has it for one replicate: the next has other pages. In one whose job is followed by others each replicate goes
//! over other pages of what is kept. What their places make of a value is in its interval.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::sys::affinity;
use crate::sys::memory::{self, Node, Pages};

/// What is kept can become so long, bytes, so that a curve's next point need not have a mapping of its own. No more than is
/// filled is ever taken.
const CAPACITY_BYTES: usize = 4 << 30;

/// What is kept; none where nothing is to be.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    free: Vec<FreeMapping>,
    /// Place at which a buffer begins in a mapping that is longer, 0 to 1.
    place: f64,
}

/// A mapping that nobody uses now.
#[derive(Debug)]
struct FreeMapping {
    buffer: memory::Buffer,
    place: PagePlacement,
}

/// What tells where the pages of a mapping lie: whoever touches them first has them on the nearest node.
#[derive(Debug, PartialEq, Eq)]
struct PagePlacement {
    pages: Pages,
    node: Option<Node>,
    cpu: usize,
}

impl PagePlacement {
    /// That of memory which the calling thread touches; none where it may run on several CPUs.
    fn here(pages: Pages, node: Option<Node>) -> Option<PagePlacement> {
        let cpus = affinity::allowed().ok()?;
        let [cpu] = cpus[..] else { return None };
        Some(PagePlacement { pages, node, cpu })
    }
}

/// Memory of a case: unmapped when it is dropped, or kept for the next case of the job.
#[derive(Debug)]
pub struct Buffer {
    /// There until it is dropped.
    buffer: Option<memory::Buffer>,
    /// Where it is kept afterwards.
    place: Option<PagePlacement>,
}

/// From now on this process keeps the memory of its cases, and what it kept before. Of what is longer than it needs to be a buffer begins at
/// the start, or with a seed anywhere.
pub(crate) fn keep(seed: Option<u64>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = seed.map_or(0.0, |seed| Pcg64Mcg::seed_from_u64(seed).random());
    let free = kept.take().map_or(Vec::new(), |kept| kept.free);
    *kept = Some(Kept { free, place });
}

/// Gives back all that is kept and not in use. How many bytes that was.
pub(crate) fn release() -> u64 {
    with_kept(|kept| kept.free.drain(..).map(|kept| kept.buffer.filled_bytes() as u64).sum()).unwrap_or(0)
}

/// How much is kept and not in use, bytes.
pub(crate) fn kept_bytes() -> u64 {
    with_kept(|kept| kept.free.iter().map(|kept| kept.buffer.filled_bytes() as u64).sum()).unwrap_or(0)
}

/// None where nothing is kept.
fn with_kept<T>(of: impl FnOnce(&mut Kept) -> T) -> Option<T> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(of)
}

impl Buffer {
    /// Memory of this process' own for one case, untouched.
    pub(crate) fn fresh(bytes: usize, pages: Pages, node: Option<Node>) -> std::io::Result<Buffer> {
        Ok(Buffer { buffer: Some(memory::Buffer::reserve(bytes, pages, node)?), place: None })
    }

    /// The same where nothing is kept; else what an earlier case has left that had its memory touched by a thread on the same
    /// CPU, the longest first, or what the next one will find. It holds anything.
    pub(crate) fn kept(bytes: usize, pages: Pages, node: Option<Node>) -> std::io::Result<Buffer> {
        let Some(place) = PagePlacement::here(pages, node) else { return Buffer::fresh(bytes, pages, node) };
        let found = with_kept(|kept| {
            let fits = |one: &FreeMapping| one.place == place && one.buffer.capacity() >= bytes;
            let fitting = kept.free.iter().enumerate().filter(|(_, one)| fits(one));
            let (longest, _) = fitting.max_by_key(|(_, one)| one.buffer.filled_bytes())?;
            Some((kept.free.swap_remove(longest).buffer, kept.place))
        });
        let buffer = match found {
            None => return Buffer::fresh(bytes, pages, node),
            Some(Some((mut buffer, place))) => {
                buffer.resize(bytes, place);
                buffer
            }
            // Where so much cannot even be promised, as much as is asked for.
            Some(None) => memory::Buffer::reserve_within(bytes, CAPACITY_BYTES, pages, node)
                .or_else(|_| memory::Buffer::reserve(bytes, pages, node))?,
        };
        Ok(Buffer { buffer: Some(buffer), place: Some(place) })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let (Some(buffer), Some(place)) = (self.buffer.take(), self.place.take()) {
            // Where nothing is kept any more, it is unmapped.
            with_kept(|kept| kept.free.push(FreeMapping { buffer, place }));
        }
    }
}

impl Deref for Buffer {
    type Target = memory::Buffer;

    #[inline]
    fn deref(&self) -> &memory::Buffer {
        let Some(buffer) = &self.buffer else { unreachable!("it is there until it is dropped") };
        buffer
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut memory::Buffer {
        let Some(buffer) = &mut self.buffer else { unreachable!("it is there until it is dropped") };
        buffer
    }
}

#[cfg(test)]
#[path = "arena_tests.rs"]
mod tests;
