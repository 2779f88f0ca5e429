//! The kernel of a bandwidth: the one that the case names, or the fastest of all that this CPU has.

use std::ops::Range;

use crate::kernels::Refused;
use crate::kernels::bandwidth::{self, CopyKernel, ReadKernel, WriteKernel};
use crate::kernels::stream;
use hostmark_engine::prelude::*;

/// The value of axis kernel, or store, that leaves the choice to trials on this host.
pub(crate) const BEST: &str = "best";
/// Largest buffer that a trial goes over as a whole, in multiples of the last cache. Of a larger one it takes a stretch as large as the
/// cache, each trial the next one, so that memory beyond the caches stays beyond them. Less than a cache would be wrong: lines that plain
/// stores leave in it are written back at the cost of later stores, by which non-temporal stores looked slower than they are.
const MOST_CACHES: u64 = 3;
/// Every part is a multiple of this.
const PART_BYTES: u64 = 4096;
/// A pass over so much takes no core less than 0.1 ms: that would be 600 GB/s.
pub(crate) const LONG_PASS_BYTES: u64 = 64 << 20;
/// The last cache where the host tells of none.
const USUAL_CACHE_BYTES: u64 = 32 << 20;

/// Common interface of the kernels of all operations.
pub(crate) trait SelectableKernel: Sync + 'static {
    /// Name by which it is asked for, and recorded.
    fn name(&self) -> &'static str;
    /// Tells whether this CPU has its instructions.
    fn is_available(&self) -> bool;
    /// True where it stores what it has read, whose values a core may tell from zeros.
    const COPIES: bool;
}

macro_rules! kernel {
    ($($kernel:ty, $copies:literal;)*) => {
        $(impl SelectableKernel for $kernel {
            const COPIES: bool = $copies;

            fn name(&self) -> &'static str {
                self.name
            }

            fn is_available(&self) -> bool {
                (self.is_available)()
            }
        })*
    };
}

kernel! {
    ReadKernel, false;
    WriteKernel, false;
    CopyKernel, true;
    stream::Kernel, true;
}

/// Kernels that may do what a case asks for; the first is the one to stay with unless another is clearly faster.
pub(crate) struct Candidates<K: 'static>(Vec<&'static K>);

impl Candidates<ReadKernel> {
    /// All kernels that read memory, for threads that take the choice of `memory.read` by as many: they do the same work.
    pub(crate) fn of_reads(case: &mut Case, threads: usize, usual: &'static ReadKernel) -> Result<Self> {
        case.choose_like(format!("memory.read@kernel={BEST},threads={threads}"));
        Candidates::of(BEST, bandwidth::reads().iter(), usual)
    }
}

impl<K: SelectableKernel> Candidates<K> {
    /// The kernel of this name, or for `best` all that may be the fastest, the usual one first.
    pub(crate) fn of(name: &str, all: impl Iterator<Item = &'static K>, usual: &'static K) -> Result<Self> {
        let found: Vec<&K> = match name {
            BEST => return Ok(Candidates::among(all, usual)),
            _ => all.filter(|kernel| kernel.name() == name).collect(),
        };
        if found.is_empty() {
            return Err(RoundError::skipped(ReasonCode::Architecture, say!("this architecture has no {name} kernel")));
        }
        Ok(Candidates(found))
    }

    /// The kernels that this CPU can run, the usual one first, without those of single words and of narrow vectors that have a wider one.
    /// Narrow non-temporal stores stay: without a prefetch they beat the wide ones in STREAM's triad on Zen by 8 to 13 %.
    pub(crate) fn among(all: impl Iterator<Item = &'static K>, usual: &'static K) -> Self {
        let available: Vec<&K> = all.filter(|kernel| kernel.is_available()).collect();
        let wider = |name: &str| available.iter().any(|kernel| kernel.name() == name.replace("sse2", "avx2"));
        let is_narrow =
            |name: &str| name == "scalar" || name.contains("sse2") && !name.starts_with("nt-") && wider(name);
        let others = available.iter().filter(|kernel| kernel.name() != usual.name() && !is_narrow(kernel.name()));
        Candidates(std::iter::once(usual).chain(others.copied()).collect())
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|kernel| kernel.name()).collect()
    }

    /// Returns the candidate at this index.
    pub(crate) fn at(&self, way: usize) -> &'static K {
        self.0[way]
    }

    /// The one that the case uses in all of its rounds; noted. `run` goes over a part of `bytes`, of each of the arrays that
    /// take `all_bytes` of memory.
    pub(crate) fn chosen(
        &self,
        case: &mut Case,
        (bytes, all_bytes): (u64, u64),
        mut run: impl FnMut(&'static K, Range<usize>, u64),
    ) -> Result<&'static K> {
        let mut stretches = Stretches::of(bytes, all_bytes, case.llc_bytes());
        let touched = touched(bytes, all_bytes);
        let way = case.choose(touched, &self.names(), |way, times| run(self.at(way), stretches.next(), times))?;
        case.note("kernel", self.at(way).name());
        Ok(self.at(way))
    }

    /// The kernel for threads that work at once, each on `bytes` of its own. Skipped where the first kernel refuses them.
    pub(crate) fn chosen_in_lockstep(
        &self,
        case: &mut Case,
        cpus: &[Cpu],
        allotment: &Allotment,
        (bytes, all_bytes): (u64, u64),
        run: impl Fn(&K, &mut Buffer, Range<usize>, u64) -> std::result::Result<(), Refused> + Sync,
    ) -> Result<&'static K> {
        let all = 0..usize::try_from(bytes)?;
        let llc_bytes = share_of_caches(case, cpus);
        let way = case.choose_in_lockstep(cpus, touched(bytes, all_bytes), &self.names(), |_| {
            let mut buffer = allotment.map_first(if K::COPIES { all.end } else { 0 })?;
            run(self.at(0), &mut buffer, all.clone(), 1)?;
            let (mut stretches, run) = (Stretches::of(bytes, all_bytes, llc_bytes), &run);
            Ok(move |way, times| {
                let _ = run(self.at(way), &mut buffer, stretches.next(), times);
            })
        })?;
        case.note("kernel", self.at(way).name());
        Ok(self.at(way))
    }
}

/// Returns each thread's share of their last caches: together they go over all of them.
pub(crate) fn share_of_caches(case: &Case, cpus: &[Cpu]) -> u64 {
    case.llc_sum_bytes() / cpus.len().max(1) as u64
}

/// Returns how many bytes of the memory its arrays of so many bytes take: the gaps between them are not touched.
fn touched(bytes: u64, all_bytes: u64) -> u64 {
    bytes * (all_bytes / bytes.max(1)).max(1)
}

/// Parts of some memory, one after the other and from the start again.
pub(crate) struct Stretches {
    bytes: u64,
    each: u64,
    at: u64,
}

impl Stretches {
    /// The parts of each of some arrays, `all_bytes` together, on a host with this last cache (0 when unknown).
    pub(crate) fn of(bytes: u64, all_bytes: u64, llc_bytes: u64) -> Stretches {
        let arrays = (all_bytes / bytes.max(1)).max(1);
        // A kernel takes what begins and ends at lines alone: one that refused would take no time, and look the fastest.
        let cache = (if llc_bytes > 0 { llc_bytes } else { USUAL_CACHE_BYTES }).next_multiple_of(PART_BYTES);
        // A whole cache in each array: the C library's functions go past the caches only in calls of three quarters of one or more.
        let each = if bytes <= MOST_CACHES * cache / arrays { bytes } else { cache.min(bytes) };
        Stretches { bytes, each, at: 0 }
    }

    /// The next part: all alike, so that a rest at the end which is shorter is left out.
    pub(crate) fn next(&mut self) -> Range<usize> {
        if self.at + self.each > self.bytes {
            self.at = 0;
        }
        let from = self.at;
        self.at += self.each;
        from as usize..self.at as usize
    }
}

/// Rates of a kernel over `bytes` in a buffer of `buffer_bytes` a thread, backed by `pages`; `run` goes over a part of the bytes by a kernel.
/// Gives the kernel.
pub(crate) fn passes<K: SelectableKernel>(
    case: &mut Case,
    candidates: &Candidates<K>,
    pages: Pages,
    (bytes, buffer_bytes): (u64, u64),
    run: impl Fn(&K, &mut Buffer, Range<usize>, u64) -> std::result::Result<(), Refused> + Sync,
) -> Result<&'static K> {
    // With the same kernel what pages of other sizes are worth is all that parts their values.
    case.choose_for_all("page");
    let all = 0..usize::try_from(bytes)?;
    let filled = if K::COPIES { all.end } else { 0 };
    let cpus = case.thread_cpus();
    if cpus.len() < 2 {
        let mut buffer = case.filled_first(filled, buffer_bytes, pages)?;
        let mut taken = Ok(());
        let kernel = candidates.chosen(case, (bytes, buffer_bytes), |kernel, part, times| {
            taken = taken.and(run(kernel, &mut buffer, part, times));
        })?;
        case.steadied(buffer_bytes, || taken = taken.and_then(|()| run(kernel, &mut buffer, all.clone(), 1)));
        taken?;
        case.loops(|n| {
            let _ = run(kernel, &mut buffer, all.clone(), n);
        })
        .rate(bytes)?;
        return Ok(kernel);
    }
    let allotment = case.allot(cpus.len() as u64, buffer_bytes, pages, None)?;
    let kernel = candidates.chosen_in_lockstep(case, &cpus, &allotment, (bytes, buffer_bytes), &run)?;
    let steady = case.steady_over(buffer_bytes);
    case.workers(&cpus, |_| {
        let (mut buffer, mut taken) = (allotment.map_first(filled)?, Ok(()));
        steady.after(|| taken = taken.and_then(|()| run(kernel, &mut buffer, all.clone(), 1)));
        taken?;
        let (run, all) = (&run, all.clone());
        Ok(move |n| {
            let _ = run(kernel, &mut buffer, all.clone(), n);
        })
    })
    .of_long_iterations(bytes >= LONG_PASS_BYTES)
    .rate(bytes)?;
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_tries_all_that_the_cpu_has_and_a_name_that_one_alone() {
        let usual = bandwidth::best_write(bandwidth::Reach::Memory);
        let names = Candidates::of(BEST, bandwidth::writes().iter(), usual).unwrap().names();
        assert_eq!(names[0], usual.name);
        assert!(!names.contains(&"scalar") && names.contains(&"sse2") != names.contains(&"avx2"), "{names:?}");
        for (name, times) in [("nt", 1), ("libc", 1), ("scalar", 0)] {
            assert!(names.iter().filter(|known| **known == name).count() == times, "{name} in {names:?}");
            assert_eq!(Candidates::of(name, bandwidth::writes().iter(), usual).unwrap().names(), [name]);
        }
        assert!(Candidates::of("none", bandwidth::writes().iter(), usual).is_err());
        let is_past_caches = |kernel: &&stream::Kernel| kernel.is_non_temporal() && (kernel.is_available)();
        let triads = || stream::kernels().filter(|kernel| kernel.operation == stream::StreamOperation::Triad);
        let usual = stream::best(stream::StreamOperation::Triad, bandwidth::Reach::Memory).unwrap();
        let tried = Candidates::among(triads(), usual).names();
        assert!(triads().filter(is_past_caches).all(|kernel| tried.contains(&kernel.name)), "{tried:?}");
    }

    #[test]
    fn stretches_of_large_memory_follow_one_another_and_small_memory_is_one() {
        let mib = |from: usize, to: usize| from << 20..to << 20;
        let mut whole = Stretches::of(64 << 20, 64 << 20, 32 << 20);
        assert_eq!((whole.next(), whole.next()), (mib(0, 64), mib(0, 64)));
        let mut large = Stretches::of((9 << 20) + 512, (9 << 20) + 512, 2 << 20);
        let places: Vec<Range<usize>> = (0..5).map(|_| large.next()).collect();
        assert_eq!(places, [mib(0, 2), mib(2, 4), mib(4, 6), mib(6, 8), mib(0, 2)]);
        assert_eq!(Stretches::of(1 << 30, 1 << 30, 0).next(), mib(0, 32));
        // Of two arrays a stretch of each is a cache: a copy of less is another one to the C library.
        assert_eq!(Stretches::of(64 << 20, (128 << 20) + 4096, 32 << 20).next(), mib(0, 32));
        assert_eq!((touched(24_576, 2 * 24_576 + 4096), touched(4096, 4096), touched(4096, 0)), (49_152, 4096, 4096));
        let mut thirds = Stretches::of(64 << 20, (192 << 20) + 4096, 32 << 20);
        let ends = (0..9).map(|_| thirds.next()).flat_map(|part| [part.start, part.end]);
        assert!(ends.into_iter().all(|end| end.is_multiple_of(PART_BYTES as usize)));
    }
}
