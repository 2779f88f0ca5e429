//! A core that runs below what its driver allows, under a governor that follows the load.

use hostmark_model::{Lang, Run, Unit};

use super::evidence::{Proven, case_at, lost};
use super::host::FOLLOWING_GOVERNORS;
use super::short::short;
use super::{CLAMPED, CLOCK_LIMIT, Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::{percent, value};
use crate::texts::findings::governor as texts;

const FREQUENCY: &str = "cpu.frequency";
const ALONE: &[(&str, &str)] = &[("load", "scalar"), ("threads", "1")];
/// Less than this below the highest frequency is what heat and other cores' work take.
const NOTABLE: f64 = 0.10;

pub(super) static RULE: Rule = Rule {
    id: "cpu.governor",
    shown: Demonstration::Try("governor"),
    probes: &[FREQUENCY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&CLAMPED, &CLOCK_LIMIT] },
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
    let text = texts::text!(ran, share, most, governor);
    let short = short(texts::short!(ran, share, most, governor));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
