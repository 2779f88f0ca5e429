//! Cost of mitigations of speculative attacks for every system call.

use hostmark_model::{Audit, Lang, Message, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::host::named_mitigations;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule, TRACED};
use crate::format::{percent, value};
use crate::texts::findings::mitigations as texts;
use crate::typography::COMMA;
use crate::words;

const NULL: &str = "syscall.null";
/// Longest null call without mitigations: 100 to 200 core cycles on x86 cores since 2015, for both mode switches and the kernel's own path
/// between them. More than that is not the hardware's.
const HARDWARE_CYCLES: f64 = 200.0;
/// More would be a list that nobody reads.
const MOST_NAMED: usize = 4;

pub(super) static RULE: Rule = Rule {
    id: "syscall.mitigations",
    shown: Demonstration::Explain("syscall.null"),
    probes: &[NULL],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    // What the instruction needs is known of this architecture alone.
    if run.host.cpu.architecture != "x86_64" {
        return None;
    }
    let mut named = named_mitigations(&run.host);
    if named.is_empty() {
        return None;
    }
    let case = case_at(run, NULL, &[("copies", "1")])?;
    let (cycles, took) = (Proven::also(case, "cycles")?, Proven::of_case(case)?);
    if cycles.low <= HARDWARE_CYCLES {
        return None;
    }
    let cost = lost(cycles.value, HARDWARE_CYCLES);
    if named.len() > MOST_NAMED {
        named.truncate(MOST_NAMED);
        named.push("…".to_owned());
    }
    // What else every call passes.
    let is_filtered = run.host.limits.seccomp.as_deref() == Some("filter");
    let is_audited = run.host.kernel.audit == Some(Audit::On);
    let [filter, guards] = match (is_filtered, is_audited) {
        (true, true) => [term!(", a seccomp filter and audit"), term!("mitigations, seccomp and audit")],
        (true, false) => [term!(", and a seccomp filter"), term!("mitigations and seccomp")],
        (false, true) => [term!(", and audit"), term!("mitigations and audit")],
        (false, false) => [Text::default(), term!("CPU vulnerability mitigations")],
    };
    let [took, more] = [took.value, took.value * cost].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
    let (share, spent) = (percent(cost), format!("{:.0}", cycles.value));
    let text = texts::text!(took, spent, more, share, named = words(Message::joined(named, COMMA)), filter);
    let short = short(texts::short!(took, more, share, guards));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
