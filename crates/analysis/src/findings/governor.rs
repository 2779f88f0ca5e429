//! A core that runs below what its driver allows, under a governor that follows the load.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::{Proven, case_at, lost};
use super::host::FOLLOWING_GOVERNORS;
use super::short::short;
use super::{CLAMPED, Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::{percent, value};

const FREQUENCY: &str = "cpu.frequency";
const ALONE: &[(&str, &str)] = &[("load", "scalar"), ("threads", "1")];
/// Less than this below the highest frequency is what heat and other cores' work take.
const NOTABLE: f64 = 0.10;

pub(super) static RULE: Rule = Rule {
    id: "cpu.governor",
    shown: Demonstration::Try("governor"),
    probes: &[FREQUENCY],
    cure: Some(Text {
        en: "Set the governor: cpupower frequency-set -g performance. With intel_pstate or amd_pstate, set energy_performance_preference to \
             performance as well, and look at the power limits of the firmware.",
        zh: "设置调频策略：cpupower frequency-set -g performance。若驱动为 intel_pstate 或 amd_pstate，还应把 energy_performance_preference \
             设为 performance，并检查固件中的功耗上限。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&CLAMPED] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let cpu = &run.host.cpu;
    let governor = cpu.governor.as_deref().filter(|name| FOLLOWING_GOVERNORS.contains(name))?;
    // The driver's highest may be that of a turbo which somebody switched off.
    if cpu.turbo == Some(false) {
        return None;
    }
    let most = run.host.cpus.iter().find(|cpu| cpu.id == run.settings.cpu)?.max_hz.filter(|hz| *hz > 0.0)?;
    let case = case_at(run, FREQUENCY, ALONE)?;
    let ran = Proven::of_case(case)?;
    if ran.high >= most * (1.0 - NOTABLE) {
        return None;
    }
    let cost = lost(most, ran.value);
    let (share, [ran, most]) = (percent(cost), [ran.value, most].map(|hz| value(hz, Unit::Hertz, Lang::En)));
    let text = Text {
        en: format!(
            "The core ran at {ran} under full load, {share} below the {most} that its driver allows; the governor is \
             {governor}, which raises the clock late or not to the end."
        ),
        zh: format!(
            "满载时核心只运行在 {ran}，比驱动允许的 {most} 低 {share}；调频策略为 {governor}，升频迟缓或升不到顶。"
        ),
    };
    let short = short(
        format!("The core ran at {ran} under full load, {share} below its {most}: governor {governor}"),
        format!("满载时核心只有 {ran}，比上限 {most} 低 {share}：调频策略为 {governor}"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
