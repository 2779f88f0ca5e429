//! Probe file.create: a file is made, written and closed, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "File create", zh: "创建文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "200 files with short names are created in an empty directory, each by openat (O_CREAT, O_EXCL), one \
                 write of `size` bytes unless that is 0, and close. The time is divided by 200. Between passes the \
                 files are removed, untimed. Nothing is synced: with place=scratch the filesystem may write to the \
                 device later.",
            zh: "在空目录中创建 200 个短名文件，每个依次执行 openat（O_CREAT、O_EXCL）、一次写入 `size` 字节（0 则不写）、close；总时间除以 200。\
                 各遍之间删除文件，不计时。不做同步：place=scratch 时文件系统可以稍后再写入设备。",
        },
        why: Text {
            en: "Mail spools, build trees, package managers and caches consist of small files. Each costs a directory \
                 entry, an inode, a security label and the page for the first bytes; on a journalling filesystem also \
                 a journal entry.",
            zh: "邮件队列、编译目录、包管理器和缓存都靠小文件。代价是目录中的名字、一个 inode、安全标签以及首批字节所需的页；日志文件系统还要写日志项。",
        },
        reading: Text {
            en: "With size 0: a directory entry, an inode and a security label; with content also the first pages. On \
                 place=scratch a journalling filesystem adds journal entries, which it writes later.",
            zh: "大小为 0 时是目录中的名字、inode 与安全标签；有内容时再加最初的页。place=scratch 上，日志文件系统还要在日志中登记，稍后才写盘。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): tmpfs 2.4 µs empty and 7.4 \
                 µs with 10 KiB (three pages), 1.7 µs a page; ext4 12 to 20 µs empty, and several times that while \
                 its journal commits.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：tmpfs 空文件 2.4 µs，10 KiB（三页）7.4 µs，即每页 \
                 1.7 µs；ext4 空文件 12 到 20 µs，日志提交期间为其数倍。",
        },
        causes: Text {
            en: "A directory on a network or overlay filesystem; metadata written at once (sync mounts, data=journal); \
                 security modules that label files; directories with many thousands of names; memory control groups, \
                 which account inodes and pages.",
            zh: "位于网络或 overlay 文件系统的目录；元数据立即写盘（sync 挂载、data=journal）；要打标签的安全模块；有成千上万个名字的目录；为 inode 与页记账的\
                 内存 cgroup。",
        },
    },
    related: &["file.delete", "syscall.open_close", "file.write"],
    differs: Some(Text {
        en: "lat_fs prints files per second, which the summary inverts; hostmark shows the time of one file. lat_fs \
             uses a given directory without naming its filesystem; hostmark uses tmpfs by default and notes the \
             filesystem. lat_fs makes thousands of files before it removes one, by absolute paths. In passes of \
             thousands a file costs 1.3 to 1.5 times as much on tmpfs (docs/accuracy.md); hostmark makes 200.",
        zh: "lat_fs 打印每秒文件数，汇总表再取倒数；这里直接给出一个文件的时间。它用给定的目录，不说明其文件系统；这里默认 tmpfs，并注明文件系统。\
             lat_fs 用绝对路径创建数千个文件之后才开始删除；在 tmpfs 上，一次数千个时每个文件的代价为 1.3 到 1.5 倍（见 \
             docs/accuracy.md），hostmark 每次创建 200 个。",
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
        let start = clock.start();
        names.create(&content)?;
        let took = clock.end().since(start);
        names.delete()?;
        Ok((took, names.count() as u64))
    })
    .time()
}
