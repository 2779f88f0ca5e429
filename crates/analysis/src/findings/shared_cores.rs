//! CPUs that do less together than alone, at work that needs nothing but a core: SMT siblings, power, a busy host.

use hostmark_model::{Lang, Run, Text, Unit};
use hostmark_say::say;

use super::copies::{NOTABLE, PURE, SCALING, Together, most_copies, usable_cores};
use super::evidence::{Proven, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA, Rule, YIELDS};
use crate::format::{number, percent, value};
use crate::texts::findings::shared_cores as texts;
use crate::words;

const FREQUENCY: &str = "cpu.frequency";

pub(super) static RULE: Rule = Rule {
    id: "cpu.shared_cores",
    shown: Demonstration::Run,
    probes: &[SCALING, PURE, FREQUENCY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let all = most_copies(run);
    let sieve = all.iter().find(|together| together.source == PURE)?;
    if sieve.times.high / sieve.copies >= 1.0 - NOTABLE {
        return None;
    }
    let cost = lost(sieve.copies, sieve.times.value);
    let (times, copies, share) = (number(sieve.times.value), sieve.copies, percent(cost));
    let why = reason(run, sieve);
    let text = texts::text!(copies, times, share, why);
    let short = short(texts::short!(copies, times, share));
    Some(Conclusion { short, text, cases: vec![sieve.case.id.clone()], cost })
}

fn reason(run: &Run, sieve: &Together) -> Text<String> {
    if let Some(cores) = usable_cores(&run.host).filter(|cores| (*cores as f64) < sieve.copies) {
        return words(say!("They are threads of {cores:core} (SMT): two threads of a core share its execution units."));
    }
    if let Some((alone, all)) = slower_clock(run, sieve.copies) {
        let [alone, all] = [alone, all].map(|hz| value(hz, Unit::Hertz, Lang::En));
        return texts::why_clock!(alone, all);
    }
    if run.host.virtualization.hypervisor.is_some() {
        return texts::why_guest!();
    }
    texts::why_unknown!()
}

/// The clock with one core busy and with all, where the second is proven lower by over half of what is worth a word.
fn slower_clock(run: &Run, copies: f64) -> Option<(f64, f64)> {
    let at = |threads: &str| Proven::at(run, FREQUENCY, &[("load", "scalar"), ("threads", threads)]);
    let (alone, all) = (at("1")?, at(&copies.to_string())?);
    (all.high < alone.low * (1.0 - NOTABLE / 2.0)).then_some((alone.value, all.value))
}
