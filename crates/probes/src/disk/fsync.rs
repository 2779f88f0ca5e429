//! Probe disk.fsync: a record is appended to a file and made safe.

use hostmark_engine::prelude::*;

use crate::workloads::storage::files;
use crate::workloads::storage::random_blocks::Content;

pub static PROBE: Probe = Probe {
    title: Text { en: "Append + fdatasync", zh: "追加并 fdatasync" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[
        Quantity::P50,
        Quantity::P90,
        Quantity::P99,
        Quantity::P999,
        Quantity::MEAN,
        Quantity::SUSTAINED,
        Quantity::DEVICE_SHARE,
    ],
    explain: Explain {
        what: Text {
            en: "pwrite appends a record of `block` random bytes (no two records are alike), and fdatasync waits \
                 until the record is on the device. The value is the time of both calls for one record; percentiles \
                 come from a histogram of all records; 3 to 8 µs of it is the write into the page cache. The file is \
                 unnamed and lies in the --scratch directory; a note shows the filesystem. space is the state of the \
                 file before the write. preallocated: 64 MiB from fallocate, not yet written, as etcd does for each \
                 segment of its log, and fio for a file that it creates. growing: nothing, so each record changes \
                 the file's length. written: blocks written before, as in a log that reuses its files (PostgreSQL, \
                 InnoDB). After 64 MiB the file is put back into that state, untimed.",
            zh: "用 pwrite 把 `block` 字节的随机记录（各不相同）写在上一条之后，再由 fdatasync 等待它写到设备。数值\
                 为一条记录的两个调用合计的时间，百分位数取自全部记录的直方图，其中写入页缓存占 3 到 8 µs。文件是无\
                 名临时文件，位于 --scratch 所指的目录，其文件系统会记录。space 表示写之前文件的状态：preallocated \
                 为 fallocate 预分配、尚未写过的 64 MiB，etcd 就这样准备日志的每一段（fio 自己创建文件时也如此）；\
                 growing 为什么都没有，每条记录都改变文件长度；written 为上一遍写过的块，如重复使用文件的日志（\
                 PostgreSQL、InnoDB）。到 64 MiB 后恢复该状态再继续，不计时。",
        },
        why: Text {
            en: "Every database transaction and every step of a consensus protocol waits for it. etcd asks for a p99 \
                 under 10 ms with records of about 2300 bytes; above that, leaders time out and elections begin. The \
                 median hides that.",
            zh: "数据库的每个事务、共识协议的每一步都要等它。etcd 要求约 2300 字节的记录 p99 低于 10 ms；超过后领导\
                 者超时，开始重新选举。只看中位数会掩盖这一点。",
        },
        reading: Text {
            en: "written is one write and one flush. preallocated and growing also commit the journal, since blocks \
                 change from reserved to written, or the length changes. That is another write and flush, by a \
                 kernel thread that must be woken: up to twice as long on a slow device. Under a limit on operations \
                 per second, read the mean and the sustained rate: a burst is served at once, and later appends \
                 wait.",
            zh: "written 是一次写加一次刷新。preallocated 与 growing 还要提交日志，因为块由预留变为已写，或长度改变：\
                 由一个须被唤醒的内核线程再写并刷新一次；设备慢时可达两倍。有每秒操作数限额时，平均值和持续速率才说\
                 明能长期得到多少：突发的部分立即完成，随后的追加要等待。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), space=growing, ext4 on a \
                 virtual disk: 0.11 to 0.2 ms in rounds that had the CPU, 3.2 to 4.0 ms with both CPUs busy. Flash \
                 with power-loss protection answers a flush at once: what is left is one disk.write for written, and \
                 two, the record and the journal, for the others. A hard disk turns once for each of these writes, \
                 8.3 ms at 7200 rpm.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（space=growing，虚拟磁盘上的 \
                 ext4）：拿得到 CPU 的轮 0.11 到 0.2 ms，两个 CPU 都繁忙时 3.2 到 4.0 ms。带掉电保护的闪存对刷新立即\
                 作答：written 只剩一次 disk.write，其余只剩两次（记录与日志）；机械盘每次这样的写要转一圈，7200 转\
                 为 8.3 ms。",
        },
        causes: Text {
            en: "Values near one tick of the scheduler (4 ms at 250 Hz, 1 ms at 1000 Hz, 10 ms at 100 Hz): CPUs are \
                 busy, and the kernel's journal thread, or the program itself, waits until the tick. Consumer flash \
                 without power-loss protection; a network volume; other writers of the same journal; layers that \
                 wait for each flush (RAID, encryption, virtual disks with cache=writethrough). Too good, under 10 \
                 µs: nothing became durable, because the filesystem is in memory or the hypervisor ignores flushes \
                 (cache=unsafe).",
            zh: "接近调度器的一个节拍（250 Hz 时 4 ms，1000 Hz 时 1 ms，100 Hz 时 10 ms）：CPU 繁忙，提交日志的内核\
                 线程或程序自身要等调度器的节拍。没有掉电保护的消费级闪存；网络卷；同一日志的其他写者；把刷新变成等\
                 待的各层（RAID、加密、cache=writethrough 的虚拟磁盘）。好得不真实（低于 10 µs）：并没有真正落盘，文\
                 件系统在内存中，或虚拟机监控程序忽略了刷新（cache=unsafe）。",
        },
    },
    related: &["disk.write", "file.write", "disk.read"],
    axes: &[
        Axis::size(
            "block",
            "2300",
            Points::Listed { quick: &["2300"], standard: &["512", "16384", "131072"], thorough: &[] },
        ),
        Axis::choice(
            "space",
            "preallocated",
            Points::Listed { quick: &["preallocated"], standard: &["growing", "written"], thorough: &[] },
        ),
    ],
    blocking: true,
    section: crate::section::DISKS,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// The file starts anew when it has so much: a segment of etcd's log.
const SEGMENT_BYTES: u64 = 64 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let block: u64 = case.param("block")?;
    let space: String = case.param("space")?;
    let mut content = Content::new()?;
    case.may_fill(block)?;
    let mut record = content.bytes(usize::try_from(block)?);
    let file = match space.as_str() {
        "written" => crate::place::on_device(case, SEGMENT_BYTES.max(block))?,
        _ => {
            let directory = crate::place::with_device(case)?;
            crate::place::may_hold(case, &directory, SEGMENT_BYTES.max(block))?;
            files::unnamed(&directory)?
        }
    };
    let begin = || -> Result<()> {
        if space != "written" {
            files::set_length(&file, 0)?;
        }
        if space == "preallocated" {
            files::preallocate(&file, SEGMENT_BYTES.max(block)).map_err(|error| {
                RoundError::unable(ReasonCode::Filesystem, "this filesystem preallocates nothing", error)
            })?;
        }
        Ok(files::sync(&file)?)
    };
    begin()?;
    let device = crate::place::Device::of(case)?;
    let (mut end, mut appends) = (0, 0);
    case.timed(|clock| {
        if end + block > SEGMENT_BYTES.max(block) {
            begin()?;
            end = 0;
        }
        content.renew(&mut record);
        let start = clock.start();
        files::write_at(&file, end, &record)?;
        files::sync_data(&file)?;
        let took = clock.end().since(start);
        end += block;
        appends += 1;
        Ok(took)
    })
    .singly()
    .time()?;
    // Each is one request at least.
    device.give(case, appends, |work| work.writes)
}
