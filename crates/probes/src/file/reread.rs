//! Probe file.reread: a cached file is read again, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "File reread", zh: "重读文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "pread of an open, cached file from start to end, 64 KiB at a time into one buffer. data=sum loads \
                 every byte of the buffer after each read, like a program that uses the data; unused does not.",
            zh: "对数据已在缓存中的打开文件从头到尾 pread，每次 64 KiB，读入同一缓冲区。data=sum 在每次读后加载缓冲区的每个字节，如同使用数据的程序；unused 不加载。",
        },
        why: Text {
            en: "The page cache answers most reads of a server. This is that rate: a copy by the kernel and the lookup \
                 of each page, without a device.",
            zh: "服务器的大多数读请求由页缓存回答：这就是该速率，即内核的一次复制加上每页的查找。不访问设备。",
        },
        reading: Text {
            en: "A copy by the kernel and the lookup of each page. Small files pay a system call for few bytes. From \
                 64 KiB on, the file comes from memory or the last-level cache while the buffer stays in L2. unused \
                 leaves out the second load of data=sum.",
            zh: "内核的一次复制，加上对每页的查找。小文件为少量字节付一次系统调用；64 KiB 以上，文件来自内存或末级缓存，缓冲区留在 L2。unused 少了 data=sum 的第二\
                 次加载。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), tmpfs: 3.8 to 5.0 GB/s at 64 \
                 MiB, 5.7 unused; 14 to 16 GB/s at 64 KiB. Between the same machine's memory.copy and memory.read at \
                 the size.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（tmpfs）：64 MiB 为 3.8 到 5.0 GB/s，unused \
                 5.7；64 KiB 为 14 到 16 GB/s。介于同一机器在该大小的 memory.copy 与 memory.read 之间。",
        },
        causes: Text {
            en: "Memory that is busy or on another node; pages of 4 KiB where large folios are possible (tmpfs mounted \
                 with huge=always, ext4 and xfs on recent kernels); copies to user space slowed by mitigations; \
                 encryption or compression in the filesystem.",
            zh: "内存繁忙或位于另一节点；本可用大页框组（folio）却用 4 KiB 页（以 huge=always 挂载的 tmpfs、新内核上的 ext4 与 xfs）；缓解措施拖慢用户复\
                 制；文件系统中的加密或压缩。",
        },
    },
    related: &["file.open_reread", "file.mmap_reread", "memory.copy", "syscall.read_zero"],
    differs: Some(Text {
        en: "bw_file_rd reads 64 KiB at a time and sums the integers in the compiler's scalar code, which may be \
             slower than the read itself. With data=sum hostmark loads with the fastest of memory.read's kernels; \
             unused leaves that out. The summary uses its io_only.",
        zh: "bw_file_rd 每次读 64 KiB 并对整数求和，标量代码由编译器决定，求和可能比读取还慢；这里 data=sum 用 memory.read 中最快的内核加载，unused 则省去。汇总表取其 \
             io_only。",
    }),
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    replaces: &["bw_file_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, size) = super::cached(case)?;
    let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    let kernel = super::summing(case, block.bytes())?;
    super::passes(case, size, || super::read_all(&file, size, block.bytes_mut(), kernel))
}
