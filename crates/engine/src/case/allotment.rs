//! Memory of a round: at most half of what can be spared, asked before and during filling, and kept from case to case.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hostmark_host::{Root, SpareMemory};
use hostmark_model::{Message, ReasonCode};
use hostmark_say::say;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::clock::monotonic_ns;
use crate::round_error::{Result, RoundError};
use crate::sampling::sampler::{self, Deadline};
use crate::sys::affinity;
use crate::sys::memory::{self, FillPattern, Node, Pages, footprint_bytes};

/// Largest size that is filled without asking for room: the program itself takes more.
const UNASKED_BYTES: u64 = 1 << 20;
/// Share of what can be spared that is filled at most.
const SHARE: u64 = 2;
/// Bytes filled between two checks for room and time; on a device, which may be slow, the checks come earlier.
const STEP_BYTES: usize = 16 << 20;
const DEVICE_STEP_BYTES: u64 = 4 << 20;
/// The rate of the first bytes, so many at least, tells how long all will take.
const FORECAST_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone)]
pub(crate) struct MemoryBudget(Arc<MemoryAccount>);

#[derive(Debug)]
struct MemoryAccount {
    root: Root,
    spare: OnceLock<SpareMemory>,
    /// Limit set by the parent, bytes.
    most_bytes: u64,
    /// Workers of this case that fill as much at the same time.
    copies: u64,
    deadline: Deadline,
    filled_bytes: AtomicU64,
    /// Time of the first touch of memory that is kept for others, ns.
    touched_ns: AtomicU64,
}

impl MemoryBudget {
    /// Returns the budget of one of `copies` workers of a case, which may fill `most_bytes` and set up until the deadline.
    pub(crate) fn new(root: Root, most_bytes: u64, copies: u64, deadline: Deadline) -> MemoryBudget {
        let (filled_bytes, touched_ns) = (AtomicU64::new(kept_bytes()), AtomicU64::new(0));
        let (spare, copies) = (OnceLock::new(), copies.max(1));
        MemoryBudget(Arc::new(MemoryAccount { root, spare, most_bytes, copies, deadline, filled_bytes, touched_ns }))
    }

    /// Time of the first touch of memory that is kept for others, ns.
    pub(crate) fn touched_ns(&self) -> u64 {
        self.0.touched_ns.load(Ordering::Relaxed)
    }

    fn spare(&self) -> &SpareMemory {
        self.0.spare.get_or_init(|| SpareMemory::new(self.0.root.clone()))
    }

    /// Checks that so much may be filled now, also without what was kept of cases before; Skipped where it may not.
    pub(crate) fn ask(&self, bytes: u64, node: Option<Node>) -> Result<()> {
        let asked = self.ask_beside_kept(bytes, node);
        if asked.is_ok() {
            return Ok(());
        }
        match release() {
            0 => asked,
            released_bytes => {
                self.0.filled_bytes.fetch_sub(released_bytes, Ordering::Relaxed);
                self.ask_beside_kept(bytes, node)
            }
        }
    }

    fn ask_beside_kept(&self, bytes: u64, node: Option<Node>) -> Result<()> {
        let (account, asked) = (&*self.0, mebibytes(bytes));
        if bytes <= UNASKED_BYTES {
            return Ok(());
        }
        if bytes > account.most_bytes {
            let may = account.most_bytes >> 20;
            let text = say!(
                "needs {asked} MiB of memory; a case of this run may fill {may} MiB: half of what was free at its start, or its share of hostmark serve"
            );
            return Err(too_little(text, bytes, account.most_bytes));
        }
        let spare = self.spare().now(node.map(|node| node.0)).ok_or_else(|| {
            RoundError::skipped(ReasonCode::MissingFile, say!("needs {asked} MiB of memory, and how much is free is unknown here (open, read): mount /proc and /sys"))
        })?;
        // What this worker has filled is gone from what can be spared, but is a part of its half.
        let share = spare.bytes.saturating_sub(account.filled_bytes.load(Ordering::Relaxed)) / SHARE / account.copies;
        if bytes <= share {
            return Ok(());
        }
        let (holder, has) = (spare.holder, spare.bytes >> 20);
        let text = match account.copies {
            1 => say!("needs {asked} MiB of memory; {holder} can spare {has} MiB, of which at most half is filled"),
            copies => say!(
                "needs {asked} MiB of memory; {holder} can spare {has} MiB, of which at most half is filled by {copies} copies"
            ),
        };
        Err(too_little(text, bytes, share))
    }

    /// Returns room for `count` buffers of equal size; Skipped where they may not be filled.
    pub(crate) fn allot(&self, count: u64, bytes: u64, pages: Pages, node: Option<Node>) -> Result<Allotment> {
        self.ask(footprint_bytes(bytes, pages).saturating_mul(count), node)?;
        let bytes = usize::try_from(bytes)?;
        Ok(Allotment { budget: Some(self.clone()), count, bytes, pages, node })
    }

    pub(crate) fn filling(&self, bytes: u64) -> Filling {
        Filling::new(Some(self.clone()), bytes, 1, None)
    }

    /// Checks that the rest still fits; Skipped where others have taken memory meanwhile.
    fn ask_again(&self, left_bytes: u64, node: Option<Node>) -> Result<()> {
        let left_bytes = left_bytes.saturating_mul(self.0.copies);
        match self.spare().now(node.map(|node| node.0)) {
            Some(spare) if spare.bytes < left_bytes => {
                let text = say!(
                    "memory ran short while it was filled: {left_bytes} MiB are left to fill, and {holder} can spare {bytes} MiB",
                    left_bytes = mebibytes(left_bytes),
                    holder = spare.holder,
                    bytes = spare.bytes >> 20
                );
                Err(too_little(text, left_bytes, spare.bytes))
            }
            _ => Ok(()),
        }
    }
}

fn too_little(text: Message, needed_bytes: u64, available_bytes: u64) -> RoundError {
    RoundError::Skipped(ReasonCode::TooLittleMemory.because(text).lacking(needed_bytes, available_bytes))
}

fn mebibytes(bytes: u64) -> u64 {
    bytes.saturating_add(1 << 19) >> 20
}

/// Buffers that may be filled: so many alike. The only way to memory of any size for a probe.
#[derive(Debug, Clone)]
pub struct Allotment {
    budget: Option<MemoryBudget>,
    count: u64,
    bytes: usize,
    pages: Pages,
    node: Option<Node>,
}

impl Allotment {
    /// Returns a buffer of 1 MiB at most, which needs no asking.
    pub fn small(bytes: usize, pages: Pages) -> Result<Allotment> {
        match bytes as u64 <= UNASKED_BYTES {
            true => Ok(Allotment { budget: None, count: 1, bytes, pages, node: None }),
            false => Err(RoundError::internal(say!("{bytes} bytes are not small: ask the case for them"))),
        }
    }

    /// Returns one of the buffers, untouched: zero until the caller touches it first, fills all of it and reports its [`Filling`].
    pub fn reserve(&self) -> Result<(Buffer, Filling)> {
        let buffer = Buffer::fresh(self.bytes, self.pages, self.node).map_err(|error| self.lacking(&error))?;
        let left_bytes = footprint_bytes(self.bytes as u64, self.pages);
        Ok((buffer, Filling::new(self.budget.clone(), left_bytes, self.count, self.node)))
    }

    fn lacking(&self, error: &std::io::Error) -> RoundError {
        match self.node {
            Some(Node(node)) => RoundError::lacking(say!("cannot allocate memory on node {node}"), error),
            None => RoundError::lacking(say!("no memory"), error),
        }
    }

    /// Returns one of the buffers, filled by the calling thread with varying non-zero data.
    pub fn map(&self) -> Result<Buffer> {
        self.fill(usize::MAX)
    }

    /// The same, of which so many first bytes are filled; the rest is touched, and holds anything.
    pub fn map_first(&self, bytes: usize) -> Result<Buffer> {
        self.fill(bytes)
    }

    /// The same of one whose pages come from where `place` has them come from.
    pub fn map_placed(&self, place: impl FnOnce(&mut Buffer) -> Result<()>) -> Result<Buffer> {
        let (mut buffer, filling) = self.reserve()?;
        place(&mut buffer)?;
        filling.of_buffer(&mut buffer, 0)?;
        Ok(buffer)
    }

    /// Returns one of the buffers, touched by the calling thread: it holds anything, and the caller is to write all of it.
    pub fn touch(&self) -> Result<Buffer> {
        self.fill(0)
    }

    /// Returns one of the buffers, of which the first `again` bytes are filled again where an earlier case has left it.
    fn fill(&self, again: usize) -> Result<Buffer> {
        let mut buffer = Buffer::kept(self.bytes, self.pages, self.node).map_err(|error| self.lacking(&error))?;
        let touched = buffer.filled_bytes();
        let left_bytes = footprint_bytes(self.bytes.saturating_sub(touched) as u64, self.pages);
        buffer.fill(0, again.min(touched).min(self.bytes), FillPattern::START);
        if touched < self.bytes {
            let begun_ns = monotonic_ns();
            let filling = Filling::new(self.budget.clone(), left_bytes, self.count, self.node);
            filling.of_buffer(&mut buffer, touched)?;
            buffer.gather();
            if let Some(budget) = &self.budget {
                // Those that are filled at the same time take the time once.
                budget.0.touched_ns.fetch_add((monotonic_ns() - begun_ns) / self.count.max(1), Ordering::Relaxed);
            }
        }
        Ok(buffer)
    }

    pub fn pages(&self) -> Pages {
        self.pages
    }
}

/// Memory, or a file, while it is filled.
#[derive(Debug)]
pub struct Filling {
    budget: Option<MemoryBudget>,
    begun_ns: u64,
    of_bytes: u64,
    left_bytes: u64,
    /// Number of buffers that are filled at the same time.
    count: u64,
    node: Option<Node>,
    /// Filled since the last look.
    step_bytes: u64,
    every_bytes: u64,
    /// Number of bytes after which the time for the rest is forecast.
    forecast_bytes: u64,
}

impl Filling {
    fn new(budget: Option<MemoryBudget>, of_bytes: u64, count: u64, node: Option<Node>) -> Filling {
        let (begun_ns, every_bytes, left_bytes) = (monotonic_ns(), STEP_BYTES as u64, of_bytes);
        let forecast_bytes = FORECAST_BYTES;
        Filling { budget, begun_ns, of_bytes, left_bytes, count, node, step_bytes: 0, every_bytes, forecast_bytes }
    }

    /// Fills a buffer from a place on.
    fn of_buffer(mut self, buffer: &mut Buffer, mut from: usize) -> Result<()> {
        let (bytes, mut pattern) = (buffer.bytes().len(), FillPattern::START);
        while from < bytes {
            let to = bytes.min(from + STEP_BYTES);
            pattern = buffer.fill(from, to, pattern);
            self.advance((to - from) as u64)?;
            from = to;
        }
        Ok(())
    }

    /// The same for a file that is written to its device part by part: each of so many bytes.
    pub fn to_device(self) -> (Filling, u64) {
        let every_bytes = DEVICE_STEP_BYTES;
        (Filling { every_bytes, forecast_bytes: every_bytes, ..self }, every_bytes)
    }

    /// The same where what is filled is measured at once, so that there is no set-up to take too long.
    pub fn without_forecast(self) -> Filling {
        Filling { forecast_bytes: u64::MAX, ..self }
    }

    /// Counts `bytes` more as filled. Skipped where room or time no longer suffices for the rest.
    pub fn advance(&mut self, bytes: u64) -> Result<()> {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.step_bytes += bytes;
        let Some(budget) = &self.budget else { return Ok(()) };
        budget.0.filled_bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.step_bytes < self.every_bytes {
            return Ok(());
        }
        self.step_bytes = 0;
        let done_bytes = self.of_bytes - self.left_bytes;
        sampler::report_progress(done_bytes, self.of_bytes);
        if done_bytes >= self.forecast_bytes {
            budget.0.deadline.forecast(self.begun_ns, done_bytes, self.of_bytes)?;
        }
        budget.ask_again(self.left_bytes.saturating_mul(self.count), self.node)
    }
}

/// Largest size to which the kept memory can grow, so that a curve's next point needs no new mapping. Only what is filled is taken.
const CAPACITY_BYTES: usize = 4 << 30;

/// Kept memory; `None` where nothing is to be kept.
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

/// Reasons where the pages of a mapping lie: the thread that touches them first has them on the nearest node.
#[derive(Debug, PartialEq, Eq)]
struct PagePlacement {
    pages: Pages,
    node: Option<Node>,
    cpu: usize,
}

impl PagePlacement {
    /// Returns the placement of memory that the calling thread touches; `None` where it may run on several CPUs.
    fn here(pages: Pages, node: Option<Node>) -> Option<PagePlacement> {
        let cpus = affinity::allowed().ok()?;
        let [cpu] = cpus[..] else { return None };
        Some(PagePlacement { pages, node, cpu })
    }
}

/// Memory of a case: unmapped when it is dropped, or kept for the next case of the job.
#[derive(Debug)]
pub struct Buffer {
    /// Buffer until it is dropped.
    buffer: Option<memory::Buffer>,
    /// Placement under which it is kept afterwards.
    place: Option<PagePlacement>,
}

/// Keeps the memory of this process's cases from now on. A buffer in longer memory begins at the start, or with a seed anywhere.
pub(crate) fn keep(seed: Option<u64>) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = seed.map_or(0.0, |seed| Pcg64Mcg::seed_from_u64(seed).random());
    let free = kept.take().map_or(Vec::new(), |kept| kept.free);
    *kept = Some(Kept { free, place });
}

/// Gives back all memory that is kept and not in use; returns how many bytes that was.
pub(crate) fn release() -> u64 {
    with_kept(|kept| kept.free.drain(..).map(|kept| kept.buffer.filled_bytes() as u64).sum()).unwrap_or(0)
}

/// Returns the number of bytes that are kept and not in use.
fn kept_bytes() -> u64 {
    with_kept(|kept| kept.free.iter().map(|kept| kept.buffer.filled_bytes() as u64).sum()).unwrap_or(0)
}

/// Runs `of` on the kept memory; `None` where nothing is kept.
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
#[path = "allotment_tests.rs"]
mod tests;
