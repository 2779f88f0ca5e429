//! A clock whose reading is a system call, or whose instruction the hypervisor intercepts.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule, TRACED};
use crate::format::value;

const READ: &str = "clock.read";
/// A reading that the vDSO answers costs a fraction of a system call; one that it hands on costs the whole call and more.
const LIKE_A_CALL: f64 = 0.75;
/// No processor takes this long to read its counter; an exit to the hypervisor takes longer. ns
const INTERCEPTED_NS: f64 = 500.0;
/// What a reading usually costs where nothing is wrong, ns.
const USUAL_NS: f64 = 25.0;

pub(super) static RULE: Rule = Rule {
    id: "clock.slow_read",
    shown: Demonstration::Explain("clock.read"),
    probes: &[READ],
    cure: Some(Text {
        en: "Switch to the clock source tsc, in a guest kvm-clock, if it is offered. Directory: \
             /sys/devices/system/clocksource/clocksource0; what available_clocksource offers (also hyperv_clocksource_tsc_page), write to \
             current_clocksource. Where it does not, the kernel's log says why; a hypervisor must pass an invariant TSC on.",
        zh: "若可用，改用时钟源 tsc（虚拟机中也可用 kvm-clock）。目录为 /sys/devices/system/clocksource/clocksource0：available_clocksource \
             中有的（还有 hyperv_clocksource_tsc_page），写入 \
             current_clocksource。若不提供，内核日志会说明原因；虚拟机监控程序必须透传恒定频率的 TSC。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    [system_call(run), intercepted(run)].into_iter().flatten().collect()
}

fn at(run: &Run, source: &str) -> Option<(String, Proven)> {
    let case = case_at(run, READ, &[("source", source)])?;
    Some((case.id.clone(), Proven::of_case(case)?))
}

fn system_call(run: &Run) -> Option<Conclusion> {
    let ((case, monotonic), (call, whole)) = (at(run, "monotonic")?, at(run, "syscall")?);
    if monotonic.low <= LIKE_A_CALL * whole.high {
        return None;
    }
    let counter = at(run, "tsc").map(|(_, counter)| counter.value).filter(|ns| *ns < monotonic.value);
    let source = run.host.kernel.clock_source.as_deref();
    let [source_en, source_zh] = match source {
        Some(source) => [format!(" (clock source {source})"), format!("（时钟源 {source}）")],
        None => Default::default(),
    };
    let [costs, call_costs] = [monotonic.value, whole.value].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
    let text = Text {
        en: format!(
            "Reading the time costs {costs}, as much as a system call ({call_costs}): the vDSO does not answer here{source_en}. \
             Databases, tracers and network stacks read the time at every turn."
        ),
        zh: format!(
            "读取一次时间要 {costs}，与系统调用（{call_costs}）一样贵：vDSO 在此不起作用{source_zh}。数据库、追踪器和网络栈处处都要读取时间。"
        ),
    };
    let short = short(
        format!("clock_gettime {costs}, as slow as a system call ({call_costs}): the vDSO does not answer"),
        format!("clock_gettime 需 {costs}，与系统调用（{call_costs}）一样慢：vDSO 未生效"),
    );
    let cost = lost(monotonic.value, counter.unwrap_or(USUAL_NS));
    Some(Conclusion { short, text, cases: vec![case, call], cost })
}

fn intercepted(run: &Run) -> Option<Conclusion> {
    let (case, counter) = at(run, "tsc").filter(|(_, counter)| counter.low > INTERCEPTED_NS)?;
    let costs = value(counter.value, Unit::Nanoseconds, Lang::En);
    let text = Text {
        en: format!(
            "Reading the CPU's counter by its own instruction takes {costs}, where 10 to 25 ns are usual: the hypervisor \
             intercepts it, and so every clock is slow."
        ),
        zh: format!(
            "用指令直接读取 CPU 计数器需 {costs}，而通常只需 10 到 25 ns：虚拟机监控程序截获了该指令，所有时钟因此都慢。"
        ),
    };
    let short = short(
        format!("Reading the CPU counter takes {costs}, usually 10 to 25 ns: the hypervisor intercepts it"),
        format!("读 CPU 计数器需 {costs}，通常只需 10 到 25 ns：被虚拟机监控程序截获"),
    );
    Some(Conclusion { short, text, cases: vec![case], cost: lost(counter.value, USUAL_NS) })
}
