//! Probe paging.fault: the first access to a page, by what lies behind it.

mod pass;

use hostmark_engine::prelude::*;
use pass::{Pass, passes};
use sys::counters::thread_faults;
use sys::mapping::{Mapping, Sharing};

use crate::kernels::random::Random;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Page fault", zh: "缺页" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[PER_PAGE],
    explain: Explain {
        what: Text {
            en: "A pass touches every page of a fresh mapping once, and its time is divided by the faults that the kernel counted; \
                 mapping and unmapping are not timed. kind=anonymous: a write to 4 MiB of private memory of base pages, each zeroed \
                 by the kernel; anonymous_pmd: the same with 2 MiB pages, 16 MiB. file: reads, in order, of a cached file of 4 MiB: \
                 a fault maps the cached pages around it too (fault-around, 64 KiB by default), so the time a page stands beside. \
                 file_write: writes to a shared mapping of it, a fault for each page. copy_on_write: writes to a private mapping of it \
                 whose pages were read before. file_major: random reads of a file in the scratch directory whose pages were \
                 dropped from the cache (FADV_DONTNEED, MADV_RANDOM): each fault waits for the device.",
            zh: "每一遍触碰新映射的每个页一次，总时间除以内核记录的缺页次数；映射与解除映射不计时。kind=anonymous：写 4 MiB 基本页的私有内存，\
                 每页由内核清零；anonymous_pmd：同上，用 2 MiB 页，共 16 MiB。file：按顺序读已缓存的 4 MiB 文件：一次缺页会把周围已缓存的页一并映射\
                 （fault-around，默认 64 KiB），因此另列每页时间。file_write：写该文件的共享映射，每页一次缺页。copy_on_write：写其私有映射，\
                 各页事先已读过。file_major：随机读临时目录中一个文件，其页已从缓存中丢弃（FADV_DONTNEED、MADV_RANDOM）：每次缺页都要等待设备。",
        },
        why: Text {
            en: "A program pays it for every page of memory that it uses for the first time, at its start and whenever its allocator has \
                 given memory back. It is the exception, the walk to the mapping, a page from the allocator, clearing or copying it, and \
                 the entry in the page table; in a guest perhaps a second fault in the hypervisor.",
            zh: "程序对首次使用的每个内存页都要付这一代价：启动时，以及分配器归还内存之后。其中包括异常、查找映射、从分配器取页、清零或复制、\
                 填写页表项；在虚拟机里还可能在虚拟机监控程序中再缺一次页。",
        },
        reading: Text {
            en: "anonymous 0.2 to 1 µs, up to 2 in a guest, of which zeroing 4 KiB is 50 to 150 ns; anonymous_pmd 50 to 300 µs, mostly zeroing 2 MiB, \
                 so a byte is several times cheaper. file 0.5 to 2 µs a fault and 30 to 150 ns a page; copy_on_write 1 to 2 times \
                 anonymous. file_major is the device's read latency, 20 to 150 µs on flash and milliseconds on disks; where a \
                 hypervisor caches the device, less. Page-table isolation and nested paging add most.",
            zh: "anonymous 为 0.2 到 1 µs，虚拟机中可达 2 µs，其中清零 4 KiB 占 50 到 150 ns；anonymous_pmd 为 50 到 300 µs，主要是清零 2 MiB，因此每字节便宜数倍。\
                 file 每次缺页 0.5 到 2 µs，每页 30 到 150 ns；copy_on_write 为 anonymous 的 1 到 2 倍。file_major 即设备的读延迟，闪存 20 到 150 µs，\
                 机械盘为毫秒级；虚拟机监控程序缓存该设备时更低。页表隔离与嵌套分页影响最大。",
        },
    },
    axes: &[Axis::choice(
        "kind",
        "anonymous",
        Points::Listed {
            quick: &["anonymous", "file"],
            standard: &["anonymous_pmd", "file_write", "copy_on_write", "file_major"],
            thorough: &[],
        },
    )],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[],
    replaces: &["lat_pagefault"],
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
};

/// What a fault that maps several pages comes to for each.
const PER_PAGE: Quantity = Quantity {
    name: "per_page",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    title: Text { en: "a page", zh: "每页" },
};

/// Bytes of a pass: of base pages, of huge ones, and of those that come from a device.
const BASE_BYTES: usize = 4 << 20;
const PMD_BYTES: usize = 16 << 20;
const MAJOR_BYTES: usize = 1 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    match case.param::<String>("kind")?.as_str() {
        "anonymous" => anonymous(case, BASE_BYTES, Pages::Base),
        "anonymous_pmd" => anonymous(case, PMD_BYTES, Pages::Pmd),
        "file_major" => major(case),
        kind => {
            let directory = case.memory_dir()?;
            let file = crate::place::filled(case, &directory, BASE_BYTES as u64)?;
            let pages = (kind == "file").then_some(BASE_BYTES / page);
            passes(case, pages, |clock| {
                let sharing = if kind == "copy_on_write" { Sharing::Private } else { Sharing::Shared };
                let mapping = Mapping::file(&file, BASE_BYTES, sharing, kind != "file")?;
                if kind == "copy_on_write" {
                    mapping.read_every(page, BASE_BYTES);
                }
                Ok(Pass::of(clock, || match kind {
                    "file" => mapping.read_every(page, BASE_BYTES),
                    _ => mapping.write_every(page, BASE_BYTES),
                }))
            })
        }
    }
}

fn anonymous(case: &mut Case, bytes: usize, pages: Pages) -> Result<()> {
    case.may_fill(bytes as u64)?;
    let bytes = bytes.next_multiple_of(pages.bytes());
    passes(case, None, |clock| {
        let mapping = Mapping::anonymous(bytes, pages)?;
        let pass = Pass::of(clock, || mapping.write_every(pages.bytes(), bytes));
        match pass.faults * pages.bytes() as u64 > 2 * bytes as u64 {
            true => Err(Stop::skipped("the kernel gives no huge pages")),
            false => Ok(pass),
        }
    })
}

fn major(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    let file = crate::place::on_device(case, MAJOR_BYTES as u64)?;
    let mut offsets: Vec<usize> = (0..MAJOR_BYTES / page).map(|number| number * page).collect();
    Random::new(case.seed()).shuffle(&mut offsets);
    passes(case, None, |clock| {
        sys::files::drop_cache(&file)?;
        let mapping = Mapping::file(&file, MAJOR_BYTES, Sharing::Shared, false)?;
        mapping.expect_random()?;
        let before = thread_faults();
        let pass = Pass::of(clock, || mapping.read_at(&offsets));
        match thread_faults().major - before.major {
            0 => Err(Stop::skipped("the filesystem keeps its pages, though asked to drop them")),
            major => Ok(Pass { faults: major, ..pass }),
        }
    })
}
