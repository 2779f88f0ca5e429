//! Probe sched.fairness: what two busy processes on one CPU get of it, by their nice values or their control groups' weights.

use std::time::Duration;

use hostmark_engine::prelude::*;
use sys::control_group::GroupLimit;

use crate::own_group::OwnGroup;
use crate::workloads::processes::hog::{Hog, Priority};

pub static PROBE: Probe = Probe {
    title: Text { en: "Share of the lighter process", zh: "权重较小进程的占比" },
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Neither,
    also: &[DUE],
    explain: Explain {
        what: Text {
            en: "Two processes that never wait are bound to one CPU. The value is the lighter one's CPU time as a share \
                 of both, over 0.5 s or the round's time if that is longer. by=nice: the run's own nice \
                 value, usually 0, and 5 more. by=cgroup: two control groups with the weights 1:4 (cpu.weight 25 and \
                 100; cpu.shares 256 and 1024 with version 1), which the probe makes and removes; needs root and a CPU \
                 controller. due is what the weights ask for.",
            zh: "两个从不等待的进程绑定在同一个 CPU 上；数值是较轻者的 CPU 时间占两者之和的比例，统计 0.5 s，若一轮更长则为一轮的时间。by=nice：本进程的 nice 值（通常为 0）与再加 5。\
                 by=cgroup：两个权重为 1:4 的 cgroup（cpu.weight 25 与 100；版本 1 为 cpu.shares 256 与 1024），由本探针创建并删除，需要 root 和 CPU 控制器。\
                 due 是按权重应得的比例。",
        },
        why: Text {
            en: "Containers share CPUs by these weights, and background work is kept small by nice. Whether they do what \
                 they say decides what a service has left beside it.",
            zh: "容器按这些权重分享 CPU，后台任务靠 nice 让路。它们是否名副其实，决定了旁边的服务还剩多少 CPU。",
        },
        reading: Text {
            en: "It equals due, except for one slice of the scheduler (about 3 ms of 500). Where it does not, a quota, \
                 another scheduler or a weight further up in the hierarchy decides.",
            zh: "除一个调度时间片（500 ms 中约 3 ms）的误差外，应等于 due。若不等，则由配额、另一种调度器或更上层 cgroup 的权重决定。",
        },
        typical: Text {
            en: "By design: nice 0 and 5 have the weights 1024 and 335 (sched_prio_to_weight in the kernel), 0.2465; weights of \
                 1:4 give 0.20. Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): 0.247 and 0.200; \
                 beside compilers on both CPUs 0.243 to 0.251 and 0.196 to 0.205.",
            zh: "按其构成：nice 0 与 5 的权重为 1024 与 335（内核的 sched_prio_to_weight），即 0.2465；权重 1:4 为 0.20。用 hostmark 在双 CPU 的 KVM \
                 虚拟机（Zen 4（Genoa），Linux 6.18）上实测：0.247 与 0.200；两个 CPU 上另有编译任务时为 0.243 到 0.251 与 0.196 到 0.205。",
        },
        causes: Text {
            en: "A CPU quota (cpu.max) on one of them; a scheduler by sched_ext; real-time tasks on the same CPU; \
                 processes of two sessions, which autogroup weighs before their nice values.",
            zh: "其中之一受 CPU 配额（cpu.max）限制；sched_ext 调度器；同一 CPU 上的实时任务；属于两个会话的进程，autogroup 先于 nice 值起作用。",
        },
    },
    related: &["sched.timer_latency", "sched.noise", "sched.loaded_wakeup"],
    axes: &[Axis::choice("by", "nice", Points::Listed { quick: &["nice"], standard: &["cgroup"], thorough: &[] })],
    from: Profile::Standard,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// What the lighter one is due by the weights.
const DUE: Quantity =
    Quantity::given("due", Unit::Ratio, Better::Neither, Text { en: "due by the weights", zh: "按权重应得" });

/// What is added to the nice value, and the weights in the kernel of 5 and 0; all steps have about the same ratio.
const NICE: [(i32, f64); 2] = [(5, 335.0), (0, 1024.0)];
/// Quarters of an ordinary control group's weight.
const QUARTERS: [u32; 2] = [1, 4];
/// Both are under way by then.
const BEGINNING: Duration = Duration::from_millis(30);
/// The scheduler gives turns of some ms: of so long a turn is less than a hundredth.
const LEAST: Duration = Duration::from_millis(500);

fn measure(case: &mut Case) -> Result<()> {
    let [cpu] = case.cpus::<1>()?;
    let is_nice = case.param::<String>("by")? == "nice";
    let (priorities, due) = match is_nice {
        true => (NICE.map(|(nice, _)| nice), share(NICE.map(|(_, weight)| weight))),
        false => ([0, 0], share(QUARTERS.map(|quarters| quarters as f64))),
    };
    let weighed = |quarters| OwnGroup::make(&GroupLimit::CpuWeight { quarters });
    let groups = if is_nice { Vec::new() } else { QUARTERS.into_iter().map(weighed).collect::<Result<_>>()? };
    let none = |error: std::io::Error| RoundError::lacking("cannot keep a CPU busy", &error);
    // After the groups, so that they end before these are removed.
    let hogs = priorities
        .into_iter()
        .map(|nice| Hog::spawn(cpu, Priority::Nice(nice), 100))
        .collect::<std::io::Result<Vec<Hog>>>()
        .map_err(none)?;
    hogs.iter().zip(&groups).try_for_each(|(hog, group)| group.admit(hog.pid()))?;
    let window = LEAST.max(Duration::from_nanos(case.grant_ns() as u64));
    case.once(|_| {
        hogs.iter().try_for_each(|hog| hog.set(true)).map_err(none)?;
        std::thread::sleep(BEGINNING);
        let spent =
            || -> Result<[u64; 2]> { Ok([hogs[0].spent_ns().map_err(none)?, hogs[1].spent_ns().map_err(none)?]) };
        let before = spent()?;
        std::thread::sleep(window);
        let after = spent()?;
        hogs.iter().try_for_each(Hog::has_run).map_err(none)?;
        Ok(share([0, 1].map(|one| (after[one] - before[one]) as f64)))
    })
    .value()?;
    case.also(DUE.name, [due])
}

/// The first one's share.
fn share([first, second]: [f64; 2]) -> f64 {
    first / (first + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_weights_are_those_of_the_kernel() {
        assert!((share(NICE.map(|(_, weight)| weight)) - 0.2465).abs() < 1e-4);
        assert!((share(QUARTERS.map(|quarters| quarters as f64)) - 0.2).abs() < 1e-9);
    }
}
