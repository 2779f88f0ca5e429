//! Probe syscall.stat: the status of a file by its path.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "stat", zh: "查询文件状态 stat" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "newfstatat (call=statx: statx, asked for the same fields) is called on a path of `depth` components: `depth` - 1 \
                 directories and the file's name, from the working directory. That is the round's own directory on a \
                 tmpfs, or with place=scratch on the filesystem of --scratch. The whole path is cached, so no device \
                 is read. A note shows the filesystem.",
            zh: "调用 newfstatat（call=statx 时为 statx，所要字段相同），路径共有 `depth` 个分量：`depth` - 1 级目录加文件名，从工作目录开始；工作目录是本轮自己的目录，位于 \
                 tmpfs，place=scratch 时位于 --scratch 所指的文件系统。路径全部在缓存中，不访问设备；文件系统记录在备注中。",
        },
        why: Text {
            en: "Build systems, web servers and package managers query the status of thousands of files that they \
                 never open. The cost is the path walk: one directory after the other, each with a permission check.",
            zh: "构建系统、Web 服务器和包管理器会查询成千上万个并不打开的文件的状态。其代价在于路径查找：逐级目录，每级检查一次权限。",
        },
        reading: Text {
            en: "A fixed part for copying the path in and 144 bytes out, and one part per directory: a hash of its \
                 name, a dentry-cache lookup and a permission check. syscall.fstat is the same without the path walk. \
                 A local filesystem costs about as much as a tmpfs, since the dentry cache answers for both.",
            zh: "固定部分是复制路径进来、复制 144 字节出去；另一部分按目录计：名字的散列、查目录项缓存和权限检查。syscall.fstat 是去掉路径查找后的同一件事。本地文件系\
                 统与 tmpfs 相差无几，因为两者都由内核的名字缓存应答。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (AMD EPYC, Linux 6.18), tmpfs: 780 to 801 ns with four \
                 components, 7.2 times syscall.null, and 57 ns for each further one. On another (Zen 4 (Genoa)): stat 1.02 to 1.03 µs, \
                 statx 3 % more.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（AMD EPYC，Linux 6.18）上实测（tmpfs）：四个分量 780 到 801 ns，为 syscall.null \
                 的 7.2 倍，每多一个分量再加 57 ns。在另一台（Zen 4 (Genoa)）上：stat 1.02 到 1.03 µs，statx 多 3%。",
        },
        causes: Text {
            en: "Security modules and auditing, which look at every component; an overlay or network filesystem that \
                 has to ask others; a path through many mount points or symbolic links; a directory cache that memory \
                 pressure has emptied.",
            zh: "逐级检查的安全模块与审计；需要询问他方的 overlay、网络文件系统；经过许多挂载点或符号链接的路径；因内存紧张而被清空的目录项缓存。",
        },
    },
    related: &["syscall.fstat", "syscall.open_close", "syscall.null"],
    differs: Some(Text {
        en: "lat_syscall stat uses /usr/include/sys/types.h, or a file that the user names, and does not say how deep \
             it lies. Its default path has four components, as here. hostmark makes depth and place axes and notes the \
             filesystem.",
        zh: "lat_syscall stat 取 /usr/include/sys/types.h 或用户指定的文件，不说明层数；其默认路径有四个分量，这里的默认值相同。深度与位置都是轴，\
             并注明文件系统。",
    }),
    axes: &[
        Axis::choice("call", "stat", Points::Listed { quick: &["stat"], standard: &["statx"], thorough: &[] }),
        super::DEPTH,
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let files = super::Files::below(case, 1)?;
    let path = files.first()?;
    match case.param::<String>("call")?.as_str() {
        "statx" => {
            path.statx().map_err(|error| RoundError::lacking("this call is not available", &error))?;
            case.calls(|| path.statx()).time()
        }
        _ => case.calls(|| path.stat()).time(),
    }
}
