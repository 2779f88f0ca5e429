//! Probe paging.reclaim: pages of this process that the kernel takes back on request, and what it costs to have them again.

use std::time::Duration;

use hostmark_engine::prelude::*;

use super::fault::AGAIN;
use crate::workloads::mappings::mapping::{Mapping, Sharing};
use crate::workloads::storage::random_blocks::Content;

pub static PROBE: Probe = Probe {
    title: Text { en: "Page reclaim", zh: "页面回收" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[AGAIN],
    explain: Explain {
        what: Text {
            en: "One madvise call takes back 4 MiB of base pages that this process alone maps; its time is divided by the pages that \
                 left memory (mincore). kind=file: clean pages of a private mapping of a file on the scratch directory's device \
                 (MADV_PAGEOUT). kind=anonymous: written pages, half of each random, which go to swap (MADV_PAGEOUT); a wait follows \
                 until swap has them. `again` is the time per page of touching all of them in order afterwards, from the device or from \
                 swap with the kernel's readahead. kind=cold: MADV_COLD of pages just written, which stays a note to the kernel to \
                 reclaim them first: none leaves.",
            zh: "用一次 madvise 收回本进程独占映射的 4 MiB 基本页；时间除以离开内存的页数（mincore）。kind=file：临时目录所在设备上一个文件的私有映射\
                 的干净页（MADV_PAGEOUT）。kind=anonymous：已写的页（每页一半为随机数据），换出到 swap（MADV_PAGEOUT），随后等到 swap 收下。\
                 again 为之后按顺序重新访问所有页的每页时间，来自设备或 swap，含内核预读。kind=cold：对刚写过的页执行 MADV_COLD，只是提示内核优先回\
                 收，没有页离开。",
        },
        why: Text {
            en: "A machine short of memory pays this for every page before it can give it to another, and `again` when the page is missed. \
                 Runtimes and agents that trim idle memory ask for it themselves.",
            zh: "内存不足的机器要先为每一页付出这一代价，才能把它给别人；缺它时再付 again。主动压缩空闲内存的运行时与代理也用这种调用。",
        },
        reading: Text {
            en: "kind=file is the pure cost of reclaim: isolate the page, remove its mapping, flush TLBs, drop it from the cache, free it. \
                 cold only clears the accessed bits. anonymous adds a place in swap and the writing to it: for zram that is compression. \
                 `again` per page is below one read of the device (paging.fault with kind=file_major) as far as readahead helps.",
            zh: "kind=file 是回收本身：隔离页、解除映射、刷新 TLB、移出页缓存、释放。cold 只清除访问位。anonymous 还要在 swap 中分配位置并写入：用 zram \
                 时即压缩。预读有效时，每页的 again 低于一次设备读取（paging.fault 的 kind=file_major）。",
        },
        typical: Text {
            en: "As published on the kernel's mailing list in 2026: 256 MiB of zeroed anonymous memory in 64 KiB folios took 55 ms to go to swap \
                 on a bare x86 machine, 840 ns a page.",
            zh: "2026 年内核邮件列表公布：物理 x86 机器上，64 KiB folio 的 256 MiB 全零匿名内存换出用时 55 ms，即每页 840 ns。",
        },
        causes: Text {
            en: "Other CPUs that run the process and must flush their TLBs; memory control groups, whose counters follow each page; swap on \
                 a slow device; a filesystem with costly cache bookkeeping.",
            zh: "运行该进程的其他 CPU 须刷新 TLB；内存 cgroup 要逐页记账；swap 在慢设备上；文件系统的缓存管理开销大。",
        },
    },
    related: &["paging.fault", "paging.unmap", "disk.read"],
    axes: &[Axis::choice(
        "kind",
        "file",
        Points::Listed { quick: &["file"], standard: &["anonymous", "cold"], thorough: &[] },
    )],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

const BYTES: usize = 4 << 20;
/// What goes to swap leaves memory when it has been written: looked for so long apart, until so many looks found none that left.
const LOOKS_IN_VAIN: usize = 10;
const LOOK_AGAIN: Duration = Duration::from_millis(1);

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("kind")?.as_str() {
        "cold" => cold(case),
        "anonymous" => {
            case.may_fill(BYTES as u64)?;
            let mapping = Mapping::anonymous(BYTES, Pages::Base)?;
            mapping.fill(&half_random(BYTES, Pages::Base.bytes())?);
            let none = (
                ReasonCode::Kernel,
                "the kernel swaps no pages of this process out: it has no swap, or not for this control group",
            );
            reclaim(case, &mapping, none, |mapping, page| mapping.write_every(page, BYTES))
        }
        _ => {
            let file = crate::place::on_device(case, BYTES as u64)?;
            let mapping = Mapping::file(&file, BYTES, Sharing::Private, false)?;
            let kept = (ReasonCode::Filesystem, "the filesystem keeps its pages, though asked to drop them");
            reclaim(case, &mapping, kept, |mapping, page| mapping.read_every(page, BYTES))
        }
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
            _ => Err(RoundError::failed(ReasonCode::CheckFailed, "pages left memory that were to stay")),
        }
    })
    .time()
}

/// Takes the pages back again and again, and touches them; `kept` says why where they stay.
fn reclaim(
    case: &mut Case,
    mapping: &Mapping,
    kept: (ReasonCode, &str),
    touch: impl Fn(&Mapping, usize),
) -> Result<()> {
    let page = Pages::Base.bytes();
    let pages = BYTES / page;
    let mut again_ns = Vec::new();
    touch(mapping, page);
    case.timed(|clock| {
        let before = mapping.pages_in_memory()?;
        let start = clock.start();
        let reclaimed = mapping.reclaim();
        let took = clock.end().since(start);
        reclaimed.map_err(refused)?;
        let gone = gone(before, || mapping.pages_in_memory())?;
        if 2 * gone < pages {
            return Err(RoundError::skipped(kept.0, kept.1));
        }
        again_ns.push(clock.time(|| touch(mapping, page)) / gone as f64);
        Ok((took, gone as u64))
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}

fn refused(error: std::io::Error) -> RoundError {
    RoundError::lacking("the kernel reclaims no pages on request", &error)
}

/// How many of the pages that were in memory have left it, once no more of them leave.
fn gone(before: usize, mut in_memory: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    let (mut left, mut in_vain) = (in_memory()?, 0);
    while left > 0 && in_vain < LOOKS_IN_VAIN {
        std::thread::sleep(LOOK_AGAIN);
        let now = in_memory()?;
        in_vain = if now < left { 0 } else { in_vain + 1 };
        left = now;
    }
    Ok(before.saturating_sub(left))
}

/// Pages of which the first half is random, and the rest zero.
fn half_random(bytes: usize, page: usize) -> std::io::Result<Vec<u8>> {
    let mut content = Content::new()?.bytes(bytes);
    content.chunks_mut(page).for_each(|page| {
        let half = page.len() / 2;
        page[half..].fill(0);
    });
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_gone_when_swap_has_written_them_and_never_without_swap() {
        let of = |looks: &[usize]| {
            let mut looks = looks.iter().copied();
            let mut last = 0;
            gone(10, || {
                last = looks.next().unwrap_or(last);
                Ok(last)
            })
            .unwrap()
        };
        assert_eq!((of(&[0]), of(&[10, 4, 0]), of(&[10]), of(&[10, 3])), (10, 10, 0, 7));
    }

    #[test]
    fn half_of_each_page_compresses() {
        let content = half_random(1 << 14, 4096).unwrap();
        for page in content.chunks(4096) {
            assert!(page[2048..].iter().all(|&byte| byte == 0));
            assert!(page[..2048].iter().filter(|&&byte| byte == 0).count() < 100);
        }
    }
}
