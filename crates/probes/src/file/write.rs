//! Probe file.write: a file is written from its start, by size, synced or not.

use hostmark_engine::prelude::*;

use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    title: Text { en: "File write", zh: "写文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::SUSTAINED_BYTES],
    explain: Explain {
        what: Text {
            en: "`size` bytes are written to an empty file, 64 KiB at a time; between passes the file is emptied, \
                 untimed. sync=fsync also times the wait until all data is on the device.",
            zh: "向空文件写 `size` 字节，每次 64 KiB；各遍之间清空文件，不计时。sync=fsync 在最后等待全部数据写到设备，计入时间。",
        },
        why: Text {
            en: "A write without sync is a promise: the kernel copies the data now and writes it to the device later. \
                 A program can rely on the rate with fsync. Until too much is unwritten, it experiences the rate \
                 without.",
            zh: "不同步的写只是承诺：内核先复制，稍后才写设备。程序可以依赖的是带 fsync 的速率；在未写数据过多之前，它感受到的是不带 fsync 的速率。",
        },
        reading: Text {
            en: "sync=none is memory work: a new page per 4 KiB and a copy. place=scratch with fsync is the device's \
                 rate, less a flush. On tmpfs both are equal, as there is nothing to sync.",
            zh: "sync=none 只涉及内存：每 4 KiB 一个新页和一次复制。place=scratch 加 fsync 为设备速率再减去一次刷新。\
                 tmpfs 上两者相同，因为无可同步。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), 8 MiB: tmpfs 1.2 to 3.1 \
                 GB/s, ext4 2.9 to 3.8 GB/s without sync (large folios) and 0.55 to 0.68 GB/s with fsync on a virtual \
                 disk.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（8 MiB）：tmpfs 1.2 到 3.1 GB/s；ext4 不同步 \
                 2.9 到 3.8 GB/s（大页框组），在虚拟磁盘上加 fsync 为 0.55 到 0.68 GB/s。",
        },
        causes: Text {
            en: "Too much dirty memory, which makes the kernel throttle writers (vm.dirty_ratio, a small memory \
                 control group); a hypervisor that backs memory late. For fsync: the device, its quota, and flushes \
                 through several layers (LVM, encryption, network).",
            zh: "脏内存过多使写者被限速（vm.dirty_ratio、较小的内存 cgroup）；虚拟机监控程序很晚才提供内存；fsync 则取决于设备、其配额以及穿过多层（LVM、加密、\
                 网络）的屏障。",
        },
    },
    related: &["disk.write", "disk.fsync", "file.create", "memory.copy"],
    differs: Some(Text {
        en: "lmdd copies and syncs as its options say, to a file that grows. hostmark rewrites a file of one size each \
             time, with and without fsync, and notes the filesystem.",
        zh: "lmdd 按选项复制，是否同步由选项决定，文件不断增长；这里每次重写一个固定大小的文件，分别给出有无 fsync 的值，并注明文件系统。",
    }),
    axes: &[
        Axis::size(
            "size",
            "8388608",
            Points::Listed { quick: &["8388608"], standard: &["4096", "65536", "1048576"], thorough: &["67108864"] },
        ),
        Axis::choice("sync", "none", Points::Listed { quick: &["none"], standard: &["fsync"], thorough: &[] }),
        crate::place::PLACE,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["sync", "place"] }],
    blocking: true,
    replaces: &["lmdd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let is_synced = case.param::<String>("sync")? == "fsync";
    let directory = crate::place::directory(case)?;
    crate::place::may_hold(case, &directory, size)?;
    let file = files::unnamed(&directory)?;
    let block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    case.timed(|clock| {
        files::set_length(&file, 0)?;
        let start = clock.start();
        let mut done = 0;
        while done < size {
            let part = &block.bytes()[..super::BLOCK_BYTES.min((size - done) as usize)];
            files::write_at(&file, done, part)?;
            done += part.len() as u64;
        }
        if is_synced {
            files::sync(&file)?;
        }
        Ok(clock.end().since(start))
    })
    .rate(size)
}
