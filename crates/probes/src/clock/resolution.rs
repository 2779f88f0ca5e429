//! Probe clock.resolution: the smallest time that two readings of a clock tell apart.

use hostmark_engine::prelude::sys::clocks::Source;
use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Clock resolution", zh: "时钟分辨率" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "A clock is read 500 times in a row. If two readings are ever equal, the value is the smallest step between \
                 two that differ; if none are, the clock counts faster than it can be read, and the value is the smallest \
                 difference between two steps.",
            zh: "连续读取时钟 500 次。若出现相等的读数，取相邻不同读数间的最小步长；若从不相等，说明时钟计数快于读取速度，\
                 取各步长之间的最小差值。",
        },
        why: Text {
            en: "No difference of two readings is more exact than this. A measurement must last a thousand times as long as \
                 the step and the cost of a reading together to be exact to 0.1 %; hostmark checks both in every worker \
                 and makes its samples long enough.",
            zh: "任何两次读数之差都不会比它更精确。要精确到 0.1 %，被测时间须是步长与读取开销之和的一千倍；hostmark 在每个\
                 工作进程里检查这两者，并据此保证样本足够长。",
        },
        reading: Text {
            en: "One tick of the counter for tsc (0.3 to 1 ns on x86; 1, 10 or 40 ns on arm servers), 1 ns for the kernel's \
                 clocks on x86. 1 ms, 4 ms or 10 ms means a clock that moves with the timer tick, which no short thing \
                 can be timed with.",
            zh: "tsc 应为计数器的一拍（x86 上 0.3 到 1 ns；arm 服务器上 1、10 或 40 ns），x86 上内核时钟应为 1 ns。\
                 若为 1 ms、4 ms 或 10 ms，说明时钟只随定时器节拍前进，无法用来测量短时间。",
        },
    },
    axes: &[super::sources(&["tsc", "monotonic"], &["monotonic_raw", "syscall"])],
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
    let ns_a_step = match source {
        Source::Counter => case.counter_ns_per_tick()?,
        _ => 1.0,
    };
    case.count(|| match source.step() {
        Some(step) => Ok(step as f64 * ns_a_step),
        None => Err(Stop::failed("the clock stood still over 500 readings")),
    })
}
