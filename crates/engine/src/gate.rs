//! The plausibility gate: no number that physics forbids is reported as good.

use hostmark_model::{AxisKind, CaseRecord, Estimate, Flag, FlagKind, Outcome, Params};

use crate::probe::{Limit, Probe};

/// The core's frequency and the value are each known to about a percent.
const TOLERANCE: f64 = 1.03;
/// A latency that falls by more than this as its buffer grows is marked.
const FALL: f64 = 1.10;

/// Most bytes a core cycle of one thread: the widest vectors times the load and store ports of the widest cores known
/// (two 64-byte loads and one 64-byte store: Intel Skylake-SP and later, AMD Zen 5; three 16-byte loads: Neoverse V2).
const MOST_BYTES_A_CYCLE: f64 = 192.0;

/// Flags of a value by itself. `core_hz`: the core's frequency beside it.
pub fn check(probe: &Probe, params: &Params, estimate: &Estimate, core_hz: Option<f64>) -> Vec<Flag> {
    let Some(core_hz) = core_hz.filter(|&hz| hz > 0.0) else { return Vec::new() };
    let implausible = |detail: String| vec![Flag { kind: FlagKind::Implausible, detail }];
    match probe.limit {
        Limit::CyclesPerOp | Limit::Rising(_) => {
            let cycles = estimate.median * core_hz / 1e9;
            if cycles * TOLERANCE < 1.0 {
                return implausible(format!(
                    "{cycles:.2} core cycles for a dependent operation, which takes at least 1"
                ));
            }
        }
        Limit::BytesPerCycle => {
            let axis = probe.axes.iter().find(|axis| axis.kind == AxisKind::Threads);
            let threads = axis.and_then(|axis| params.get(axis.name)?.parse::<f64>().ok()).unwrap_or(1.0).max(1.0);
            let bytes = estimate.median / core_hz / threads;
            if bytes > MOST_BYTES_A_CYCLE * TOLERANCE {
                let most = MOST_BYTES_A_CYCLE;
                return implausible(format!(
                    "{bytes:.0} bytes a core cycle, and no core's ports move more than {most:.0}"
                ));
            }
        }
        Limit::None | Limit::Voted => {}
    }
    Vec::new()
}

/// Marks values that fall, beyond both intervals and 10 %, as `axis` grows while all other axes stay.
/// `records`: the cases of one probe.
pub fn mark_falling(records: &mut [CaseRecord], axis: &str) {
    let mut order: Vec<(Params, u64, usize)> = records
        .iter()
        .enumerate()
        .filter_map(|(index, record)| {
            let point = record.params.get(axis)?.parse().ok()?;
            record.measured()?;
            Some((record.params.with(axis, ""), point, index))
        })
        .collect();
    order.sort();
    for series in order.chunk_by(|one, other| one.0 == other.0) {
        let mut highest: Option<(f64, String)> = None;
        for &(_, _, index) in series {
            let id = records[index].id.clone();
            let Outcome::Measured(measured) = &mut records[index].outcome else { continue };
            let estimate = &measured.estimate;
            let low = estimate.ci_low.unwrap_or(estimate.median);
            let high = estimate.ci_high.unwrap_or(estimate.median);
            if let Some((before, of)) = &highest
                && high * FALL < *before
            {
                let detail = format!("lower than {of}, though {axis} is larger: one of the two is wrong");
                measured.flags.push(Flag { kind: FlagKind::Implausible, detail });
            }
            if highest.as_ref().is_none_or(|(before, _)| low > *before) {
                highest = Some((low, id));
            }
        }
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
