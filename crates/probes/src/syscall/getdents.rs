//! Probe syscall.getdents: a directory is read from its beginning to its end, by the number of its entries.

use hostmark_engine::prelude::*;

use crate::workloads::storage::directory::Directory;
use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    title: Text { en: "Read a directory", zh: "读目录" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "An open directory with `entries` empty files of 8-letter names is read from its beginning: lseek to 0, then \
                 getdents64 into 32 KiB, as glibc does, until it returns nothing. The value is the time for all of it. Every \
                 pass must return as many bytes as the first, whose names are counted. It lies on a tmpfs, or with place=scratch on \
                 the filesystem of --scratch; all of it is cached.",
            zh: "从头读一个打开的目录，其中有 `entries` 个空文件，名字为 8 个字母：lseek 到 0，再反复执行 getdents64，每次 32 KiB（与 glibc \
                 相同），直到没有内容。数值是全部这些的时间。第一遍数清名字，之后每一遍返回的字节数都必须与之相同。目录位于 tmpfs，\
                 place=scratch 时位于 --scratch 所指的文件系统；全部已在缓存中。",
        },
        why: Text {
            en: "Every ls, find, backup, mail queue and build system lists directories, often large ones.",
            zh: "ls、find、备份、邮件队列和构建系统都要列目录，而且往往很大。",
        },
        reading: Text {
            en: "A fixed part of three system calls (lseek, getdents64, and the one that finds the end), and the slope over \
                 entries: the filesystem finds a name, and the kernel copies it with 24 bytes more. A filesystem with a tree \
                 of names (ext4, xfs) sorts or decodes blocks for each call.",
            zh: "固定部分是三次系统调用（lseek、getdents64，以及发现已到末尾的那次）；随 entries 的斜率是每个名字的代价：文件系统找到它，内核\
                 连同另外 24 字节一起复制。以树组织名字的文件系统（ext4、xfs）每次调用要为块排序或解码。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), tmpfs: 14.6 to 14.7 µs with 100 entries, about \
                 140 ns for each name, where syscall.null takes 162 ns.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测（tmpfs）：100 项 14.6 到 14.7 µs，\
                 每个名字约 140 ns，而 syscall.null 为 162 ns。",
        },
        causes: Text {
            en: "Overlay filesystems, which merge directories; network filesystems, which ask the server; directories of which \
                 most entries were deleted; security modules.",
            zh: "要合并目录的 overlay 文件系统；要询问服务器的网络文件系统；大部分项已被删除的目录；安全模块。",
        },
    },
    related: &["syscall.stat", "syscall.open_close", "file.create"],
    axes: &[
        Axis::count(
            "entries",
            "100",
            Points::Listed { quick: &["100"], standard: &["1", "1000"], thorough: &["10000"] },
        ),
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let entries: usize = case.param("entries")?;
    let path = crate::place::directory(case)?.join("entries");
    std::fs::create_dir(&path).call("mkdir")?;
    for number in 0..entries {
        files::write(&path.join(format!("{number:08}")), b"", 0o600)?;
    }
    let mut directory = Directory::open(&path)?;
    let (names, bytes) = directory.count()?;
    if names != entries {
        let text = format!("{names} of {entries} names were read");
        return Err(RoundError::failed(ReasonCode::CheckFailed, text));
    }
    case.calls(|| directory.read_all(bytes)).time()
}
