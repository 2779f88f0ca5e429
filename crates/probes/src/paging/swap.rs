//! Probe paging.swap: a page of anonymous memory read back from swap, and what it costs to put one there.

mod cycle;

use cycle::Cycle;
use hostmark_engine::prelude::*;

use super::fault::AGAIN;
use crate::kernels::random::Random;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P50, Quantity::P99, Quantity::MEAN, OUT, AGAIN],
    related: &["paging.reclaim", "paging.fault", "disk.read"],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::paging::SWAP
};

/// A page put into swap.
const OUT: Quantity = Quantity::given("out", Unit::Nanoseconds, Better::Lower, term!("to swap"));

/// The most that goes to swap at a time, and the least that tells something.
const MOST_BYTES: u64 = 4 << 20;
const LEAST_PAGES: u64 = 64;
/// The part of the free swap that is left to others.
const SHARE: u64 = 8;

fn measure(case: &mut Case) -> Result<()> {
    let bytes = bytes_for(sys::memory::swap_of_machine(), Pages::Base.bytes() as u64)?;
    case.may_fill(2 * bytes as u64)?;
    if let Ok(swaps) = std::fs::read_to_string("/proc/swaps") {
        let zswap = std::fs::read_to_string("/sys/module/zswap/parameters/enabled");
        case.note("swap", device(&swaps, zswap.is_ok_and(|enabled| enabled.starts_with('Y'))));
    }
    let mut random = Random::new(case.seed());
    let contents = cycle::contents(bytes, &mut random);
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

/// How much goes to swap, where there is `swap` of so many bytes in all, of which so many are free.
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

/// What takes pages that leave now, of what /proc/swaps lists: the areas of the highest priority that have room.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
