//! Probe clock.sleep: how much later than asked a sleeping thread runs again, by way of sleeping and by delay.

use std::time::Duration;

use hostmark_engine::prelude::sys::timer::{Sleeper, slack_ns};
use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Oversleep", zh: "睡眠超时" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999],
    explain: Explain {
        what: Text {
            en: "A thread asks to sleep for delay_us microseconds, on a CPU that is otherwise idle, and the value is by how much \
                 longer than that it was away: the time from before the call to after it, less what was asked. Ways: nanosleep; \
                 poll and epoll, the time-outs of ppoll and epoll_pwait2 with nothing to watch; timerfd, a one-shot timer that is set and \
                 read. Percentiles are over all sleeps of all rounds. The thread's timer slack is noted.",
            zh: "线程在空闲的 CPU 上请求睡眠 delay_us 微秒，数值是它多离开了多久：从调用之前到返回之后的时间，减去所请求的时间。方式：nanosleep；\
                 poll 与 epoll，即不监视任何对象的 ppoll 与 epoll_pwait2 的超时；timerfd，设置并读取一个单次定时器。\
                 分位数取自所有轮的全部睡眠。线程的定时器松弛量（timer slack）会记录下来。",
        },
        why: Text {
            en: "Pacing, retries, heartbeats, rate limits and media frames sleep for short times and rely on waking in time. What comes \
                 on top is the slack that the kernel grants itself, the timer interrupt, the way out of an idle state, and the \
                 scheduler; in a guest also the exit to the hypervisor and back.",
            zh: "节拍发送、重试、心跳、限速和媒体帧都靠短时间睡眠并及时醒来。多出的时间来自内核给自己的松弛量、定时器中断、\
                 退出空闲状态以及调度；在虚拟机里还要加上退出到虚拟机监控程序再返回的代价。",
        },
        reading: Text {
            en: "For nanosleep, poll and epoll about 50 µs, which is the usual timer slack (prctl PR_SET_TIMERSLACK sets it; real-time \
                 threads have none), and a few µs more. timerfd has no slack: 3 to 10 µs on an idle server, 20 to 100 µs where deep idle \
                 states are left first or a hypervisor wakes the CPU. poll and epoll grow with the delay from 50 ms on, as their slack is \
                 0.1 % of it. A p99 of milliseconds means that others had the CPU; values near 1, 4 or 10 ms at every delay mean a kernel \
                 without high-resolution timers.",
            zh: "nanosleep、poll 与 epoll 约为 50 µs，即通常的定时器松弛量（可用 prctl PR_SET_TIMERSLACK 设置；实时线程没有松弛），另加几 µs。\
                 timerfd 没有松弛：空闲的服务器上为 3 到 10 µs；需先退出较深的空闲状态，或由虚拟机监控程序唤醒 CPU 时为 20 到 100 µs。\
                 延迟从 50 ms 起，poll 与 epoll 的松弛量为延迟的 0.1 %，随之增长。p99 达到毫秒级说明 CPU 被别人占用；\
                 各种延迟下都接近 1、4 或 10 ms，说明内核没有高精度定时器。",
        },
    },
    axes: &[
        Axis::choice(
            "way",
            "nanosleep",
            Points::Listed { quick: &["nanosleep", "timerfd"], standard: &["poll", "epoll"], thorough: &[] },
        ),
        Axis::count(
            "delay_us",
            "100",
            Points::Listed { quick: &["100"], standard: &["10", "1000", "10000"], thorough: &[] },
        ),
    ],
    cross: &[Cross { from: Profile::Thorough, axes: &["way", "delay_us"] }],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_usleep"],
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let way: String = case.param("way")?;
    let delay = Duration::from_micros(case.param("delay_us")?);
    let sleeper = Sleeper::of_name(&way).map_err(|error| Stop::skipped(format!("{way} cannot be had: {error}")))?;
    let sleeper = sleeper.ok_or_else(|| Stop::failed(format!("there is no way to sleep called '{way}'")))?;
    if let Ok(slack) = slack_ns() {
        case.note("timer_slack_ns", slack);
    }
    case.tails(|clock| {
        let asked = clock.ticks(delay.as_nanos() as f64);
        let start = clock.start();
        sleeper.sleep(delay)?;
        let away = clock.end().since(start);
        match away < asked {
            true => Err(Stop::failed("a sleep ended before its time: the kernel's clock and the run's differ")),
            false => Ok(away.since(asked)),
        }
    })
}
