//! Probe disk.mixed: direct reads and overwrites of a file at once, by their shares.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Disk read and write", zh: "磁盘混合读写" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[
        super::OPERATIONS,
        super::WRITES,
        Quantity::P50,
        Quantity::P99,
        Quantity::P999,
        Quantity::MEAN,
        Quantity::SUSTAINED,
        Quantity::DEVICE_SHARE,
    ],
    explain: Explain {
        what: Text {
            en: "As disk.read and disk.write together, on one file: of `depth` requests in flight, `reads` of a hundred read and the \
                 others overwrite, each chosen at random when it is submitted. The value is what both move. The percentiles are those of \
                 the reads alone; the time of a write stands beside them.",
            zh: "在同一文件上同时做 disk.read 与 disk.write：保持 `depth` 个请求在途，每百个中有 `reads` 个读，其余为覆盖写，提交时随机决定。数值\
                 是二者合计移动的字节；百分位数只针对读，写的时间另列。",
        },
        why: Text {
            en: "Databases read while they write, and a device serves both from one queue. A flash page that is being programmed or \
                 erased cannot be read, so reads wait behind writes for many times their own latency.",
            zh: "数据库一边读一边写，设备用同一个队列服务二者。正在编程或擦除的闪存页无法读取，读要排在写后面，等待的时间是自身延迟的许多倍。",
        },
        reading: Text {
            en: "Compare with disk.read and disk.write of the same depth. Between their rates: reads and writes only share the device. \
                 Below both: they hinder each other. Read p99 and p99.9 before the rate: they show what a few writes do to reads.",
            zh: "与相同深度的 disk.read 和 disk.write 比较：介于二者之间，说明读写只是分享设备；低于二者，说明互相妨碍。先看 p99 与 p99.9，再看\
                 速率：它们反映少量的写如何拖慢读。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), one run, ext4 on a virtual disk: 70 % reads of 4 KiB at depth 16 and 30 % writes: 75 000 to 79 000 per second, reads p50 193 µs, p99 284 µs, a write 223 µs.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（一次运行，虚拟磁盘上的 ext4）：4 KiB、深度 16、读 70%、写 30%：每秒 75 000 到 79 000 次，读的 p50 193 µs，p99 284 µs，一次写 223 µs。",
        },
        causes: Text {
            en: "A device whose write buffer is full, or that collects garbage; a quota that counts reads and writes together; an I/O \
                 scheduler that favours one of them; see also disk.read and disk.write.",
            zh: "设备的写缓冲已满或正在做垃圾回收；读写合计的配额；偏向其中一方的 I/O 调度器；另见 disk.read 与 disk.write。",
        },
    },
    related: &["disk.read", "disk.write", "disk.open_loop"],
    axes: &[
        Axis::count("reads", "70", Points::Listed { quick: &["70"], standard: &["50", "90"], thorough: &["10", "30"] }),
        super::PATTERN_OF_ONE,
        Axis::size("block", "4096", Points::Listed { quick: &["4096"], standard: &["16384"], thorough: &["131072"] }),
        Axis::count("depth", "16", Points::Listed { quick: &["16"], standard: &["1"], thorough: &["4", "64"] }),
    ],
    blocking: true,
    section: crate::section::DISKS,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let reads: u32 = case.param("reads")?;
    match (1..super::read::requests::ALL).contains(&reads) {
        true => super::read::requests::keep(case, reads),
        false => Err(RoundError::skipped(ReasonCode::NotApplicable, "reads is a share from 1 to 99 of a hundred")),
    }
}
