//! Probe paging.mmap: a file is mapped, touched and unmapped, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    title: Text { en: "Map, touch, unmap", zh: "映射、访问、解除映射" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "mmap maps `size` bytes of a fully cached file, shared and writable; the mapping is touched; then \
                 munmap removes it. touch=tenth stores one byte every 16 KiB in the first tenth, so most of the \
                 mapping stays sparse; all loads one byte of every page; none touches nothing. backing=anonymous maps \
                 private memory instead, in the system's page size.",
            zh: "以共享可写方式 mmap 一个已全部在缓存中的文件的 `size` 字节，访问，再 munmap。touch=tenth 在前十分之一\
                 中每 16 KiB 存一个字节，映射的大部分保持稀疏；all 读每一页的一个字节；none 不访问。backing=anonymous \
                 改为映射私有内存，页大小由系统决定。",
        },
        why: Text {
            en: "Databases, loaders and allocators map and unmap all the time. A mapping itself costs the same at any \
                 size. What grows is the faults that fill it and, at the end, the removal of its pages and the TLB \
                 flush.",
            zh: "数据库、加载器和分配器不断映射与解除映射。映射本身的代价与大小无关：增长的是填充它的缺页，以及结束时\
                 移除各页的遍历与 TLB 刷新。",
        },
        reading: Text {
            en: "touch=none is the same at every size. tenth at 8 MiB is 52 faults (paging.fault, file_write) and \
                 their removal; beyond 1 MiB it is linear in size. Compare only values of the same size.",
            zh: "touch=none 在任何大小下都相同。8 MiB 的 tenth 是 52 次缺页（见 paging.fault 的 file_write）及其移除；1 MiB 以上与大小成正比。\
                 只在相同大小之间比较。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), tmpfs: none 2.5 to 4 µs, \
                 tenth 58 µs, 1.1 a fault, all 436 µs.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（tmpfs）：none 2.5 到 4 µs，tenth 58 µs，即每次缺\
                 页 1.1 µs，all 436 µs。",
        },
        causes: Text {
            en: "Expensive faults (paging.fault), a TLB flush of several CPUs where the process has threads elsewhere, \
                 memory control groups, filesystems that make an entry at the first store to a page (scratch on btrfs, \
                 xfs).",
            zh: "昂贵的缺页（见 paging.fault）；进程在别处有线程时多个 CPU 的 TLB 刷新；内存 cgroup；页首次写入时要登记的文件系统（btrfs、xfs 上的 \
                 scratch）。",
        },
    },
    related: &["paging.fault", "paging.protect", "file.mmap_open_reread"],
    differs: Some(Text {
        en: "lat_mmap does the same (touch=tenth). The summary shows its largest size, which follows the machine's \
             memory, so hosts differ by memory size. hostmark uses 8 MiB by default.",
        zh: "lat_mmap 做同样的事（touch=tenth），而汇总表取其最大的大小，它随机器内存而定，于是主机之间的差别变成内存大小的差别。这里默认固定为 8 MiB。",
    }),
    axes: &[
        Axis::size(
            "size",
            "8388608",
            Points::Listed {
                quick: &["8388608"],
                standard: &["65536", "1048576", "67108864"],
                thorough: &["536870912"],
            },
        ),
        Axis::choice("touch", "tenth", Points::Listed { quick: &["tenth"], standard: &["none", "all"], thorough: &[] }),
        Axis::choice("backing", "file", Points::Listed { quick: &["file"], standard: &["anonymous"], thorough: &[] }),
        crate::place::PLACE,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "touch", "backing"] }],
    limit: Limit::KernelEntry,
    replaces: &["lat_mmap"],
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Between the touches of touch=tenth, bytes.
const TENTH_STRIDE: usize = 16 << 10;

fn measure(case: &mut Case) -> Result<()> {
    let bytes: u64 = case.param("size")?;
    let size = usize::try_from(bytes)?;
    let page = Pages::Base.bytes();
    let touch: fn(&Mapping, usize, usize) = match case.param::<String>("touch")?.as_str() {
        "none" => |_, _, _| {},
        "all" => |mapping, size, page| mapping.read_every(page, size),
        _ => |mapping, size, _| mapping.write_every(TENTH_STRIDE, (size / 10).max(1)),
    };
    if case.param::<String>("backing")? == "anonymous" {
        case.may_fill(bytes)?;
        return case.calls(|| Mapping::plain(size).map(|mapping| touch(&mapping, size, page))).time();
    }
    let directory = crate::place::directory(case)?;
    let file = crate::place::filled(case, &directory, bytes)?;
    case.calls(|| Mapping::file(&file, size, Sharing::Shared, true).map(|mapping| touch(&mapping, size, page))).time()
}
