//! A KVM that interprets the kernel code of its guests, so that their exits are none of the CPU.

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::Proven;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use crate::format::value;
use crate::texts::findings::interpreted_guest as texts;

const PROBE: &str = "virt.exit";
/// The loop around an exit: a few instructions.
const LOOP: &str = "overhead";
/// A CPU takes a few ns for the loop, one that is slow or shared some ten; whoever interprets it takes hundreds.
const MOST_NS: f64 = 50.0;
/// Note of the cases on where a cause is handled.
const HANDLED_IN: (&str, &str) = ("handled_in", "kernel");

pub(super) static RULE: Rule = Rule {
    id: "virt.interpreted",
    shown: Demonstration::Explain("virt.exit"),
    probes: &[PROBE],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let is_in_kernel = |case: &&CaseRecord| {
        let note = case.measured().and_then(|measured| measured.notes.get(HANDLED_IN.0));
        note.is_some_and(|note| note == HANDLED_IN.1)
    };
    let of_probe = run.cases.iter().filter(|case| case.probe == PROBE).filter(is_in_kernel);
    let slow: Vec<(&CaseRecord, f64)> = of_probe
        .filter_map(|case| Some((case, Proven::also(case, LOOP)?)))
        .filter(|(_, around)| around.low > MOST_NS)
        .map(|(case, around)| (case, around.value))
        .collect();
    let least = slow.iter().map(|(_, ns)| *ns).reduce(f64::min)?;
    let least = value(least, Unit::Nanoseconds, Lang::En);
    let names: Vec<&str> = slow.iter().filter_map(|(case, _)| case.params.get("cause")).collect();
    let (en, zh) = (names.join(", "), names.join("、"));
    let text = texts::text!(least, causes = Text { en, zh });
    let short = short(texts::short!(least));
    Some(Conclusion { short, text, cases: slow.iter().map(|(case, _)| case.id.clone()).collect(), cost: 0.0 })
}
