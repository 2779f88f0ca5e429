//! Counters of the processor and of the kernel, for the calling thread: perf_event_open(2).

use std::io;

use perf_event_open_sys::{bindings, ioctls, perf_event_open};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::call::{Call, returned};

/// Event to count, by the kernel's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfEvent {
    /// The kind of event, or the number of a device of events.
    pub kind: u32,
    /// Number of the event within its kind.
    pub config: u64,
    /// True where the kernel's work for the thread is counted too.
    pub in_kernel: bool,
}

impl PerfEvent {
    /// An event that every processor is meant to have: PERF_COUNT_HW_….
    const fn hardware(config: u32) -> PerfEvent {
        PerfEvent { kind: bindings::PERF_TYPE_HARDWARE, config: config as u64, in_kernel: true }
    }

    /// A read that missed this cache: PERF_COUNT_HW_CACHE_….
    const fn read_miss(cache: u32) -> PerfEvent {
        let result = bindings::PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
        let config = (cache | bindings::PERF_COUNT_HW_CACHE_OP_READ << 8 | result) as u64;
        PerfEvent { kind: bindings::PERF_TYPE_HW_CACHE, config, in_kernel: true }
    }

    const fn software(config: u32) -> PerfEvent {
        PerfEvent { kind: bindings::PERF_TYPE_SOFTWARE, config: config as u64, in_kernel: true }
    }

    pub const CYCLES: PerfEvent = PerfEvent::hardware(bindings::PERF_COUNT_HW_CPU_CYCLES);
    pub const INSTRUCTIONS: PerfEvent = PerfEvent::hardware(bindings::PERF_COUNT_HW_INSTRUCTIONS);
    pub const BRANCH_MISSES: PerfEvent = PerfEvent::hardware(bindings::PERF_COUNT_HW_BRANCH_MISSES);
    /// Cycles in which the front end gave nothing.
    pub const FRONTEND_STALLS: PerfEvent = PerfEvent::hardware(bindings::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND);
    /// Cycles in which the back end took nothing.
    pub const BACKEND_STALLS: PerfEvent = PerfEvent::hardware(bindings::PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
    /// Reads that missed the first data cache.
    pub const L1D_MISSES: PerfEvent = PerfEvent::read_miss(bindings::PERF_COUNT_HW_CACHE_L1D);
    pub const LLC_MISSES: PerfEvent = PerfEvent::read_miss(bindings::PERF_COUNT_HW_CACHE_LL);
    /// Reads that missed the TLB of data.
    pub const DTLB_MISSES: PerfEvent = PerfEvent::read_miss(bindings::PERF_COUNT_HW_CACHE_DTLB);
    pub const PAGE_FAULTS: PerfEvent = PerfEvent::software(bindings::PERF_COUNT_SW_PAGE_FAULTS);
    /// Switches to another thread.
    pub const CONTEXT_SWITCHES: PerfEvent = PerfEvent::software(bindings::PERF_COUNT_SW_CONTEXT_SWITCHES);
    pub const MIGRATIONS: PerfEvent = PerfEvent::software(bindings::PERF_COUNT_SW_CPU_MIGRATIONS);

    /// Returns the same event of the core's counters that have this number, where cores of several kinds have different ones.
    /// Events that not every processor has stay as they are.
    pub fn of_device(self, device: u32) -> PerfEvent {
        match self.kind {
            bindings::PERF_TYPE_HARDWARE | bindings::PERF_TYPE_HW_CACHE => {
                PerfEvent { config: self.config | u64::from(device) << bindings::PERF_PMU_TYPE_SHIFT, ..self }
            }
            _ => self,
        }
    }
}

/// Events that are counted at the same time; none is counted but while [`PerfGroup::count`] says so.
#[derive(Debug)]
pub struct PerfGroup {
    /// The first leads the others.
    members: Vec<OwnedFd>,
}

impl PerfGroup {
    /// Opens the counters, of the calling thread on whichever CPU it runs.
    pub fn open(events: &[PerfEvent]) -> io::Result<PerfGroup> {
        let mut members: Vec<OwnedFd> = Vec::with_capacity(events.len());
        for event in events {
            let member = open(event, members.first())?;
            members.push(member);
        }
        Ok(PerfGroup { members })
    }

    /// Runs `work`; returns its result, and how much each counter grew meanwhile. `None` where they were not counted all the time,
    /// since others used the counters too, or the thread ran where they do not count.
    pub fn count<R>(&self, work: impl FnOnce() -> R) -> (R, Option<Vec<u64>>) {
        let before = self.read();
        let is_on = self.switch(ioctls::ENABLE);
        let done = work();
        let is_off = self.switch(ioctls::DISABLE);
        let after = self.read();
        let grown = (is_on && is_off).then(|| grown(&before.ok()?, &after.ok()?)).flatten();
        (done, grown)
    }

    fn switch(&self, request: unsafe fn(libc::c_int, libc::c_uint) -> libc::c_int) -> bool {
        let Some(first) = self.members.first() else { return false };
        // SAFETY: the descriptor is one of counters, and the request has no pointer.
        unsafe { request(first.as_raw_fd(), bindings::PERF_IOC_FLAG_GROUP) == 0 }
    }

    /// The number of counters, the time that they were on, the time that they counted, and their values.
    fn read(&self) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; (HEAD + self.members.len()) * size_of::<u64>()];
        let length = match self.members.first() {
            Some(first) => rustix::io::read(first, &mut bytes).call("read")?,
            None => 0,
        };
        let words = bytes[..length].chunks_exact(size_of::<u64>());
        Ok(words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect())
    }
}

/// Numbers of a reading before its values.
const HEAD: usize = 3;

/// Returns how much each value grew between two readings, if the counters counted all the time.
fn grown(before: &[u64], after: &[u64]) -> Option<Vec<u64>> {
    // A counter that cannot be placed at all gives an empty reading.
    let is_whole =
        |reading: &[u64]| reading.first().is_some_and(|&values| reading.len() as u64 == HEAD as u64 + values);
    if !is_whole(before) || !is_whole(after) || before.len() != after.len() {
        return None;
    }
    let grown: Vec<u64> = before.iter().zip(after).map(|(before, after)| after.wrapping_sub(*before)).collect();
    let (on, counted) = (grown[1], grown[2]);
    (on > 0 && on == counted).then(|| grown[HEAD..].to_vec())
}

fn open(event: &PerfEvent, leader: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let mut attributes = bindings::perf_event_attr {
        type_: event.kind,
        size: size_of::<bindings::perf_event_attr>() as u32,
        config: event.config,
        read_format: u64::from(
            bindings::PERF_FORMAT_GROUP
                | bindings::PERF_FORMAT_TOTAL_TIME_ENABLED
                | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..Default::default()
    };
    // Members follow their leader.
    attributes.set_disabled(u64::from(leader.is_none()));
    attributes.set_exclude_kernel(u64::from(!event.in_kernel));
    let leader = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: the attributes are a whole structure of its size, and the kernel writes nothing but to it.
    let descriptor =
        unsafe { perf_event_open(&raw mut attributes, 0, -1, leader, bindings::PERF_FLAG_FD_CLOEXEC.into()) };
    returned("perf_event_open", descriptor)?;
    // SAFETY: the call has just returned it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::super::call::errno;
    use super::super::usage::thread_faults;
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn values_count_only_where_the_counters_were_on_all_the_time() {
        assert_eq!(grown(&[2, 100, 100, 5, 70], &[2, 150, 150, 9, 170]), Some(vec![4, 100]));
        // Others had the counters for a part of it, or all the time; and there was no time at all.
        assert_eq!(grown(&[2, 100, 100, 5, 70], &[2, 150, 149, 9, 170]), None);
        assert_eq!(grown(&[1, 100, 0, 0], &[1, 150, 0, 0]), None);
        assert_eq!(grown(&[1, 100, 100, 5], &[1, 100, 100, 5]), None);
        // What could not be placed reads as nothing.
        assert_eq!(grown(&[], &[]), None);
        assert_eq!(grown(&[2, 100, 100, 5], &[2, 150, 150, 9]), None);
    }

    #[test]
    fn an_event_of_every_processor_is_asked_of_one_kind_of_core_and_others_are_not() {
        assert_eq!(PerfEvent::L1D_MISSES.config, 0x1_0000);
        assert_eq!(PerfEvent::DTLB_MISSES.of_device(10).config, 0xa_0001_0003);
        assert_eq!(PerfEvent::PAGE_FAULTS.of_device(10), PerfEvent::PAGE_FAULTS);
    }

    /// Writes to so many pages that are new.
    fn touch(pages: usize) {
        let bytes = pages << 12;
        // SAFETY: memory of our own at an address that the kernel chooses.
        let place = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert_ne!(place, libc::MAP_FAILED);
        for page in 0..pages {
            // SAFETY: it lies within what was mapped, and is written to once; without huge pages each is a fault.
            unsafe {
                libc::madvise(place, bytes, libc::MADV_NOHUGEPAGE);
                place.cast::<u8>().add(page << 12).write_volatile(1);
            }
        }
        // SAFETY: nobody has a reference into it.
        unsafe { libc::munmap(place, bytes) };
    }

    #[test]
    fn the_kernels_own_counters_agree_with_what_it_says_of_the_thread() {
        const PAGES: usize = 100;
        let group = match PerfGroup::open(&[PerfEvent::PAGE_FAULTS, PerfEvent::CONTEXT_SWITCHES]) {
            Ok(group) => group,
            Err(error) if errno(&error).is_some() => {
                return skipped(&format!("no counters here: {error}"));
            }
            Err(error) => panic!("{error}"),
        };
        touch(1);
        let count = |sleeps: usize| {
            group.count(|| {
                let before = thread_faults().unwrap().minor;
                touch(PAGES);
                (0..sleeps).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(50)));
                thread_faults().unwrap().minor - before
            })
        };
        let (faults, grown) = count(0);
        assert_eq!((faults, grown.unwrap()[0]), (PAGES as u64, PAGES as u64));
        // What it did before is not in it, and each sleep is a switch.
        let (_, grown) = count(7);
        let grown = grown.unwrap();
        assert!(grown[0] == PAGES as u64 && grown[1] >= 7, "{grown:?}");
    }
}
