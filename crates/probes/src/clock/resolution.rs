//! Probe clock.resolution: the smallest time that two readings of a clock tell apart.

use hostmark_engine::prelude::*;
use hostmark_engine::prelude::sys::clocks::Source;

/// Readings in one sample: the smallest of some hundred steps is free of interruptions.
const READINGS: usize = 500;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Clock resolution", zh: "时钟分辨率" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "A clock is read 500 times in a row. The value is the smallest step between two successive readings that \
                 differ: the step of the clock, or what a reading costs, whichever is larger.",
            zh: "连续读取时钟 500 次,取相邻两次不同读数之间的最小差值:即时钟自身的步长与一次读取的开销两者中较大的一个。",
        },
        why: Text {
            en: "Nothing shorter can be timed by two readings. A measurement needs to last a thousand times as long to be \
                 exact to 0.1 %; hostmark checks this in every worker and makes its samples long enough.",
            zh: "比它更短的时间无法用两次读数测出。要精确到 0.1 %,被测时间须是它的一千倍;hostmark 在每个工作进程里\
                 都检查这一点,并据此保证样本足够长。",
        },
        reading: Text {
            en: "About as much as clock.read of the same source is as it should be. 1 ms, 4 ms or 10 ms means a clock that \
                 moves with the timer tick; 41.7 ns or 40 ns is the 24 or 25 MHz counter of many arm servers.",
            zh: "与同一来源的 clock.read 相近即为正常。若为 1 ms、4 ms 或 10 ms,说明时钟只随定时器节拍前进;\
                 41.7 ns 或 40 ns 则是许多 arm 服务器上 24 或 25 MHz 的计数器。",
        },
    },
    axes: &[Axis::choice(
        "source",
        "monotonic",
        Points::Listed { quick: &["tsc", "monotonic", "monotonic_raw", "syscall"], standard: &[], thorough: &[] },
    )],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["enough"],
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let source = super::source(case)?;
    case.observe(|clock| {
        let mut smallest = u64::MAX;
        let mut last = source.read();
        for _ in 0..READINGS {
            let now = source.read();
            if now != last {
                smallest = smallest.min(now.saturating_sub(last));
                last = now;
            }
        }
        match (source, smallest) {
            (_, u64::MAX) => Err(Stop::failed(format!("the clock stood still over {READINGS} readings"))),
            // The engine's own clock may be another one: ticks of the counter are its ticks only when it is the counter.
            (Source::Counter, ticks) => match clock {
                Clock::Counter { .. } => Ok(Ticks(ticks)),
                _ => Err(Stop::skipped("the counter's rate is not known here, so that its ticks are no time")),
            },
            (_, ns) => Ok(clock.ticks(ns as f64)),
        }
    })
}
