//! Probes of pages that the kernel takes back: reclaimed on request or at a lower limit, or sent to swap.

use std::time::Duration;

use hostmark_engine::prelude::*;
use sys::control_group::GroupLimit;
use sys::usage::thread_faults;

use super::fault::AGAIN;
use crate::kernels::random_access::Random;
use crate::own_group::OwnGroup;
use crate::workloads::handover::exchange::{self, Exchange, ExchangeStep};
use crate::workloads::mappings::mapping::{self, Mapping, Sharing};
use crate::workloads::storage::files::{self, Expected, OwnedFd};

/// Probe paging.reclaim: pages that the kernel takes back on request or at a lower limit, and what it costs to have them again.
pub static RECLAIM: Probe = Probe {
    also: &[AGAIN],
    axes: &[Axis::choice("kind", "file", Points::quick(&["file"]).standard(&["cold", "limit"]))],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    from: Profile::Standard,
    measure: Measure::Run(measure_reclaim),
    ..crate::texts::paging::RECLAIM
};

const BYTES: usize = 4 << 20;

fn measure_reclaim(case: &mut Case) -> Result<()> {
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

/// Base pages of the file: few enough that the kernel's data for them, a cache line each, stays in the core's own caches.
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

/// A process that reads the whole file in each turn, on the CPU that reclaims: no page waits on the list of another CPU.
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
    /// The pages that left, which may be more than had to: the group has as many fewer, but for those set aside for each CPU.
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

/// Probe paging.swap: a page of anonymous memory read back from swap, and what it costs to put one there.
pub static SWAP: Probe = Probe {
    also: &[Quantity::P50, Quantity::P99, Quantity::MEAN, OUT, AGAIN],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    from: Profile::Standard,
    measure: Measure::Run(measure_swap),
    ..crate::texts::paging::SWAP
};

const OUT: Quantity = Quantity::given("out", Unit::Nanoseconds, Better::Lower, term!("to swap"));

/// The most that goes to swap at a time, and the least that tells something.
const MOST_BYTES: u64 = 4 << 20;
const LEAST_PAGES: u64 = 64;
/// The part of the free swap that is left to others.
const SHARE: u64 = 8;

fn measure_swap(case: &mut Case) -> Result<()> {
    let bytes = bytes_for(sys::memory::swap_of_machine(), Pages::Base.bytes() as u64)?;
    case.may_fill(2 * bytes as u64)?;
    if let Ok(swaps) = std::fs::read_to_string("/proc/swaps") {
        let zswap = std::fs::read_to_string("/sys/module/zswap/parameters/enabled");
        case.note("swap", device(&swaps, zswap.is_ok_and(|enabled| enabled.starts_with('Y'))));
    }
    let mut random = Random::new(case.seed());
    let contents = contents(bytes, &mut random);
    let (mut out_ns, mut again_ns) = (Vec::new(), Vec::new());
    let mut cycle: Option<Cycle> = None;
    case.timed(|clock| {
        loop {
            if let Some(cycle) = &mut cycle
                && let Some(took) = cycle.read_next(clock)?
            {
                return Ok(took);
            }
            cycle.take().map_or(Ok(()), |cycle| cycle.end(&contents))?;
            let begun = Cycle::begin(clock, &contents, &mut random)?;
            out_ns.push(begun.out_ns);
            again_ns.push(begun.again_ns);
            cycle = Some(begun);
        }
    })
    .singly()
    .time()?;
    case.also(OUT.name, out_ns)?;
    case.also(AGAIN.name, again_ns)
}

/// Returns how much goes to swap, where there is `swap` of so many bytes in all, of which so many are free.
fn bytes_for(swap: Option<(u64, u64)>, page: u64) -> Result<usize> {
    match swap {
        None => {
            Err(RoundError::skipped(ReasonCode::Permission, say!("sysinfo(2), which tells of swap, is refused here")))
        }
        Some((0, _)) => Err(RoundError::skipped(ReasonCode::MissingFile, say!("no swap is on; see swapon(8)"))),
        Some((_, free)) if free / SHARE < LEAST_PAGES * page => {
            let text = say!("{free} KiB of swap are free, and an eighth of them is too little", free = free >> 10);
            Err(RoundError::Skipped(ReasonCode::TooLittleSpace.because(text).lacking(LEAST_PAGES * page * SHARE, free)))
        }
        Some((_, free)) => Ok(((free / SHARE).min(MOST_BYTES) / page * page) as usize),
    }
}

/// Returns the devices that take pages now, of those that /proc/swaps lists: the areas of the highest priority that have room.
fn device(swaps: &str, is_behind_zswap: bool) -> String {
    let area = |line: &str| -> Option<(i64, String)> {
        let [name, kind, size, used, priority] = line.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
        let has_room = used.parse::<u64>().ok()? < size.parse::<u64>().ok()?;
        // A file's path is nobody's business.
        let name = if kind == "file" { "file" } else { name.rsplit('/').next().unwrap_or(name) };
        has_room.then_some((priority.parse().ok()?, name.to_owned()))
    };
    let areas: Vec<(i64, String)> = swaps.lines().filter_map(area).collect();
    let highest = areas.iter().map(|(priority, _)| *priority).max();
    let first = areas.into_iter().filter(|(priority, _)| Some(*priority) == highest).map(|(_, name)| name);
    let names = first.collect::<Vec<_>>().join(", ");
    if is_behind_zswap { format!("zswap, then {names}") } else { names }
}

/// Number of faults until readahead has ended: the kernel halves it, from 32 pages at most, with each fault that finds no neighbour.
const SHRINKING: usize = 6;
/// The first pause for a device that writes, and the last: all together last two seconds.
const FIRST_PAUSE: Duration = Duration::from_micros(250);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// Pause after which pages that are still in memory are not waiting for the device.
const LONG_PAUSE: Duration = Duration::from_millis(16);

/// Memory of which everything is in swap but what was touched again.
struct Cycle {
    mapping: Mapping,
    /// Offsets of the pages that are still to be touched.
    untouched: Vec<usize>,
    /// Number of pages that came back from the device.
    reads: usize,
    /// Time to swap a page out, ns.
    out_ns: f64,
    /// Time to touch a page in order, ns.
    pub again_ns: f64,
}

impl Cycle {
    /// Puts `contents` into swap, and touches the first half of it.
    pub fn begin(clock: &Clock, contents: &[u8], random: &mut Random) -> Result<Cycle> {
        let page = Pages::Base.bytes();
        let mut mapping = Mapping::anonymous(contents.len(), Pages::Base)?;
        mapping.fill(contents);
        let reclaim = || mapping.reclaim().map_err(refused);
        let start = clock.start();
        let reclaimed = reclaim();
        let took = clock.end().since(start);
        reclaimed?;
        let left = swapped(&mapping)?.into_iter().filter(|&is_swapped| is_swapped).count();
        let pages = contents.len() / page;
        if 2 * left < pages {
            let text = say!(
                "the kernel kept the pages in memory, though swap is on: the control group may allow none (memory.swap.max)"
            );
            return Err(RoundError::skipped(ReasonCode::ResourceLimit, text));
        }
        let kept = settle(pages, |pause| {
            // What the swap cache holds has to be mapped to be reclaimed. It is clean once it is written, and then leaves at once.
            sys::clock::sleep(pause);
            let (swapped, held) = (swapped(&mapping)?, mapping.in_memory(0, contents.len())?);
            let cached = (0..pages).filter(|&number| swapped[number] && held[number]);
            let cached: Vec<usize> = cached.map(|number| number * page).collect();
            mapping.read_at(&cached);
            if !cached.is_empty() {
                reclaim()?;
            }
            Ok(mapping.pages_in_memory()?)
        })?;
        if 2 * kept > pages {
            return Err(stays());
        }
        let held = mapping.in_memory(0, contents.len())?;
        let offsets = |from: usize, to: usize| -> Vec<usize> {
            (from..to).filter(|&number| !held[number]).map(|number| number * page).collect()
        };
        let in_order = offsets(0, pages / 2);
        let again_ns = clock.time(|| mapping.read_at(&in_order)) / in_order.len().max(1) as f64;
        let mut untouched = offsets(pages / 2, pages);
        random.shuffle(&mut untouched);
        untouched.drain(..SHRINKING.min(untouched.len())).for_each(|offset| mapping.read_at(&[offset]));
        Ok(Cycle { out_ns: clock.ns(took) / left as f64, again_ns, mapping, untouched, reads: 0 })
    }

    /// The time of touching a page that the kernel had to read for it; none where all were touched.
    fn read_next(&mut self, clock: &Clock) -> Result<Option<Ticks>> {
        while let Some(offset) = self.untouched.pop() {
            // Readahead has brought it, and would go on if it were touched.
            if self.mapping.in_memory(offset, 1)?[0] {
                continue;
            }
            let before = thread_faults()?.major;
            let start = clock.start();
            self.mapping.read_at(&[offset]);
            let took = clock.end().since(start);
            if thread_faults()?.major > before {
                self.reads += 1;
                return Ok(Some(took));
            }
        }
        Ok(None)
    }

    /// Checks the contents; Failed where something else came back than was put away.
    pub fn end(mut self, contents: &[u8]) -> Result<()> {
        match self.reads {
            0 => Err(stays()),
            _ if self.mapping.bytes() != contents => {
                Err(RoundError::failed(ReasonCode::MemoryError, say!("other data came back from swap than went there")))
            }
            _ => Ok(()),
        }
    }
}

fn swapped(mapping: &Mapping) -> Result<Vec<bool>> {
    let refused = |error| RoundError::lacking(say!("the kernel does not tell which pages are swapped out"), &error);
    mapping::swapped(mapping).map_err(refused)
}

fn stays() -> RoundError {
    let text = say!("the pages stay in the swap cache: swap is more than half full, or its device is busy");
    RoundError::skipped(ReasonCode::Disturbed, text)
}

/// Has `retry`, which pauses first, reclaim pages until none is left or none waits for a device; returns how many are left.
fn settle(pages: usize, mut retry: impl FnMut(Duration) -> Result<usize>) -> Result<usize> {
    let mut left = retry(Duration::ZERO)?;
    let mut pause = FIRST_PAUSE;
    while left > 0 && pause < LAST_PAUSE {
        let now = retry(pause)?;
        if now == left && 2 * now <= pages && pause >= LONG_PAUSE {
            break;
        }
        (left, pause) = (now, 2 * pause);
    }
    Ok(left)
}

/// Data about as compressible as memory of programs: words of which a quarter is random, a quarter is repeated, and half is zero.
fn contents(bytes: usize, random: &mut Random) -> Vec<u8> {
    let mut words: Vec<u64> = Vec::with_capacity(bytes / 8);
    for number in 0..bytes / 8 {
        let word = match random.below(4) {
            0 => random.next(),
            // Within what a page's compression looks back.
            1 if number > 0 => words[number - 1 - random.below(number.min(64) as u32) as usize],
            _ => 0,
        };
        words.push(word);
    }
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
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

    #[test]
    fn no_more_than_an_eighth_of_the_free_swap_is_taken_and_of_none_nothing() {
        let bytes = |swap| bytes_for(swap, 4096).map_err(RoundError::into_reason);
        assert_eq!(bytes(None).unwrap_err().code, Some(ReasonCode::Permission));
        assert_eq!(bytes(Some((0, 0))).unwrap_err().text, "no swap is on; see swapon(8)");
        let full = bytes(Some((1 << 30, 1 << 20))).unwrap_err();
        assert_eq!((full.code, full.text.starts_with("1024 KiB")), (Some(ReasonCode::TooLittleSpace), true));
        assert_eq!(bytes(Some((1 << 30, 2 << 20))), Ok(256 << 10));
        assert_eq!(bytes(Some((1 << 30, (9 << 20) + 4096))), Ok((9 << 17) / 4096 * 4096));
        assert_eq!(bytes(Some((1 << 30, 1 << 30))), Ok(4 << 20));
        // Pages of 64 KiB need more.
        assert!(bytes_for(Some((1 << 30, 16 << 20)), 65536).is_err());
        assert_eq!(bytes_for(Some((1 << 30, 1 << 30)), 65536), Ok(4 << 20));
    }

    #[test]
    fn the_areas_that_take_pages_now_are_named_without_paths() {
        const HEADER: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        let areas = |lines: &str| device(&format!("{HEADER}{lines}"), false);
        assert_eq!(areas("/dev/zram0 partition 65532 0 100\n/dev/dm-1 partition 999 0 -2\n"), "zram0");
        assert_eq!(areas("/dev/zram0 partition 65532 65532 100\n/home/ada/swap\\040file file 999 0 -2\n"), "file");
        assert_eq!(areas("/dev/sda2 partition 9 0 5\n/dev/sdb2 partition 9 0 5\n"), "sda2, sdb2");
        assert_eq!(device("/dev/vda2 partition 9 0 -2", true), "zswap, then vda2");
        assert_eq!(areas(""), "");
    }

    /// Returns what is left after each try, and the number of tries.
    fn settled(left: &[usize]) -> (usize, usize) {
        let mut tries = 0;
        let kept = settle(100, |_| {
            tries += 1;
            Ok(left[(tries - 1).min(left.len() - 1)])
        });
        (kept.unwrap(), tries)
    }

    #[test]
    fn a_device_is_waited_for_as_long_as_it_writes_and_no_longer_than_two_seconds() {
        // Compressed memory is written at once.
        assert_eq!(settled(&[0]), (0, 1));
        assert_eq!(settled(&[100, 100, 80, 80, 80, 80, 30, 0]), (0, 8));
        // A few that nobody takes are not waited for once pauses are long.
        assert_eq!(settled(&[3]), (3, 8));
        // All are, until the end.
        assert_eq!(settled(&[100]), (100, 13));
        let mut pauses = Duration::ZERO;
        settle(100, |pause| {
            pauses += pause;
            Ok(100)
        })
        .unwrap();
        assert!(pauses < Duration::from_millis(2100), "{pauses:?}");
    }

    #[test]
    fn half_of_the_words_are_zero_and_a_quarter_repeats() {
        let contents = contents(1 << 16, &mut Random::new(7));
        assert_eq!(contents.len(), 1 << 16);
        let words: Vec<&[u8; 8]> = contents.as_chunks().0.iter().collect();
        let zeros = words.iter().filter(|word| **word == &[0; 8]).count();
        let distinct = words.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert!((words.len() * 5 / 10..words.len() * 7 / 10).contains(&zeros), "{zeros}");
        assert!((words.len() * 2 / 10..words.len() * 3 / 10).contains(&distinct), "{distinct}");
    }

    #[test]
    fn pages_go_to_swap_and_come_back_where_there_is_some() {
        let (clock, mut random) = (Clock::MonotonicRaw, Random::new(7));
        let contents = contents(1 << 20, &mut random);
        let begun = match super::bytes_for(sys::memory::swap_of_machine(), Pages::Base.bytes() as u64) {
            Ok(bytes) if bytes >= contents.len() => Cycle::begin(&clock, &contents, &mut random),
            Ok(_) => return crate::skip::skipped("too little swap is free"),
            Err(error) => return crate::skip::skipped(&error.to_string()),
        };
        match begun {
            Ok(mut cycle) => {
                while cycle.read_next(&clock).unwrap().is_some() {}
                cycle.end(&contents).unwrap();
            }
            Err(error) => crate::skip::skipped(&error.to_string()),
        }
    }
}
