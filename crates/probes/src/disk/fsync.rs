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
            en: "20 to 100 µs on flash with power-loss protection, where a flush is free; 0.5 to 5 ms on consumer flash and network volumes; 8 to 30 ms on \
                 disks. An append also changes the file's length, which a journalling filesystem must write too: about two writes in a row. Under \
                 10 µs nothing was made safe: the filesystem lies in memory, or the hypervisor ignores flushes.",
            zh: "带掉电保护的闪存 20 到 100 µs，刷新不花时间；消费级闪存与网络卷 0.5 到 5 ms；机械盘 8 到 30 ms。追加还会改变文件长度，日志文件系统也必须写下它：\
                 约为前后两次写。低于 10 µs 说明并没有真正落盘：文件系统在内存中，或虚拟机监控程序忽略了刷新。",
        },
    },
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
