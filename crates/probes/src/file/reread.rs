//! Probe file.reread: a cached file is read again, by size.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "File reread", zh: "重读文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "pread of an open file whose data is cached, from its start to its end, 64 KiB at a time into one buffer. data=sum loads every byte \
                 of the buffer after each read, as a program that uses what it reads; unused leaves it.",
            zh: "对数据已在缓存中的打开文件从头到尾 pread，每次 64 KiB，读入同一缓冲区。data=sum 在每次读后加载缓冲区的每个字节，如同使用数据的程序；unused 不加载。",
        },
        why: Text {
            en: "Most reads of a server are answered from the page cache: this is that rate, a copy by the kernel and the lookup of each page. \
                 No device is asked.",
            zh: "服务器的大多数读请求由页缓存回答：这就是该速率，即内核的一次复制加上每页的查找。不访问设备。",
        },
        reading: Text {
            en: "4 to 15 GB/s from 64 KiB on: the file comes from memory or the last-level cache, and the buffer stays in L2. Small files pay a \
                 system call for few bytes. unused is what is left without the second load, 1.1 to 1.5 times sum. Large folios (ext4, xfs) read \
                 faster than the 4 KiB pages that tmpfs has by default.",
            zh: "64 KiB 以上为 4 到 15 GB/s：文件来自内存或末级缓存，缓冲区留在 L2。小文件为少量字节付一次系统调用。unused 少了第二次加载，为 sum 的 1.1 到 1.5 倍。\
                 大页框组（folio；ext4、xfs）比 tmpfs 默认的 4 KiB 页读得快。",
        },
    },
    axes: &[super::SIZE, super::DATA, crate::place::PLACE],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["bw_file_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, size) = super::cached(case)?;
    let kernel = super::summing(case)?;
    let mut block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    super::passes(case, size, || super::read_all(&file, size, block.bytes_mut(), kernel))
}
