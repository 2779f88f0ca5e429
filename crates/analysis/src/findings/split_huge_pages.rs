//! Huge pages that the hypervisor backs with small ones.

use hostmark_model::{Lang, Run, Unit};

use super::evidence::Proven;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::value;
use crate::levels::LEVELS;
use crate::split_huge_pages::{EFFECTIVE_PAGE, cut_into};
use crate::texts::findings::split_huge_pages as texts;

pub(super) static RULE: Rule = Rule {
    id: "memory.huge_pages_cut",
    shown: Demonstration::Explain("memory.effective_page"),
    probes: &[EFFECTIVE_PAGE],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let (case, bytes) = cut_into(run)?;
    let [walk, base] = [Proven::also(case, "huge")?, Proven::also(case, "base")?];
    let ns = |ns: f64| value(ns, Unit::Nanoseconds, Lang::En);
    let (page, walk_ns, base_ns) = (value(bytes, Unit::Bytes, Lang::En), ns(walk.value), ns(base.value));
    let memory = LEVELS.iter().find(|level| level.cache.is_none()).and_then(|level| level.case(run));
    let cost = memory.and_then(Proven::of_case).map_or(0.0, |load| walk.value / load.value);
    let text = texts::text!(page, walk_ns, base_ns);
    let cases = [Some(case), memory.filter(|memory| memory.measured().is_some())];
    let short = short(texts::short!(page, walk_ns));
    Some(Conclusion { short, text, cases: cases.into_iter().flatten().map(|case| case.id.clone()).collect(), cost })
}
