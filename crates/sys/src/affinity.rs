//! The CPUs of a thread, for any number of CPUs (the sets of libc and rustix end at 1024), and sets of numbers for the kernel.

use std::io;

use hostmark_model::ReasonCode;
use hostmark_say::say;

use super::call::{self, named, returned};

/// No kernel has as many CPUs.
pub const MOST_CPUS: usize = 1 << 20;

/// CPUs as the kernel takes them, one bit each: who binds a thread within a timed part has nothing else to do there.
#[derive(Debug)]
pub struct Mask(Vec<usize>);

impl Mask {
    pub fn of(cpus: &[usize]) -> io::Result<Mask> {
        if cpus.iter().any(|&cpu| cpu >= MOST_CPUS) {
            return Err(named("sched_setaffinity", io::Error::from_raw_os_error(libc::EINVAL)));
        }
        Ok(Mask(mask_of(cpus.iter().copied())))
    }

    /// Binds the calling thread to them.
    #[inline]
    pub fn bind(&self) -> io::Result<()> {
        let mask = &self.0[..];
        // SAFETY: the pointer and the length in bytes describe `mask`, which the kernel only reads; 0 is the caller.
        let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(mask), mask.as_ptr()) };
        returned("sched_setaffinity", result).map(drop).map_err(|error| match call::errno(&error) {
            // No more than that says the kernel where none of them is online and in the cpuset of this process.
            Some(libc::EINVAL) => {
                let text = say!("it is offline, or not in the cpuset of this process");
                named("sched_setaffinity", call::fault(ReasonCode::CpuUnavailable, text))
            }
            _ => error,
        })
    }
}

pub fn bind(cpus: &[usize]) -> io::Result<()> {
    Mask::of(cpus)?.bind()
}

/// The CPUs that the calling thread may run on, ascending.
pub fn allowed() -> io::Result<Vec<usize>> {
    let mut mask = vec![0_usize; 1024 / BITS];
    loop {
        // SAFETY: the pointer and the length in bytes describe `mask`, which the kernel fills at most; 0 is the caller.
        let result =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask[..]), mask.as_mut_ptr()) };
        if result >= 0 {
            return Ok(numbers_in(&mask));
        }
        let error = io::Error::last_os_error();
        // The kernel's mask is longer than ours.
        if error.raw_os_error() != Some(libc::EINVAL) || mask.len() > 1 << 20 {
            return Err(named("sched_getaffinity", error));
        }
        mask = vec![0; mask.len() * 2];
    }
}

pub(crate) const BITS: usize = usize::BITS as usize;

/// The words in which these bits are set: one at least, and none after the last bit.
pub(crate) fn mask_of(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut mask = vec![0_usize];
    for number in numbers {
        mask.resize(mask.len().max(number / BITS + 1), 0);
        mask[number / BITS] |= 1 << (number % BITS);
    }
    mask
}

/// The bits that are set in these words, ascending.
pub(crate) fn numbers_in(mask: &[usize]) -> Vec<usize> {
    (0..mask.len() * BITS).filter(|number| mask[number / BITS] >> (number % BITS) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_bound_to_one_cpu_may_run_there_alone() {
        std::thread::spawn(|| {
            let last = *allowed().unwrap().last().unwrap();
            bind(&[last]).unwrap();
            assert_eq!(allowed().unwrap(), [last]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let refused = bind(&[1 << 16]).unwrap_err().to_string();
        assert_eq!(refused, "sched_setaffinity: it is offline, or not in the cpuset of this process");
        assert!(bind(&[0, usize::MAX]).unwrap_err().to_string().starts_with("sched_setaffinity: "));
    }

    #[test]
    fn numbers_come_back_from_their_mask_in_any_order_and_beyond_one_word() {
        let mask = mask_of([200, 64, 3, 63].into_iter());
        assert_eq!((mask.len(), numbers_in(&mask)), (4, vec![3, 63, 64, 200]));
    }
}
