//! Reasons why a pipeline of tools is slower than the TCP beneath it.

use hostmark_model::Run;

use super::{Conclusion, DISTURBED, Demonstration, Doubt, LOOPBACK, QUOTA_OF_ONE, Rule, YIELDS};
use crate::data_path::{PROBE, PathAnswer, answers};
use crate::texts::findings::data_path as texts;
use crate::words;

pub(super) static RULE: Rule = Rule {
    id: "net.data_path",
    shown: Demonstration::Explain("net.data_path"),
    probes: &[PROBE],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw,
};

/// One for each number of CPUs.
fn draw(run: &Run) -> Vec<Conclusion> {
    let mut seen: Vec<f64> = Vec::new();
    let mut all = answers(run);
    all.retain(|answer| {
        let is_first = !answer.cases.is_empty() && !seen.contains(&answer.cpus);
        seen.extend(is_first.then_some(answer.cpus));
        is_first
    });
    let conclusion = |PathAnswer { short, text, cases, cost, .. }| Conclusion {
        short: words(short),
        text: words(text),
        cases,
        cost,
    };
    all.into_iter().map(conclusion).collect()
}
