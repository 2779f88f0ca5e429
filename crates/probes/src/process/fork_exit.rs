//! Probe process.fork_exit: a child is made, ends at once, and is waited for.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Fork + exit", zh: "创建进程并退出" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "way=syscall: clone(2) with nothing shared, as fork(2) does it; the child ends by exit_group at once; the \
                 parent waits for it by wait4 and checks its status: the kernel's share alone. way=libc: fork and exit of \
                 the C library, as programs call them, with the handlers and the page faults that come with them. Parent \
                 and child run on one CPU. The parent's resident size is noted, since its page tables are what fork copies.",
            zh: "way=syscall：以不共享任何东西的 clone(2) 创建子进程（与 fork(2) 相同）；子进程立即 exit_group；父进程用 wait4 等待并检查\
                 退出状态，只含内核的部分。way=libc：与程序一样调用 C 库的 fork 与 exit，包括其中的处理函数和缺页。父子在同一个 CPU 上运行。父进程的常驻内存大小会记录下来，因为 fork 复制的正是它的页表。",
        },
        why: Text {
            en: "Shells, build systems, process-per-request servers and database snapshots fork. The cost is the copying of \
                 page tables, the faults of copy-on-write afterwards, the scheduler, and the tear-down.",
            zh: "shell、构建系统、每请求一进程的服务器和数据库快照都要 fork。其代价包括复制页表、随后的写时复制缺页、调度以及\
                 拆除进程。",
        },
        reading: Text {
            en: "40 to 100 µs for a small parent on bare metal, up to two or three times that in a guest without huge pages \
                 in its nested page tables. The cost grows with the parent's memory: a parent of 1 GiB in base pages \
                 takes milliseconds. A sudden rise points to memory control groups, security modules or auditing.",
            zh: "裸机上小进程约 40 到 100 µs；嵌套页表没有大页的虚拟机里可达两三倍。代价随父进程内存增长：1 GiB 基本页的父进程\
                 需要数毫秒。突然升高多与内存 cgroup、安全模块或审计有关。",
        },
    },
    axes: &[
        Axis::choice("way", "syscall", Points::Listed { quick: &["syscall", "libc"], standard: &[], thorough: &[] }),
        Axis::copies(Profile::Standard),
    ],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    if let Some(bytes) = sys::process::resident_bytes() {
        case.note("parent_resident_bytes", bytes);
    }
    match case.param::<String>("way")?.as_str() {
        "libc" => {
            sys::process::only_one_thread()?;
            case.time(sys::process::fork_exit_by_libc)
        }
        _ => case.time(sys::process::fork_exit),
    }
}
