//! Probe sched.timer_latency: how late a periodic thread is woken by its timer while others want the same CPU.

use hostmark_engine::prelude::*;

use crate::workloads::machine::timer;
use crate::workloads::processes::fork;
use crate::workloads::processes::hog::{self, Hog, Priority};

pub static PROBE: Probe = Probe {
    title: Text { en: "Timer latency beside a busy process", zh: "繁忙进程旁的定时器延迟" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "A thread of ordinary priority without timer slack sleeps until a fixed time (clock_nanosleep, absolute), \
                 every delay_us microseconds. The value is how much later than that it runs; times that have passed \
                 meanwhile are left out. Beside it, a process of the same priority runs on each of the case's CPUs and \
                 is busy for hog percent of the time. cpus=1: only on the thread's CPU. This is the quantity that \
                 cyclictest prints; with --policy=other it adds the usual slack of 50 µs. Percentiles cover all periods \
                 of all rounds.",
            zh: "一个普通优先级、无定时器松弛的线程每隔 delay_us 微秒睡眠到一个固定时刻（clock_nanosleep，绝对时间）；数值是它比该时刻晚多久运行，\
                 其间已错过的时刻不计。同时，该用例的每个 CPU 上各有一个相同优先级的进程，按 hog 的百分比忙碌。cpus=1：只在该线程的 CPU 上。\
                 这就是 cyclictest 打印的量；cyclictest 用 --policy=other 时还包含通常的 50 µs 松弛。分位数取自所有轮的全部周期。",
        },
        why: Text {
            en: "Media, control loops, heartbeats and polling wake up by timer beside whatever else the machine does. \
                 clock.sleep shows the best case, an idle CPU; this one shows what a busy CPU adds.",
            zh: "音视频、控制回路、心跳和轮询都靠定时器唤醒，而机器同时还在做别的事。clock.sleep 是空闲 CPU 上的最好情况，这里是繁忙 CPU 的情况。",
        },
        reading: Text {
            en: "With hog=100 the CPU does not idle, so a median below that of hog=none is the exit from idle. A thread \
                 that sleeps most of the time is owed CPU time, so the scheduler lets it interrupt the busy process. \
                 Where it does not, the thread waits for the end of a slice: p99 is then 1 to 4 ms.",
            zh: "hog=100 时 CPU 不会空闲：若中位数低于 hog=none，差值就是退出空闲的代价。大部分时间在睡眠的线程理应得到 CPU，调度器会让它打断繁忙的进程；\
                 若不打断，线程要等到时间片结束，p99 即为 1 到 4 ms。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): hog=100 on one CPU 15 to 19 µs, p90 22 \
                 to 29; on both 15 to 18 µs, p90 21 to 31; hog=none 26 to 29 µs, p90 30 to 57.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测：一个 CPU 上 hog=100 为 15 到 19 µs，p90 22 到 29；两个 CPU 上 15 到 18 µs，p90 21 到 31；\
                 hog=none 为 26 到 29 µs，p90 30 到 57。",
        },
        causes: Text {
            en: "A scheduler that does not interrupt (SCHED_BATCH, a long base_slice_ns, a kernel with \
                 PREEMPT_NONE and long system calls beside it); other tasks; steal; deep idle states at hog=none. \
                 Real-time priority (chrt -f) shows what remains without competition.",
            zh: "不打断的调度器（SCHED_BATCH、较大的 base_slice_ns，或 PREEMPT_NONE 内核旁边有很长的系统调用）；其他任务；steal；hog=none \
                 时较深的空闲状态。用实时优先级（chrt -f）可看到没有竞争时还剩多少。",
        },
    },
    related: &["clock.sleep", "sched.loaded_wakeup", "sched.noise"],
    axes: &[
        Axis::choice("hog", "100", Points::Listed { quick: &["100"], standard: &["none"], thorough: &["30"] }),
        Axis::count(
            "delay_us",
            "1000",
            Points::Listed { quick: &["1000"], standard: &[], thorough: &["200", "10000"] },
        ),
        Axis::threads("cpus", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
    ],
    blocking: true,
    from: Profile::Standard,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (hog, period_us) = (hog::percent(&case.param::<String>("hog")?), case.param::<u64>("delay_us")?);
    let cpus = if hog > 0 { case.thread_cpus() } else { Vec::new() };
    case.may_fill(cpus.len() as u64 * fork::LEAST_BYTES)?;
    let _hogs = Hog::on_each(&cpus, Priority::Nice(0), hog)
        .map_err(|error| RoundError::lacking("cannot start so many processes", &error))?;
    let _precise = timer::WithoutSlack::begin()?;
    let mut beat = timer::Beat::every(period_us * 1000);
    case.timed(|clock| Ok(clock.ticks(beat.overslept()? as f64))).singly().time()
}
