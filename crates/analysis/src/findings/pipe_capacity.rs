//! Pipe bandwidth that bends where a message outgrows the pipe.

use hostmark_model::{Lang, Run, Unit, size_text};
use hostmark_say::say;

use super::evidence::lost;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::curve::{CurvePoint, curve};
use crate::format::{number, value};
use crate::texts::findings::pipe_capacity as texts;
use crate::words;

const PIPE: &str = "ipc.bandwidth";
/// Note of the probe on the capacity of its pipe.
const CAPACITY: &str = "capacity_bytes";
/// Least speedup of the best message that fits over the first that does not.
const BEND: f64 = 1.1;

pub(super) static RULE: Rule = Rule {
    id: "ipc.pipe_capacity",
    shown: Demonstration::Try("pipe-size"),
    probes: &[PIPE],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let points = curve(run, PIPE, "message", &[]);
    let capacity: u64 = points.iter().find_map(|point| point.case.measured()?.notes.get(CAPACITY)?.parse().ok())?;
    let (fitting, beyond): (Vec<CurvePoint>, Vec<CurvePoint>) = points.iter().partition(|point| point.at <= capacity);
    let value_of = |point: &&CurvePoint| point.estimate.value();
    let best = fitting.iter().max_by(|one, other| value_of(one).total_cmp(&value_of(other)))?;
    let first = beyond.first()?;
    let fastest = beyond.iter().max_by(|one, other| value_of(one).total_cmp(&value_of(other)))?;
    // The first is proven slower, and none that is larger makes up for it.
    if !best.is_above(first, BEND) || value_of(&fastest) >= value_of(&best) {
        return None;
    }
    let factor = number(value_of(&best) / value_of(&first));
    let [most, falls, later] =
        [best, first, fastest].map(|point| value(value_of(&point), Unit::BytesPerSecond, Lang::En));
    let [fits, over, largest] = [best, first, fastest].map(|point| size_text(point.at));
    let holds = size_text(capacity);
    let rest = match beyond.len() {
        1 => Default::default(),
        _ => words(say!(" No larger message gets over {later} (at {largest}).")),
    };
    let text = texts::text!(holds, most, fits, falls, over, factor, rest);
    let short = short(texts::short!(most, fits, falls, over, holds));
    let cost = lost(value_of(&best), value_of(&first));
    Some(Conclusion { short, text, cases: vec![best.case.id.clone(), first.case.id.clone()], cost })
}
