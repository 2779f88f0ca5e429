//! Probe clock.sleep: how much later than asked a sleeping thread runs again, by way of sleeping and by delay.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::machine::timer::{Sleeper, slack_ns};

pub static PROBE: Probe = Probe {
    title: Text { en: "Oversleep", zh: "定时唤醒延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "A thread asks to sleep for delay_us microseconds on an otherwise idle CPU. The value is how late it \
                 wakes: the time from before the call until after it, less the time it asked for. way=nanosleep calls \
                 nanosleep; poll and epoll use the timeouts of ppoll and epoll_pwait2 with nothing to watch; timerfd \
                 sets and reads a one-shot timer. Percentiles cover all sleeps of all rounds. A note records the \
                 thread's timer slack.",
            zh: "线程在空闲的 CPU 上请求睡眠 delay_us 微秒，数值是它晚醒了多久：从调用之前到返回之后的时间，减去所请\
                 求的时间。way=nanosleep 调用 nanosleep；poll 与 epoll 分别调用 ppoll 与 epoll_pwait2，不监视任何描\
                 述符，只靠超时返回；timerfd 设置并读取一个单次定时器。分位数取自所有轮的全部睡眠。备注记录线程的定\
                 时器松弛量（timer slack）。",
        },
        why: Text {
            en: "Pacing, retries, heartbeats, rate limits and media frames sleep for short times and rely on waking in \
                 time. The delay comes from the timer slack, the timer interrupt, the exit from an idle state and the \
                 scheduler; in a guest also from the exit to the hypervisor.",
            zh: "按节奏发包（pacing）、重试、心跳、限速和媒体帧都靠短时间睡眠并及时醒来。多出的时间来自内核给自己的松弛量、定时器中断、\
                 退出空闲状态以及调度；在虚拟机里还要加上退出到虚拟机监控程序再返回的代价。",
        },
        reading: Text {
            en: "nanosleep, poll and epoll include the thread's timer slack, which a note shows. timerfd has no \
                 slack and shows the timer interrupt, the exit from an idle state and the scheduler. If delay_us \
                 asks for 50 ms or more, the slack of poll and epoll is 0.1 % of that time.",
            zh: "nanosleep、poll 与 epoll 带有线程的定时器松弛量（见备注）；timerfd 没有松弛，显示的是定时器中断、退\
                 出空闲状态和调度所需的时间。请求的时间（delay_us）达到 50 ms 后，poll 与 epoll 的松弛量为该时间的 \
                 0.1%。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): nanosleep 56 to 60 µs, of \
                 which 50 µs are Linux's default slack (prctl(2), PR_SET_TIMERSLACK); timerfd 4 to 8 µs. Real-time \
                 threads have no slack. Deep idle states add their exit latency (see \
                 /sys/devices/system/cpu/cpu0/cpuidle).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：nanosleep 56 到 60 µs，其中 \
                 50 µs 是 Linux 默认的松弛量（prctl(2)，PR_SET_TIMERSLACK）；timerfd 4 到 8 µs。实时线程没有松弛。若 \
                 CPU 进入较深的空闲状态，还要加上其退出延迟，见 /sys/devices/system/cpu/cpu0/cpuidle。",
        },
        causes: Text {
            en: "A raised timer slack (batch services, Android); deep idle states; a hypervisor that must schedule the \
                 virtual CPU again. A p99 of milliseconds: other tasks had the CPU. Values near 1, 4 or 10 ms at every \
                 delay: a kernel without high-resolution timers.",
            zh: "松弛量被调大（批处理服务、Android）；较深的空闲状态；虚拟机监控程序要重新调度虚拟 CPU。p99 达到毫秒\
                 级说明 CPU 被别人占用。不论请求多长时间，数值都接近 1、4 或 10 ms，说明内核没有高精度定时器。",
        },
    },
    related: &["sched.wakeup", "sched.noise", "clock.read"],
    differs: Some(Text {
        en: "lat_usleep prints the whole time from call to return, by usleep, nanosleep, select, pselect or an \
             interval timer, as one median. hostmark subtracts the requested time, which makes delays comparable, and \
             adds percentiles for the tail.",
        zh: "lat_usleep 以 usleep、nanosleep、select、pselect 或间隔定时器打印从调用到返回的全部时间，只给一个中位数。\
             这里减去所要求的时间，使不同延迟可比，并用分位数显示尾部。",
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
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["way", "delay_us"] }],
    blocking: true,
    replaces: &["lat_usleep"],
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let way: String = case.param("way")?;
    let delay = Duration::from_micros(case.param("delay_us")?);
    let sleeper =
        Sleeper::of_name(&way).map_err(|error| RoundError::lacking(format_args!("{way} is not available"), &error))?;
    let sleeper = sleeper
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, format!("there is no way to sleep called '{way}'")))?;
    if let Ok(slack) = slack_ns() {
        case.note("timer_slack_ns", slack);
    }
    case.timed(|clock| {
        let asked = clock.ticks(delay.as_nanos() as f64);
        let start = clock.start();
        sleeper.sleep(delay)?;
        let away = clock.end().since(start);
        match away < asked {
            true => Err(RoundError::failed(
                ReasonCode::CheckFailed,
                "a sleep ended before its time: the kernel's clock and the run's differ",
            )),
            false => Ok(away.since(asked)),
        }
    })
    .singly()
    .time()
}
