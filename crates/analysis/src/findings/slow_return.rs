//! Cost of a function's first return after a system call.

use hostmark_model::{Lang, Message, Run, Unit};
use hostmark_say::say;

use super::evidence::{Proven, case_at, lost};
use super::host::named_mitigations;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule, TRACED};
use crate::format::{percent, value};
use crate::texts::findings::slow_return as texts;
use crate::typography::COMMA;
use crate::words;

const GETPID: &str = "syscall.getpid";
/// A call and a return that the core predicts take one or two of the hundred nanoseconds of a call.
const PREDICTED: f64 = 0.1;

pub(super) static RULE: Rule = Rule {
    id: "syscall.slow_return",
    shown: Demonstration::Explain(GETPID),
    probes: &[GETPID],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&TRACED] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = |way| case_at(run, GETPID, &[("way", way)]);
    let (call, bare) = (case("syscall")?, case("bare")?);
    let (returning, instruction) = (Proven::of_case(call)?, Proven::of_case(bare)?);
    let cost = lost(returning.value, instruction.value);
    if cost <= PREDICTED || lost(returning.low, instruction.high) <= 0.0 {
        return None;
    }
    let ns = |ns| value(ns, Unit::Nanoseconds, Lang::En);
    let [took, without, more] = [returning.value, instruction.value, returning.value - instruction.value].map(ns);
    let share = percent(cost);
    let named = named_mitigations(&run.host);
    let guards = match named.is_empty() {
        true => Default::default(),
        false => words(say!(" Mitigations in force: {named}.", named = Message::joined(named, COMMA))),
    };
    let text = texts::text!(took, without, more, share, guards);
    let short = short(texts::short!(more, share, took));
    Some(Conclusion { short, text, cases: vec![call.id.clone(), bare.id.clone()], cost })
}
