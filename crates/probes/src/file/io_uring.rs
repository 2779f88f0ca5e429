//! Probe file.io_uring: blocks of a cached file by io_uring, with and without registered memory and file, beside a call for each.

use hostmark_engine::prelude::*;

use crate::workloads::storage::uring::IoDirection;
use crate::workloads::storage::uring_file::{Asked, FileBatches};

pub static PROBE: Probe = Probe {
    title: Text { en: "Cached block by io_uring", zh: "io_uring 读写缓存块" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Blocks of 4 KiB of a cached 1 MiB file in the scratch directory (place=tmpfs: on a tmpfs) are read or written (op) in order, `batch` at a time into as many buffers; \
                 the value is the time per block. by=call makes a pread or pwrite for each. by=ring writes an entry for each \
                 (IORING_OP_READ, IORING_OP_WRITE) and enters the kernel once per batch, which also waits for all. by=registered \
                 does so with the memory and the file registered beforehand (READ_FIXED, WRITE_FIXED). submission=polled leaves the \
                 entries to a kernel thread (SQPOLL) on the nearest other CPU, and spins until all have ended; it means nothing \
                 for by=call. Each completion is checked.",
            zh: "按顺序读或写（op）临时目录中（place=tmpfs 时在 tmpfs 上）一个已缓存的 1 MiB 文件的 4 KiB 块，每次 `batch` 个，各有自己的缓冲区；数值是每块的时间。by=call：每块一次 \
                 pread 或 pwrite。by=ring：每块一个提交项（IORING_OP_READ、IORING_OP_WRITE），每批进入内核一次并等待全部完成。\
                 by=registered：同上，但内存与文件事先注册（READ_FIXED、WRITE_FIXED）。submission=polled 把提交项留给最近的另一个 CPU 上的内核线程\
                 （SQPOLL），自旋到全部完成；对 by=call 没有意义。每个完成项都要检查。",
        },
        why: Text {
            en: "Databases and servers move to io_uring for devices and sockets. Whether it also pays for data that the page \
                 cache already has depends on what an entry costs beside a system call.",
            zh: "数据库和服务器为设备与套接字改用 io_uring。对页缓存里已有的数据是否也划算，取决于一个提交项与一次系统调用的代价之比。",
        },
        reading: Text {
            en: "by=call is syscall.null, the lookup of the page and a copy of 4 KiB. by=ring replaces the call by a request; with \
                 batch 16 the way into the kernel is shared. registered saves taking the file and the check of the address. On a \
                 filesystem that cannot promise not to wait, the kernel hands each request to a worker thread: several \
                 microseconds. A tmpfs is one of them, ext4 for writes.",
            zh: "by=call 是 syscall.null、查找页，以及复制 4 KiB。by=ring 用一个请求代替系统调用；batch 16 分摊进入内核的代价。registered \
                 省去取得文件和检查地址。若文件系统不能保证不等待，内核会把每个请求交给工作线程：几微秒。tmpfs 就是如此，ext4 的写入也是。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): ext4, batch 16, read: call 534 to 540 \
                 ns, ring 544 to 552, registered 465 to 468, polled 451; batch 1: ring twice call. Writes: call 2.3 µs, ring and \
                 registered 4.5 by worker threads. On a tmpfs these also do reads: 1.9 to 2.1 µs.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测：ext4，batch 16，读：call 534 到 540 ns，\
                 ring 544 到 552，registered 465 到 468，polled 451；batch 1 时 ring 为 call 的两倍。写：call 2.3 µs，ring 与 registered 由工作线程完成，4.5。tmpfs 上读也由它们完成：1.9 到 2.1 µs。",
        },
        causes: Text {
            en: "Skipped: io_uring is forbidden (kernel.io_uring_disabled, seccomp), or too little memory may be locked \
                 (ulimit -l). Writes far above by=call: worker threads do them. polled: as for syscall.io_uring.",
            zh: "被跳过：io_uring 被禁用（kernel.io_uring_disabled、seccomp），或可锁定的内存太少（ulimit -l）。写入远高于 by=call：由工作线程\
                 完成。polled：同 syscall.io_uring。",
        },
    },
    related: &["syscall.io_uring", "file.reread", "file.overwrite", "disk.read"],
    axes: &[
        Axis::choice("op", "read", Points::Listed { quick: &["read"], standard: &["write"], thorough: &[] }),
        Axis::choice(
            "by",
            "ring",
            Points::Listed { quick: &["ring", "call", "registered"], standard: &[], thorough: &[] },
        ),
        Axis::count("batch", "16", Points::Listed { quick: &["16"], standard: &["1"], thorough: &["64"] }),
        crate::submission::SUBMISSION,
        PLACE,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["by", "batch"] },
        FullFactorial { from: Profile::Standard, axes: &["op", "by"] },
    ],
    limit: Limit::CyclesPerOp,
    section: crate::section::FILES,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Where the file lies: on a filesystem of a device first, since a tmpfs has every request done by a worker thread.
const PLACE: Axis = Axis {
    default: "scratch",
    points: Points::Listed { quick: &["scratch"], standard: &["tmpfs"], thorough: &[] },
    ..crate::place::PLACE
};

const BLOCK_BYTES: usize = 4096;
/// In the second-level cache of most cores, and many batches of the largest.
const FILE_BYTES: u64 = 1 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    if u64::from(batch) * BLOCK_BYTES as u64 > FILE_BYTES {
        return Err(RoundError::skipped(ReasonCode::NotApplicable, "the file has 256 blocks: name a smaller batch"));
    }
    let direction = if case.param::<String>("op")? == "write" { IoDirection::Write } else { IoDirection::Read };
    let asked = match case.param::<String>("by")?.as_str() {
        "call" => Asked::Call,
        "registered" => Asked::Registered,
        _ => Asked::Ring,
    };
    let poller = crate::submission::poller(case, asked != Asked::Call)?;
    let directory = crate::place::directory(case)?;
    let file = crate::place::filled(case, &directory, FILE_BYTES)?;
    let mut batches = FileBatches::new((file, FILE_BYTES), (batch, BLOCK_BYTES), (direction, asked), poller)
        .map_err(|error| RoundError::lacking("io_uring is not available", &error))?;
    case.calls(|| batches.transfer()).each(u64::from(batch)).time()
}
