//! Probe disk.readahead: a cold file is read in order through the page cache, by what the kernel was told of the order.

use hostmark_engine::prelude::*;

use crate::workloads::storage::files::{self, Expected};

/// Larger than what the kernel reads ahead many times over, and quickly written.
const FILE_BYTES: u64 = 64 << 20;
/// A sample lasts so long, ns, and at least a read.
const SLICE_NS: f64 = 10e6;

pub static PROBE: Probe = Probe {
    title: Text { en: "Read ahead", zh: "预读" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::SUSTAINED_BYTES, Quantity::DEVICE_SHARE],
    explain: Explain {
        what: Text {
            en: "A 64 MiB scratch file whose pages were dropped from the cache (posix_fadvise, POSIX_FADV_DONTNEED) is read from start to \
                 end by pread of `block` bytes into one buffer. At its end the pages are dropped again, untimed. advice says what the \
                 kernel was told before: normal nothing, sequential POSIX_FADV_SEQUENTIAL, random POSIX_FADV_RANDOM, after which \
                 it reads nothing ahead. A sample is the reads of 10 ms.",
            zh: "一个 64 MiB 的临时文件，其页已从缓存中丢弃（posix_fadvise，POSIX_FADV_DONTNEED），从头到尾以 pread 每次 `block` 字节读入同一缓冲区；\
                 读到末尾后再次丢弃，不计时。advice 是事先告诉内核的访问方式：normal 不告知，sequential 为 POSIX_FADV_SEQUENTIAL，random 为 \
                 POSIX_FADV_RANDOM，此后内核不预读。一个样本是 10 ms 内的读。",
        },
        why: Text {
            en: "Most programs read files in order and in small pieces, one at a time. Only readahead keeps the device busy meanwhile: \
                 without it each piece waits for the whole latency.",
            zh: "多数程序按顺序、一小块一小块地读文件，每次只有一个请求。只有预读能让设备同时忙起来：没有它，每一块都要等满整个延迟。",
        },
        reading: Text {
            en: "random is one request at a time: disk.read at depth 1, in order, of the same block, plus the page cache. normal over \
                 random is what readahead gives; where it comes near disk.read of 1 MiB blocks, the latency is hidden. sequential \
                 doubles the window (read_ahead_kb), so a gain says that the window is too small for this device. device_share \
                 near 1 confirms that the device was read, not a cache.",
            zh: "random 每次只有一个请求：即相同块大小、深度 1、顺序的 disk.read，再加上页缓存。normal 与 random 之比就是预读的收益；接近 1 MiB 块的 \
                 disk.read 时，延迟已被掩盖。sequential 把窗口（read_ahead_kb）加倍，若因此更快，说明窗口对该设备太小。device_share 接近 1 说明\
                 读的确实是设备而不是缓存。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs, ext4 on a virtual disk with a window of 8 MiB: normal 0.90 to 2.06 GB/s, random 43 to 73 MB/s, 60 µs for each read of 4 KiB.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（五次运行，虚拟磁盘上的 ext4，窗口 8 MiB）：normal 0.90 到 2.06 GB/s，random 43 到 73 MB/s，即每次读 4 KiB 约 60 µs。",
        },
        causes: Text {
            en: "A small window (/sys/block/*/queue/read_ahead_kb, often 128) on a device of high latency, such as a network volume; \
                 a fragmented file; a quota of the device; slow copies; encryption or checksums, which the reader then does itself.",
            zh: "窗口过小（/sys/block/*/queue/read_ahead_kb，常为 128）而设备延迟高，例如网络卷；文件碎片；设备配额；复制缓慢；由读者自己承担的加密或校验和。",
        },
    },
    related: &["disk.read", "file.reread", "paging.fault"],
    axes: &[
        Axis::choice(
            "advice",
            "normal",
            Points::Listed { quick: &["normal", "sequential", "random"], standard: &[], thorough: &[] },
        ),
        Axis::size("block", "4096", Points::Listed { quick: &["4096"], standard: &["131072"], thorough: &["1048576"] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["advice", "block"] }],
    blocking: true,
    section: crate::section::DISKS,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let block: u64 = case.param("block")?;
    let whole = FILE_BYTES.max(block) / block * block;
    let mut memory = case.buffer(block, Pages::Base, None)?;
    let file = crate::place::on_device(case, whole)?;
    files::drop_cache(&file)?;
    if files::is_cached(&file, whole / 2)? {
        return Err(crate::place::keeps_pages());
    }
    files::expect(
        &file,
        match case.param::<String>("advice")?.as_str() {
            "sequential" => Expected::Sequential,
            "random" => Expected::Random,
            _ => Expected::Normal,
        },
    )?;
    let device = crate::place::Device::of(case)?;
    let (mut at, mut asked) = (whole, 0);
    case.timed(|clock| {
        if at == whole {
            files::drop_cache(&file)?;
            at = 0;
        }
        let (start, begin) = (clock.start(), at);
        loop {
            files::read_at(&file, at, memory.bytes_mut())?;
            at += block;
            let took = clock.end().since(start);
            if at == whole || clock.ns(took) >= SLICE_NS {
                asked += at - begin;
                return Ok((took, (at - begin) / block));
            }
        }
    })
    .rate(block)?;
    device.give(case, asked, |work| work.read_bytes)
}
