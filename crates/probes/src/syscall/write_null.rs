//! Probe syscall.write_null: write(2) of one byte through the virtual file system, with next to no device behind it.

use std::path::Path;

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Write 1 byte to /dev/null", zh: "向 /dev/null 写 1 字节" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "write(2) gives one byte to /dev/null. The device is already open, and every call \
                 must return 1. The device accepts the byte without even reading it.",
            zh: "用 write(2) 向 /dev/null 写入一个字节。设备事先打开，每次调用都必须返回 1；设备收下该字节却什么也不做，甚至不读取它。",
        },
        why: Text {
            en: "The difference to syscall.null is the path of every write before a filesystem or device comes in: the \
                 descriptor table, permission and security hooks, the dispatch to the file's own function.",
            zh: "与 syscall.null 的差值，就是每次 write 在进入文件系统或设备之前都要走的路径：描述符表、权限与安全钩子、分派到文件\
                 自己的函数。",
        },
        reading: Text {
            en: "1.2 to 1.6 times syscall.null, and less than syscall.read_zero, which has to touch user memory.",
            zh: "为 syscall.null 的 1.2 到 1.6 倍，并低于必须触及用户内存的 syscall.read_zero。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 109 to 110 ns, 1.2 times \
                 syscall.null. A Core i5-2520M of 2011 (Ubuntu 16.10): 87 ns, 1.75 times its getppid.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：109 到 110 ns，为 syscall.null 的 1.2 倍。\
                 2011 年的 Core i5-2520M（Ubuntu 16.10）：87 ns，为其 getppid 的 1.75 倍。",
        },
        causes: Text {
            en: "Security modules, auditing, seccomp filters, retpolines, and file notification (fanotify) on the \
                 device.",
            zh: "安全模块、审计、seccomp 过滤器、retpoline，以及对该设备的文件通知（fanotify）。",
        },
    },
    related: &["syscall.null", "syscall.read_zero", "file.write"],
    differs: Some(Text {
        en: "The same call of the same device as lat_syscall write; both agree within 2 % (docs/accuracy.md). The \
             summary's null I/O is the mean of this and syscall.read_zero.",
        zh: "与 lat_syscall write 是同一设备的同一调用，两者相差 2% 以内（见 docs/accuracy.md）。汇总表的 null I/O 是它与 \
             syscall.read_zero 的平均。",
    }),
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let file = workloads::storage::files::open(Path::new("/dev/null"), true)
        .map_err(|error| RoundError::lacking("/dev/null cannot be opened", &error))?;
    case.calls(|| workloads::storage::files::write_byte(&file)).time()
}
