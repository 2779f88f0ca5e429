//! Probe paging.swap: a page of anonymous memory read back from swap, and what it costs to put one there.

mod cycle;

use cycle::Cycle;
use hostmark_engine::prelude::*;

use super::fault::AGAIN;
use crate::kernels::random::Random;

pub static PROBE: Probe = Probe {
    title: Text { en: "Swap", zh: "交换（swap）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P50, Quantity::P99, Quantity::MEAN, OUT, AGAIN],
    explain: Explain {
        what: Text {
            en: "Up to 4 MiB of this process's memory (an eighth of the free swap at most) are put into swap by one \
                 madvise(MADV_PAGEOUT), and no other process's. `out` is the time of that call per page that left the page table \
                 (/proc/self/pagemap). Then pages still in the swap cache are read and reclaimed again until the device has written \
                 them and memory holds none (mincore). The first half is touched in order: `again`, per page, with the kernel's \
                 readahead. Of the other half pages are touched at random, each timed: the value is one page read back. Only \
                 touches that the kernel counts as major faults count, and pages that readahead brought are left out. A quarter \
                 of the words is random, a quarter repeats, half is zero.",
            zh: "用一次 madvise(MADV_PAGEOUT) 把本进程至多 4 MiB 内存（不超过空闲 swap 的八分之一）换出，不动其他进程的内存。out 为该调用的时间除以离开页表\
                 的页数（/proc/self/pagemap）。随后把仍在 swap 缓存中的页读一遍再回收，直到设备写完且内存中不再有（mincore）。前一半按顺序访问：again，每页\
                 时间，含内核预读。后一半随机逐页访问并分别计时：数值是读回一页的时间。只计内核记为主缺页（major fault）的访问，预读带来的页不计。内容中\
                 四分之一的字随机，四分之一重复，其余为零。",
        },
        why: Text {
            en: "Memory that was swapped out is missed at this price, page by page: it decides whether swap softens a shortage or \
                 stops the machine. zram and zswap pay by compression instead of a device.",
            zh: "换出的内存再被用到时，每一页都要付这一代价：它决定 swap 是缓解内存不足，还是让机器停滞。zram 与 zswap 付的是压缩而非设备的代价。",
        },
        reading: Text {
            en: "The note `swap` says what is measured. On a disk the value is one read of the device (disk.read) and the fault; `out` \
                 only reclaims and submits, since the writing goes on after the call; `again` is lower by the readahead (8 pages, \
                 vm.page-cluster). zram and zswap compress in the call and decompress in the fault: there `again` is close to the value.",
            zh: "备注 swap 说明测的是什么。在磁盘上，数值是一次设备读取（disk.read）加缺页；out 只含回收与提交，写入在调用返回后继续；预读（8 页，\
                 vm.page-cluster）使 again 更低。zram 与 zswap 在该调用中压缩、在缺页中解压，因此 again 接近数值。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): zram 6.2 to 6.4 µs with lzo-rle, 5.8 to 5.9 \
                 with lz4, `out` 8.1 to 8.6, `again` 5.2 to 5.9; a file behind zswap 6.2 to 6.3; the file alone, on a virtual disk, 58 \
                 to 73, `out` 2.6 to 3.7, `again` 14 to 16. Published with the kernel change that lets zram skip the swap cache (2017): \
                 5 GiB in order in 1.64 s, 1.25 µs a page.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测：zram 用 lzo-rle 时 6.2 到 6.4 µs，用 lz4 时 5.8 到 5.9，\
                 out 8.1 到 8.6，again 5.2 到 5.9；前有 zswap 的文件 6.2 到 6.3；仅文件（位于虚拟磁盘）58 到 73，out 2.6 到 3.7，again 14 到 16。\
                 随 zram 跳过 swap 缓存的内核改动公布（2017 年）：按顺序读回 5 GiB 用时 1.64 s，即每页 1.25 µs。",
        },
        causes: Text {
            en: "Skipped: no swap is on, or a control group allows none (memory.swap.max). Slow: a disk that others keep busy, a \
                 slow compressor, data that does not compress, swap in a file on a fragmented filesystem.",
            zh: "被跳过：未启用 swap，或 cgroup 不允许（memory.swap.max）。偏慢：磁盘被其他程序占用、压缩算法慢、数据难以压缩、swap 文件所在文件系统碎片化。",
        },
    },
    related: &["paging.reclaim", "paging.fault", "disk.read"],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A page put into swap.
const OUT: Quantity = Quantity::given("out", Unit::Nanoseconds, Better::Lower, Text { en: "to swap", zh: "换出" });

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
        None => Err(RoundError::skipped(ReasonCode::Permission, "sysinfo(2), which tells of swap, is refused here")),
        Some((0, _)) => Err(RoundError::skipped(ReasonCode::MissingFile, "no swap is on; see swapon(8)")),
        Some((_, free)) if free / SHARE < LEAST_PAGES * page => {
            let text = format!("{} KiB of swap are free, and an eighth of them is too little", free >> 10);
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
