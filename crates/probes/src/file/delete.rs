//! Probe file.delete: a file is removed by its name, by size.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "File delete", zh: "删除文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "200 closed files of `size` bytes, the only ones of their directory, are removed by unlinkat; the time is divided by 200. They are \
                 made anew between passes, untimed.",
            zh: "用 unlinkat 删除 200 个已关闭的 `size` 字节文件，目录中别无他物；总时间除以 200。各遍之间重新创建，不计时。",
        },
        why: Text {
            en: "The other half of every temporary file. The name goes, and as nobody has the file open, its inode and its pages go at once too.",
            zh: "每个临时文件的另一半。名字被删除；因为无人打开该文件，其 inode 与页也随即释放。",
        },
        reading: Text {
            en: "On tmpfs 1 to 4 µs, and 0.2 to 1 µs more for each page of content. ext4 and xfs 4 to 15 µs, part of which is put off to background \
                 threads that this does not count.",
            zh: "tmpfs 上 1 到 4 µs，内容每多一页再加 0.2 到 1 µs。ext4 与 xfs 为 4 到 15 µs，其中一部分推迟到后台线程，这里不计入。",
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
        names.create(&content)?;
        let start = clock.start();
        names.delete()?;
        Ok((clock.end().since(start), names.count() as u64))
    })
}
