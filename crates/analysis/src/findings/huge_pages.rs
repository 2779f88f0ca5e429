//! Memory that is slower with base pages than with huge pages, on a host that gives huge pages on request only.

use hostmark_model::{CaseRecord, Estimate, Lang, Run, Unit};

use super::evidence::lost;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::{percent, value};
use crate::levels::last_cache_size;
use crate::texts::findings::huge_pages as texts;

const LATENCY: &str = "memory.latency";

/// Least slowdown by base pages: less is within the effect of page placement.
const NOTABLE: f64 = 0.10;

pub(super) static RULE: Rule = Rule {
    id: "memory.huge_pages_off",
    shown: Demonstration::Try("huge-pages"),
    probes: &[LATENCY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let setting = match run.host.memory.transparent_huge_pages.as_deref() {
        None | Some("always") => return Vec::new(),
        Some(setting) => setting,
    };
    let Some((base, huge)) = largest_pair(run) else { return Vec::new() };
    let (Some(slow), Some(fast)) = (estimate(base), estimate(huge)) else { return Vec::new() };
    let slower = slow.value() / fast.value() - 1.0;
    // Intervals that overlap prove nothing, nor do values without one.
    let is_apart = matches!((slow.interval(), fast.interval()), (Some((low, _)), Some((_, high))) if low > high);
    if slower.is_nan() || slower <= NOTABLE || !is_apart {
        return Vec::new();
    }
    let (times, base_ns, huge_ns) = (
        percent(slower),
        value(slow.value(), Unit::Nanoseconds, Lang::En),
        value(fast.value(), Unit::Nanoseconds, Lang::En),
    );
    let text = texts::text!(times, base_ns, huge_ns, setting);
    let short = short(texts::short!(base_ns, huge_ns));
    let cases = vec![base.id.clone(), huge.id.clone()];
    vec![Conclusion { short, text, cases, cost: lost(slow.value(), fast.value()) }]
}

fn estimate(case: &CaseRecord) -> Option<&Estimate> {
    case.measured().map(|measured| &measured.estimate).filter(|estimate| estimate.value() > 0.0)
}

/// The largest size in memory that was measured with both pages and else alike.
fn largest_pair(run: &Run) -> Option<(&CaseRecord, &CaseRecord)> {
    let in_memory = last_cache_size(run).unwrap_or(0.0);
    let size = |case: &CaseRecord| case.params.get("size").and_then(|size| size.parse::<u64>().ok());
    let cases = || run.cases.iter().filter(|case| case.probe == LATENCY && estimate(case).is_some());
    let base = cases().filter(|case| case.params.get("page") == Some("base"));
    let pairs = base.filter(|case| size(case).is_some_and(|bytes| bytes as f64 > in_memory)).filter_map(|base| {
        let wanted = base.params.with("page", "pmd");
        cases().find(|case| case.params == wanted).map(|huge| (base, huge))
    });
    // Chains in random order show page walks; a stride may hide them.
    pairs.max_by_key(|(base, _)| (base.params.get("pattern") == Some("random"), size(base)))
}
