//! A CPU that is taken from a program which never gives it up.

use hostmark_model::{Lang, Run, Unit};

use super::evidence::{Proven, believed};
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::format::{number, percent, value};
use crate::texts::findings::noise as texts;

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
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = run.cases.iter().find(|case| case.probe == NOISE)?;
    let lost_ns = Proven::of_case(case).filter(|lost| lost.low > NOTABLE * SECOND_NS)?;
    let cost = (lost_ns.value / SECOND_NS).min(1.0);
    let also = |name: &str| believed(case)?.also.get(name).map(|also| also.estimate.value());
    let (gaps, typical, longest) = (also("gaps")?, also("typical")?, also("longest")?);
    let why = match typical {
        ns if ns < INTERRUPT_NS => texts::why_interrupts!(),
        ns if ns < SLICE_NS => texts::why_threads!(),
        _ => texts::why_slices!(),
    };
    let (share, gaps) = (percent(cost), number(gaps));
    let [typical, longest] = [typical, longest].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
    let text = texts::text!(share, gaps, typical, longest, why);
    let short = short(texts::short!(share, gaps, longest));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
