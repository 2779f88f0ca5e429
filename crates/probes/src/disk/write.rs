//! Probe disk.write: direct overwrites of a file, by pattern, block and queue depth.

use hostmark_engine::prelude::*;
use sys::uring::Direction;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Disk write", zh: "磁盘写" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[super::OPERATIONS, Quantity::P50, Quantity::P99, Quantity::P999],
    explain: Explain {
        what: Text {
            en: "As disk.read, but writes: past the page cache (O_DIRECT) over blocks that the 64 MiB scratch file already has, so that nothing is allocated. \
                 No flush is asked for: a request is done when the device says so, which may hold it in a buffer (disk.fsync asks for more).",
            zh: "与 disk.read 相同，但为写：绕过页缓存（O_DIRECT），覆盖 64 MiB 临时文件已有的块，因此不分配空间。不要求刷新：设备说完成即完成，\
                 数据可能还在其缓冲中（disk.fsync 要求更多）。",
        },
        why: Text {
            en: "Logs, checkpoints and virtual-machine images write so. A device that answers from its buffer looks fast until the buffer is full; \
                 its steady state is what a long load gets, and a short probe sees only the start of it.",
            zh: "日志、检查点和虚拟机镜像都这样写。用缓冲应答的设备在缓冲写满之前看起来很快；长时间负载得到的是其稳态，短时间的测量只能看到开头。",
        },
        reading: Text {
            en: "4 KiB at depth 1: 10 to 30 µs on NVMe with a write buffer, 0.2 to 2 ms on network volumes, 5 to 15 ms on disks without one. Random and \
                 sequential differ little on flash at first, and several times once it must erase. \"not reached\" in the note steady says that the \
                 rate still moved.",
            zh: "4 KiB、深度 1：有写缓冲的 NVMe 为 10 到 30 µs，网络卷 0.2 到 2 ms，无写缓冲的机械盘 5 到 15 ms。闪存上随机与顺序起初相差不大，需要擦除后相差数倍。\
                 steady 注记为 not reached 说明速率仍在变化。",
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
    super::read::requests::keep(case, Direction::Write)
}
