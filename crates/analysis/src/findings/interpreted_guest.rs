//! A KVM that interprets the kernel code of its guests, so that their exits are none of the CPU.

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::Proven;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use crate::format::value;

const PROBE: &str = "virt.exit";
/// The loop around an exit: a few instructions.
const LOOP: &str = "overhead";
/// A CPU takes a few ns for the loop, one that is slow or shared some ten; whoever interprets it takes hundreds.
const MOST_NS: f64 = 50.0;
/// Where a cause is handled, as the cases note it.
const HANDLED_IN: (&str, &str) = ("handled_in", "kernel");

pub(super) static RULE: Rule = Rule {
    id: "virt.interpreted",
    shown: Demonstration::Explain("virt.exit"),
    probes: &[PROBE],
    cure: Some(Text {
        en: "Measure virt.exit where KVM lets the CPU run the guest's kernel code. That is on the bare machine, or in a guest with nested \
             virtualization by the CPU (kvm_intel or kvm_amd with nested=1 below).",
        zh: "请在由 CPU 直接执行虚拟机内核代码的主机上测量 virt.exit。即物理机，或由 CPU 支持嵌套虚拟化的虚拟机（下层的 kvm_intel 或 kvm_amd \
             设 nested=1）。",
    }),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let is_in_kernel = |case: &&CaseRecord| {
        let note = case.measured().and_then(|measured| measured.notes.get(HANDLED_IN.0));
        note.is_some_and(|note| note == HANDLED_IN.1)
    };
    let of_probe = run.cases.iter().filter(|case| case.probe == PROBE).filter(is_in_kernel);
    let slow: Vec<(&CaseRecord, f64)> = of_probe
        .filter_map(|case| Some((case, Proven::also(case, LOOP)?)))
        .filter(|(_, around)| around.low > MOST_NS)
        .map(|(case, around)| (case, around.value))
        .collect();
    let least = slow.iter().map(|(_, ns)| *ns).reduce(f64::min)?;
    let least = value(least, Unit::Nanoseconds, Lang::En);
    let names: Vec<&str> = slow.iter().filter_map(|(case, _)| case.params.get("cause")).collect();
    let (en, zh) = (names.join(", "), names.join("、"));
    let text = Text {
        en: format!(
            "KVM on this host interprets the kernel code of a guest: a turn of the loop around an exit takes {least} or more \
             instead of a few ns. The values of {en} are one more interpreted instruction, not an exit of the CPU."
        ),
        zh: format!(
            "本机的 KVM 逐条解释虚拟机的内核代码：退出外围的循环每圈至少 {least}，而不是几纳秒。{zh} 的数值只是多解释一条指令，而非 CPU 的一次退出。"
        ),
    };
    let short = short(
        format!("KVM here interprets guest kernel code: a turn of a loop takes {least} or more"),
        format!("本机的 KVM 逐条解释虚拟机的内核代码：循环每圈至少 {least}"),
    );
    Some(Conclusion { short, text, cases: slow.iter().map(|(case, _)| case.id.clone()).collect(), cost: 0.0 })
}
