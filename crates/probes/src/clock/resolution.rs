//! Probe clock.resolution: the smallest time that two readings of a clock tell apart.

use hostmark_engine::prelude::*;

use crate::workloads::machine::clocks::ClockSource;

pub static PROBE: Probe = Probe {
    title: Text { en: "Clock resolution", zh: "时钟分辨率" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Neither,
    explain: Explain {
        what: Text {
            en: "A clock is read 500 times in a row. If any two readings are equal, the value is the smallest step \
                 between two different ones. If none are equal, the clock counts faster than it can be read, and the \
                 value is the smallest difference between two steps.",
            zh: "连续读取时钟 500 次。若出现相等的读数，取相邻不同读数间的最小步长；若从不相等，说明时钟计数快于读取速度，\
                 取各步长之间的最小差值。",
        },
        why: Text {
            en: "No difference of two readings is more precise than this. For a precision of 0.1 %, a measurement must \
                 last a thousand times as long as the step plus the cost of a reading. hostmark checks both in every \
                 worker and chooses its sample length accordingly.",
            zh: "任何两次读数之差都不会比它更精确。要精确到 0.1%，被测时间须是步长与读取开销之和的一千倍；hostmark 在每个\
                 工作进程里检查这两者，并据此保证样本足够长。",
        },
        reading: Text {
            en: "For tsc it is one count of the counter; for the kernel's clocks it is their smallest unit. A step far \
                 below the cost of a reading does not matter: clock.read is then the limit.",
            zh: "对 tsc 是计数器的一拍，对内核时钟是其时间的最小单位。步长远小于读一次的代价时并不要紧：此时限制在于 clock.read。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): tsc 0.8 ns, two ticks of its \
                 2.5 GHz, monotonic 1 ns. By design: a tick is 0.3 to 1 ns on x86; the architected timer of Arm runs \
                 at 25 to 122 MHz on older servers (40 to 8 ns) and at 1 GHz from Armv8.6 on.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：tsc 0.8 ns，即 2.5 GHz 的两拍，monotonic 1 \
                 ns。按设计：x86 每拍 0.3 到 1 ns；Arm 的体系结构定时器在较早的服务器上为 25 到 122 MHz（40 到 8 ns），Armv8.6 起为 1 GHz。",
        },
        causes: Text {
            en: "1, 4 or 10 ms is the timer tick: the clock source is jiffies, or a hypervisor gives no better one. \
                 Some 280 ns is acpi_pm (3.58 MHz), 70 ns hpet (14.3 MHz): the kernel has given up the counter; its \
                 log says why.",
            zh: "1、4 或 10 ms 是定时器节拍：时钟源为 jiffies，或虚拟机监控程序没有给出更好的。约 280 ns 是 acpi_pm（3.58 MHz），70 ns 是 hpet\
                 （14.3 MHz）：内核已放弃计数器，原因见其日志。",
        },
    },
    related: &["clock.read", "clock.loop"],
    differs: Some(Text {
        en: "enough finds how long a measurement must last for gettimeofday to be precise to a per cent; all lmbench \
             measurements use that length. hostmark reports the clock's step and chooses the sample length of each \
             case separately.",
        zh: "enough 求出一次测量须多长才能使 gettimeofday 精确到百分之一，lmbench 的所有测量都取这一长度。hostmark 给出时钟的步长，并为每个用例单独确定样本的\
             长度。",
    }),
    axes: &[super::sources(&["tsc", "monotonic"], &["monotonic_raw", "syscall"])],
    replaces: &["enough"],
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let source = super::source(case)?;
    let ns_a_step = match source {
        ClockSource::Counter => case.counter_ns_per_tick()?,
        _ => 1.0,
    };
    case.values(|| match source.step() {
        Some(step) => Ok(step as f64 * ns_a_step),
        None => Err(RoundError::failed(ReasonCode::CheckFailed, "the clock stood still over 500 readings")),
    })
}
