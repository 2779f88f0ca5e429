//! Probe syscall.open_close: a file is found by its path, opened and closed.

use std::io;

use hostmark_engine::prelude::*;

use crate::workloads::storage::path_ops::{BENEATH, KernelPath};

pub static PROBE: Probe = Probe {
    title: Text { en: "Open + close", zh: "打开并关闭文件" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "openat for reading and close are called on a file whose path has \
                 `depth` components. call=openat2 is the newer call that allows the same; openat2_beneath forbids the \
                 walk to leave the directory where it begins (RESOLVE_BENEATH). place=tmpfs and place=scratch (the filesystem of --scratch DIR, which a note \
                 shows) open the same file over and over: everything is cached, and no device is read. \
                 place=scratch_cold opens 200 files once each, after the kernel has dropped their names and inodes \
                 from its caches, and no others (by a change of FS_XFLAG_DAX, to which ext4 and xfs react this way; \
                 not timed, without effect on other programs). The kernel looks up directory entries and inodes again, \
                 in blocks that it still holds. The time for 200 is divided by 200.",
            zh: "以只读方式 openat 并 close 一个路径有 `depth` 个分量的文件。call=openat2 是允许同样操作的较新调用；\
                 openat2_beneath 禁止路径离开起始目录（RESOLVE_BENEATH）。place=tmpfs 与 \
                 place=scratch（--scratch DIR 所在的文件系统，见备注）：反复打开同一文件，一切都在缓存中，不访问设备。\
                 place=scratch_cold：200 个文件，先让内核丢弃它们的名字和 inode 缓存，且只丢弃这些（更改 \
                 FS_XFLAG_DAX，ext4 与 xfs 会因此丢弃；不计时，不影响其他程序），再各打开一次。目录项与 inode 须重新查\
                 找，所在的块仍在内核中。200 个的总时间除以 200。",
        },
        why: Text {
            en: "A starting program opens tens to hundreds of files, an interpreter thousands. A loop over one file \
                 shows only the warm cost. A walk through a large tree, a backup, or a cache that other work has \
                 evicted pays the cold cost for each file; if the blocks are gone too, the device's latency comes on \
                 top.",
            zh: "每个程序启动都要打开几十到几百个文件，解释器要打开数千个。反复打开同一文件的循环只反映热缓存的代价；\
                 遍历大目录树、备份，或缓存被其他工作挤出之后，每个文件都要付冷缓存的代价；若块也不在内存中，还要加上\
                 设备的延迟。",
        },
        reading: Text {
            en: "The path walk of syscall.stat, a descriptor, a file object, and their release, part of which waits \
                 until the return to user mode. scratch_cold adds a directory search, an inode built from its block, \
                 and their memory: 3 to 8 times scratch. If the blocks are gone too, the device must answer: a hundred \
                 to a thousand times (measuring.md has an example).",
            zh: "syscall.stat 的路径查找，加上描述符、文件对象及其释放（部分推迟到返回用户态时）。scratch_cold 再加搜索目录、由块建立 inode，以及它们的内存：为 \
                 scratch 的 3 到 8 倍。若块也不在内存中，则由设备应答：百倍到千倍（measuring.md 中有实例）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (AMD EPYC, Linux 6.18): 1.41 to 1.44 µs on a tmpfs with four \
                 components, 13 times syscall.null, and 55 ns for each further one; 1.52 on ext4. On another \
                 (Zen 4 (Genoa)): openat 1.97 to 1.99, openat2 2 % more, openat2_beneath 9 %. Published lmbench results of \
                 an evaluation on Linux: 1.10 to 1.16 µs, where a naive loop over cold files gave 850 and, warm and \
                 on tmpfs, 0.86.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（AMD EPYC，Linux 6.18）上实测：tmpfs 上四个分量 1.41 到 1.44 µs，为 \
                 syscall.null 的 13 倍，每多一个分量再加 55 ns；ext4 上 1.52。在另一台（Zen 4 (Genoa)）\
                 上：openat 1.97 到 1.99，openat2 多 2%，openat2_beneath 多 9%。某次 Linux 评测公开的 lmbench 结果：1.10 到 1.16 µs，而朴素循环打开冷文件得 850，预热\
                 并放在 tmpfs 上得 0.86。",
        },
        causes: Text {
            en: "Security modules and auditing first; file notification (fanotify, antivirus software); overlay \
                 filesystems, which open two files for one; a process with many threads, which share and lock the \
                 descriptor table.",
            zh: "首先是安全模块与审计；文件通知（fanotify、杀毒软件）；为一个文件打开两个的 overlay 文件系统；线程很多、描述符表共享且要加锁的进程。",
        },
    },
    related: &["syscall.stat", "file.create", "file.open_reread"],
    differs: Some(Text {
        en: "The same two calls as lat_syscall open, on a cached file. lmbench opens one in FSDIR and does not name \
             its filesystem. hostmark uses a tmpfs by default, notes the filesystem, and has a separate case for files \
             that the kernel has just forgotten.",
        zh: "与 lat_syscall open 是同样的两个调用，文件已缓存；lmbench 取 FSDIR 中的文件且不说明文件系统，这里默认在 \
             tmpfs 上，备注中注明文件系统，刚被遗忘的文件另有用例。",
    }),
    axes: &[
        Axis::choice(
            "call",
            "openat",
            Points::Listed { quick: &["openat"], standard: &["openat2", "openat2_beneath"], thorough: &[] },
        ),
        super::DEPTH,
        Axis::choice(
            "place",
            "tmpfs",
            Points::Listed { quick: &["tmpfs"], standard: &["scratch", "scratch_cold"], thorough: &[] },
        ),
    ],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Within(|params| (params.get("place") != Some("scratch_cold")).then_some(0.0)),
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Files of a cold pass: it is long against reading the clock, and no file stays in a core's own cache till then.
const FILES: usize = 200;
/// A pass over forgotten files takes at least so many times one over the same files right after it, if they were forgotten.
const COLDER: f64 = 1.5;

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("call")?.as_str() {
        "openat2" => by(case, |path| path.open2_close(0)),
        "openat2_beneath" => by(case, |path| path.open2_close(BENEATH)),
        _ => by(case, KernelPath::open_close),
    }
}

/// Opens and closes by this call.
fn by(case: &mut Case, open_close: impl Fn(&KernelPath) -> io::Result<()>) -> Result<()> {
    if case.param::<String>("place")? == "scratch_cold" {
        return cold(case, open_close);
    }
    let files = super::Files::below(case, 1)?;
    let path = files.first()?;
    open_close(path).map_err(|error| RoundError::lacking("this call is not available", &error))?;
    case.calls(|| open_close(path)).time()
}

fn cold(case: &mut Case, open_close: impl Fn(&KernelPath) -> io::Result<()>) -> Result<()> {
    let files = super::Files::below(case, FILES)?;
    let paths = &files.paths;
    let (mut colds_ns, mut warms_ns) = (Vec::new(), Vec::new());
    case.timed(|clock| {
        for path in paths {
            path.forget().map_err(|error| {
                RoundError::unable(ReasonCode::Filesystem, "this filesystem forgets no single file", error)
            })?;
        }
        let pass = || {
            let start = clock.start();
            paths.iter().try_for_each(&open_close)?;
            Ok::<_, RoundError>(clock.end().since(start))
        };
        let (took, again) = (pass()?, pass()?);
        colds_ns.push(clock.ns(took));
        warms_ns.push(clock.ns(again));
        Ok((took, FILES as u64))
    })
    .time()?;
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    match least(&colds_ns) < COLDER * least(&warms_ns) {
        true => Err(RoundError::skipped(
            ReasonCode::Filesystem,
            "the filesystem keeps files in its cache, though made to forget them",
        )),
        false => Ok(()),
    }
}
