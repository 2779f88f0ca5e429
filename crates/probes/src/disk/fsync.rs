//! Probe disk.fsync: a record is appended to a file and made safe.

use hostmark_engine::prelude::*;
use sys::files;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Append + fdatasync", zh: "追加并 fdatasync" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P50, Quantity::P90, Quantity::P99, Quantity::P999],
    explain: Explain {
        what: Text {
            en: "A record of `block` bytes is appended to a scratch file without a name by pwrite, and fdatasync waits until it is on the device. Every one \
                 goes into a histogram. After 64 MiB the file starts again at nothing, untimed. The filesystem of the directory that --scratch \
                 names is noted.",
            zh: "用 pwrite 向一个无名临时文件追加 `block` 字节的记录，再由 fdatasync 等待它写到设备。每一次都计入直方图。到 64 MiB 后文件从零重新开始，不计时。\
                 --scratch 所指目录的文件系统会记录。",
        },
        why: Text {
            en: "Every transaction of a database and every step of a consensus protocol waits for it. etcd asks for a p99 under 10 ms, with records of \
                 about 2300 bytes; above it leaders time out and elections begin. The median alone hides that.",
            zh: "数据库的每个事务、共识协议的每一步都要等它。etcd 要求约 2300 字节的记录 p99 低于 10 ms；超过后领导者超时，开始重新选举。只看中位数会掩盖这一点。",
        },
        reading: Text {
            en: "An append also changes the file's length, which a journalling filesystem must write too: about two \
                 writes in a row, each with a flush. The p99 is what a consensus protocol feels, the median alone \
                 hides it.",
            zh: "追加还会改变文件长度，日志文件系统也必须写下它：约为前后两次写，各带一次刷新。共识协议感受到的是 p99，只看中位数会掩盖它。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), ext4 on a virtual disk: 0.11 \
                 to 0.2 ms in rounds that had the CPU, 3.2 to 4.0 ms with both CPUs busy. etcd's documentation asks \
                 for a p99 under 10 ms. Flash with power-loss protection answers a flush at once, so that two of \
                 disk.write are left; disks turn once for each write, 8.3 ms at 7200 a minute.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（虚拟磁盘上的 ext4）：拿得到 CPU 的轮 0.11 到 0.2 \
                 ms，两个 CPU 都繁忙时 3.2 到 4.0 ms。etcd 文档要求 p99 低于 10 ms。带掉电保护的闪存对刷新立即作答，只剩两次 disk.write；机械盘每次写要\
                 转一圈，7200 转为 8.3 ms。",
        },
        causes: Text {
            en: "Values near 4 ms (1 ms, 10 ms): busy CPUs, where the kernel's thread that commits the journal, or \
                 the program itself, waits for the scheduler's tick. Consumer flash without power-loss protection; a \
                 network volume; other writers of the same journal; layers that turn flushes into waits (RAID, \
                 encryption, virtual disks with cache=writethrough). Too good, under 10 µs: nothing was made safe, as \
                 the filesystem lies in memory or the hypervisor ignores flushes (cache=unsafe).",
            zh: "接近 4 ms（1 ms、10 ms）：CPU 繁忙，提交日志的内核线程或程序自身要等调度器的节拍。没有掉电保护的消费级闪存；网络卷；同一日志的其他写者；把刷新变成等待\
                 的各层（RAID、加密、cache=writethrough 的虚拟磁盘）。好得不真实（低于 10 µs）：并没有真正落盘，文件系统在内存中，或虚拟机监控程序忽略了刷新\
                 （cache=unsafe）。",
        },
    },
    related: &["disk.write", "file.write", "disk.read"],
    differs: None,
    axes: &[Axis::size(
        "block",
        "2300",
        Points::Listed { quick: &["2300"], standard: &["512", "16384", "131072"], thorough: &[] },
    )],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &[],
    section: crate::section::DISKS,
    measure: Measure::Run(measure),
};

/// The file is emptied when it has grown to this.
const MOST_BYTES: u64 = 64 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let block: u64 = case.param("block")?;
    let record = vec![b'x'; usize::try_from(block).map_err(Stop::skipped)?];
    let file = crate::place::on_device(case, 0)?;
    let mut end = 0;
    case.tails(|clock| {
        if end >= MOST_BYTES {
            files::set_length(&file, 0)?;
            files::sync(&file)?;
            end = 0;
        }
        let start = clock.start();
        files::write_at(&file, end, &record)?;
        files::sync_data(&file)?;
        let took = clock.end().since(start);
        end += block;
        Ok(took)
    })
}
