//! Probe sched.wakeup: how long a sleeping process that is woken takes to run, at a fixed rate, by placement.

use hostmark_engine::prelude::*;

use crate::workloads::handover::sleeper::Sleeper;

pub static PROBE: Probe = Probe {
    title: Text { en: "Wake-up to running", zh: "从唤醒到运行" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "One process wakes another `rate` times per second. The value is the time from the moment the wake-up \
                 was due until the other process runs. Between wake-ups the waker spins until the next is due, even if \
                 the last was late (open loop: a delay counts for every wake-up that it delays). The other process \
                 writes a word as soon as it runs; the spinning waker sees it about 0.1 µs later. With cpus=same_cpu \
                 the waker sleeps after the call, and the other process reads the clock. by=futex or eventfd chooses \
                 the call. Percentiles cover all wake-ups of all rounds.",
            zh: "一个进程每秒唤醒另一个进程 `rate` 次；数值是从应当唤醒的时刻到对方运行的时间。两次唤醒之间，唤醒方自旋等到下一次的时刻，不论上一次是否迟到（开环：\
                 一次延误会计入它所拖延的每一次唤醒）。对方一运行就写一个字，自旋的唤醒方约 0.1 µs 后看到。cpus=same_cpu：唤醒方在调用后睡眠，由对方读时钟。by=futex 或 eventfd。\
                 分位数取自所有轮的全部唤醒。",
        },
        why: Text {
            en: "Every job for a thread pool, every message to a blocked reader and every contended lock is a wake-up. \
                 A request that needs several wake-ups inherits their tail latency.",
            zh: "交给线程池的每项工作、发给阻塞读者的每条消息、有等待者的每把锁都是一次唤醒。若一个请求要经过数次唤\
                 醒，唤醒的尾延迟就会成为服务的尾延迟。",
        },
        reading: Text {
            en: "same_cpu is a context switch plus the call. On another CPU it is the interrupt, the exit from its \
                 idle state and its scheduler; the lower the rate, the deeper the idle state. A guest gives an idle \
                 CPU back to the hypervisor, which must schedule it again; halt polling on the host shortens that at \
                 high rates.",
            zh: "same_cpu 是一次上下文切换加调用本身。另一个 CPU 上是中断、退出空闲状态和那里的调度；速率越低，空闲越深。虚拟机的空闲 CPU 已交还虚拟机监控程序，必须请\
                 求它重新调度；宿主机的 halt polling 在高速率时能缩短这一过程。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 13 to 20 µs to the other CPU \
                 by futex, 15 to 17 by eventfd; milliseconds in the tail whenever others used the CPU. On bare metal \
                 /sys/devices/system/cpu/cpu0/cpuidle/*/latency shows the exit latency of each idle state, from 1 to 2 \
                 µs (C1) to 100 µs and more.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：唤醒另一 CPU，futex 为 13 到 20 µs，eventfd 15 \
                 到 17；有别人使用该 CPU 时，尾部达毫秒级。裸机上所到空闲状态的退出延迟，从 1 到 2 µs（C1）到 100 µs 以上，见 \
                 /sys/devices/system/cpu/cpu0/cpuidle/*/latency。",
        },
        causes: Text {
            en: "Deep idle states (forbid them with a low-latency tuned profile or /dev/cpu_dma_latency); a hypervisor \
                 without halt polling or with overcommitted CPUs. A p99 far above the median: other tasks use the CPU, \
                 or a CPU quota throttles it.",
            zh: "较深的空闲状态（可用 tuned 的低延迟档或 /dev/cpu_dma_latency 禁止）；没有 halt polling 或 CPU 超配的虚拟机监控程序。p99 远高于中位\
                 数：CPU 被别人使用，或受 CPU 配额限制。",
        },
    },
    related: &["ipc.futex", "sched.context_switch", "sched.ipi", "clock.sleep"],
    axes: &[
        Axis::choice("by", "futex", Points::Listed { quick: &["futex"], standard: &["eventfd"], thorough: &[] }),
        Axis::count("rate", "1000", Points::Listed { quick: &["1000"], standard: &["100", "10000"], thorough: &[] }),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::Listed {
                quick: &["same_cache"],
                standard: &["same_cpu", "smt_sibling", "other_cache", "same_package_other_node", "other_node", "free"],
                thorough: &[],
            },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["by", "rate", "cpus"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (by, placement): (String, String) = (case.param("by")?, case.param("cpus")?);
    let period_ns = 1e9 / case.param::<f64>("rate")?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    // The waker is this process, on the first CPU; a sleeper that is placed has the last.
    let theirs = if placement == "free" { &cpus[..] } else { &cpus[cpus.len().saturating_sub(1)..] };
    let is_here = cpus.len() == 1 || placement == "same_cpu";
    let mut state: Option<(Sleeper, Ticks)> = None;
    case.timed(|clock| {
        let period = clock.ticks(period_ns);
        let (sleeper, due) = match &mut state {
            Some(state) => state,
            none => {
                let sleeper = Sleeper::spawn(&by, theirs, is_here, clock)
                    .map_err(|error| {
                        RoundError::lacking(format_args!("cannot make a sleeper that is woken by {by}"), &error)
                    })?
                    .ok_or_else(|| RoundError::failed(ReasonCode::Internal, format!("nothing wakes by '{by}'")))?;
                none.insert((sleeper, clock.start()))
            }
        };
        due.0 += period.0;
        while clock.start() < *due {
            std::hint::spin_loop();
        }
        Ok(sleeper.wake(*due)?)
    })
    .singly()
    .time()
}
