//! Probe syscall.open_close: a file is found by its path, opened and closed.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Open + close", zh: "打开并关闭文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "openat to read and close, both by the system-call instruction, of a file `depth` directories below the scratch \
                 directory. Everything is cached: no device is asked.",
            zh: "用系统调用指令以只读方式 openat 并 close 临时目录下 `depth` 层目录中的一个文件。一切都在缓存中，不访问设备。",
        },
        why: Text {
            en: "Every program that starts opens tens to hundreds of files, an interpreter thousands. A cold open, which must read \
                 directory and inode from a device, costs a hundred to a thousand times as much: a loop that opens one file \
                 over and over tells only the warm cost.",
            zh: "每个程序启动都要打开几十到几百个文件，解释器要打开数千个。冷打开必须从设备读取目录和 inode，代价是它的百倍到千倍： \
                 反复打开同一文件的循环只反映热的代价。",
        },
        reading: Text {
            en: "The path walk of syscall.stat, a descriptor, a file object, and their release, part of which is put \
                 off to the return to user mode. All is warm: a cold open waits for a device and costs a hundred to a \
                 thousand times as much.",
            zh: "syscall.stat 的路径查找，加上描述符、文件对象及其释放（部分推迟到返回用户态时）。全部是热的：冷打开要等设备，贵一百到一千倍。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), ext4: 0.88 to 0.90 µs with \
                 one directory, 10 times syscall.null, and 40 ns for each further one. Published lmbench results of \
                 an evaluation on Linux: 1.10 to 1.16 µs, where a naive loop over cold files gave 850 and, warm and \
                 on tmpfs, 0.86.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（ext4）：一级目录 0.88 到 0.90 µs，为 \
                 syscall.null 的 10 倍，每多一级再加 40 ns。某次 Linux 评测公开的 lmbench 结果：1.10 到 1.16 µs，而朴素循环打开冷文件得 850，预热\
                 并放在 tmpfs 上得 0.86。",
        },
        causes: Text {
            en: "Security modules and auditing first of all; file notification (fanotify, antivirus software); \
                 overlay filesystems, which open two files for one; a process with many threads, whose descriptor \
                 table is shared and locked.",
            zh: "首先是安全模块与审计；文件通知（fanotify、杀毒软件）；为一个文件打开两个的 overlay 文件系统；线程很多、描述符表共享且要加锁的进程。",
        },
    },
    related: &["syscall.stat", "file.create", "file.open_reread"],
    differs: Some(Text {
        en: "The same two calls as lat_syscall open, on a cached file; lmbench takes one in FSDIR and does not tell \
             on which filesystem, here it is noted.",
        zh: "与 lat_syscall open 是同样的两个调用，文件已缓存；lmbench 取 FSDIR 中的文件且不说明文件系统，这里会注明。",
    }),
    axes: &[Axis::count("depth", "1", Points::Listed { quick: &["1"], standard: &["4", "16"], thorough: &[] })],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::file_below(case)?;
    case.time(|| path.open_close())
}
