//! Facts about a core's design: its caches answer in a number of cycles, and their time tells its clock.

use hostmark_model::{Measured, Text};

use super::{Reference, ReferenceValue};

/// The cycles that a load from L1d and from L2 takes at least in a design, and the page of its maker's manual: Intel's optimization manual
/// (248966) and AMD's guides (56305, 56665, 57647, 58455). A chain through registers takes the simplest address: 4 cycles, not 5. Arm's
/// clocks are not known from the base: that chain has further instructions.
fn documented_cycles(design: &str) -> Option<(u32, u32, &'static str)> {
    include_str!("designs.tsv").lines().find_map(|line| {
        let mut columns = line.split('\t');
        columns.next().filter(|name| *name == design)?;
        Some((columns.next()?.parse().ok()?, columns.next()?.parse().ok()?, columns.next()?))
    })
}

/// The year of the manuals.
const DATE: &str = "2024";
/// A latency is a whole number of cycles: what is nearer to another one is another latency.
const HALF: f64 = 0.5;
/// Published chains through L2 take up to so many more than the manuals' least.
const MORE_OF_SECOND: f64 = 3.0;

const FIRST: &str = "memory.hierarchy@level=l1d";
const SECOND: &str = "memory.hierarchy@level=l2";
const CLOCK: &str = "cpu.frequency@load=scalar,threads=1";

/// Puts what is known of the design in the place of L1d's time: cycles of L1d and L2, and the clock.
pub(super) fn complete(reference: &mut Reference) {
    let Some((first, second, address)) = reference.design.as_deref().and_then(documented_cycles) else { return };
    let documented = |id: &str, least: u32, more: f64| ReferenceValue {
        quantity: Measured::CYCLES.to_owned(),
        interval: Some([f64::from(least) - HALF, f64::from(least) + more + HALF]),
        address: Some(address.to_owned()),
        date: Some(DATE.to_owned()),
        method: Some(BY_MANUAL.to_owned_text()),
        ..ReferenceValue::of(id, f64::from(least))
    };
    let clock = |time: &ReferenceValue| {
        let hz = |ns: f64| f64::from(first) * 1e9 / ns;
        let turned = |[low, high]: [f64; 2]| [hz(high), hz(low)];
        ReferenceValue {
            interval: time.interval.map(turned),
            half: time.half.map(turned),
            method: Some(crate::texts::references::designs::CLOCK.to_owned_text()),
            ..ReferenceValue::of(CLOCK, hz(time.value))
        }
    };
    for values in
        std::iter::once(&mut reference.values).chain(reference.classes.iter_mut().map(|class| &mut class.values))
    {
        let time = values.iter().position(|value| value.id == FIRST && value.quantity.is_empty());
        let clock = time.map(|at| clock(&values.remove(at)));
        let core = [documented(FIRST, first, 0.0), documented(SECOND, second, MORE_OF_SECOND)];
        values.splice(0..0, core);
        values.extend(clock);
    }
}

const BY_MANUAL: Text =
    term!("load-to-use latency by the maker's optimization manual, which gives the least; L2 up to 3 cycles more");
