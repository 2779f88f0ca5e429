//! Probe memory.migration: pages moved from one memory node to another by move_pages.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::movable::Movable;

pub static PROBE: Probe = Probe {
    title: Text { en: "Page migration", zh: "页面迁移" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A thread on a CPU of the first node has `pages` written base pages there; one move_pages moves them to the second node, \
                 and its time is divided by the pages. They are moved back, untimed, before the next call, and the kernel is asked after \
                 each where they are. A pair of the same node asks for pages that are there already: the price of looking them up.",
            zh: "第一个节点的 CPU 上的线程在该节点有 `pages` 个已写的基本页；一次 move_pages 把它们移到第二个节点，时间除以页数。下次调用之前先移回（不计\
                 时），每次之后都向内核核对页的位置。两个节点相同时，所要的页已在原处：即查找页的代价。",
        },
        why: Text {
            en: "NUMA balancing, cpuset moves, tiered memory and databases that follow their threads pay this for each page before its \
                 accesses become near.",
            zh: "NUMA 均衡、cpuset 迁移、分层内存以及让数据跟随线程的数据库，都要先为每一页付出这一代价，访问才会变近。",
        },
        reading: Text {
            en: "A page is isolated, unmapped in every CPU that runs the process, copied over the link and mapped again; since Linux 6.3 \
                 many pages share one flush of the TLBs. Divide by what memory.numa_latency saves per access: so many accesses pay for a \
                 move. One page a call adds the call and draining the CPUs' lists of pages.",
            zh: "页先被隔离，在运行该进程的每个 CPU 上解除映射，经链路复制，再重新映射；Linux 6.3 起许多页共用一次 TLB 刷新。除以 \
                 memory.numa_latency 中每次访问省下的时间，就是值得迁移的访问次数。每次只移一页时，还要加上调用本身和清空各 CPU 的页列表。",
        },
        typical: Text {
            en: "By design no less than 4 KiB copied between the nodes, 0.1 to 0.4 µs at memory.numa_bandwidth's 10 to 40 GB/s of one CPU.",
            zh: "按设计不少于在节点间复制 4 KiB：按 memory.numa_bandwidth 中单个 CPU 的 10 到 40 GB/s 计，为 0.1 到 0.4 µs。",
        },
        causes: Text {
            en: "Kernels before 6.3, which flush TLBs page by page; many CPUs that run the process; a full target node, which must reclaim; \
                 slow memory behind CXL.",
            zh: "6.3 之前的内核逐页刷新 TLB；许多 CPU 在运行该进程；目标节点已满，需要回收；CXL 之后的慢内存。",
        },
    },
    related: &["memory.numa_latency", "memory.numa_bandwidth", "paging.unmap"],
    axes: &[
        Axis::nodes("nodes"),
        Axis::count("pages", "512", Points::Listed { quick: &["512"], standard: &["1"], thorough: &["64"] }),
    ],
    limit: Limit::CyclesPerOp,
    section: crate::section::NODES,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (home, away) = super::nodes(case)?;
    let pages: usize = case.param("pages")?;
    case.may_fill(pages.saturating_mul(2 * Pages::Base.bytes()) as u64)?;
    let refused = |error| RoundError::lacking("this process may move no pages", &error);
    let mut movable = Movable::new(pages)?;
    let settle = |movable: &mut Movable, node: Node| -> Result<()> {
        let is_there = movable.on().map_err(refused)?.into_iter().eq([node.0 as i32]);
        if is_there { Ok(()) } else { Err(super::not_on(node)) }
    };
    case.timed(|clock| {
        movable.move_to(home).map_err(refused)?;
        settle(&mut movable, home)?;
        let start = clock.start();
        let moved = movable.move_to(away);
        let took = clock.end().since(start);
        moved.map_err(refused)?;
        settle(&mut movable, away)?;
        Ok((took, pages as u64))
    })
    .time()
}
