//! Probe sched.idle_exit: how much longer a wake-up takes on a CPU that has idled, by how long it has.

use hostmark_engine::prelude::*;

use crate::workloads::handover::sleeper::Sleeper;
use crate::workloads::machine::timer;
use crate::workloads::processes::hog::{Hog, Priority};

pub static PROBE: Probe = Probe {
    title: Text { en: "Exit from idle", zh: "退出空闲" },
    revision: 3,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::WHOLE, Quantity::OVERHEAD],
    explain: Explain {
        what: Text {
            en: "A thread sleeps on a CPU that has nothing else to do, for idle_us microseconds, and is woken. \
                 cpus=same_cpu: by its own timer (clock_nanosleep, absolute, no slack); the time counts from the moment \
                 it asked for. Other placements: by a futex call of a process that spins on the first CPU; the time \
                 counts from the call until that process sees the answer. The same is done while a process of the \
                 class SCHED_IDLE keeps the CPU busy, for 1 ms at most, and gives way at once. The value is the \
                 difference of the two; both are shown with it. Samples below zero are left out; where over half are, there \
                 is no value: idling so long costs nothing that stands out from what else ran.",
            zh: "线程在别无他事的 CPU 上睡眠 idle_us 微秒后被唤醒。cpus=same_cpu：由自己的定时器唤醒（clock_nanosleep，绝对时间，无松弛），从所请求的时刻起计时；\
                 其他布局：由在第一个 CPU 上自旋的进程用 futex 唤醒，从调用起计时，到该进程看到应答为止。同样的唤醒再做一次，但此时有一个 SCHED_IDLE 类的进程让该 CPU \
                 保持忙碌（最多 1 ms），它会立即让出。数值是两者之差，两者也一并列出。低于零的样本不计入；若超过半数低于零，则没有数值：这么短的空闲没有可以分辨的代价。",
        },
        why: Text {
            en: "The longer a CPU has idled, the deeper it sleeps, and the longer its next wake-up takes. Request rates \
                 of a thousand a second meet CPUs that have idled for a millisecond.",
            zh: "CPU 空闲越久，睡得越深，下一次唤醒也越慢。每秒一千个请求，遇到的就是空闲了一毫秒的 CPU。",
        },
        reading: Text {
            en: "A step over idle_us is a deeper idle state: /sys/devices/system/cpu/cpu0/cpuidle/*/latency states the \
                 exit latency of each, and residency from when on it pays. In a guest the CPU goes back to the \
                 hypervisor: halt polling hides that for short idleness (haltpoll: 200 µs), then the value is the \
                 host's wake-up.",
            zh: "数值随 idle_us 出现台阶，说明进入了更深的空闲状态：/sys/devices/system/cpu/cpu0/cpuidle/*/latency 给出各状态的退出延迟，residency \
                 给出从多长的空闲起才划算。在虚拟机里，空闲的 CPU 交还给虚拟机监控程序：短时间内 halt polling 会掩盖这一代价（haltpoll：200 µs），之后数值就是宿主机的唤醒。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), by timer: 0.1 to 0.7 µs after 10 µs \
                 of idleness, 5 to 9 after 100 µs, 6 to 11 after 1 ms, 16 to 22 after 10 ms; a busy CPU takes 16 to 32. \
                 By a call from the other CPU: at most 3, 4 to 8, 7 to 13, 15 to 40. Where something else runs on the CPU now \
                 and then, it does not idle, and the value is near 0.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测，由定时器唤醒：空闲 10 µs 后为 0.1 到 0.7 µs，100 µs 后 5 到 9，\
                 1 ms 后 6 到 11，10 ms 后 16 到 22；繁忙的 CPU 需 16 到 32。由另一 CPU 唤醒：依次为至多 3、4 到 8、7 到 13、15 到 40。\
                 若该 CPU 上时常有别的任务运行，它就没有空闲，数值接近 0。",
        },
        causes: Text {
            en: "Deep idle states (forbid them with a low-latency tuned profile or /dev/cpu_dma_latency); a hypervisor \
                 without halt polling, or with overcommitted CPUs.",
            zh: "较深的空闲状态（可用 tuned 的低延迟档或 /dev/cpu_dma_latency 禁止）；没有 halt polling 或 CPU 超配的虚拟机监控程序。",
        },
    },
    related: &["sched.wakeup", "clock.sleep", "cpu.ramp", "sched.ipi"],
    axes: &[
        Axis::count(
            "idle_us",
            "1000",
            Points::Listed { quick: &["1000"], standard: &["10", "100", "10000"], thorough: &["100000"] },
        ),
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::Listed {
                quick: &["same_cpu"],
                standard: &["smt_sibling", "same_cache", "other_cache", "other_node"],
                thorough: &[],
            },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["idle_us", "cpus"] }],
    blocking: true,
    from: Profile::Standard,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// How long a CPU is kept busy before its wake-up is the busy one's, at most.
const BUSY_NS: u64 = 1_000_000;
/// In so long the process that keeps it busy has gone to sleep.
const REST_NS: u64 = 200_000;

fn measure(case: &mut Case) -> Result<()> {
    let idle_ns = case.param::<u64>("idle_us")? * 1000;
    let [here] = case.cpus::<1>()?;
    let there = case.thread_cpus().last().copied().unwrap_or(here);
    let none = |error| RoundError::lacking("cannot measure beside a process that yields to all others", &error);
    let hog = Hog::spawn(there, Priority::Idle, 100).map_err(none)?;
    let mut by_call = match case.param::<String>("cpus")?.as_str() {
        "same_cpu" => None,
        _ => Sleeper::spawn("futex", &[there.0], false, &Clock::MonotonicRaw).map_err(none)?,
    };
    let _precise = timer::WithoutSlack::begin()?;
    let (mut whole, mut overhead) = (Vec::new(), Vec::new());
    let mut wake = |wait_ns: u64| -> Result<f64> {
        match &mut by_call {
            None => Ok(timer::Beat::every(wait_ns).overslept()? as f64),
            Some(sleeper) => {
                let begin = Clock::MonotonicRaw.start();
                while Clock::MonotonicRaw.start().since(begin) < Ticks(wait_ns) {
                    std::hint::spin_loop();
                }
                Ok(sleeper.wake(Clock::MonotonicRaw.start())?.0 as f64)
            }
        }
    };
    case.search(|_| {
        hog.set(true)?;
        let busy_ns = wake(idle_ns.min(BUSY_NS))?;
        hog.set(false)?;
        // The process that kept the CPU busy goes to sleep; idleness begins with the wake-up after that.
        wake(REST_NS)?;
        let idle_ns = wake(idle_ns)?;
        whole.push(idle_ns);
        overhead.push(busy_ns);
        Ok(Some(idle_ns - busy_ns))
    })?;
    hog.has_run().map_err(none)?;
    case.also(Quantity::WHOLE.name, whole)?;
    case.also(Quantity::OVERHEAD.name, overhead)
}
