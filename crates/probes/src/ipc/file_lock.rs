//! Probe ipc.file_lock: one process hands over to another by record locks of a file.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "File lock hand-over", zh: "文件锁交接" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Two processes take turns on three bytes of a file in the scratch directory. Each holds the lock of \
                 one byte, waits with fcntl(F_SETLKW) for the next byte's lock, then frees its own. With one byte \
                 free, neither can go twice in a row. The value is one hand-over: two fcntl calls and, on one CPU, a \
                 context switch.",
            zh: "两个进程绕着临时目录中一个文件的三个字节走：各自持有一个字节的锁，用 fcntl(F_SETLKW) 等待下\
                 一个字节的锁，然后释放自己的。只有一个字节空闲，因此谁也不能在对方走之前连走两步。数值是一次\
                 交接：两次 fcntl 调用，在同一个 CPU 上还有一次上下文切换。",
        },
        why: Text {
            en: "Mail stores, package managers, embedded databases (SQLite) and version control keep processes \
                 apart by record locks.",
            zh: "邮件存储、包管理器、嵌入式数据库（SQLite）和版本控制用记录锁使进程互斥。",
        },
        reading: Text {
            en: "Two fcntl calls and, on one CPU, a context switch. The scratch directory decides the filesystem: on a \
                 network filesystem each call is a message to the server.",
            zh: "两次 fcntl 调用，同一个 CPU 上还有一次上下文切换。文件系统即临时目录所在者：网络文件系统上每次都是发往服务器的消息。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), ext4: 1.77 to 1.85 µs per \
                 hand-over on one CPU, 5 to 8 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（ext4）：每次交接同一个 CPU 1.77 到 1.85 µs，共享缓存\
                 的两个 CPU 5 到 8。",
        },
        causes: Text {
            en: "A network filesystem; many locks on one file, which the kernel keeps in a list; many waiters, since \
                 the kernel searches them for deadlocks; and whatever makes ipc.pipe slow.",
            zh: "网络文件系统；一个文件上的锁很多（内核以链表保存）；等待者很多，因为要沿着它们查找死锁；以及使 ipc.pipe 变慢的因素。",
        },
    },
    related: &["ipc.sysv_semaphore", "ipc.futex"],
    differs: Some(Text {
        en: "lat_fcntl passes two locks of two files in /tmp. hostmark uses three bytes of one file in the scratch \
             directory, so neither process can go twice in a row; the value is one hand-over.",
        zh: "lat_fcntl 在 /tmp 的两个文件上传递两把锁；这里用临时目录中一个文件的三个字节，使任何一方都不能连走两步，数值为一次交接。",
    }),
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(1),
    blocking: true,
    replaces: &["lat_fcntl"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::hand_over(case, workloads::handover::file_lock::by_file_locks(&other, &directory))
}
