//! The kernel of a bandwidth: the one that the case names, or the fastest of all that this CPU has.

use std::ops::Range;

use hostmark_engine::prelude::*;

use crate::kernels::Refused;
use crate::kernels::bandwidth::{CopyKernel, ReadKernel, WriteKernel};
use crate::kernels::stream;

/// The value of axis kernel, or store, that leaves the choice to trials on this host.
const BEST: &str = "best";
/// Up to this size a trial goes over all of the buffer. Of larger ones it takes a stretch, each trial the next one, so that
/// what is beyond the caches stays beyond them.
const WHOLE_BYTES: u64 = 8 << 20;
const STRETCH_BYTES: u64 = 4 << 20;
/// A trial of a small buffer goes over this much.
const LEAST_BYTES: u64 = 8 << 20;

/// What the kernels of all operations have in common.
pub(crate) trait Kernel: Sync + 'static {
    /// How it is asked for, and recorded.
    fn name(&self) -> &'static str;
    /// Whether this CPU has its instructions.
    fn is_available(&self) -> bool;
}

macro_rules! kernel {
    ($($kernel:ty),*) => {
        $(impl Kernel for $kernel {
            fn name(&self) -> &'static str {
                self.name
            }

            fn is_available(&self) -> bool {
                (self.is_available)()
            }
        })*
    };
}

kernel!(ReadKernel, WriteKernel, CopyKernel, stream::Kernel);

/// Kernels that may do what a case asks for; the first is the one to stay with unless another is clearly faster.
pub(crate) struct Candidates<K: 'static>(Vec<&'static K>);

impl<K: Kernel> Candidates<K> {
    /// The kernel of this name, or for `best` all that this CPU can run, the usual one first.
    pub(crate) fn of(name: &str, all: impl Iterator<Item = &'static K>, usual: &'static K) -> Result<Self> {
        let found: Vec<&K> = match name {
            BEST => {
                let others = all.filter(|kernel| kernel.is_available() && kernel.name() != usual.name());
                std::iter::once(usual).chain(others).collect()
            }
            _ => all.filter(|kernel| kernel.name() == name).collect(),
        };
        if found.is_empty() {
            return Err(Stop::skipped(format!("this architecture has no {name} kernel")));
        }
        Ok(Candidates(found))
    }

    /// Their names.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|kernel| kernel.name()).collect()
    }

    /// One of them, by its place.
    pub(crate) fn at(&self, way: usize) -> &'static K {
        self.0[way]
    }

    /// The one that the case uses in all of its rounds; noted. `run` goes over a part of `bytes` of memory.
    pub(crate) fn chosen(
        &self,
        case: &mut Case,
        bytes: u64,
        mut run: impl FnMut(&'static K, Range<usize>, u64),
    ) -> Result<&'static K> {
        let mut stretches = Stretches::of(bytes);
        let repeats = stretches.repeats();
        let way = case.choose(&self.names(), repeats, |way, times| run(self.at(way), stretches.next(), times))?;
        case.note("kernel", self.at(way).name());
        Ok(self.at(way))
    }
}

/// Parts of some memory, one after the other and from the start again.
pub(crate) struct Stretches {
    bytes: u64,
    each: u64,
    at: u64,
}

impl Stretches {
    /// The parts of so many bytes.
    pub(crate) fn of(bytes: u64) -> Stretches {
        Stretches { bytes, each: if bytes <= WHOLE_BYTES { bytes } else { STRETCH_BYTES }, at: 0 }
    }

    /// How often a part is gone over in a trial.
    pub(crate) fn repeats(&self) -> u64 {
        if self.each < self.bytes { 1 } else { (LEAST_BYTES / self.each.max(1)).max(1) }
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
pub(crate) fn passes<K: Kernel>(
    case: &mut Case,
    candidates: &Candidates<K>,
    pages: Pages,
    (bytes, buffer_bytes): (u64, u64),
    run: impl Fn(&K, &mut Buffer, Range<usize>, u64) -> std::result::Result<(), Refused> + Sync,
) -> Result<&'static K> {
    let refused = |refused: Refused| Stop::skipped(format!("cannot {refused}"));
    let all = 0..usize::try_from(bytes).map_err(Stop::skipped)?;
    let cpus = case.thread_cpus();
    if cpus.len() < 2 {
        let mut buffer = case.buffer(buffer_bytes, pages, None)?;
        run(candidates.at(0), &mut buffer, all.clone(), 1).map_err(refused)?;
        // The kernels are available, and take what the first took.
        let kernel = candidates.chosen(case, bytes, |kernel, part, times| {
            let _ = run(kernel, &mut buffer, part, times);
        })?;
        run(kernel, &mut buffer, all.clone(), 1).map_err(refused)?;
        case.rate(bytes, |n| {
            let _ = run(kernel, &mut buffer, all.clone(), n);
        })?;
        return Ok(kernel);
    }
    let allotment = case.allot(cpus.len() as u64, buffer_bytes, pages, None)?;
    let way = case.choose_together(&cpus, &candidates.names(), |_| {
        let mut buffer = allotment.map()?;
        run(candidates.at(0), &mut buffer, all.clone(), 1).map_err(refused)?;
        let (mut stretches, run) = (Stretches::of(bytes), &run);
        Ok(move |way| {
            let repeats = stretches.repeats();
            let _ = run(candidates.at(way), &mut buffer, stretches.next(), repeats);
        })
    })?;
    let kernel = candidates.at(way);
    case.note("kernel", kernel.name());
    case.parallel(&cpus, bytes, |_| {
        let mut buffer = allotment.map()?;
        run(kernel, &mut buffer, all.clone(), 1).map_err(refused)?;
        let (run, all) = (&run, all.clone());
        Ok(move |n| {
            let _ = run(kernel, &mut buffer, all.clone(), n);
        })
    })?;
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::bandwidth;

    #[test]
    fn best_tries_all_that_the_cpu_has_and_a_name_that_one_alone() {
        let usual = bandwidth::best_write(bandwidth::Reach::Memory);
        let names = Candidates::of(BEST, bandwidth::writes().iter(), usual).unwrap().names();
        let available = bandwidth::writes().iter().filter(|kernel| (kernel.is_available)()).count();
        assert_eq!((names[0], names.len()), (usual.name, available));
        for name in ["nt", "libc", "scalar"] {
            assert!(names.iter().filter(|known| **known == name).count() == 1, "{name} in {names:?}");
            assert_eq!(Candidates::of(name, bandwidth::writes().iter(), usual).unwrap().names(), [name]);
        }
        assert!(Candidates::of("none", bandwidth::writes().iter(), usual).is_err());
    }

    #[test]
    fn stretches_of_large_memory_follow_one_another_and_small_memory_is_one() {
        let mut small = Stretches::of(16 << 10);
        assert_eq!((small.next(), small.next(), small.repeats()), (0..16384, 0..16384, 512));
        let mut large = Stretches::of((9 << 20) + 512);
        let mib = |from: usize, to: usize| from << 20..to << 20;
        assert_eq!((large.next(), large.next(), large.next()), (mib(0, 4), mib(4, 8), mib(0, 4)));
        assert_eq!(large.repeats(), 1);
    }
}
