//! Probe file.read_small: small files are opened, read and closed, one after another, by size and by how many there are.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Small file read", zh: "读取小文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A directory has `files` files of `size` bytes with short names, just written and so in the cache. Each is opened by \
                 name (openat relative to the directory), read whole by one read, and closed, one after another in the order \
                 of their creation, over and over. The time is divided by `files`.",
            zh: "一个目录中有 `files` 个 `size` 字节、名字很短的文件，刚刚写入，因此都在缓存中。按创建顺序反复逐个操作：按名字打开（相对该目录 openat）、\
                 一次 read 读完、关闭。总时间除以 `files`。",
        },
        why: Text {
            en: "Compilers read headers, web servers pages, interpreters modules, version control its objects: each file once, and \
                 many of them. Together with file.create and file.delete it is the life of a small file.",
            zh: "编译器读头文件，Web 服务器读页面，解释器读模块，版本控制读对象：每个文件读一次，但数量很多。与 file.create、file.delete 合起来就是\
                 小文件的一生。",
        },
        reading: Text {
            en: "With size 0 syscall.open_close plus a read that finds nothing; each page adds a lookup and a copy. files=10000 above \
                 200 is the price of names and inodes that the CPU's caches no longer hold. file.open_reread opens the same file \
                 every time, so it shows the rate for files that are hot.",
            zh: "大小为 0 时是 syscall.open_close 加上一次读不到数据的 read；每页再加一次查找与复制。files=10000 高于 200 的部分，是 CPU 缓存已放不下\
                 的目录项与 inode 的代价。file.open_reread 每次打开同一文件，反映热文件的速率。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs, tmpfs: empty files 2.2 to 2.3 µs, of 10 000 files 2.4 to 2.6.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（五次运行，tmpfs）：空文件 2.2 到 2.3 µs，10 000 个文件时 2.4 到 2.6。",
        },
        causes: Text {
            en: "A network or overlay filesystem, which asks others at every open; security modules and auditing; encryption; a \
                 filesystem that updates access times (strictatime); a reader that scans for viruses (fanotify).",
            zh: "每次打开都要询问他方的网络或 overlay 文件系统；安全模块与审计；加密；更新访问时间（strictatime）的文件系统；监视打开的病毒扫描\
                 （fanotify）。",
        },
    },
    related: &["file.create", "file.delete", "file.open_reread", "syscall.open_close"],
    axes: &[
        super::SMALL,
        Axis::count("files", "200", Points::Listed { quick: &["200"], standard: &["10000"], thorough: &["1000"] }),
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    section: crate::section::FILES,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let count = case.param("files")?;
    let (names, mut content) = super::small_files(case, count)?;
    names.create(&content)?;
    case.calls(|| names.read(&mut content)).each(count as u64).time()
}
