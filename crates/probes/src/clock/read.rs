//! Probe clock.read: what one reading of a clock costs.

use hostmark_engine::prelude::sys::clocks::Source;
use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Clock read", zh: "读取时钟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "One clock is read over and over; nothing else happens between two readings. Sources: tsc is the CPU's \
                 counter by its own instruction, with the fences that keep it in program order (lfence; rdtsc; lfence, \
                 on aarch64 isb; mrs cntvct_el0; isb); monotonic and monotonic_raw go through the vDSO, as \
                 clock_gettime does in every program; syscall enters the kernel by the instruction itself.",
            zh: "反复读取同一个时钟，两次读取之间不做任何别的事。来源：tsc 用指令直接读 CPU 计数器，并带有保证程序顺序的\
                 屏障（lfence; rdtsc; lfence,aarch64 上是 isb; mrs cntvct_el0; isb）；monotonic 与 monotonic_raw \
                 经由 vDSO，与所有程序里的 clock_gettime 相同；syscall 用系统调用指令进入内核。",
        },
        why: Text {
            en: "Databases, tracers, schedulers and network stacks read the time millions of times a second. It is cheap \
                 only while the vDSO can answer from the CPU's counter; a clock source like hpet, acpi_pm or xen turns \
                 each reading into a system call, and a slow one.",
            zh: "数据库、追踪器、调度器和网络栈每秒读取数百万次时间。只有 vDSO 能直接用 CPU 计数器回答时才便宜；\
                 时钟源若是 hpet、acpi_pm 或 xen，每次读取都变成一次系统调用，而且很慢。",
        },
        reading: Text {
            en: "10 to 20 ns for tsc and 20 to 50 ns for monotonic are usual on bare metal and in most guests. If \
                 monotonic costs as much as syscall, the vDSO does not answer: look at \
                 /sys/devices/system/clocksource/clocksource0/current_clocksource. If even tsc costs over 500 ns, \
                 the hypervisor intercepts the instruction.",
            zh: "裸机和多数虚拟机上，tsc 通常 10 到 20 ns，monotonic 20 到 50 ns。如果 monotonic 与 syscall 一样贵，\
                 说明 vDSO 没有起作用：查看 /sys/devices/system/clocksource/clocksource0/current_clocksource。\
                 如果连 tsc 都超过 500 ns，说明虚拟机监控程序截获了该指令。",
        },
    },
    axes: &[super::sources(&["tsc", "monotonic", "syscall"], &["monotonic_raw"])],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["timing_o"],
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let source = super::source(case)?;
    // Told apart outside of the loop, so that only the reading is inside.
    match source {
        Source::Counter => case.time_n(|n| read_n(n, || Source::Counter.read())),
        Source::Monotonic => case.time_n(|n| read_n(n, || Source::Monotonic.read())),
        Source::MonotonicRaw => case.time_n(|n| read_n(n, || Source::MonotonicRaw.read())),
        Source::Syscall => case.time_n(|n| read_n(n, || Source::Syscall.read())),
    }
}

#[inline(always)]
fn read_n(n: u64, read: impl Fn() -> u64) {
    for _ in 0..n {
        std::hint::black_box(read());
    }
}
