//! Probe disk.replace: a file's content is replaced so that a crash leaves the old or the new one.

use std::fs::{self, File};

use hostmark_engine::prelude::*;

use crate::workloads::storage::random_blocks::Content;

pub static PROBE: Probe = Probe {
    title: Text { en: "Replace a file safely", zh: "安全地替换文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, Quantity::SUSTAINED, Quantity::DEVICE_SHARE],
    explain: Explain {
        what: Text {
            en: "A new file of `size` random bytes is created and written in the --scratch directory, then renamed over the old one, \
                 which removes it. sync=all calls fsync on the new file before the rename and on the directory after it; sync=file leaves \
                 out the directory, sync=none both. The value is the time of all of it for one replacement.",
            zh: "在 --scratch 所指目录中新建一个文件，写入 `size` 字节随机数据，再用 rename 覆盖旧文件（旧文件随之删除）。sync=all 在 rename 之前对新\
                 文件、之后对目录各调用一次 fsync；sync=file 不同步目录；sync=none 都不同步。数值是一次替换的全部时间。",
        },
        why: Text {
            en: "Editors, package managers, mail servers and databases change files this way, as nothing else is sure to survive a crash \
                 with one whole version.",
            zh: "编辑器、包管理器、邮件服务器和数据库都这样改文件：只有这样，崩溃之后才一定留下一个完整的版本。",
        },
        reading: Text {
            en: "none is the kernel's own work: file.create and file.delete, and the rename. file adds the data and usually one commit of the \
                 journal; all adds a second commit. In disk.fsync's time, all is about two of them.",
            zh: "none 是内核自身的工作：file.create、file.delete 加上 rename。file 再加上数据，通常还有一次日志提交；all 再加一次提交。all 大约相当于两\
                 次 disk.fsync。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), one run, ext4 on a virtual disk, 4 KiB: all 0.40 to 0.44 ms, file 0.30 to 0.32, none 0.12 to 0.15, as ext4 writes the data at the rename.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（一次运行，虚拟磁盘上的 ext4），4 KiB：all 0.40 到 0.44 ms，file 0.30 到 0.32，none 0.12 到 0.15，因为 ext4 在 rename 时就写出数据。",
        },
        causes: Text {
            en: "As for disk.fsync. sync=none as slow as file on ext4: it writes the data of a file that is renamed over another at once \
                 (auto_da_alloc).",
            zh: "同 disk.fsync。ext4 上 sync=none 与 file 一样慢：它会立即写出覆盖他人的文件的数据（auto_da_alloc）。",
        },
    },
    related: &["disk.fsync", "file.create", "file.delete"],
    axes: &[
        Axis::choice("sync", "all", Points::Listed { quick: &["all"], standard: &["file", "none"], thorough: &[] }),
        Axis::size("size", "4096", Points::Listed { quick: &["4096"], standard: &["1048576"], thorough: &["65536"] }),
    ],
    blocking: true,
    section: crate::section::DISKS,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (sync, size): (String, u64) = (case.param("sync")?, case.param("size")?);
    let directory = crate::place::with_device(case)?;
    // Old and new are there at once.
    crate::place::may_hold(case, &directory, 2 * size)?;
    let mut content = Content::new()?;
    let mut bytes = content.bytes(usize::try_from(size)?);
    let (old, new) = (directory.join("file"), directory.join("file.new"));
    let (syncs_file, syncs_directory) = (sync != "none", sync == "all");
    fs::write(&old, &bytes).call("write")?;
    let whole = File::open(&directory).call("openat")?;
    whole.sync_all().call("fsync")?;
    let device = crate::place::Device::of(case)?;
    let mut flushed = 0;
    case.timed(|clock| {
        content.renew(&mut bytes);
        let start = clock.start();
        let mut file = File::create_new(&new).call("openat")?;
        std::io::Write::write_all(&mut file, &bytes).call("write")?;
        if syncs_file {
            file.sync_all().call("fsync")?;
            flushed += 1;
        }
        drop(file);
        fs::rename(&new, &old).call("rename")?;
        if syncs_directory {
            whole.sync_all().call("fsync")?;
        }
        Ok::<_, RoundError>(clock.end().since(start))
    })
    .singly()
    .time()?;
    // Of the file's data at least one request each; nothing is asked of the device at once where nothing is flushed.
    device.give(case, flushed, |work| work.writes)
}
