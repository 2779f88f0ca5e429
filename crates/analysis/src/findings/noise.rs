//! A CPU that is taken from a program which never gives it up.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::{Proven, believed};
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::format::{number, percent, value};

const NOISE: &str = "sched.noise";
const SECOND_NS: f64 = 1e9;
/// A thousand ticks a second, each with all exits that a guest pays, take no more than this share.
const NOTABLE: f64 = 0.02;
/// Gaps of ticks and interrupts are shorter, time slices of other programs longer. ns
const INTERRUPT_NS: f64 = 100e3;
const SLICE_NS: f64 = 1e6;

pub(super) static RULE: Rule = Rule {
    id: "sched.noisy_cpu",
    shown: Demonstration::Explain("sched.noise"),
    probes: &[NOISE],
    cure: Some(Text {
        en: "Stop or move what else runs (taskset, cpuset), or take dedicated CPUs. That cures long gaps. Short ones: keep interrupts off \
             these CPUs (/proc/irq/*/smp_affinity), isolcpus= and nohz_full= on the kernel's command line.",
        zh: "停止或移走其他任务（taskset、cpuset），或改用独占 CPU。这适用于较长的间隙。间隙短：让中断避开这些 \
             CPU（/proc/irq/*/smp_affinity），在内核命令行使用 isolcpus= 与 nohz_full=。",
    }),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = run.cases.iter().find(|case| case.probe == NOISE)?;
    let lost_ns = Proven::of_case(case).filter(|lost| lost.low > NOTABLE * SECOND_NS)?;
    let cost = (lost_ns.value / SECOND_NS).min(1.0);
    let also = |name: &str| believed(case)?.also.get(name).map(|also| also.estimate.value());
    let (gaps, typical, longest) = (also("gaps")?, also("typical")?, also("longest")?);
    let why = match typical {
        ns if ns < INTERRUPT_NS => Text {
            en: "gaps as short as these are ticks and interrupts, in a guest with their exits to the hypervisor",
            zh: "如此短的间隙是节拍与中断，在虚拟机中还包括退出到虚拟机监控程序的代价",
        },
        ns if ns < SLICE_NS => Text {
            en: "gaps of this length are kernel threads, the firmware or the hypervisor",
            zh: "这种长度的间隙来自内核线程、固件或虚拟机监控程序",
        },
        _ => Text {
            en: "gaps of milliseconds are time slices of other programs, or of other guests",
            zh: "毫秒级的间隙是其他程序或其他虚拟机的时间片",
        },
    };
    let (share, gaps) = (percent(cost), number(gaps));
    let [typical, longest] = [typical, longest].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
    let text = Text {
        en: format!(
            "A busy thread loses {share} of its CPU time: {gaps} gaps a second of {typical} on average, the longest \
             {longest}; {}.",
            why.en
        ),
        zh: format!(
            "忙碌的线程损失了 {share} 的 CPU 时间：每秒 {gaps} 个间隙，平均 {typical}，最长 {longest}；{}。",
            why.zh
        ),
    };
    let short = short(
        format!("A busy thread loses {share} of its CPU time: {gaps} gaps a second, the longest {longest}"),
        format!("忙碌的线程损失 {share} 的 CPU 时间：每秒 {gaps} 个间隙，最长 {longest}"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
