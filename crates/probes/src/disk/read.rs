//! Probe disk.read: direct reads of a file, by pattern, block and queue depth.

mod door;
pub(super) mod requests;

use hostmark_engine::prelude::*;
use sys::uring::Direction;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Disk read", zh: "磁盘读" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[super::OPERATIONS, Quantity::P50, Quantity::P99, Quantity::P999],
    explain: Explain {
        what: Text {
            en: "Reads past the page cache (O_DIRECT) of `block` bytes from a scratch file of 64 MiB without a name, in the directory that --scratch names. \
                 depth requests are under way at a time, through io_uring; one that is done is followed by the next at once. Offsets are random \
                 (pattern=random) or in order. Measuring begins when the rates of five slices of 10 ms lie within 10 % of their mean; whether and \
                 when is noted. Percentiles are of each request, from its submission until it was seen to be done.",
            zh: "绕过页缓存（O_DIRECT），从 --scratch 所指目录中一个无名的 64 MiB 临时文件读取，每次 `block` 字节。经 io_uring 保持 depth 个请求同时在途，完成一个立即提交下一个。\
                 偏移随机（pattern=random）或按顺序。连续五个 10 ms 时间片的速率都在其均值的 10 % 以内后才开始测量；是否及何时达到会记录。\
                 分位数针对每个请求，从提交到看见其完成。",
        },
        why: Text {
            en: "What a database gets from its device when its own cache misses. depth=1 tells the latency of one request; with depth the \
                 device works on many at once, until its rate no longer grows and only the waiting does.",
            zh: "数据库自身缓存未命中时从设备得到的就是它。depth=1 反映单个请求的延迟；depth 增大时设备同时处理多个请求，直到速率不再增长，只有等待在增长。",
        },
        reading: Text {
            en: "4 KiB random at depth 1: 60 to 100 µs a request on NVMe flash (10 000 to 16 000 a second), 0.1 to 1 ms on network volumes, 5 to 15 ms \
                 on disks. Depth 32: 200 000 to 800 000 a second on NVMe; a flat value just at a round number is a quota of the provider. Far \
                 under 50 µs at depth 1 the bytes come from a cache of the hypervisor or of the device: a file of 64 MiB fits into it.",
            zh: "4 KiB 随机、深度 1：NVMe 闪存每请求 60 到 100 µs（每秒 1 万到 1.6 万次），网络卷 0.1 到 1 ms，机械盘 5 到 15 ms。深度 32：NVMe 每秒 20 万到 80 万次；\
                 恰为整数的平直值是云厂商的配额。深度 1 远低于 50 µs 说明数据来自虚拟机监控程序或设备的缓存：64 MiB 的文件放得进去。",
        },
    },
    axes: &[
        super::PATTERN,
        super::BLOCK,
        Axis::count("depth", "1", Points::Listed { quick: &["1"], standard: &["4", "32"], thorough: &["64"] }),
    ],
    cross: &[
        Cross { from: Profile::Standard, axes: &["pattern", "block"] },
        Cross { from: Profile::Thorough, axes: &["pattern", "block", "depth"] },
    ],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lmdd"],
    section: crate::section::DISKS,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    requests::keep(case, Direction::Read)
}
