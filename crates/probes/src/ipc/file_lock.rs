//! Probe ipc.file_lock: one process hands over to another by record locks of a file.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "File lock hand-over", zh: "文件锁交接" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "Two processes go round three bytes of a file in the scratch directory: each holds the lock of \
                 one byte, waits by fcntl(F_SETLKW) for the next byte's, and then frees its own. With one byte \
                 free, none can go twice before the other has gone. The value is one hand-over: two fcntl calls \
                 and, on one CPU, a context switch.",
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
            en: "On one CPU 1.5 to 4 µs on a local filesystem; on a network filesystem it is a message to the \
                 server, and hundreds of microseconds. The filesystem is that of the scratch directory.",
            zh: "本地文件系统上，同一个 CPU 为 1.5 到 4 µs；网络文件系统上每次都是发往服务器的消息，要几百微\
                 秒。文件系统即临时目录所在者。",
        },
    },
    axes: &[super::PLACEMENT],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_fcntl"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::hand_over(case, sys::file_lock::by_file_locks(&other, &directory))
}
