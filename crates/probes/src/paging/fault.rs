//! Probes of page faults: the first access to a page, by one thread, by several, and served by another thread.

use std::time::Duration;

use hostmark_engine::prelude::*;
use sys::usage::thread_faults;

use super::THREADS;
use crate::kernels::random_access::Random;
use crate::workloads::mappings::mapping::{Mapping, Sharing, reports_free_pages};
use crate::workloads::mappings::protection::{Becomes, ServedMemory};
use crate::workloads::storage::files;

/// Probe paging.fault: the first access to a page, by what lies behind it.
pub static FAULT: Probe = Probe {
    also: &[PER_PAGE, AGAIN, Quantity::DEVICE_SHARE],
    axes: &[Axis::choice(
        "kind",
        "anonymous",
        // Five seconds of each round of `returned` are a wait.
        Points::quick(&["anonymous", "file", "first"])
            .standard(&["anonymous_pmd", "file_write", "copy_on_write", "file_major"])
            .thorough(&["returned"]),
    )],
    limit: Limit::CyclesPerOp,
    blocking: true,
    measure: Measure::Run(measure_fault),
    ..crate::texts::paging::FAULT
};

/// Bytes of a pass: of base pages, and of huge ones.
const BASE_BYTES: usize = 4 << 20;
const PMD_BYTES: usize = 16 << 20;

fn measure_fault(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    match case.param::<String>("kind")?.as_str() {
        "anonymous" => anonymous(case, BASE_BYTES, Pages::Base),
        "anonymous_pmd" => case.may_have_huge_pages().and_then(|()| anonymous(case, PMD_BYTES, Pages::Pmd)),
        "file_major" => major(case),
        "first" => first(case),
        "returned" => returned(case),
        kind => {
            let directory = case.memory_dir()?;
            let file = crate::place::filled(case, &directory, BASE_BYTES as u64)?;
            if kind == "copy_on_write" {
                case.may_fill(BASE_BYTES as u64)?;
            }
            let pages = (kind == "file").then_some(BASE_BYTES / page);
            passes(case, pages, |clock| {
                let sharing = if kind == "copy_on_write" { Sharing::Private } else { Sharing::Shared };
                let mapping = Mapping::file(&file, BASE_BYTES, sharing, kind != "file")?;
                if kind == "copy_on_write" {
                    mapping.read_every(page, BASE_BYTES);
                }
                Pass::of(clock, || match kind {
                    "file" => mapping.read_every(page, BASE_BYTES),
                    _ => mapping.write_every(page, BASE_BYTES),
                })
            })
        }
    }
}

fn anonymous(case: &mut Case, bytes: usize, pages: Pages) -> Result<()> {
    case.may_fill(bytes as u64)?;
    let bytes = bytes.next_multiple_of(pages.bytes());
    passes(case, None, |clock| {
        let mapping = Mapping::anonymous(bytes, pages)?;
        let pass = Pass::of(clock, || mapping.write_every(pages.bytes(), bytes))?;
        match pass.faults * pages.bytes() as u64 > 2 * bytes as u64 {
            true => Err(RoundError::skipped(ReasonCode::HugePages, say!("the kernel gives no huge pages"))),
            false => Ok(pass),
        }
    })
}

/// A page that was touched, given back to the kernel, and touched again.
pub(super) const AGAIN: Quantity = Quantity::given("again", Unit::Nanoseconds, Better::Lower, term!("again"));

/// Bytes of a pass: so many that the kernel cannot have them all from what other programs gave back just now.
const FIRST_BYTES: usize = 128 << 20;
/// Mapped at a time, so that the worker can tell how far it is, and give up in time.
const PIECE_BYTES: usize = 16 << 20;

/// Measures it: once a round, since all later passes would find the pages of the first.
fn first(case: &mut Case) -> Result<()> {
    let mut filling = case.filling(FIRST_BYTES as u64)?;
    let touch =
        |piece: &Mapping, clock: &Clock| Pass::of(clock, || piece.write_every(Pages::Base.bytes(), PIECE_BYTES));
    let mut again_ns = Vec::with_capacity(FIRST_BYTES / PIECE_BYTES);
    case.once(|clock| {
        let mut pieces = Vec::with_capacity(FIRST_BYTES / PIECE_BYTES);
        let (mut took, mut faults) = (Ticks(0), 0);
        for _ in 0..FIRST_BYTES / PIECE_BYTES {
            let piece = Mapping::anonymous(PIECE_BYTES, Pages::Base)?;
            let pass = touch(&piece, clock)?;
            (took, faults) = (Ticks(took.0 + pass.took.0), faults + pass.faults);
            filling.advance(PIECE_BYTES as u64)?;
            pieces.push(piece);
        }
        pieces.iter().try_for_each(Mapping::give_back)?;
        for piece in &pieces {
            let pass = touch(piece, clock)?;
            again_ns.push(clock.ns(pass.took) / pass.faults.max(1) as f64);
        }
        match faults {
            0 => Err(RoundError::wrong(say!("the kernel counted no faults"))),
            _ => Ok((took, faults)),
        }
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}

/// Bytes of huge pages returned: the kernel reports blocks of that size and larger, and gives such pages out of them alone.
const RETURNED_BYTES: usize = 64 << 20;
/// The kernel begins to report 2 s after pages were freed, and goes on every 2 s.
const WAIT: Duration = Duration::from_secs(5);

/// Measures it, once a round.
fn returned(case: &mut Case) -> Result<()> {
    if !reports_free_pages() {
        return Err(RoundError::skipped(
            ReasonCode::Hardware,
            say!("no balloon device takes reports of free pages: nothing tells when the host takes them back"),
        ));
    }
    let page = Pages::Pmd.bytes();
    let (piece_bytes, pieces) =
        (PIECE_BYTES.next_multiple_of(page), RETURNED_BYTES.div_ceil(PIECE_BYTES.next_multiple_of(page)));
    let mut filling = case.filling((piece_bytes * pieces) as u64)?;
    let touch = |all: &[Mapping], clock: &Clock, advance: &mut dyn FnMut() -> Result<()>| {
        let (mut took, mut faults) = (Ticks(0), 0);
        for piece in all {
            let pass = Pass::of(clock, || piece.write_every(page, piece_bytes))?;
            (took, faults) = (Ticks(took.0 + pass.took.0), faults + pass.faults);
            advance()?;
        }
        match faults * page as u64 > 2 * (piece_bytes * pieces) as u64 {
            true => Err(RoundError::skipped(ReasonCode::HugePages, say!("the kernel gives no huge pages"))),
            false => Ok((took, faults)),
        }
    };
    let map = || (0..pieces).map(|_| Mapping::anonymous(piece_bytes, Pages::Pmd)).collect::<std::io::Result<Vec<_>>>();
    let mut again_ns = Vec::new();
    case.once(|clock| {
        let used = map()?;
        touch(&used, clock, &mut || filling.advance(piece_bytes as u64))?;
        used.iter().try_for_each(Mapping::give_back)?;
        let (took, faults) = touch(&used, clock, &mut || Ok(()))?;
        again_ns.push(clock.ns(took) / faults.max(1) as f64);
        drop(used);
        sys::clock::sleep(WAIT);
        match touch(&map()?, clock, &mut || Ok(()))? {
            (_, 0) => Err(RoundError::wrong(say!("the kernel counted no faults"))),
            known => Ok(known),
        }
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}

/// Bytes of a pass.
const MAJOR_BYTES: usize = 1 << 20;

fn major(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    let file = crate::place::on_device(case, MAJOR_BYTES as u64)?;
    let mut offsets: Vec<usize> = (0..MAJOR_BYTES / page).map(|number| number * page).collect();
    Random::new(case.seed()).shuffle(&mut offsets);
    let (device, mut bytes) = (crate::place::Device::of(case)?, 0);
    passes(case, None, |clock| {
        files::drop_cache(&file)?;
        let mapping = Mapping::file(&file, MAJOR_BYTES, Sharing::Shared, false)?;
        mapping.expect_random()?;
        let before = thread_faults()?;
        let pass = Pass::of(clock, || mapping.read_at(&offsets))?;
        match thread_faults()?.major - before.major {
            0 => Err(crate::place::keeps_pages()),
            major => {
                bytes += major * page as u64;
                Ok(Pass { faults: major, ..pass })
            }
        }
    })?;
    device.give(case, bytes, |work| work.read_bytes)
}

/// Cost per page of a fault that maps several pages.
const PER_PAGE: Quantity = Quantity::given("per_page", Unit::Nanoseconds, Better::Lower, term!("a page"));

/// Passes until the time is over. Where a fault maps several pages, `pages` of a pass tells the time of each.
fn passes(case: &mut Case, pages: Option<usize>, mut pass: impl FnMut(&Clock) -> Result<Pass>) -> Result<()> {
    let mut a_page: Vec<f64> = Vec::new();
    case.timed(|clock| {
        let Pass { took, faults } = pass(clock)?;
        a_page.extend(pages.map(|pages| clock.ns(took) / pages as f64));
        match faults {
            0 => Err(RoundError::wrong(say!("the kernel counted no faults"))),
            _ => Ok((took, faults)),
        }
    })
    .time()?;
    case.also(PER_PAGE.name, a_page)
}

/// A timed pass over a mapping.
struct Pass {
    pub took: Ticks,
    /// The faults that the kernel counted.
    pub faults: u64,
}

impl Pass {
    /// Times `touch`.
    pub fn of(clock: &Clock, touch: impl FnOnce()) -> Result<Pass> {
        let before = thread_faults()?;
        let start = clock.start();
        touch();
        let took = clock.end().since(start);
        let after = thread_faults()?;
        Ok(Pass { took, faults: after.minor + after.major - before.minor - before.major })
    }
}

/// Pages of a mapping: so many that mapping and unmapping are a small part, and so few that caches hold them.
const REGION_PAGES: usize = 256;

/// Probe paging.parallel_fault: page faults on several CPUs at once, by threads of one process or by several processes.
pub static PARALLEL_FAULT: Probe = Probe {
    axes: &[THREADS, Axis::copies(Profile::Standard)],
    limit: Limit::KernelEntry,
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure_parallel_fault),
    ..crate::texts::paging::PARALLEL_FAULT
};

fn measure_parallel_fault(case: &mut Case) -> Result<()> {
    let cpus = case.thread_cpus();
    case.may_fill((cpus.len() * REGION_PAGES * Pages::Base.bytes()) as u64)?;
    match cpus.as_slice() {
        [] | [_] => {
            let mut region = Region::default();
            case.calls(|| region.fault(REGION_PAGES as u64)).each(REGION_PAGES as u64).time()
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
                None => Mapping::anonymous(REGION_PAGES * page, Pages::Base)?,
            };
            mapping.write_at(self.touched * page);
            self.touched = (self.touched + 1) % REGION_PAGES;
            self.mapping = Some(mapping).filter(|_| self.touched > 0);
        }
        Ok(())
    }
}

/// Probe paging.user_fault: a page fault that another thread of the process serves (userfaultfd).
pub static USER_FAULT: Probe = Probe {
    revision: 2,
    also: &[Quantity::P50, Quantity::P99, Quantity::MEAN],
    axes: &[
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::quick(&["same_cpu"]).standard(&["same_cache"]).thorough(&[
                "smt_sibling",
                "other_cache",
                "same_package_other_node",
                "other_node",
            ]),
        ),
        Axis::choice("by", "copy", Points::quick(&["copy"]).standard(&["zeros"])),
        Axis::count("server_delay_us", "none", Points::quick(&["none"]).thorough(&["100"])),
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure_user_fault),
    ..crate::texts::paging::USER_FAULT
};

/// Pages that fault before all are given back.
const SERVED_PAGES: usize = 64;

fn measure_user_fault(case: &mut Case) -> Result<()> {
    let becomes = if case.param::<String>("by")? == "zeros" { Becomes::Zeros } else { Becomes::Copy };
    let delay_ns = match case.param::<String>("server_delay_us")?.as_str() {
        "none" => 0,
        delay_us => delay_us.parse::<u64>()?.saturating_mul(1000),
    };
    let there = case.thread_cpus().last().copied();
    case.may_fill(((SERVED_PAGES + 1) * Pages::Base.bytes()) as u64)?;
    let (memory, server) = ServedMemory::new(SERVED_PAGES).or_lacking(|| say!("userfaultfd is not available"))?;
    let (mut page, mut faults) = (SERVED_PAGES, SERVED_PAGES as u64);
    let measured = std::thread::scope(|scope| {
        let serve = move || {
            there.map_or(Ok(()), threads::bind)?;
            Ok(server.serve(becomes, delay_ns)?)
        };
        let serving = threads::start(scope, [serve])?;
        (0..SERVED_PAGES).for_each(|page| memory.touch(page));
        let measured = case
            .timed(|clock| {
                if page == SERVED_PAGES {
                    memory.give_back()?;
                    page = 0;
                }
                let start = clock.start();
                memory.touch(page);
                let took = clock.end().since(start);
                (page, faults) = (page + 1, faults + 1);
                Ok(took)
            })
            .singly()
            .time();
        memory.end();
        Ok::<_, RoundError>((threads::join(serving)?, measured))
    });
    let (served, measured) = measured?;
    measured?;
    match served.iter().sum::<u64>() {
        served if served == faults => Ok(()),
        served => {
            let text = say!("{faults} pages were touched, and {served} faults served");
            Err(RoundError::wrong(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use sys::usage::thread_faults;

    use super::*;

    #[test]
    fn every_write_is_a_fault_however_they_are_cut_into_calls() {
        const CALLS: [u64; 4] = [1, REGION_PAGES as u64 - 1, 3 * REGION_PAGES as u64, 700];
        // Whoever carries the code out may fault as well, as an emulator does at first: the least of some attempts counts.
        let mut least = [u64::MAX; CALLS.len()];
        for _ in 0..5 {
            let mut region = Region::default();
            for (times, least) in CALLS.into_iter().zip(&mut least) {
                let before = thread_faults().unwrap().minor;
                region.fault(times).unwrap();
                *least = (thread_faults().unwrap().minor - before).min(*least);
            }
            assert!(region.mapping.is_some() && region.touched == 700 % REGION_PAGES);
        }
        for (times, faults) in CALLS.into_iter().zip(least) {
            assert!((times..times + 8).contains(&faults), "{faults} of {times}");
        }
    }
}
