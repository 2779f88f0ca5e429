//! A clock whose reading is a system call, or whose instruction the hypervisor intercepts.

use hostmark_model::{Lang, Run, Unit};
use hostmark_say::say;

use super::evidence::{Proven, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule, TRACED};
use crate::format::value;
use crate::texts::findings::clock_read as texts;
use crate::words;

const READ: &str = "clock.read";
/// A reading that the vDSO answers costs a fraction of a system call; one that it hands on costs the whole call and more.
const LIKE_A_CALL: f64 = 0.75;
/// No processor takes this long to read its counter; an exit to the hypervisor takes longer. ns
const INTERCEPTED_NS: f64 = 500.0;
/// Usual cost of a reading where nothing is wrong, ns.
const USUAL_NS: f64 = 25.0;

pub(super) static RULE: Rule = Rule {
    id: "clock.slow_read",
    shown: Demonstration::Explain("clock.read"),
    probes: &[READ],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| [system_call(run), intercepted(run)].into_iter().flatten().collect(),
};

fn at(run: &Run, source: &str) -> Option<(String, Proven)> {
    let case = case_at(run, READ, &[("source", source)])?;
    Some((case.id.clone(), Proven::of_case(case)?))
}

fn system_call(run: &Run) -> Option<Conclusion> {
    let ((case, monotonic), (call, whole)) = (at(run, "monotonic")?, at(run, "syscall")?);
    if monotonic.low <= LIKE_A_CALL * whole.high {
        return None;
    }
    let counter = at(run, "tsc").map(|(_, counter)| counter.value).filter(|ns| *ns < monotonic.value);
    let source = run.host.kernel.clock_source.as_deref();
    let source = match source {
        Some(source) => words(say!(" (clock source {source})")),
        None => Default::default(),
    };
    let [costs, call_costs] = [monotonic.value, whole.value].map(|ns| value(ns, Unit::Nanoseconds, Lang::En));
    let text = texts::system_call_text!(costs, call_costs, source);
    let short = short(texts::system_call_short!(costs, call_costs));
    let cost = lost(monotonic.value, counter.unwrap_or(USUAL_NS));
    Some(Conclusion { short, text, cases: vec![case, call], cost })
}

fn intercepted(run: &Run) -> Option<Conclusion> {
    let (case, counter) = at(run, "tsc").filter(|(_, counter)| counter.low > INTERCEPTED_NS)?;
    let costs = value(counter.value, Unit::Nanoseconds, Lang::En);
    let text = texts::intercepted_text!(costs);
    let short = short(texts::intercepted_short!(costs));
    Some(Conclusion { short, text, cases: vec![case], cost: lost(counter.value, USUAL_NS) })
}
