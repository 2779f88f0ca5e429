//! Probe clock.read: what one reading of a clock costs.

use hostmark_engine::prelude::*;

use crate::workloads::machine::clocks::ClockSource;

pub static PROBE: Probe = Probe {
    title: Text { en: "Clock read", zh: "读取时钟" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "One clock is read over and over, with nothing else between two readings. source=tsc reads the CPU's \
                 counter by its own instruction, with the fences that keep it in program order (lfence; rdtsc; lfence, \
                 on aarch64 isb; mrs cntvct_el0; isb). monotonic and monotonic_raw go through the vDSO, as every \
                 program's clock_gettime does. syscall enters the kernel, by a function that returns.",
            zh: "反复读取同一个时钟，两次读取之间不做任何别的事。来源：tsc 用指令直接读 CPU 计数器，并带有保证程序顺序\
                 的屏障（lfence; rdtsc; lfence，aarch64 上是 isb; mrs cntvct_el0; isb）；monotonic 与 monotonic_raw 经\
                 由 vDSO，与所有程序里的 clock_gettime 相同；syscall 通过一个会返回的函数进入内核。",
        },
        why: Text {
            en: "Databases, tracers, schedulers and network stacks read the time millions of times per second. This is \
                 cheap only while the vDSO can read the CPU's counter. Clock sources like hpet, acpi_pm or xen turn \
                 each reading into a slow system call.",
            zh: "数据库、追踪器、调度器和网络栈每秒读取数百万次时间。只有 vDSO 能直接用 CPU 计数器回答时才便宜；\
                 时钟源若是 hpet、acpi_pm 或 xen，每次读取都变成一次系统调用，而且很慢。",
        },
        reading: Text {
            en: "If the vDSO answers, monotonic is close to tsc: it adds a multiplication, a shift and two reads of a \
                 sequence counter. If the vDSO must ask the kernel, it is close to syscall. syscall minus syscall.null \
                 is the kernel's own reading of the time.",
            zh: "vDSO 能作答时，monotonic 接近 tsc：多出的只是一次乘法、一次移位和读两次的顺序计数器。vDSO 不得不询问内核时，它接近 syscall。syscall 减去 \
                 syscall.null 就是内核自己读时间的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): tsc 20 to 25 ns, fences \
                 included, monotonic 21 to 26, syscall 130 to 170. rdtsc alone takes about 25 core cycles from \
                 Haswell on (Agner Fog's instruction tables); clock sources hpet and acpi_pm read a device and take a \
                 microsecond or more.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：tsc 20 到 25 ns（含栅栏指令），monotonic 21 到 \
                 26，syscall 130 到 170。仅 rdtsc 一条指令，Haswell 起约 25 个核心周期（Agner Fog 指令表）；时钟源 hpet 与 acpi_pm 要读设备，\
                 需一微秒以上。",
        },
        causes: Text {
            en: "A clock source other than tsc, kvm-clock or arch_sys_counter \
                 (/sys/devices/system/clocksource/clocksource0/current_clocksource): the kernel found the counter \
                 unstable, or the hypervisor does not vouch for it. A seccomp filter or tracer on syscall. Over 500 \
                 ns for tsc itself: the hypervisor intercepts the instruction.",
            zh: "时钟源不是 tsc、kvm-clock 或 arch_sys_counter（见 \
                 /sys/devices/system/clocksource/clocksource0/current_clocksource）：内核判定计数器不稳定，或虚拟机监\
                 控程序不保证其稳定。syscall 受 seccomp 过滤器或跟踪器影响。若 tsc 本身超过 500 ns，说明虚拟机监控程序\
                 截获了该指令。",
        },
    },
    related: &["clock.resolution", "clock.loop", "syscall.null"],
    differs: Some(Text {
        en: "timing_o measures a pair of its own gettimeofday readings, to subtract it from every result. hostmark \
             times short operations as the difference of two lengths, which cancels the cost of reading; this probe \
             measures the clocks for their own sake.",
        zh: "timing_o 给出它自己一对 gettimeofday 读数的代价，用来从每个结果中减去。hostmark 用两种长度之差测短操作，读时钟的代价自行抵消；这里测时钟是为了时钟本\
             身。",
    }),
    axes: &[super::sources(&["tsc", "monotonic", "syscall"], &["monotonic_raw"])],
    limit: Limit::CyclesPerOp,
    replaces: &["timing_o"],
    core_bound: CoreBound::Yes,
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let source = super::source(case)?;
    // Told apart outside of the loop, so that only the reading is inside.
    match source {
        ClockSource::Counter => case.loops(|n| read_n(n, || ClockSource::Counter.read())).time(),
        ClockSource::Monotonic => case.loops(|n| read_n(n, || ClockSource::Monotonic.read())).time(),
        ClockSource::MonotonicRaw => case.loops(|n| read_n(n, || ClockSource::MonotonicRaw.read())).time(),
        ClockSource::Syscall => case.loops(|n| read_n(n, || ClockSource::Syscall.read())).time(),
    }
}

#[inline(always)]
fn read_n(n: u64, read: impl Fn() -> u64) {
    for _ in 0..n {
        std::hint::black_box(read());
    }
}
