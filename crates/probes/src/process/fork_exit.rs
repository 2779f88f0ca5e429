//! Probe process.fork_exit: a child is made, ends at once, and is waited for.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Fork + exit", zh: "创建进程并退出" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "way=syscall calls clone(2) with nothing shared, as fork(2) does. The child ends at once with \
                 exit_group; the parent waits with wait4 and checks its status. This is the kernel's share alone. \
                 way=libc calls fork and exit of the C library, as programs do, with their handlers and page faults. \
                 Parent and child run on one CPU. Before, hostmark makes itself small: what \
                 the loader wrote of its constants becomes shared memory, which fork does not copy, and by \
                 way=syscall the child gets no library but the C library. On one guest it takes 1.16 times a C program of \
                 twenty lines (docs/accuracy.md). A note shows the parent's resident size.",
            zh: "way=syscall：以不共享任何东西的 clone(2) 创建子进程（与 fork(2) 相同）；子进程立即 exit_group；父进程\
                 用 wait4 等待并检查退出状态，只含内核的部分。way=libc：与程序一样调用 C 库的 fork 与 exit，包括其中的\
                 处理函数和缺页。父子在同一个 CPU 上运行。计时之前，hostmark 先把自身变小：\
                 加载器写过的常量改为共享内存（fork 不复制共享内存），way=syscall 的子进程除 C 库外不带其他库。在一台虚拟机上，其值为二十行 C 程序的 1.16 倍（见 \
                 docs/accuracy.md）。父进程的常驻内存大小记入备注。",
        },
        why: Text {
            en: "Shells, build systems, process-per-request servers and database snapshots fork. They pay for copied \
                 page tables, the copy-on-write faults afterwards, the scheduler, and the tear-down.",
            zh: "shell、构建系统、每请求一进程的服务器和数据库快照都要 fork。其代价包括复制页表、随后的写时复制缺页、调度以及\
                 拆除进程。",
        },
        reading: Text {
            en: "way=syscall is the kernel's share: page tables, the scheduler, the tear-down and 4 page faults of the \
                 child. way=libc adds the C library's own work and its page faults: 17 for a small program, 50 and \
                 more with many libraries.",
            zh: "way=syscall 是内核的部分：页表、调度、拆除以及子进程的 4 次缺页。way=libc 再加上 C 库在其前后所做的事及其页的缺页：小程序 17 次，带许多库的 \
                 50 次以上。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 94 to 96 µs by the call, 163 \
                 to 185 by the C library. A Core i5-2520M of 2011, bare metal: 73 µs; lmbench in a published \
                 evaluation: 136 to 141.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：系统调用 94 到 96 µs，C 库 163 到 185。2011 年的 \
                 Core i5-2520M（裸机）：73 µs；某次公开评测中的 lmbench：136 到 141。",
        },
        causes: Text {
            en: "Page faults that are expensive in a guest (nested or shadow page tables: paging.fault); memory \
                 control groups; security modules and auditing; a parent with much memory (process.fork_resident); \
                 more libraries linked in.",
            zh: "虚拟机里昂贵的缺页（嵌套或影子页表：见 paging.fault）；内存 cgroup；安全模块与审计；父进程内存多（见 process.fork_resident）；链接了更多\
                 的库。",
        },
    },
    related: &["process.fork_resident", "process.fork_exec", "process.thread", "paging.fault"],
    differs: Some(Text {
        en: "lat_proc fork uses the C library and exit(3), and is linked with the RPC library and nine more: 51 page \
             faults per child, and three times way=syscall. docs/accuracy.md explains the difference step by step. \
             hostmark checks the child's exit status.",
        zh: "lat_proc fork 经过 C 库与 exit(3)，并链接了 RPC 库及另外九个库：每个子进程 51 次缺页，是 way=syscall 的三\
             倍；docs/accuracy.md 逐项说明了差别。这里检查子进程的退出状态。",
    }),
    axes: &[
        Axis::choice("way", "syscall", Points::Listed { quick: &["syscall", "libc"], standard: &[], thorough: &[] }),
        Axis::copies(Profile::Standard),
    ],
    limit: Limit::KernelEntry,
    blocking: true,
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    if let Some(bytes) = sys::process::resident_bytes() {
        case.note("parent_resident_bytes", bytes);
    }
    match case.param::<String>("way")?.as_str() {
        "libc" => {
            sys::process::only_one_thread()?;
            super::share_relocated(case);
            case.calls(workloads::processes::fork::fork_exit_by_libc).time()
        }
        _ => {
            let _left_out = super::small_parent(case);
            case.calls(workloads::processes::fork::fork_exit).time()
        }
    }
}
