//! Probe syscall.read_zero: read(2) of one byte through the virtual file system, with next to no device behind it.

use std::path::Path;

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Read 1 byte of /dev/zero", zh: "从 /dev/zero 读 1 字节" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "One byte is read from /dev/zero by the system-call instruction. The device is opened before, and every call must \
                 return 1; it clears one byte of user memory and does nothing else.",
            zh: "用系统调用指令从 /dev/zero 读取一个字节。设备事先打开，每次调用都必须返回 1；它只清零一个字节的用户内存，别无其他。",
        },
        why: Text {
            en: "The difference to syscall.null is the path that every read takes before any file system or device comes in: \
                 the descriptor table, permission and security hooks, the dispatch to the file's own function.",
            zh: "与 syscall.null 的差值，就是每次 read 在进入文件系统或设备之前都要走的路径：描述符表、权限与安全钩子、分派到文件\
                 自己的函数。",
        },
        reading: Text {
            en: "1.3 to 2 times syscall.null. More points to security modules, auditing or \
                 seccomp filters.",
            zh: "为 syscall.null 的 1.3 到 2 倍。更多则与安全模块、审计或 seccomp 过滤器有关。",
        },
    },
    axes: &[],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let file = sys::files::open(Path::new("/dev/zero"), false)
        .map_err(|error| Stop::skipped(format!("/dev/zero cannot be opened: {error}")))?;
    case.time(|| sys::files::read_byte(&file))
}
