//! Probe paging.parallel_fault: page faults on several CPUs at once, by threads of one process or by several processes.

use hostmark_engine::prelude::*;

use super::THREADS;
use crate::workloads::mappings::mapping::Mapping;

/// Pages of a mapping: so many that mapping and unmapping are a small part, and so few that caches hold them.
const PAGES: usize = 256;

pub static PROBE: Probe = Probe {
    axes: &[THREADS, Axis::copies(Profile::Standard)],
    limit: Limit::KernelEntry,
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::PARALLEL_FAULT
};

fn measure(case: &mut Case) -> Result<()> {
    let cpus = case.thread_cpus();
    case.may_fill((cpus.len() * PAGES * Pages::Base.bytes()) as u64)?;
    match cpus.as_slice() {
        [] | [_] => {
            let mut region = Region::default();
            case.calls(|| region.fault(PAGES as u64)).each(PAGES as u64).time()
        }
        cpus => case
            .workers(cpus, |_| {
                let mut region = Region::default();
                Ok(move |faults: u64| region.fault(faults))
            })
            .time(),
    }
}

/// A mapping whose pages are touched one after another, and that is made anew when all are.
#[derive(Default)]
struct Region {
    mapping: Option<Mapping>,
    touched: usize,
}

impl Region {
    fn fault(&mut self, times: u64) -> std::io::Result<()> {
        let page = Pages::Base.bytes();
        for _ in 0..times {
            let mapping = match self.mapping.take() {
                Some(mapping) => mapping,
                None => Mapping::anonymous(PAGES * page, Pages::Base)?,
            };
            mapping.write_at(self.touched * page);
            self.touched = (self.touched + 1) % PAGES;
            self.mapping = Some(mapping).filter(|_| self.touched > 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::usage::thread_faults;

    #[test]
    fn every_write_is_a_fault_however_they_are_cut_into_calls() {
        const CALLS: [u64; 4] = [1, PAGES as u64 - 1, 3 * PAGES as u64, 700];
        // Whoever carries the code out may fault as well, as an emulator does at first: the least of some attempts counts.
        let mut least = [u64::MAX; CALLS.len()];
        for _ in 0..5 {
            let mut region = Region::default();
            for (times, least) in CALLS.into_iter().zip(&mut least) {
                let before = thread_faults().unwrap().minor;
                region.fault(times).unwrap();
                *least = (thread_faults().unwrap().minor - before).min(*least);
            }
            assert!(region.mapping.is_some() && region.touched == 700 % PAGES);
        }
        for (times, faults) in CALLS.into_iter().zip(least) {
            assert!((times..times + 8).contains(&faults), "{faults} of {times}");
        }
    }
}
