//! Probe disk.write: direct overwrites of a file, by pattern, block and queue depth.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Disk write", zh: "磁盘写" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::ALSO,
    explain: Explain {
        what: Text {
            en: "As disk.read, but with writes: they bypass the page cache (O_DIRECT) and overwrite blocks that the 64 \
                 MiB scratch file already has, so nothing is allocated. The data is random, no two blocks alike, so no \
                 layer can compress or deduplicate it. There are no flushes: a request is done when the device says \
                 so, and the data may still be in its buffer (disk.fsync waits for more).",
            zh: "与 disk.read 相同，但为写：绕过页缓存（O_DIRECT），覆盖 64 MiB 临时文件已有的块，因此不分配空间。数据随机，且没有两块相同，沿途无法压缩或去重。不要求刷新：设备说完成即完成，\
                 数据可能还在其缓冲中（disk.fsync 要求更多）。",
        },
        why: Text {
            en: "Logs, checkpoints and virtual-machine images write like this. A device that answers from its buffer \
                 looks fast until the buffer is full. A long load gets the steady state; a short probe sees only its \
                 start.",
            zh: "日志、检查点和虚拟机镜像都这样写。用缓冲应答的设备在缓冲写满之前看起来很快；长时间负载得到的是其稳态，短时间的测量只能看到开头。",
        },
        reading: Text {
            en: "A request is done when the device says so; the data may still be in its buffer (disk.fsync waits for \
                 more). On flash, random and sequential writes differ little at first, and several times once it must \
                 erase. The note steady=\"not reached\" means that the rate was still changing.",
            zh: "设备说完成即为完成，数据可能还在其缓冲中（disk.fsync 的要求更高）。闪存上随机与顺序起初相差不大，需要\
                 擦除后相差数倍。备注 steady 为 not reached，说明速率仍在变化。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), on a virtual disk with a \
                 cache below. 4 KiB at depth 1: 27 to 33 µs, 17 000 to 25 000 per second; at depth 32: 35 000 to 50 \
                 000 per second. By data sheet, NVMe with a protected buffer takes 10 to 30 µs; disks without one take \
                 as long as for reading.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（下有缓存的虚拟磁盘）：4 KiB、深度 1 为 27 到 33 µs，即\
                 每秒 17 000 到 25 000 次；深度 32 为 35 000 到 50 000 次。据数据手册：有掉电保护缓冲的 NVMe 为 10 到 30 µs；没有缓冲的机械盘与读取\
                 相当。",
        },
        causes: Text {
            en: "A full buffer (a longer run shows it); garbage collection on a full or untrimmed device; a quota; \
                 write-through set on the device or controller (hdparm, a failed battery); RAID 5 or 6, which read \
                 before they write.",
            zh: "缓冲已满（较长的运行才能看到）、写满或未 trim 的设备在做垃圾回收、配额、设备或控制器设为直写（hdparm、电池失效）、先读后写的 RAID 5 或 6。",
        },
    },
    related: &["disk.read", "disk.fsync", "file.write"],
    differs: Some(Text {
        en: "As for disk.read: lmdd writes in order through the page cache, and without sync measures memory.",
        zh: "同 disk.read：lmdd 经页缓存顺序写，不同步时测的是内存。",
    }),
    axes: super::REQUESTS,
    full_factorial: super::FULL_FACTORIAL,
    blocking: true,
    replaces: &["lmdd"],
    section: crate::section::DISKS,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    super::read::requests::keep(case, 0)
}
