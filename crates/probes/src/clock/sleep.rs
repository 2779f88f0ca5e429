//! Probe clock.sleep: how much later than asked a sleeping thread runs again, by way of sleeping and by delay.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::timer::{Sleeper, slack_ns};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Oversleep", zh: "睡眠超时" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
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
            en: "nanosleep, poll and epoll carry the timer slack of the thread, noted beside them; timerfd has none, \
                 and shows what the timer interrupt, the way out of an idle state and the scheduler take. poll and \
                 epoll grow with the delay from 50 ms on, as their slack is 0.1 % of it.",
            zh: "nanosleep、poll 与 epoll 带有线程的定时器松弛量（一并注明）；timerfd 没有松弛，显示的是定时器中断、退出空闲状态和调度所需的时间。延迟从 50 \
                 ms 起，poll 与 epoll 的松弛量为延迟的 0.1 %，随之增长。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): nanosleep 56 to 60 µs, of \
                 which 50 µs are Linux' default slack (prctl(2), PR_SET_TIMERSLACK); timerfd 4 to 8 µs. Real-time \
                 threads have no slack. Deep idle states add their exit latency, told by \
                 /sys/devices/system/cpu/cpu0/cpuidle.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：nanosleep 56 到 60 µs，其中 50 µs 是 Linux 默\
                 认的松弛量（prctl(2)，PR_SET_TIMERSLACK）；timerfd 4 到 8 µs。实时线程没有松弛。较深的空闲状态再加其退出延迟，见 \
                 /sys/devices/system/cpu/cpu0/cpuidle。",
        },
        causes: Text {
            en: "A raised slack (batch services, Android); deep idle states; a hypervisor that has to schedule the \
                 virtual CPU again. A p99 of milliseconds means that others had the CPU. Values near 1, 4 or 10 ms at \
                 every delay mean a kernel without high-resolution timers.",
            zh: "松弛量被调大（批处理服务、Android）；较深的空闲状态；虚拟机监控程序要重新调度虚拟 CPU。p99 达到毫秒级说明 CPU 被别人占用。各种延迟下都接近 1、4 或 \
                 10 ms，说明内核没有高精度定时器。",
        },
    },
    related: &["sched.wakeup", "sched.noise", "clock.read"],
    differs: Some(Text {
        en: "lat_usleep prints the whole time from call to return, by usleep, nanosleep, select, pselect or an \
             interval timer, as one median. Here the time asked for is taken away, so that delays compare, and the \
             percentiles show the tail.",
        zh: "lat_usleep 以 usleep、nanosleep、select、pselect 或间隔定时器打印从调用到返回的全部时间，只给一个中位数。这里减去所要求的时间，使不同延迟可比，\
             并用分位数显示尾部。",
    }),
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
    let sleeper = Sleeper::of_name(&way).map_err(|error| Stop::skipped(format!("{way} is not available: {error}")))?;
    let sleeper = sleeper.ok_or_else(|| Stop::failed(format!("there is no way to sleep called '{way}'")))?;
    if let Ok(slack) = slack_ns() {
        case.note("timer_slack_ns", slack);
    }
    case.latencies(|clock| {
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
