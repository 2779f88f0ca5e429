//! Group cpu: the core itself.

mod arithmetic;
mod branch;
mod coherence;
mod frequency;
mod pipeline;
mod scaling;

crate::group!("cpu", shares_worker true:
    frequency = frequency::FREQUENCY ramp = frequency::RAMP latency = arithmetic::LATENCY
    throughput = arithmetic::THROUGHPUT parallelism = arithmetic::PARALLELISM
    bogoflops = arithmetic::BOGOFLOPS flops = arithmetic::FLOPS branch = branch::BRANCH
    misprediction = branch::MISPREDICTION indirect_branch = branch::INDIRECT_BRANCH
    store_forwarding = pipeline::STORE_FORWARDING reorder_window = pipeline::REORDER_WINDOW
    front_end = pipeline::FRONT_END atomic = coherence::ATOMIC core_to_core = coherence::CORE_TO_CORE
    sieve = scaling::SIEVE kernel_sieve = scaling::KERNEL_SIEVE scaling = scaling::SCALING
);

use crate::kernels::operation::{Op, Operation, Type};
use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processor core");

/// Axis type of an operation.
const TYPE: Axis = Axis::choice("type", "i64", Points::quick(&["i64", "f64"]).standard(&["i32", "f32"]));
/// Axis op: div and mod have long operands, the small ones short ones.
const OP: Axis = Axis::choice(
    "op",
    "add",
    Points::quick(&["add", "mul", "div"]).standard(&["bit", "mod", "div_small", "mod_small"]),
);

/// The operation that the case's axes name.
fn operation(case: &Case) -> Result<Operation> {
    let (kind, op) = (case.param::<Type>("type")?, case.param::<Op>("op")?);
    Operation::of(kind, op).ok_or_else(|| {
        RoundError::skipped(ReasonCode::Hardware, say!("no CPU has an instruction for this; libraries loop for it"))
    })
}

/// Returns one value for each round that all sources have, from the medians of their rounds.
fn by_round(sources: &[&Measured], value: impl Fn(&[f64]) -> f64) -> Vec<Vec<f64>> {
    let rounds = sources.iter().map(|source| source.rounds.len()).min().unwrap_or(0);
    let medians = |round: usize| sources.iter().map(|source| source.rounds[round].median).collect::<Vec<f64>>();
    (0..rounds).map(|round| vec![value(&medians(round))]).collect()
}

/// The same from times, in cycles of the core clock beside each; none where a round does not know its clock.
fn cycles_by_round(sources: &[&Measured], value: impl Fn(&[f64]) -> f64) -> Option<Vec<Vec<f64>>> {
    let in_cycles = |source: &&Measured| {
        let mut source = (*source).clone();
        for round in &mut source.rounds {
            round.median *= round.core_hz? / 1e9;
        }
        Some(source)
    };
    let sources = sources.iter().map(in_cycles).collect::<Option<Vec<Measured>>>()?;
    Some(by_round(&sources.iter().collect::<Vec<_>>(), value))
}

/// Combines the sources' leading quiet values and all between the ends of intervals and rounds, at the first one's clock.
fn quiet_of(sources: [(&Measured, bool); 2], value: impl Fn(&[f64]) -> f64) -> Option<Quiet> {
    let all: Vec<Quiet> = sources.iter().map(|(source, _)| source.estimate.leading_quiet()).collect::<Option<_>>()?;
    let at_hz = all[0].at_hz.filter(|_| all.iter().all(|quiet| quiet.at_hz.is_some()));
    let at_the_clock = |(quiet, (_, is_rate)): (&Quiet, &(&Measured, bool))| {
        let slower = quiet.at_hz.zip(at_hz).map_or(1.0, |(own, common)| own / common);
        quiet.map(|number| if *is_rate { number / slower } else { number * slower })
    };
    let all: Vec<Quiet> = all.iter().zip(&sources).map(at_the_clock).collect();
    let hulls = |ends: &[[f64; 2]]| {
        let corner = |corner: usize| {
            let at: Vec<f64> = ends.iter().enumerate().map(|(index, ends)| ends[corner >> index & 1]).collect();
            value(&at)
        };
        let values = || (0..1 << ends.len()).map(corner);
        [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)]
    };
    let ends_of =
        |ends: fn(&Quiet) -> Option<[f64; 2]>| Some(hulls(&all.iter().map(ends).collect::<Option<Vec<_>>>()?));
    let interval = ends_of(|quiet| Some([quiet.low?, quiet.high?]));
    Some(Quiet {
        value: value(&all.iter().map(|quiet| quiet.value).collect::<Vec<f64>>()),
        low: interval.map(|[low, _]| low),
        high: interval.map(|[_, high]| high),
        range: ends_of(|quiet| quiet.range),
        at_hz,
    })
}

/// Returns the record of a derived probe, from a value for each round and the quiet one. Remarks on its sources hold for it too.
fn derived(
    probe: &str,
    params: Params,
    sources: &[&Measured],
    (rounds, quiet): (Vec<Vec<f64>>, Option<Quiet>),
    better: Better,
) -> CaseRecord {
    let point = params.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",");
    let id = if point.is_empty() { probe.to_owned() } else { format!("{probe}@{point}") };
    let estimate = estimate(&rounds, 0.0, better).led_by(quiet);
    let mut flags: Vec<Flag> = Vec::new();
    for flag in sources.iter().flat_map(|source| &source.flags) {
        if !flags.contains(flag) {
            flags.push(flag.clone());
        }
    }
    if estimate.value() <= 0.0 {
        let detail = say!("the value does not stand out from the noise");
        flags.push(Flag::new(FlagKind::UnderResolution, detail));
    }
    let measured = Measured { estimate, samples: rounds, flags, ..Measured::default() };
    CaseRecord { id, probe: probe.into(), params, outcome: Outcome::Measured(Box::new(measured)) }
}
