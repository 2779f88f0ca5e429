//! CPUs that do less together than alone, at work that needs nothing but a core: SMT siblings, power, a busy host.

use hostmark_model::{Lang, Run, Text, Unit};

use super::copies::{NOTABLE, PURE, SCALING, Together, most_copies, usable_cores};
use super::evidence::{Proven, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA, Rule, YIELDS};
use crate::format::{number, percent, value};

const FREQUENCY: &str = "cpu.frequency";

pub(super) static RULE: Rule = Rule {
    id: "cpu.shared_cores",
    shown: Demonstration::Run,
    probes: &[SCALING, PURE, FREQUENCY],
    cure: Some(Text {
        en: "Plan throughput by this factor, not by the number of CPUs. Work that must answer fast gets a core of its own: one \
             thread a core (taskset, /sys/devices/system/cpu/smt/control), in a cloud an instance of whole cores, on your own \
             hypervisor pinned CPUs with the topology passed on.",
        zh: "请按这一倍数而非 CPU 个数规划吞吐量。要求快速响应的任务应独占核心：每个核心只用一个线程（taskset、/sys/devices/system/cpu/smt/control），\
             云上选用独占物理核心的实例；若宿主机由您管理，请绑定虚拟机的 CPU 并透传拓扑。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let all = most_copies(run);
    let sieve = all.iter().find(|together| together.source == PURE)?;
    if sieve.times.high / sieve.copies >= 1.0 - NOTABLE {
        return None;
    }
    let cost = lost(sieve.copies, sieve.times.value);
    let (times, copies, share) = (number(sieve.times.value), sieve.copies, percent(cost));
    let why = reason(run, sieve);
    let text = Text {
        en: format!(
            "{copies} CPUs at once do {times} times what one does alone, at work that needs nothing but a core: each loses \
             {share}. {}",
            why.en
        ),
        zh: format!(
            "{copies} 个 CPU 同时工作，只完成单个的 {times} 倍，而这项工作只需要核心：每个损失 {share}。{}",
            why.zh
        ),
    };
    let short = short(
        format!("{copies} CPUs at once do {times}x the work of one: each loses {share}"),
        format!("{copies} 个 CPU 同时工作只完成单个的 {times} 倍：每个损失 {share}"),
    );
    Some(Conclusion { short, text, cases: vec![sieve.case.id.clone()], cost })
}

fn reason(run: &Run, sieve: &Together) -> Text<String> {
    if let Some(cores) = usable_cores(&run.host).filter(|cores| (*cores as f64) < sieve.copies) {
        return Text {
            en: format!(
                "They are threads of {cores} {} (SMT): two threads of a core share its execution units.",
                if cores == 1 { "core" } else { "cores" }
            ),
            zh: format!("它们是 {cores} 个核心的线程（SMT）：同一核心的两个线程共用执行单元。"),
        };
    }
    if let Some((alone, all)) = slower_clock(run, sieve.copies) {
        let [alone, all] = [alone, all].map(|hz| value(hz, Unit::Hertz, Lang::En));
        return Text {
            en: format!("The clock falls from {alone} with one core busy to {all} with all: turbo and power limits."),
            zh: format!("频率从单核繁忙时的 {alone} 降到全部繁忙时的 {all}：受睿频与功耗上限所限。"),
        };
    }
    if run.host.virtualization.hypervisor.is_some() {
        return Text {
            en: "This guest is told that they are cores of their own: probably they are threads of shared cores, or the host is \
                 busy."
                .to_owned(),
            zh: "本虚拟机被告知它们是各自独立的核心：它们很可能是共用核心的线程，或宿主机繁忙。".to_owned(),
        };
    }
    Text {
        en: "Neither SMT nor the clock explains it: other work on these CPUs, or a cache that they share.".to_owned(),
        zh: "SMT 与频率都不能解释：可能有其他任务占用这些 CPU，或它们共用缓存。".to_owned(),
    }
}

/// The clock with one core busy and with all, where the second is proven lower by over half of what is worth a word.
fn slower_clock(run: &Run, copies: f64) -> Option<(f64, f64)> {
    let at = |threads: &str| Proven::at(run, FREQUENCY, &[("load", "scalar"), ("threads", threads)]);
    let (alone, all) = (at("1")?, at(&copies.to_string())?);
    (all.high < alone.low * (1.0 - NOTABLE / 2.0)).then_some((alone.value, all.value))
}
