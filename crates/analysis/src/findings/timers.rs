//! Timers that wake far later than asked.

use hostmark_model::{Lang, Run, Unit};

use super::evidence::{Proven, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, TRACED, YIELDS};
use crate::format::value;
use crate::texts::findings::timers as texts;

const SLEEP: &str = "clock.sleep";
/// The way that has no slack, and the delay asked for, ns.
const AT: &[(&str, &str)] = &[("way", "timerfd"), ("delay_us", "100")];
const ASKED_NS: f64 = 100e3;
/// Deep idle states and a hypervisor's wake-up take up to 100 µs; twice that is another matter. ns
const LATE_NS: f64 = 200e3;
/// The tick of a kernel without high-resolution timers is 1, 4 or 10 ms; half of the shortest is how late they are at
/// least in the middle. ns
const TICK_NS: f64 = 450e3;
/// Usual latency on an idle server, ns.
const USUAL_NS: f64 = 10e3;

pub(super) static RULE: Rule = Rule {
    id: "clock.coarse_timers",
    shown: Demonstration::Explain("clock.sleep"),
    probes: &[SLEEP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, SLEEP, AT)?;
    let late = Proven::of_case(case).filter(|late| late.low > LATE_NS)?;
    let why = match (late.value >= TICK_NS, run.host.virtualization.hypervisor.is_some()) {
        (true, false) => texts::why_tick!(),
        (true, true) => texts::why_tick_or_guest!(),
        (false, true) => texts::why_guest!(),
        (false, false) => texts::why_idle!(),
    };
    let text_ns = value(late.value, Unit::Nanoseconds, Lang::En);
    let text = texts::text!(text_ns, why);
    let cost = lost(ASKED_NS + late.value, ASKED_NS + USUAL_NS);
    let short = short(texts::short!(text_ns));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
