//! A CPU quota that is smaller than the number of CPUs that may be used.

use hostmark_model::{CaseRecord, Run};

use super::evidence::lost;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::format::{number, percent};
use crate::texts::findings::quota as texts;

/// The cases that are named.
const MOST_CASES: usize = 5;

pub(super) static RULE: Rule = Rule {
    id: "run.cpu_quota",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let usable = run.host.usable_cpus().len();
    let Some(quota) = run.host.limits.cpu_quota.filter(|quota| *quota > 0.0 && *quota < usable as f64) else {
        return Vec::new();
    };
    let is_over = |case: &&CaseRecord| {
        let rounds = case.measured().map(|measured| measured.rounds.as_slice()).unwrap_or_default();
        rounds.iter().any(|round| round.cpus.len() as f64 > quota)
    };
    let cases = run.cases.iter().filter(is_over).take(MOST_CASES).map(|case| case.id.clone()).collect();
    let cost = lost(usable as f64, quota);
    let (share, quota) = (percent(cost), number(quota));
    let text = texts::text!(quota, usable, share);
    let short = short(texts::short!(quota, usable, share));
    vec![Conclusion { short, text, cases, cost }]
}
