//! Swap in use: memory was short, and what was put away comes back at the speed of a device.

use hostmark_model::{Lang, Run, Unit};
use hostmark_say::say;

use super::host::SWAP_BYTES;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::format::{percent, value};
use crate::texts::findings::swap as texts;
use crate::words;

/// Least share of the time in which tasks waited for memory that anybody notices.
const NOTABLE: f64 = 0.001;

pub(super) static RULE: Rule = Rule {
    id: "run.swap_in_use",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let used = run.host.memory.swap_used_bytes;
    if used < SWAP_BYTES {
        return Vec::new();
    }
    let waited = run.host.activity.pressure.get("memory").map(|pressure| pressure.some);
    let cost = waited.filter(|share| *share >= NOTABLE).unwrap_or(0.0);
    let used = value(used as f64, Unit::Bytes, Lang::En);
    let waited = match cost > 0.0 {
        true => words(say!(
            " In the ten seconds before the run tasks waited for memory {cost} of the time.",
            cost = percent(cost)
        )),
        false => Default::default(),
    };
    let text = texts::text!(used, waited);
    let waited = match cost > 0.0 {
        true => words(say!("; tasks waited for memory {cost} of the time", cost = percent(cost))),
        false => Default::default(),
    };
    let short = short(texts::short!(used, waited));
    vec![Conclusion { short, text, cases: Vec::new(), cost }]
}
