//! Probe file.delete: a file is removed by its name, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "File delete", zh: "删除文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "unlinkat removes 200 closed files of `size` bytes, the only ones in their directory. The time is \
                 divided by 200. Between passes the files are created again, untimed.",
            zh: "用 unlinkat 删除 200 个已关闭的 `size` 字节文件，目录中别无他物；总时间除以 200。各遍之间重新创建，不计时。",
        },
        why: Text {
            en: "The other half of every temporary file. Its name goes, and since no process has it open, its inode \
                 and pages go at once too.",
            zh: "每个临时文件的另一半开销。名字被删除；因为无人打开该文件，其 inode 与页也随即释放。",
        },
        reading: Text {
            en: "The name, and at once the inode and its pages, since no process has the file open. Journalling \
                 filesystems leave part of the work to background threads, which this does not count.",
            zh: "先是名字，因为没有人打开该文件，inode 与页也随即释放。日志文件系统有一部分推迟到后台线程，这里不计入。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): tmpfs 1.5 to 1.6 µs empty, \
                 3.3 to 3.7 µs with 10 KiB (three pages); ext4 3.3 to 3.8 µs.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：tmpfs 空文件 1.5 到 1.6 µs，10 KiB（三页）3.3 到 \
                 3.7 µs；ext4 3.3 到 3.8 µs。",
        },
        causes: Text {
            en: "A network or overlay filesystem; discards sent to the device at once (mount option discard); large \
                 directories; snapshots, which must keep deleted data.",
            zh: "网络或 overlay 文件系统；立即向设备发 discard（discard 挂载选项）；很大的目录；必须保留被删内容的快照。",
        },
    },
    related: &["file.create", "syscall.open_close"],
    differs: Some(Text {
        en: "As for file.create: lat_fs prints a rate, in a directory of unknown filesystem.",
        zh: "同 file.create：lat_fs 打印的是速率，目录的文件系统未知。",
    }),
    axes: &[super::SMALL, crate::place::PLACE],
    limit: Limit::KernelEntry,
    replaces: &["lat_fs"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (names, content) = super::small_files(case, super::FILES)?;
    case.timed(|clock| {
        names.create(&content)?;
        let start = clock.start();
        names.delete()?;
        Ok((clock.end().since(start), names.count() as u64))
    })
    .time()
}
