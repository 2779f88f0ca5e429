//! Probe virt.timer: what it costs to set the CPU's timer, which a guest does by leaving it.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::timer::Alarm;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Setting the CPU's timer", zh: "设置 CPU 定时器" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, Quantity::WHOLE, Quantity::OVERHEAD],
    explain: Explain {
        what: Text {
            en: "A timer descriptor is set anew to 50 µs ahead, over and over, so that it never expires: as the CPU's next timer it has the kernel take the old time out of the \
                 hardware and put the new one in. Setting one to an hour ahead does all but that; it is timed in turn and subtracted. Both stand beside the value.",
            zh: "反复把一个定时器描述符重设为 50 µs 之后，因此它从不到期：作为 CPU 的下一个定时器，内核要从硬件撤下旧时间并写入新时间。设为一小时之后则除此之外完全相同，\
                 交替测量并减去。两者都列在数值旁。",
        },
        why: Text {
            en: "The kernel sets the timer whenever a program sleeps, waits with a time limit or goes idle. Natively that is a register; a guest leaves its CPU for each setting.",
            zh: "程序睡眠、限时等待或 CPU 进入空闲时，内核都要设置定时器。物理机上只是写一个寄存器；虚拟机每次设置都要退出。",
        },
        reading: Text {
            en: "Two settings of the hardware, as the old time goes before the new one comes. Natively some tens to hundreds of ns; a guest has two exits in it: compare twice virt.cpuid. \
                 KVM answers writes of the deadline register on a short path, so that it may be less.",
            zh: "包含两次硬件设置，因为先撤下旧时间再写入新时间。物理机上为几十到几百纳秒；虚拟机含两次退出：可与 virt.cpuid 的两倍比较。KVM 对截止时间寄存器的写有快速路径，因此可能更少。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Emerald Rapids, Linux 6.18; lapic-deadline): 2.6 to 5 µs beyond the 0.33 µs of a timer that is not next.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Emerald Rapids，Linux 6.18，lapic-deadline）上实测：在非最近定时器的 0.33 µs 之上为 2.6 到 5 µs。",
        },
        causes: Text {
            en: "A clock event device other than the CPU's own (hpet, pit): /sys/devices/system/clockevents; a hypervisor that emulates the timer in user space; a kernel without \
                 high-resolution timers, which sets the hardware at ticks alone: the value is about 0.",
            zh: "时钟事件设备不是 CPU 自带的（hpet、pit）：见 /sys/devices/system/clockevents；在用户空间模拟定时器的虚拟机监控程序；没有高精度定时器的内核，只在节拍处设置硬件：数值约为 0。",
        },
    },
    related: &["virt.exit", "virt.cpuid", "clock.sleep", "sched.ipi"],
    differs: None,
    axes: &[],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::VIRTUALIZATION,
    measure: Measure::Run(measure),
};

/// Before the next tick of every usual rate, nearly always; and long after the next setting.
const NEXT: Duration = Duration::from_micros(50);
/// After everything that the kernel waits for.
const LATER: Duration = Duration::from_secs(3600);

fn measure(case: &mut Case) -> Result<()> {
    let (later, next) = (Alarm::new()?, Alarm::new()?);
    let set = |alarm: &Alarm, ahead, times| -> Result<()> {
        (0..times).try_for_each(|_| alarm.set(ahead)).map_err(Stop::from)
    };
    case.time_beyond(1, |times| set(&later, LATER, times), |times| set(&next, NEXT, times))
}
