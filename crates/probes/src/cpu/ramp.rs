//! Probe cpu.ramp: how long a core takes to reach its steady speed after it has idled.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::kernels::arith;

pub static PROBE: Probe = Probe {
    title: Text { en: "Frequency ramp after idleness", zh: "空闲后的升频时间" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[START],
    explain: Explain {
        what: Text {
            en: "A thread sleeps for idle_ms milliseconds and then runs dependent additions for 100 ms, in slices of \
                 60,000 (about 20 µs), each timed. Their speed is the core's frequency. The steady speed is the median \
                 of the last quarter. The value is the time from waking up until the end of the first slice that \
                 reaches 95 % of it. start is the speed of the first five slices as a share of the steady one (their \
                 median).",
            zh: "线程睡眠 idle_ms 毫秒，然后做 100 ms 相互依赖的加法，每段 60,000 次（约 20 µs），逐段计时；其速度就是核心频率。稳态速度是最后四分之一各段的中位数。\
                 数值是从醒来到第一个达到稳态 95% 的段结束为止的时间。start 是前五段速度（中位数）与稳态之比。",
        },
        why: Text {
            en: "A request that comes after a pause runs at the clock that the core has then. Where governor or firmware \
                 raise it late, short requests on a quiet machine are slower than on a busy one.",
            zh: "停顿之后到来的请求，以核心当时的频率运行。若调频策略或固件升频较慢，空闲机器上的短请求反而比繁忙时更慢。",
        },
        reading: Text {
            en: "Less than 0.1 ms with start near 1 means that there is no ramp: the first slices are slow by the wake-up \
                 itself, whose interrupts and cold caches cost some 10 µs. With a ramp start is what a short request \
                 gets, and the value is how long it lasts.",
            zh: "数值不到 0.1 ms 且 start 接近 1，说明没有升频过程：前几段较慢是唤醒本身造成的，中断和冷缓存要花约 10 µs。若有升频过程，start 是短请求得到的速度，\
                 数值是这种状态持续的时间。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): 56 to 78 µs with start 0.99 to 1.00 \
                 after 10 and 100 ms of idleness: no ramp; the first slice is longer by the interrupt that ended it.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测：空闲 10 与 100 ms 后为 56 到 78 µs，start 为 0.99 到 1.00：\
                 没有升频过程；第一段因结束空闲的中断而较长。",
        },
        causes: Text {
            en: "The governors powersave, ondemand, conservative and schedutil, which raise the clock after a sampling \
                 interval (1 to 20 ms); an energy preference for saving; deep idle states that reduce the voltage. \
                 The governor performance avoids most of it.",
            zh: "powersave、ondemand、conservative、schedutil 等调频策略在一个采样间隔（1 到 20 ms）后才升频；偏向节能的能耗偏好；会降低电压的较深空闲状态。\
                 performance 策略可避免大部分。",
        },
    },
    related: &["cpu.frequency", "sched.idle_exit", "sched.wakeup"],
    axes: &[Axis::count(
        "idle_ms",
        "100",
        Points::Listed { quick: &["100"], standard: &["10", "1000"], thorough: &[] },
    )],
    from: Profile::Standard,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// The speed at first, beside the steady one.
const START: Quantity = Quantity::given(
    "start",
    Unit::Ratio,
    Better::Higher,
    Text { en: "speed at first, of the steady one", zh: "初始速度与稳态之比" },
);

/// Additions of a slice: 20 µs at 3 GHz, against which reading the clock is nothing.
const ADDITIONS: u64 = 60_000;
/// How long the core is looked at after it woke up: governors look at it every some milliseconds.
const WINDOW_NS: f64 = 100e6;
/// Of the steady speed, what is as good as it.
const STEADY: f64 = 0.95;
/// Slices by which the speed at first is told.
const FIRST: usize = 5;

fn measure(case: &mut Case) -> Result<()> {
    let idle = Duration::from_millis(case.param("idle_ms")?);
    let (mut ends, mut lengths) = (Vec::new(), Vec::new());
    let mut starts = Vec::new();
    case.search(|clock| {
        ends.clear();
        lengths.clear();
        std::thread::sleep(idle);
        let (begin, window) = (clock.start(), clock.ticks(WINDOW_NS));
        let mut last = begin;
        while last.since(begin) < window {
            std::hint::black_box(arith::add_chain(ADDITIONS, 1, std::hint::black_box(1)));
            let now = clock.end();
            lengths.push(clock.ns(now.since(last)));
            ends.push(clock.ns(now.since(begin)));
            last = now;
        }
        let Some((reached, start)) = ramp(&lengths) else { return Ok(None) };
        starts.push(start);
        Ok(Some(ends[reached]))
    })?;
    case.also(START.name, starts)
}

/// Of slices of the same work, by how long each took: the first that is as fast as the last ones are, and how fast those at first are
/// beside these. None of too few.
fn ramp(lengths: &[f64]) -> Option<(usize, f64)> {
    let steady = median(&lengths[lengths.len() - lengths.len() / 4..])?;
    let start = median(lengths.get(..FIRST)?)?;
    Some((lengths.iter().position(|&length| length * STEADY <= steady)?, steady / start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_planted_ramp_is_found_and_an_interruption_is_none() {
        // Half the speed for thirty slices, then some in between, then all of it.
        let mut lengths = vec![40.0; 30];
        lengths.extend([30.0, 25.0, 22.0, 21.0]);
        lengths.extend([20.0; 400]);
        assert_eq!(ramp(&lengths), Some((33, 0.5)));
        let mut steady = vec![20.0; 400];
        (steady[0], steady[300], steady[399]) = (90.0, 900.0, 5000.0);
        assert_eq!(ramp(&steady), Some((1, 1.0)));
        // One that falls, as from a turbo that does not last, has none.
        let falling: Vec<f64> = (0..400).map(|number| if number < 100 { 18.0 } else { 20.0 }).collect();
        assert_eq!(ramp(&falling), Some((0, 20.0 / 18.0)));
        assert_eq!(ramp(&[20.0; 3]), None);
    }
}
