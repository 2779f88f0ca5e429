//! What every system call pays for guarding against speculation attacks.

use hostmark_model::{Audit, Lang, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::host::named_mitigations;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule, TRACED};
use crate::format::{percent, value};

const NULL: &str = "syscall.null";
/// With nothing in force a null call takes 100 to 200 core cycles on x86 cores since 2015: both mode switches, and the
/// kernel's own path between them. What is above the upper end is not the hardware's.
const HARDWARE_CYCLES: f64 = 200.0;
/// More would be a list that nobody reads.
const MOST_NAMED: usize = 4;

pub(super) static RULE: Rule = Rule {
    id: "syscall.mitigations",
    shown: Demonstration::Explain("syscall.null"),
    probes: &[NULL],
    cure: Some(Text {
        en: "Batch calls (io_uring, sendmmsg, larger reads and writes). Newer processors need fewer mitigations. mitigations=off \
             on the kernel's command line only where all code that runs is trusted.",
        zh: "合并系统调用（io_uring、sendmmsg、更大的读写）。较新的处理器所需的缓解措施较少。只有在运行的代码全部可信时，才可在内核命令行使用 \
             mitigations=off。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

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
    let [filter_en, filter_zh, guards_en, guards_zh] = match (is_filtered, is_audited) {
        (true, true) => [
            ", a seccomp filter and audit",
            "，以及 seccomp 过滤器和审计",
            "mitigations, seccomp and audit",
            "缓解措施、seccomp 与审计",
        ],
        (true, false) => {
            [", and a seccomp filter", "，以及 seccomp 过滤器", "mitigations and seccomp", "缓解措施与 seccomp "]
        }
        (false, true) => [", and audit", "，以及审计", "mitigations and audit", "缓解措施与审计"],
        (false, false) => ["", "", "CPU vulnerability mitigations", "漏洞缓解措施"],
    };
    let [took, more] = [took.value, took.value * cost].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
    let (share, spent) = (percent(cost), format!("{:.0}", cycles.value));
    let text = Text {
        en: format!(
            "A null system call takes {took} ({spent} core cycles). At least {more} ({share}) of it goes to mitigations of CPU \
             vulnerabilities: {}{filter_en}.",
            named.join(", ")
        ),
        zh: format!(
            "一次空系统调用需 {took}（{spent} 个核心周期），其中至少 {more}（{share}）是漏洞缓解措施的开销：{}{filter_zh}。",
            named.join("，")
        ),
    };
    let short = short(
        format!("Null system call {took}: at least {more} ({share}) of it are {guards_en}"),
        format!("空系统调用 {took}，其中至少 {more}（{share}）是{guards_zh}的开销"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
