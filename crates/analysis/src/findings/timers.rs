//! Timers that wake far later than asked.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, TRACED, YIELDS};
use crate::format::value;

const SLEEP: &str = "clock.sleep";
/// The way that has no slack, and the delay asked for, ns.
const AT: &[(&str, &str)] = &[("way", "timerfd"), ("delay_us", "100")];
const ASKED_NS: f64 = 100e3;
/// Deep idle states and a hypervisor's wake-up take up to 100 µs; twice that is another matter. ns
const LATE_NS: f64 = 200e3;
/// The tick of a kernel without high-resolution timers is 1, 4 or 10 ms; half of the shortest is how late they are at
/// least in the middle. ns
const TICK_NS: f64 = 450e3;
/// What an idle server takes, ns.
const USUAL_NS: f64 = 10e3;

pub(super) static RULE: Rule = Rule {
    id: "clock.coarse_timers",
    shown: Demonstration::Explain("clock.sleep"),
    probes: &[SLEEP],
    cure: Some(Text {
        en: "Check that high-resolution timers are on: hres_active in /proc/timer_list. The kernel's command line must not say highres=off \
             or nohz=off. In a guest the hypervisor must give a precise timer (TSC deadline), and its host must wake the guest's CPU at \
             once: keep its idle states shallow, or poll (kvm.halt_poll_ns).",
        zh: "检查是否启用高精度定时器：/proc/timer_list 中的 hres_active。内核命令行不应有 highres=off 或 \
             nohz=off。虚拟机中，虚拟机监控程序须提供精确的定时器（TSC deadline），宿主机须及时唤醒虚拟机的 \
             CPU：限制宿主的空闲状态深度，或启用轮询（kvm.halt_poll_ns）。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, SLEEP, AT)?;
    let late = Proven::of_case(case).filter(|late| late.low > LATE_NS)?;
    let why = match (late.value >= TICK_NS, run.host.virtualization.hypervisor.is_some()) {
        (true, false) => Text {
            en: "as late as the tick of a kernel whose timers have no high resolution",
            zh: "迟到的程度相当于没有高精度定时器的内核的节拍",
        },
        (true, true) => Text {
            en: "as late as a tick: either this kernel's timers have no high resolution, or the hypervisor's have not",
            zh: "迟到约一个节拍：本内核或虚拟机监控程序的定时器没有高精度",
        },
        (false, true) => Text {
            en: "the hypervisor wakes this guest's CPU late",
            zh: "虚拟机监控程序唤醒本虚拟机 CPU 过迟",
        },
        (false, false) => Text {
            en: "the way out of a deep idle state, or other work on this CPU",
            zh: "退出较深空闲状态的代价，或该 CPU 上有其他任务",
        },
    };
    let text_ns = value(late.value, Unit::Nanoseconds, Lang::En);
    let text = Text {
        en: format!(
            "A timer set to 100 µs wakes its thread {text_ns} late, where an idle server takes some 10 µs: {}. Pacing, \
             time-outs and heartbeats are late by as much.",
            why.en
        ),
        zh: format!(
            "设为 100 µs 的定时器迟 {text_ns} 才唤醒线程，而空闲的服务器只迟约 10 µs：{}。节拍发送、超时和心跳都会同样迟到。",
            why.zh
        ),
    };
    let cost = lost(ASKED_NS + late.value, ASKED_NS + USUAL_NS);
    let short = short(
        format!("A timer set to 100 µs wakes its thread {text_ns} late; about 10 µs is usual"),
        format!("100 µs 的定时器迟 {text_ns} 才唤醒线程，通常只迟约 10 µs"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
