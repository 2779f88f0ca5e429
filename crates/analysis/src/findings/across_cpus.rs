//! Two processes that talk to each other, far slower on two CPUs than on one.

use hostmark_model::{CaseRecord, Lang, Run, Unit};

use super::evidence::{Proven, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, TRACED, YIELDS};
use crate::format::{number, value};
use crate::texts::findings::across_cpus as texts;

const PIPE: &str = "ipc.round_trip";
const HERE: &str = "same_cpu";
const WHERE: &str = "cpus";
/// A CPU that sleeps is woken by an interrupt: two to four times what a switch takes is what hardware makes of it. Beyond that something
/// else is in the way.
const FACTOR: f64 = 5.0;

pub(super) static RULE: Rule = Rule {
    id: "ipc.across_cpus",
    shown: Demonstration::Try("idle-poll"),
    probes: &[PIPE],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let placed = |case: &&CaseRecord| case.probe == PIPE && case.params.get("by") == Some("pipe");
    let place = |case: &CaseRecord| case.params.get(WHERE).unwrap_or_default().to_owned();
    let known = |case: &'_ CaseRecord| Some((case.id.clone(), place(case), Proven::of_case(case)?));
    let all: Vec<(String, String, Proven)> = run.cases.iter().filter(placed).filter_map(known).collect();
    let (here_id, _, here) = all.iter().find(|(_, at, _)| at == HERE)?;
    // The nearest of the others, by what it takes: what is far is slow by itself.
    let others = all.iter().filter(|(_, at, _)| at != HERE && at != "free");
    let (id, _, across) = others.min_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    if across.low < FACTOR * here.high {
        return None;
    }
    let times = number(across.value / here.value);
    let [near, far] = [here, across].map(|proven| value(proven.value, Unit::Nanoseconds, Lang::En));
    let why = match run.host.virtualization.hypervisor.is_some() {
        true => texts::why_guest!(),
        false => texts::why_host!(),
    };
    let text = texts::text!(far, near, times, why);
    let short = short(texts::short!(far, near, times));
    Some(Conclusion { short, text, cases: vec![id.clone(), here_id.clone()], cost: lost(across.value, here.value) })
}
