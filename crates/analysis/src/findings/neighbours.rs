//! Rounds that got far less than the best one: somebody else uses the same caches, memory or CPU.

use hostmark_model::{FlagKind, Lang, Message, Run, Text, Unit};
use hostmark_say::say;

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::{percent, value};
use crate::levels::{HIERARCHY, LEVELS};
use crate::texts::findings::neighbours as texts;
use crate::words;

/// Least distance of the typical value from the best round.
const NOTABLE: f64 = 0.10;

pub(super) static RULE: Rule = Rule {
    id: "memory.rounds_differ",
    shown: Demonstration::Run,
    probes: &[HIERARCHY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

pub(super) fn draw(run: &Run) -> Vec<Conclusion> {
    let (mut levels, mut cases) = (Vec::new(), Vec::new());
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
                worst = short(texts::short!(name, best, typical));
            }
            let behind = percent(behind);
            levels.push(say!("{name} {best} in the best round, {typical} median ({behind})"));
            cases.push(case.id.clone());
        }
    }
    if cases.is_empty() {
        return Vec::new();
    }
    let text = texts::text!(levels = words(Message::joined(levels, term!(", ", "findings"))));
    vec![Conclusion { short: worst, text, cases, cost }]
}
