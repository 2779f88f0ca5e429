//! Probe file.create: a file is made, written and closed, by size.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "File create", zh: "创建文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "200 files with short names are made in an empty directory, each by openat (O_CREAT, O_EXCL), one write of `size` bytes where that \
                 is not 0, and close; the time is divided by 200. They are removed between passes, untimed. Nothing is synced: on place=scratch \
                 the filesystem may write later what it promised.",
            zh: "在空目录中创建 200 个短名文件，每个依次执行 openat（O_CREAT、O_EXCL）、一次写入 `size` 字节（0 则不写）、close；总时间除以 200。\
                 各遍之间删除文件，不计时。不做同步：place=scratch 时文件系统可以稍后再写入设备。",
        },
        why: Text {
            en: "Mail spools, build trees, package managers and caches live on small files. The cost is the name in its directory, an inode, a \
                 security label and the page for the first bytes; on a journalling filesystem also an entry in the journal.",
            zh: "邮件队列、编译目录、包管理器和缓存都靠小文件。代价是目录中的名字、一个 inode、安全标签以及首批字节所需的页；日志文件系统还要写日志项。",
        },
        reading: Text {
            en: "On tmpfs 1 to 6 µs with size 0 and 0.5 to 2 µs more for each page of content. ext4 and xfs 5 to 20 µs; more than 50 µs points to a \
                 directory on a network or overlay filesystem, or to metadata that is written at once.",
            zh: "tmpfs 上大小为 0 时 1 到 6 µs，内容每多一页再加 0.5 到 2 µs。ext4 与 xfs 为 5 到 20 µs；超过 50 µs 多半是网络或 overlay 文件系统上的目录，或元数据立即写盘。",
        },
    },
    axes: &[super::SMALL, crate::place::PLACE],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_fs"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (names, content) = super::small_files(case)?;
    case.observe_many(0, |clock| {
        let start = clock.start();
        names.create(&content)?;
        let took = clock.end().since(start);
        names.delete()?;
        Ok((took, names.count() as u64))
    })
}
