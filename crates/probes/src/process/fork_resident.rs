//! Probe process.fork_resident: what a fork costs by the memory that the parent has resident.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Fork by resident size", zh: "按常驻内存的 fork" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[STANDSTILL],
    explain: Explain {
        what: Text {
            en: "As process.fork_exit with way=syscall, but the parent has filled `resident` bytes of anonymous memory \
                 beyond its own few MiB, in base or huge pages. It calls clone with nothing shared, the child ends at \
                 once, and the parent waits and checks its status. A separate value shows the call alone, which is how \
                 long the parent stood still. Nothing is written meanwhile, so there are no copy-on-write faults (see \
                 paging.fault).",
            zh: "与 process.fork_exit 的 way=syscall 相同，但父进程在自身几 MiB 之外以基本页或大页填充了 `resident` 字节的匿名内存：以不共享任何东西的 clone 创建子进程，\
                 子进程立即结束，父进程等待并检查状态。旁边列出调用本身的时间，即父进程停顿的时间。其间没有任何写入，因此不含写时复制缺页（见 paging.fault）。",
        },
        why: Text {
            en: "fork copies the parent's page tables: one entry per page, plus a reference count in the page \
                 descriptor. Databases and caches that fork (Redis for a snapshot, PostgreSQL to start a backend) \
                 stand still for that time. Huge pages cut it by two orders of magnitude.",
            zh: "fork 会复制父进程的页表：每页一个表项，还要更新页描述符中的引用计数。要 fork 的数据库和缓存（Redis 做\
                 快照、PostgreSQL 启动后端进程）会停顿这么久，而大页可将其减少两个数量级。",
        },
        reading: Text {
            en: "Linear in the resident size: one entry and one reference count per page, about half of it in the call \
                 and the rest in the tear-down of the child's copy. Huge pages divide that by 512, so little more than \
                 the cost of a small parent remains.",
            zh: "与常驻内存成线性：每页一个表项和一次引用计数，约一半在调用本身，其余在拆除子进程的副本。大页使其除以 512，与小进程相差无几。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): base pages 1.9 ms at 64 MiB \
                 and 6.2 at 256 MiB, 70 to 110 ns per page, 1.1 and 3.5 ms of it in the call; huge pages 0.24 ms at \
                 256 MiB. Redis's documentation reports for the call alone 9 to 13 ms per GB on hardware, 23 in a KVM \
                 guest, and 239 to 424 in old Xen guests.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：基本页 64 MiB 为 1.9 ms，256 MiB 为 6.2 ms，即每\
                 页 70 到 110 ns，其中调用本身占 1.1 与 3.5 ms；大页 256 MiB 为 0.24 ms。Redis 文档给出的调用本身：物理机每 GB 9 到 13 ms，\
                 KVM 虚拟机 23，早期的 Xen 虚拟机 239 到 424。",
        },
        causes: Text {
            en: "A hypervisor that has to follow every page-table write (shadow paging, Xen PV): 200 ns per page and \
                 more. Page descriptors on another node. Memory control groups, which charge the tables. Huge pages \
                 that were split or never given: see the note.",
            zh: "虚拟机监控程序要跟踪每次页表写入（影子页表、Xen PV）：每页 200 ns 以上。页描述符位于另一节点。要为页表记账的内存 cgroup。大页被拆分或未曾得到：见备\
                 注。",
        },
    },
    related: &["process.fork_exit", "process.spawn", "paging.fault", "memory.tlb"],
    differs: Some(Text {
        en: "lat_proc forks one small process, about as large as its libraries. The resident size, which decides for \
             every large server, is an axis here.",
        zh: "lat_proc 只 fork 一个小进程，其大小取决于它的库；对大型服务器起决定作用的常驻内存在这里是一个轴。",
    }),
    axes: &[
        Axis::size(
            "resident",
            "67108864",
            Points::Listed {
                quick: &["67108864"],
                standard: &["4096", "4194304", "16777216", "268435456", "1073741824"],
                thorough: &["1048576", "134217728", "536870912"],
            },
        ),
        Axis::choice("page", "base", Points::Listed { quick: &["base"], standard: &["pmd"], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["resident", "page"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// The call alone.
const STANDSTILL: Quantity = Quantity::given(
    "call",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "the call alone: the parent stands still", zh: "仅调用本身：父进程停顿" },
);

fn measure(case: &mut Case) -> Result<()> {
    let pages = match case.param::<String>("page")?.as_str() {
        "pmd" => case.may_have_huge_pages().map(|()| Pages::Pmd)?,
        _ => Pages::Base,
    };
    let resident = case.param("resident")?;
    let _resident = case.buffer(resident, pages, None)?;
    let _left_out = super::small_parent(case);
    let mut calls_ns = Vec::new();
    case.timed(|clock| {
        let start = clock.start();
        let child = workloads::processes::fork::forked()?;
        let made = clock.end();
        child.wait()?;
        let ended = clock.end();
        calls_ns.push(clock.ns(made.since(start)));
        Ok(ended.since(start))
    })
    .time()?;
    // The first was thrown away with its sample.
    case.also(STANDSTILL.name, calls_ns.into_iter().skip(1))
}
