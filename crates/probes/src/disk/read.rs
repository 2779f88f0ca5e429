//! Probe disk.read: direct reads of a file, by pattern, block and queue depth.

pub(super) mod io_path;
pub(super) mod requests;

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Disk read", zh: "磁盘读" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::ALSO,
    explain: Explain {
        what: Text {
            en: "Reads of `block` bytes bypass the page cache (O_DIRECT). The file is an unnamed scratch file of 64 \
                 MiB of random data in the --scratch directory. io_uring keeps depth requests in flight; each \
                 completion is followed by the next request at once. Offsets are random (pattern=random) or in order. \
                 Measuring starts when the rates of five slices of 10 ms lie within 10 % of their mean; a note shows \
                 whether and when. Percentiles cover each request, from its submission until its completion was seen.",
            zh: "绕过页缓存（O_DIRECT），从 --scratch 所指目录中一个内容随机的 64 MiB 无名临时文件读取，每次 `block` 字节。经 io_uring 保持 depth 个请求同时在途，完成一个立即提交下一个。\
                 偏移随机（pattern=random）或按顺序。连续五个 10 ms 时间片的速率都在其均值的 10% 以内后才开始测量；是否及何时达到会记录。\
                 分位数针对每个请求，从提交到看见其完成。",
        },
        why: Text {
            en: "This is what a database gets from its device when its own cache misses. depth=1 shows the latency of \
                 one request. With more depth the device works on many requests at once, until its rate stops growing \
                 and only the waiting grows.",
            zh: "数据库自身缓存未命中时从设备得到的就是它。depth=1 反映单个请求的延迟；depth 增大时设备同时处理多个请求，直到速率不再增长，只有等待在增长。",
        },
        reading: Text {
            en: "depth=1 shows the latency of one request, block / value. With more depth the device works on many at \
                 once, until its rate stops growing and only the waiting grows. A flat value at a round number of \
                 requests per second is the provider's quota.",
            zh: "depth=1 反映单个请求的延迟（block ÷ 数值）；深度增加时设备同时处理多个，直到速率不再增长、只有等待增长。恰为整数次/秒的平直值是云厂商的配额。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), on a virtual disk with a \
                 cache below. 4 KiB at depth 1: 29 to 38 µs, 17 000 to 32 000 per second; at depth 32: 47 000 to 74 \
                 000 per second; 128 KiB in order: 0.8 to 1.1 GB/s. By data sheet, NVMe flash reads 4 KiB in 60 to 100 \
                 µs and serves 200 000 to a million per second. Hard disks seek for 4 to 9 ms and wait half a turn, \
                 4.2 ms at 7200 rpm. Providers of network volumes promise single-digit milliseconds, for expensive \
                 ones less than one.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（下有缓存的虚拟磁盘）：4 KiB、深度 1 为 29 到 38 µs，即\
                 每秒 17 000 到 32 000 次；深度 32 为 47 000 到 74 000 次；顺序 128 KiB 为 0.8 到 1.1 GB/s。据数据手册：NVMe 闪存读 4 \
                 KiB 为 60 到 100 µs，每秒 200 000 到一百万次；机械盘寻道 4 到 9 ms，再等半圈（7200 转为 4.2 ms）；网络卷的厂商承诺个位数毫秒，较贵的不\
                 到一毫秒。",
        },
        causes: Text {
            en: "A quota or used-up burst credit; a neighbour on the device or the network; interrupts on a distant \
                 CPU; power saving of the device or its link; an I/O scheduler or encryption. Too good, far under 50 \
                 µs: a cache of the hypervisor or device holds the 64 MiB.",
            zh: "配额或突发额度用尽；共用设备或网络的其他租户；中断落在远处的 CPU；设备或链路节能；I/O 调度器或加密。\
                 好得不真实（远低于 50 µs）：来自虚拟机监控程序或设备的缓存，64 MiB 放得进去。",
        },
    },
    related: &["disk.write", "disk.fsync", "paging.fault", "syscall.io_uring"],
    differs: Some(Text {
        en: "lmdd reads in order, one block at a time, through the page cache unless told otherwise. hostmark bypasses \
             the cache, uses random offsets, keeps several requests in flight, and discards the start until the rate \
             is steady.",
        zh: "lmdd 按顺序一次读一块，除非另行指定都经过页缓存。这里绕过缓存，偏移随机，可同时有多个请求，并且不计入速率稳定之前的一段。",
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
    requests::keep(case, requests::ALL)
}
