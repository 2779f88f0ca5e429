//! Rounds that got far less than the best one: somebody else uses the same caches, memory or CPU.

use hostmark_model::{FlagKind, Lang, Run, Text, Unit};

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::{percent, value};
use crate::levels::{HIERARCHY, LEVELS};

/// By how much the typical must stay behind the best round.
const NOTABLE: f64 = 0.10;

pub(super) static RULE: Rule = Rule {
    id: "memory.rounds_differ",
    shown: Demonstration::Run,
    probes: &[HIERARCHY],
    cure: Some(Text {
        en: "Stop other work on this host, or measure at a quiet hour. Where the neighbours are not yours, a dedicated host or instance \
             is the cure. The best round is the one that they disturbed least.",
        zh: "请停止本机的其他任务，或在空闲时段再测。若邻居虚拟机不归您管理，可改用独占主机或独占实例。最佳一轮是受干扰最少的一轮。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

pub(super) fn draw(run: &Run) -> Vec<Conclusion> {
    let (mut en, mut zh, mut cases) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cost, mut worst) = (0.0_f64, Text::default());
    for level in LEVELS {
        let Some(case) = level.case(run) else { continue };
        let Some(measured) = case.measured() else { continue };
        let (typical, best) = (measured.estimate.typical, measured.estimate.best_round);
        let behind = 1.0 - best / typical;
        // The flag stands for the same rule; a run from before it says the same by its numbers.
        let is_flagged = measured.flags.iter().any(|flag| flag.kind == FlagKind::BestRoundGap);
        if best > 0.0 && behind > 0.0 && (behind > NOTABLE || is_flagged) {
            let name = level.name;
            let [best, typical] = [best, typical].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
            if behind > cost {
                cost = behind;
                worst = short(
                    format!("{name} best round typically {best}, all rounds {typical}: neighbours, most likely"),
                    format!("{name} 最佳一轮的典型值 {best}，全部轮次 {typical}：很可能有邻居虚拟机争用"),
                );
            }
            let behind = percent(behind);
            en.push(format!("{name} best round typically {best}, all rounds {typical} ({behind})"));
            zh.push(format!("{name} 最佳一轮的典型值 {best}，全部轮次 {typical}（差 {behind}）"));
            cases.push(case.id.clone());
        }
    }
    if cases.is_empty() {
        return Vec::new();
    }
    let (en, zh) = (en.join(", "), zh.join("；"));
    let text = Text {
        en: format!("Rounds of the same case differ by more than the hardware does: {en}. Neighbours, most likely."),
        zh: format!("同一用例各轮之间的差异超出硬件本身：{zh}。很可能是邻居造成的。"),
    };
    vec![Conclusion { short: worst, text, cases, cost }]
}
