//! Memory whose first touch costs far more than the next: the hypervisor takes pages back, and gives them anew.

use hostmark_model::{Lang, Run, Unit};

use super::evidence::{Proven, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::{number, percent, value};
use crate::texts::findings::first_touch as texts;

const FAULT: &str = "paging.fault";
/// Pages that lie in a cache are zeroed faster too; by less than this.
const NOTABLE: f64 = 2.0;
/// First touch of memory on servers whose host keeps it backed, bytes a second.
const USUAL_RATE: f64 = 6e9;
/// Factor from which on no processor is the cause.
const MUCH_SLOWER: f64 = 12.0;
/// The interrupts, walks and zeroing of a fault are counted by pages of this size where the run does not tell another.
const USUAL_PAGE_BYTES: u64 = 4096;

pub(super) static RULE: Rule = Rule {
    id: "memory.first_touch",
    shown: Demonstration::Explain("paging.fault"),
    probes: &[FAULT],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    // All say the same; the dearest one says how bad it gets.
    let all = [conclusion(run, "first"), conclusion(run, "returned"), slow(run)].into_iter().flatten();
    all.max_by(|one, other| one.cost.total_cmp(&other.cost)).into_iter().collect()
}

/// First touch at a small part of the usual rate, by the look before the run.
fn slow(run: &Run) -> Option<Conclusion> {
    run.host.virtualization.hypervisor.as_ref()?;
    let rate = run.host.memory_look.as_ref()?.first_touch_bytes_per_s;
    if !(rate > 0.0 && rate < USUAL_RATE / MUCH_SLOWER) {
        return None;
    }
    let [slow, fast] = [rate, USUAL_RATE].map(|rate| value(rate, Unit::BytesPerSecond, Lang::En));
    let times = number(USUAL_RATE / rate);
    let text = texts::slow_text!(times, slow, fast);
    Some(Conclusion {
        short: short(texts::slow_short!(slow, fast)),
        text,
        cases: Vec::new(),
        cost: 1.0 - rate / USUAL_RATE,
    })
}

fn conclusion(run: &Run, kind: &str) -> Option<Conclusion> {
    // Without a hypervisor nobody else gives memory or takes it.
    run.host.virtualization.hypervisor.as_ref()?;
    let case = case_at(run, FAULT, &[("kind", kind)])?;
    let (first, again) = (Proven::of_case(case)?, Proven::also(case, "again")?);
    if first.value < NOTABLE * again.value || first.low <= again.high {
        return None;
    }
    let memory = &run.host.memory;
    let page = match kind {
        "returned" => memory.pmd_page_bytes?,
        _ => Some(memory.page_bytes).filter(|bytes| *bytes > 0).unwrap_or(USUAL_PAGE_BYTES),
    };
    let rate = |ns: f64| value(page as f64 * 1e9 / ns, Unit::BytesPerSecond, Lang::En);
    let (times, cost) = (number(first.value / again.value), lost(first.value, again.value));
    let [slow, fast] = [first.value, again.value].map(rate);
    let share = percent(cost);
    let short = match kind {
        "returned" => short(texts::returned_short!(times, slow, fast)),
        _ => short(texts::first_short!(times, slow, fast)),
    };
    let text = match kind {
        "returned" => texts::returned_text!(times, slow, fast, share),
        _ => texts::first_text!(times, slow, fast, share),
    };
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost })
}
