//! Probe virt.timer: what it costs to set the CPU's timer, which a guest does by leaving it.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::machine::timer::Alarm;

pub static PROBE: Probe = Probe {
    title: Text { en: "Setting the CPU's timer", zh: "设置 CPU 定时器" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[CALL, Quantity::P90, Quantity::P99, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "Every 60 µs a timer descriptor is set to 100 µs ahead, so it never expires. It is the CPU's next \
                 timer, so the kernel removes the old time from the hardware and writes the new one. Each \
                 timerfd_settime is timed separately. The same call for a timer an hour ahead touches no hardware; it \
                 is timed in turn and shown too.",
            zh: "每 60 µs 把一个定时器描述符重设为 100 µs 之后，因此它从不到期：作为 CPU 的下一个定时器，内核要从硬件撤下旧时间并写入新时间。每次 timerfd_settime 单独计时。\
                 对一小时之后的定时器作同样调用不涉及硬件，交替测量，列在数值旁。",
        },
        why: Text {
            en: "The kernel sets the timer whenever a program sleeps, waits with a timeout or a CPU goes idle. On bare \
                 metal that is one register write; most guests exit for it.",
            zh: "程序睡眠、限时等待或 CPU 进入空闲时，内核都要设置定时器。物理机上只是写一个寄存器；多数虚拟机为此要退出。",
        },
        reading: Text {
            en: "The value less the call alone is two hardware settings, since the old time is removed before the new \
                 one is set. On bare metal that is tens to hundreds of ns. In a guest it is two exits: compare with \
                 twice virt.cpuid. KVM has a fast path for writes of the deadline register, so it may be less.",
            zh: "数值减去调用本身就是两次硬件设置，因为先撤下旧时间再写入新时间。物理机上为几十到几百纳秒；虚拟机中为两次退出：可与 virt.cpuid 的两倍比较。KVM 对截止时间寄存器的写有快速路径，\
                 因此可能更少。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest within another (Emerald Rapids, Linux 6.18; lapic-deadline): 19 to 29 µs beside 0.3 to 0.5 µs of the call alone.",
            zh: "用 hostmark 在嵌套的双 CPU KVM 虚拟机（Emerald Rapids，Linux 6.18，lapic-deadline）上实测：19 到 29 µs，调用本身为 0.3 到 0.5 µs。",
        },
        causes: Text {
            en: "A clock event device other than the CPU's own (hpet, pit): /sys/devices/system/clockevents; a \
                 hypervisor that emulates the timer in user space. No more than the call alone: a kernel without \
                 high-resolution timers, which sets the hardware only at ticks, or a program that keeps an earlier \
                 timer.",
            zh: "时钟事件设备不是 CPU 自带的（hpet、pit）：见 /sys/devices/system/clockevents；在用户空间模拟定时器的虚拟机监控程序。与调用本身相当：内核没有高精度定时器，只在节拍处设置硬件，\
                 或有程序一直保持更近的定时器。",
        },
    },
    related: &["virt.exit", "virt.cpuid", "clock.sleep", "sched.ipi"],
    limit: Limit::KernelEntry,
    section: crate::section::VIRTUALIZATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

const CALL: Quantity =
    Quantity::given("call", Unit::Nanoseconds, Better::Lower, Text { en: "the call alone", zh: "调用本身" });

/// Before the next tick of every usual rate, nine times of ten and more.
const NEXT: Duration = Duration::from_micros(100);
/// After everything that the kernel waits for.
const LATER: Duration = Duration::from_secs(3600);
/// Settings lie so far apart, ns. Those within [`NEXT`] of a tick touch no hardware and are short: without a pace they would be many.
const PACE_NS: f64 = 60e3;

fn measure(case: &mut Case) -> Result<()> {
    let (later, next) = (Alarm::new()?, Alarm::new()?);
    let mut call_ns = Vec::new();
    let mut last = None;
    case.timed(|clock| {
        let mut start = clock.start();
        while last.is_some_and(|last| clock.ns(start.since(last)) < PACE_NS) {
            start = clock.start();
        }
        last = Some(start);
        let timed = |alarm: &Alarm, ahead| -> Result<Ticks> {
            let start = clock.start();
            alarm.set(ahead)?;
            Ok(clock.end().since(start))
        };
        call_ns.push(clock.ns(timed(&later, LATER)?));
        timed(&next, NEXT)
    })
    .singly()
    .time()?;
    case.also(CALL.name, call_ns)
}
