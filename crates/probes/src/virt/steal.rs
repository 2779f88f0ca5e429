//! Probe virt.steal: the share of the CPUs' time that the hypervisor gives to others while all of them are busy.

use std::sync::atomic::{AtomicBool, Ordering};

use hostmark_engine::prelude::*;

use crate::workloads::machine::steal::Stolen;

pub static PROBE: Probe = Probe {
    title: Text { en: "Stolen share of CPU time", zh: "CPU steal 时间占比" },
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A thread on each of `threads` CPUs runs a busy loop for 250 ms. The value is the time that \
                 /proc/stat reports as stolen from these CPUs meanwhile, divided by the time that passed on them. \
                 The kernel counts it in steps of 10 ms per CPU; the note smallest_share shows the share that one \
                 step is, the smallest value above 0.",
            zh: "`threads` 个 CPU 上各有一个线程忙循环 250 ms。数值等于这段时间内 /proc/stat 报告的这些 CPU 被窃取的\
                 时间之和，除以这些 CPU 经过的时间之和。内核对每个 CPU 以 10 ms 为单位累计；备注 smallest_share 给出\
                 一个单位相当的份额，即最小的非零值。",
        },
        why: Text {
            en: "A virtual CPU is a thread of the host. It waits while others use the same CPU, or once it has used up \
                 its quota. Every other value of the guest includes this time.",
            zh: "虚拟 CPU 是宿主机的一个线程：别人要用同一个 CPU，或自己的配额用尽时，它就得等。虚拟机的其他所有数字都包含它。",
        },
        reading: Text {
            en: "0 with threads=all means that less than one step of 10 ms was stolen: the host had a CPU for each \
                 of the guest's. 0 with one thread and more with all: the host has fewer CPUs than its guests need \
                 at once, or a quota allows fewer. The note stolen_since_boot=nothing: the hypervisor may not report \
                 steal at all, and then 0 proves nothing; see sched.noise and cpu.scaling.",
            zh: "threads=all 时，0 表示被窃取的不足一个 10 ms 的单位：宿主机为虚拟机的每个 CPU 都备有一个 CPU。单线\
                 程为 0 而全部线程大于 0：宿主机的 CPU 少于各虚拟机同时需要的数量，或配额不允许这么多。备注 \
                 stolen_since_boot=nothing：可能是虚拟机监控程序不报告，此时 0 没有意义；请看 sched.noise 和 \
                 cpu.scaling。",
        },
        typical: Text {
            en: "By design 0 on a host that is not overcommitted; a share of 1 − 1/n if n guests want each CPU, or the \
                 part that a quota withholds.",
            zh: "按设计，不超卖的宿主机为 0；每个 CPU 有 n 台虚拟机争用时为 1 − 1/n，或由配额决定。",
        },
        causes: Text {
            en: "Neighbours on the host; a CPU quota or used-up burst credit of the guest; the host's own work \
                 (emulating devices, migration) on the same CPUs.",
            zh: "宿主机上的邻居虚拟机；虚拟机的 CPU 配额或用尽的突发额度；宿主机在同一 CPU 上的自身工作（模拟设备、迁移）。",
        },
    },
    related: &["sched.noise", "cpu.scaling", "clock.sleep"],
    axes: &[Axis::all_threads("threads", Points::Listed { quick: &["all"], standard: &["1"], thorough: &[] })],
    needs: &[Need::Guest],
    section: crate::section::VIRTUALIZATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A round looks for so long, ns: 25 of the kernel's steps.
const WINDOW_NS: f64 = 250e6;

fn measure(case: &mut Case) -> Result<()> {
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let read =
        || Stolen::read(&cpus).map_err(|error| RoundError::lacking("the kernel does not tell stolen time", &error));
    let is_reported = Stolen::read(&[]).is_ok_and(|all| all.ns > 0);
    case.note("stolen_since_boot", if is_reported { "yes" } else { "nothing" });
    let step = Stolen::STEP_NS as f64 / (WINDOW_NS * cpus.len() as f64);
    case.note("smallest_share", format!("{step:.4}"));
    let others: Vec<Cpu> = case.thread_cpus().into_iter().skip(1).collect();
    case.search(|clock| {
        let is_over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let works = others.iter().map(|&cpu| {
                move || {
                    threads::bind(cpu)?;
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                    Ok(())
                }
            });
            let others = threads::start(scope, works)?;
            let shared = || -> Result<f64> {
                let (before, start) = (read()?, clock.start());
                while clock.ns(clock.end().since(start)) < WINDOW_NS {}
                let (after, passed_ns) = (read()?, clock.ns(clock.end().since(start)));
                Ok(after.ns.saturating_sub(before.ns) as f64 / (passed_ns * cpus.len() as f64))
            };
            let share = shared();
            is_over.store(true, Ordering::Relaxed);
            threads::join(others).and(share).map(Some)
        })
    })
}
