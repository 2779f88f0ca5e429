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
            en: "6 to 12 times syscall.null: the path walk of syscall.stat, a descriptor, a file object, and their release, part of \
                 which is put off to the return to user mode. Security modules and auditing add to it first of all.",
            zh: "为 syscall.null 的 6 到 12 倍：syscall.stat 的路径查找，加上描述符、文件对象及其释放（部分推迟到返回用户态时）。安全模块与 \
                 审计首先体现在这里。",
        },
    },
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
