//! Probe paging.reclaim: pages that the kernel takes back on request or at a lower limit, and what it costs to have them again.

use hostmark_engine::prelude::*;
use sys::control_group::GroupLimit;

use super::fault::AGAIN;
use crate::own_group::OwnGroup;
use crate::workloads::handover::exchange::{self, Exchange, ExchangeStep};
use crate::workloads::mappings::mapping::{Mapping, Sharing};
use crate::workloads::storage::files::{self, Expected, OwnedFd};

pub static PROBE: Probe = Probe {
    also: &[AGAIN],
    axes: &[Axis::choice("kind", "file", Points::quick(&["file"]).standard(&["cold", "limit"]))],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::RECLAIM
};

const BYTES: usize = 4 << 20;

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("kind")?.as_str() {
        "cold" => cold(case),
        "limit" => below_limit(case),
        _ => clean(case),
    }
}

fn cold(case: &mut Case) -> Result<()> {
    case.may_fill(BYTES as u64)?;
    let page = Pages::Base.bytes();
    case.timed(|clock| {
        let mapping = Mapping::anonymous(BYTES, Pages::Base)?;
        mapping.write_every(page, BYTES);
        let start = clock.start();
        let advised = mapping.deactivate();
        let took = clock.end().since(start);
        advised.map_err(refused)?;
        match mapping.pages_in_memory()? * page {
            BYTES => Ok((took, (BYTES / page) as u64)),
            _ => Err(RoundError::wrong(say!("pages left memory that were to stay"))),
        }
    })
    .time()
}

/// Takes clean pages of a file back again and again, and touches them.
fn clean(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    let file = crate::place::on_device(case, BYTES as u64)?;
    let mapping = Mapping::file(&file, BYTES, Sharing::Private, false)?;
    let mut again_ns = Vec::new();
    mapping.read_every(page, BYTES);
    case.timed(|clock| {
        let before = mapping.pages_in_memory()?;
        let start = clock.start();
        let reclaimed = mapping.reclaim();
        let took = clock.end().since(start);
        reclaimed.map_err(refused)?;
        let gone = before.saturating_sub(mapping.pages_in_memory()?);
        if 2 * gone < BYTES / page {
            return Err(crate::place::keeps_pages());
        }
        again_ns.push(clock.time(|| mapping.read_every(page, BYTES)) / gone as f64);
        Ok((took, gone as u64))
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}

fn refused(error: std::io::Error) -> RoundError {
    RoundError::lacking(say!("the kernel reclaims no pages on request"), &error)
}

/// Base pages of the file. The kernel's data for each of them, a line of the cache, stays in the core's own caches, so that others
/// that share the last one disturb little.
const FILE_PAGES: usize = 4096;
/// Pages by which the group's limit is lowered.
const TAKEN_PAGES: usize = FILE_PAGES / 2;
/// Pages of a read.
const BLOCK_PAGES: usize = 16;
/// Largest amount of the reader's own memory.
const OWN_BYTES: usize = 64 << 20;

fn below_limit(case: &mut Case) -> Result<()> {
    let [cpu] = case.cpus::<1>()?;
    let directory = crate::place::with_device(case)?;
    let page = Pages::Base.bytes();
    let bytes = FILE_PAGES * page;
    case.may_fill(bytes as u64)?;
    let ample = GroupLimit::Memory((bytes + OWN_BYTES) as u64);
    // Before the reader, which ends before this is removed.
    let own = OwnGroup::make(&ample)?;
    let file = files::unnamed(&directory)?;
    // Without blocks: the kernel fills its pages, as fast on every device.
    files::set_length(&file, bytes as u64)?;
    // None is read ahead, so that none is larger than a base page.
    files::expect(&file, Expected::Random)?;
    let mapping = Mapping::file(&file, bytes, Sharing::Private, false)?;
    let mut reader = reader(cpu, &file, page)?;
    own.admit(reader.pid())?;
    let held = || -> Result<Held> {
        Ok(Held { of_file: mapping.pages_in_memory()?, of_group: own.group().memory_bytes()? / page as u64 })
    };
    case.timed(|clock| {
        own.group().change(&ample).map_err(limit_refused)?;
        files::drop_cache(&file)?;
        if mapping.pages_in_memory()? > 0 {
            return Err(crate::place::keeps_pages());
        }
        reader.there_and_back()?;
        let before = held()?;
        let less = GroupLimit::Memory(before.of_group.saturating_sub(TAKEN_PAGES as u64) * page as u64);
        let start = clock.start();
        let limited = own.group().change(&less);
        let took = clock.end().since(start);
        limited.map_err(limit_refused)?;
        before.taken(&held()?).map(|pages| (took, pages))
    })
    .time()
}

/// A process that reads all of the file in each of its turns, on the CPU that reclaims: of the pages that wait for each CPU to be
/// put on a list none waits elsewhere.
fn reader<'a>(cpu: Cpu, file: &'a OwnedFd, page: usize) -> std::io::Result<Exchange<impl ExchangeStep + use<'a>>> {
    let mut block = vec![1; BLOCK_PAGES * page];
    exchange::working(&[cpu.0], move || {
        let mut places = (0..FILE_PAGES * page).step_by(block.len());
        places.try_for_each(|at| files::read_at(file, at as u64, &mut block))
    })
}

/// Pages in memory.
#[derive(Debug)]
struct Held {
    of_file: usize,
    of_group: u64,
}

impl Held {
    /// The pages that left, which may be more than had to. The group has as many fewer, but for some that were set aside for each
    /// CPU and what the kernel found them by.
    fn taken(&self, now: &Held) -> Result<u64> {
        let (due, left) = (TAKEN_PAGES as u64, self.of_file.saturating_sub(now.of_file) as u64);
        let fewer = self.of_group.saturating_sub(now.of_group);
        if left < due - due / 4 || left.abs_diff(fewer) > due / 4 {
            let text = say!("of {due} pages beyond the limit {left} left memory, and the group has {fewer} fewer");
            return Err(RoundError::wrong(text));
        }
        Ok(left)
    }
}

fn limit_refused(error: std::io::Error) -> RoundError {
    RoundError::lacking(say!("cannot lower the limit of a control group"), &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_that_left_both_the_file_and_the_group() {
        let (all, half) = (FILE_PAGES as u64, TAKEN_PAGES as u64);
        let held = |of_file: u64, of_group: u64| Held { of_file: of_file as usize, of_group };
        let before = held(all, all + 40);
        assert_eq!(before.taken(&held(half + 8, half + 40)).ok(), Some(half - 8));
        assert_eq!(before.taken(&held(half / 2, half / 2)).ok(), Some(all - half / 2));
        // Nothing; of the reader's own; of nobody in the group.
        for now in [held(all, all + 40), held(all, half + 40), held(half, all + 40)] {
            assert!(matches!(before.taken(&now), Err(RoundError::Failed(_))), "{now:?}");
        }
    }
}
