//! Runs made up for comparisons: cases whose rounds scatter as told, and differ between runs as told.

use hostmark_model::*;
use hostmark_stats::descriptive;

use crate::synthetic::{case, empty, measured, probe};

/// Random numbers that are the same every time (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
/// 2014).
pub struct Random(pub u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal, of mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Exponential, of mean 1: noise on a shared host only adds.
    pub fn tail(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

/// Samples of a round.
pub const SAMPLES: usize = 40;

/// A case with these round medians.
pub fn rounds(id: &str, medians: &[f64]) -> CaseRecord {
    let middle = descriptive::median(medians).unwrap();
    let mut values = measured(middle, 0.01);
    let over = hostmark_stats::interval::of_medians(medians, 0.0);
    values.samples = medians.iter().map(|median| vec![*median; SAMPLES]).collect();
    let all = values.samples.concat();
    let is_rate = id.starts_with("net.");
    let best = if is_rate { descriptive::max(medians) } else { descriptive::min(medians) };
    values.estimate = Estimate {
        ci_low: over.map(|interval| interval.low),
        ci_high: over.map(|interval| interval.high),
        method: over.map_or(IntervalMethod::None, |_| IntervalMethod::OrderStatistics),
        min: descriptive::min(&all).unwrap(),
        max: descriptive::max(&all).unwrap(),
        mean: descriptive::mean(&all).unwrap(),
        stddev: descriptive::stddev(&all).unwrap(),
        mad: descriptive::mad(&all).unwrap(),
        best_round: if id.starts_with("fact.") { middle } else { best.unwrap() },
        n: all.len() as u64,
        rounds: medians.len() as u32,
        range: descriptive::min(medians).zip(descriptive::max(medians)).map(|(low, high)| [low, high]),
        ..values.estimate
    };
    let template = RoundRecord { disturbance_flags: vec![0; SAMPLES], ..values.rounds[0].clone() };
    let round =
        |(round, median): (usize, &f64)| RoundRecord { round: round as u32, median: *median, ..template.clone() };
    values.rounds = medians.iter().enumerate().map(round).collect();
    case(id, Outcome::Measured(Box::new(values)))
}

/// The probes of these cases: `ipc.x` is better lower, `net.x` higher, `fact.x` neither.
pub fn probes() -> Vec<ProbeInfo> {
    let axes: &[_] = &[("n", AxisKind::Count, "0")];
    let one = |id, title, unit, better| ProbeInfo { better, ..probe(id, title, unit, ("Section", "一节"), axes) };
    vec![
        one("ipc.x", ("A time", "一个时间"), Unit::Nanoseconds, Better::Lower),
        one("net.x", ("A rate", "一个速率"), Unit::BytesPerSecond, Better::Higher),
        one("fact.x", ("A fact", "一个事实"), Unit::Count, Better::Neither),
    ]
}

/// A run of these cases.
pub fn run(id: &str, cases: Vec<CaseRecord>) -> Run {
    let mut run = Run { id: id.into(), name: id.into(), probes: probes(), cases, ..empty() };
    run.host.hostname = "db-17".into();
    run.host.kernel.release = "6.18.1".into();
    run.host.memory.page_bytes = 4096;
    run
}

/// How values scatter.
#[derive(Clone, Copy)]
pub struct Scatter {
    /// Rounds of a case.
    pub rounds: usize,
    /// Deviation between rounds, on the logarithms.
    pub round: f64,
    /// Deviation between runs.
    pub run: f64,
    /// How rounds scatter about their run.
    pub shape: Shape,
}

/// The law of what a round adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Normal,
    /// A tail to one side.
    Skewed,
    /// A third of the rounds three deviations off.
    Bimodal,
}

/// A run of `count` cases around 100 ns that scatter; the first `slowed` are slower by a fifth.
pub fn scattered(id: &str, random: &mut Random, count: usize, scatter: Scatter, slowed: usize) -> Run {
    let one = |index: usize| {
        let centre = 100.0 * (scatter.run * random.normal()).exp() * if index < slowed { 1.2 } else { 1.0 };
        let mut noise = || match scatter.shape {
            Shape::Normal => random.normal(),
            Shape::Skewed => random.tail(),
            Shape::Bimodal => random.normal() * 0.3 + if random.uniform() < 1.0 / 3.0 { 3.0 } else { 0.0 },
        };
        let medians: Vec<f64> = (0..scatter.rounds).map(|_| centre * (scatter.round * noise()).exp()).collect();
        rounds(&format!("ipc.x@n={index}"), &medians)
    };
    run(id, (0..count).map(one).collect())
}

/// A run of `count` cases with tails: rounds scatter by 1 %, runs by 2 %, tails by 20 % and 30 %; one case in ten is beside others, who
/// make its tail up to thirty times as long.
pub fn tailed(id: &str, random: &mut Random, count: usize) -> Run {
    let one = |index: usize| {
        let centre = 100.0 * (0.02 * random.normal()).exp();
        let medians: Vec<f64> = (0..5).map(|_| centre * (0.01 * random.normal()).exp()).collect();
        let is_contended = random.uniform() < 0.1;
        let by_others = if is_contended { 1.0 + 29.0 * random.uniform() } else { 1.0 };
        let mut case = rounds(&format!("ipc.x@n={index}"), &medians);
        let Outcome::Measured(measured) = &mut case.outcome else { return case };
        let tails = [("p50", 1.0, 0.0), ("p90", 1.2, 0.02), ("p99", 3.0, 0.2), ("p999", 3.0, 0.3)];
        // Each percentile is so many times the one below.
        let (mut values, mut below) = (Vec::new(), vec![centre; 5]);
        for (name, times, scatter) in tails {
            let times = times * if name == "p99" { by_others } else { 1.0 };
            let times = times * (scatter * random.normal()).exp();
            let of_round = |below: &f64| below * (times * (scatter * random.normal()).exp()).max(1.0);
            let of_rounds: Vec<f64> = below.iter().map(of_round).collect();
            let of_run = descriptive::median(&of_rounds).unwrap_or(centre);
            let estimate = rounds(&case.id, &of_rounds).measured().map(|one| one.estimate.clone());
            values.push((of_run as u64).max(values.last().map_or(0, |last| last + 1)));
            below = of_rounds;
            measured.also.extend(estimate.map(|estimate| (name.to_owned(), Also { estimate })));
        }
        measured.histogram = Some(Histogram { values, counts: vec![25_000, 20_000, 4_500, 500] });
        measured.noise.others_share = is_contended.then_some(0.45);
        case
    };
    run(id, (0..count).map(one).collect())
}
