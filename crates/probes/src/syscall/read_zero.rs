//! Probe syscall.read_zero: read(2) of one byte through the virtual file system, with next to no device behind it.

use std::path::Path;

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Read 1 byte of /dev/zero", zh: "从 /dev/zero 读 1 字节" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "read(2) takes one byte of /dev/zero. The device is already open, and every call \
                 must return 1. The device clears one byte of user memory and does nothing else.",
            zh: "用 read(2) 从 /dev/zero 读取一个字节。设备事先打开，每次调用都必须返回 1；设备只清零一个字节的用户\
                 内存。",
        },
        why: Text {
            en: "The difference to syscall.null is the path of every read before a filesystem or device comes in: the \
                 descriptor table, permission and security hooks, the dispatch to the file's own function.",
            zh: "与 syscall.null 的差值，就是每次 read 在进入文件系统或设备之前都要走的路径：描述符表、权限与安全钩子、分派到文件\
                 自己的函数。",
        },
        reading: Text {
            en: "1.3 to 2 times syscall.null. The difference is the descriptor table, security hooks, the dispatch to \
                 the device, and the clearing of one byte of user memory, for which the kernel switches user access on \
                 and off (SMAP).",
            zh: "为 syscall.null 的 1.3 到 2 倍：差别在于描述符表、安全钩子、分派到设备，以及开关用户内存访问（SMAP）后清零一个字节。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 127 to 135 ns, 1.4 times \
                 syscall.null. A Core i5-2520M of 2011 (Ubuntu 16.10): 123 ns, 2.5 times its getppid.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：127 到 135 ns，为 syscall.null 的 1.4 倍。\
                 2011 年的 Core i5-2520M（Ubuntu 16.10）：123 ns，为其 getppid 的 2.5 倍。",
        },
        causes: Text {
            en: "Security modules (SELinux, AppArmor, BPF), auditing, seccomp filters, and indirect calls guarded by \
                 retpolines.",
            zh: "安全模块（SELinux、AppArmor、BPF）、审计、seccomp 过滤器，以及受 retpoline 保护的间接调用。",
        },
    },
    related: &["syscall.null", "syscall.write_null", "file.reread"],
    differs: Some(Text {
        en: "The same call of the same device as lat_syscall read; both agree within 1 % (docs/accuracy.md). The \
             summary's null I/O is the mean of this and syscall.write_null. What each call returns is checked here.",
        zh: "与 lat_syscall read 是同一设备的同一调用，两者相差 1% 以内（见 docs/accuracy.md）。汇总表的 null I/O 是它与 \
             syscall.write_null 的平均。这里检查每次调用的返回值。",
    }),
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let file = workloads::storage::files::open(Path::new("/dev/zero"), false)
        .map_err(|error| RoundError::lacking("/dev/zero cannot be opened", &error))?;
    case.calls(|| workloads::storage::files::read_byte(&file)).time()
}
