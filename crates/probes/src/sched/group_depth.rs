//! Probe sched.group_depth: from one process to the next, by how deep in control groups they are.

use hostmark_engine::prelude::*;

use crate::own_group::OwnGroup;
use crate::workloads::handover::exchange;

pub static PROBE: Probe = Probe {
    title: Text { en: "Switch by depth of control groups", zh: "cgroup 深度与切换" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Two processes on one CPU hand a byte to and fro through two pipes; the value is the time from one to the next, half of \
                 a round trip, with its write and read. Both are in control groups of the CPU controller, `depth` levels below the \
                 run's own; depth=0 is where the run is, whatever groups says. groups=one: in the same one; groups=two: each in its \
                 own, which have no level in common. hostmark makes the groups with ordinary weights and without limits, and removes them; this needs root and \
                 a CPU controller. A third process only says when 500 round trips begin and end.",
            zh: "同一 CPU 上的两个进程经两条管道来回传递一个字节；数值是从一个进程到另一个的时间，即往返的一半，含 write 与 read。两者都在 CPU 控制器的 cgroup 中，\
                 位于本次运行所在 cgroup 之下 `depth` 层；depth=0 即本次运行所在之处，与 groups 无关。groups=one：同在一个 cgroup；groups=two：各在一个，两者没有共同的层级。\
                 这些 cgroup 由 hostmark 创建并删除，权重为默认值，没有上限；需要 root 和 CPU 控制器。第三个进程只标明 500 次往返的开始与结束。",
        },
        why: Text {
            en: "Every service and container is in such groups: systemd's are 2 levels deep, those of Kubernetes 4 or 5. The scheduler \
                 walks them whenever a process sleeps or wakes up.",
            zh: "每个服务和容器都在这样的 cgroup 里：systemd 的有 2 层，Kubernetes 的有 4 或 5 层。每当进程睡眠或被唤醒，调度器都要逐层处理。",
        },
        reading: Text {
            en: "The slope over depth is the price of a level: its load is brought up to date whenever a process comes or goes. With \
                 groups=two it is more: a group without runnable processes leaves the queue above it and is put back, at each \
                 level. Below the machine's first group autogroup counts as a level, where it is on: there depth=1 costs as much \
                 as depth=0.",
            zh: "随 depth 的斜率就是一层的代价：每当有进程进出，都要更新该层的负载。groups=two 更贵：没有可运行进程的 cgroup 要离开上一层的队列，之后再放回，每层都是如此。\
                 在机器的根 cgroup 中，若启用 autogroup，它也算一层：此时 depth=1 与 depth=0 代价相同。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18, autogroup on): groups=one 2.6 µs at depth 0 \
                 and 1, 2.7 at 4, 2.8 at 8, some 30 ns a level; groups=two 2.9 at depth 1, 3.6 at 4, 4.4 at 8, 210 ns a level.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18，启用 autogroup）上实测：groups=one 在深度 0 与 1 为 2.6 µs，4 为 2.7，8 为 2.8，\
                 每层约 30 ns；groups=two 在深度 1 为 2.9，4 为 3.6，8 为 4.4，每层 210 ns。",
        },
        causes: Text {
            en: "Deep hierarchies (containers in virtual machines in slices), each level with a CPU limit (cpu.max), which is counted as \
                 well; kernels built with debugging of the scheduler.",
            zh: "层级过深（容器套在虚拟机和 slice 之中）；各层设有 CPU 上限（cpu.max），还要另外记账；打开了调度器调试选项的内核。",
        },
    },
    related: &["sched.context_switch", "ipc.pipe", "sched.fairness"],
    axes: &[
        Axis::choice(
            "depth",
            "4",
            Points::Listed { quick: &["0", "1", "4", "8"], standard: &[], thorough: &["2", "16"] },
        ),
        Axis::choice("groups", "one", Points::Listed { quick: &["one", "two"], standard: &[], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["depth", "groups"] }],
    limit: Limit::HandOvers(1),
    blocking: true,
    from: Profile::Standard,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Round trips between two looks at the clock: what begins and ends them, two switches of its own, is a five hundredth.
const ROUND_TRIPS: u64 = 500;

fn measure(case: &mut Case) -> Result<()> {
    let depth: usize = case.param("depth")?;
    let count = match case.param::<String>("groups")?.as_str() {
        _ if depth == 0 => 0,
        "two" => 2,
        _ => 1,
    };
    let [cpu] = case.cpus::<1>()?;
    let groups: Vec<OwnGroup> = (0..count).map(|_| OwnGroup::nested(depth)).collect::<Result<_>>()?;
    // After the groups, so that both end before these are removed.
    let mut pair = None;
    let mut both = exchange::working(&[cpu.0], || {
        let pair = match &mut pair {
            Some(pair) => pair,
            // The second begins here, in the first one's group.
            none => {
                let second = exchange::by_pipe(&[cpu.0])?;
                groups.get(1).map_or(Ok(()), |group| group.admit(second.pid())).map_err(std::io::Error::other)?;
                none.insert(second)
            }
        };
        (0..ROUND_TRIPS).try_for_each(|_| pair.there_and_back())?;
        pair.check()
    })?;
    groups.first().map_or(Ok(()), |group| group.admit(both.pid()))?;
    both.there_and_back()?;
    case.calls(|| both.there_and_back()).each(2 * ROUND_TRIPS).time()?;
    Ok(both.check()?)
}
