//! Probe process.fork_resident: what a fork costs by the memory that the parent has resident.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Fork by resident size", zh: "按常驻内存的 fork" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[STANDSTILL],
    explain: Explain {
        what: Text {
            en: "As process.fork_exit with way=syscall, by a parent that has filled `resident` bytes of anonymous memory beyond its own few MiB, in base or in \
                 huge pages: clone with nothing shared, the child ends at once, the parent waits for it and checks its status. \
                 Beside it stands how long the call alone took, which is as long as the parent stood still. Nothing is written meanwhile, so \
                 that copy-on-write faults are not in it (see paging.fault).",
            zh: "与 process.fork_exit 的 way=syscall 相同，但父进程在自身几 MiB 之外以基本页或大页填充了 `resident` 字节的匿名内存：以不共享任何东西的 clone 创建子进程，\
                 子进程立即结束，父进程等待并检查状态。旁边列出调用本身的时间，即父进程停顿的时间。其间没有任何写入，因此不含写时复制缺页（见 paging.fault）。",
        },
        why: Text {
            en: "fork copies the parent's page tables: an entry for each page, with a reference count in the page's own descriptor. Databases and \
                 caches that fork for a snapshot (Redis, PostgreSQL's start of a backend) stand still for that time, and huge pages cut it \
                 by two orders of magnitude.",
            zh: "fork 会复制父进程的页表：每页一个表项，还要更新页描述符中的引用计数。为做快照而 fork 的数据库和缓存（Redis，以及启动后端进程的 PostgreSQL）会停顿这么久，\
                 而大页可将其减少两个数量级。",
        },
        reading: Text {
            en: "Base pages: 1 to 2.5 ms more for each 256 MiB, that is 15 to 40 ns a page, about half of it in the call and the rest in the tear-down of the child's copy; in a guest two to three times that. \
                 Huge pages: hardly more than a small parent up to 1 GiB. A slope of 200 ns a page and more points to \
                 page tables of a hypervisor in the way (shadow paging), or to memory whose descriptors lie on another node.",
            zh: "基本页：每 256 MiB 增加 1 到 2.5 ms，即每页 15 到 40 ns，其中约一半在调用本身，其余在拆除子进程的副本；在虚拟机里为其两到三倍。大页：直到 1 GiB 也几乎不比小进程多。\
                 每页 200 ns 以上说明有虚拟机监控程序的页表介入（影子页表），或页描述符位于另一节点。",
        },
    },
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
    cross: &[Cross { from: Profile::Thorough, axes: &["resident", "page"] }],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

/// The call alone.
const STANDSTILL: Quantity = Quantity {
    name: "call",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    title: Text { en: "the call alone: the parent stands still", zh: "仅调用本身：父进程停顿" },
};

fn measure(case: &mut Case) -> Result<()> {
    let pages = match case.param::<String>("page")?.as_str() {
        "pmd" => Pages::Pmd,
        _ => Pages::Base,
    };
    let resident = case.param("resident")?;
    let _resident = case.buffer(resident, pages, None)?;
    let mut calls_ns = Vec::new();
    case.observe(|clock| {
        let start = clock.start();
        let child = sys::process::forked()?;
        let made = clock.end();
        child.wait()?;
        let ended = clock.end();
        calls_ns.push(clock.ns(made.since(start)));
        Ok(ended.since(start))
    })?;
    // The first was thrown away with its sample.
    case.also(STANDSTILL.name, calls_ns.into_iter().skip(1))
}
