//! Probe file.open_reread: a cached file is opened, read and closed, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "File open + reread", zh: "打开并重读文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "openat by name, pread from start to end, 64 KiB at a time into one buffer, and close. The data is \
                 cached. data=sum loads every byte of the buffer after each read; unused does not.",
            zh: "按名字 openat，从头到尾 pread，每次 64 KiB，读入同一缓冲区，再 close；数据已在缓存中。data=sum 在每次读后加载缓冲区的每个字节；unused 不加载。",
        },
        why: Text {
            en: "Compilers, interpreters and web servers open, read once and close. Below 64 KiB the opening outweighs the reading.",
            zh: "编译器、解释器和网页服务器都是打开、读一次、关闭。小于 64 KiB 时打开的代价超过读取。",
        },
        reading: Text {
            en: "From 1 MiB on the same as file.reread; below that, opening outweighs reading. At 512 B the rate is \
                 512 bytes divided by syscall.open_close plus one read.",
            zh: "1 MiB 以上与 file.reread 相同；以下打开的代价超过读取：512 B 时速率等于 512 除以 syscall.open_close 与一次读的时间之和。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), tmpfs: 3.5 to 4.0 GB/s at 64 \
                 MiB, 8.9 GB/s at 64 KiB, where file.reread has 15.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（tmpfs）：64 MiB 为 3.5 到 4.0 GB/s，64 KiB 为 \
                 8.9 GB/s（file.reread 为 15）。",
        },
        causes: Text {
            en: "As for file.reread and syscall.open_close.", zh: "同 file.reread 与 syscall.open_close。"
        },
    },
    related: &["file.reread", "syscall.open_close", "file.mmap_open_reread"],
    differs: Some(Text {
        en: "The same as bw_file_rd open2close, with vectors for the sum; the filesystem is noted.",
        zh: "与 bw_file_rd open2close 相同，但求和用向量；并注明文件系统。",
    }),
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    replaces: &["bw_file_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (path, size) = super::cached_by_name(case)?;
    let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    let kernel = super::summing(case, block.bytes())?;
    super::passes(case, size, || super::read_all(&path.open()?, size, block.bytes_mut(), kernel))
}
