//! Probe signal.round_trip: a signal to another process and its answer by one.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Signal round trip", zh: "信号往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Two processes wait in rt_sigsuspend. This process sends SIGUSR1 to its child with kill. The child \
                 wakes, runs its handler, returns by sigreturn and sends SIGUSR1 back, which this process handles. \
                 SIGUSR1 is blocked except while waiting, so none is lost; all must have been handled. The value is \
                 one round trip: two deliveries.",
            zh: "两个进程都在 rt_sigsuspend 中等待。本进程用 kill 向子进程发送 SIGUSR1；子进程被唤醒，运行处理函数，经 sigreturn 返回，再把 \
                 SIGUSR1 发回，由这里处理。除等待期间外 SIGUSR1 一直被屏蔽，因此不会丢失；全部必须得到处理。数值是一次往返，即两次递送。",
        },
        why: Text {
            en: "Supervisors, shells and older servers talk to other processes this way. It has the smallest message \
                 and the largest cost: a permission check, a locked queue, a wake-up, and a frame with all registers.",
            zh: "监管进程、shell 和较老的服务器这样与别的进程通信。消息最小而代价最大：一次权限检查、一个锁保护的队列、一次唤醒，\
                 还有保存全部寄存器的帧。",
        },
        reading: Text {
            en: "On one CPU: two deliveries (signal.handle without the sending) plus ipc.eventfd. On two CPUs the \
                 wake-up of an idle CPU comes on top, as with every round trip. That is far more expensive in a guest, \
                 because an interrupt to another CPU exits to the hypervisor.",
            zh: "同一 CPU 上为两次递送（signal.handle 中除去给自己发送的部分）加上 ipc.eventfd 的代价。在两个 CPU 之间还要唤醒空闲的 CPU，与所有往返一样；\
                 在虚拟机里贵得多，因为发给另一 CPU 的中断要退出虚拟机。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 5.6 to 8.8 µs on one CPU, \
                 about 24 on two that share a cache, while other programs used the machine.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 5.6 到 8.8 µs，共享缓存的两个 CPU 约 24，当\
                 时另有程序在用机器。",
        },
        causes: Text {
            en: "As for signal.handle and ipc.pipe: wide vector registers in the frame, page-table isolation, deep \
                 idle states and expensive wake-ups; security modules, which check each kill.",
            zh: "同 signal.handle 与 ipc.pipe：帧中较宽的向量寄存器、页表隔离、较深的空闲状态与昂贵的唤醒；还有检查每次 kill 的安全模块。",
        },
    },
    related: &["signal.handle", "ipc.eventfd", "ipc.futex", "sched.context_switch"],
    axes: &[CPUS],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Where the two processes run.
const CPUS: Axis = Axis::placements(
    "cpus",
    "same_cpu",
    Points::Listed {
        quick: &["same_cpu"],
        standard: &["same_cache"],
        thorough: &["smt_sibling", "other_cache", "same_package_other_node", "other_node", "free"],
    },
);

fn measure(case: &mut Case) -> Result<()> {
    let other = crate::ipc::other_party(case)?;
    let mut pair = workloads::handover::signal_pair::SignalPair::start(&other)?;
    case.calls(|| pair.there_and_back()).time()?;
    Ok(pair.check()?)
}
