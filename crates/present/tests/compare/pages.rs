//! Comparisons on paper, and of simulated runs.

use hostmark_analysis::compare::{GroupChange, SCHEMA};
use hostmark_present::export::comparison::{FORMATS, format_named};
use hostmark_stats::descriptive;

use super::pool;
use crate::prelude::*;
use crate::synthetic::{case, empty, golden, measured, probe};

fn compare_runs(base: Run, new: &[Run]) -> Comparison {
    let news: Vec<Pool> = new.iter().map(|run| Pool { name: &run.name, runs: std::slice::from_ref(run) }).collect();
    Comparison::of(Pool { name: &base.name, runs: std::slice::from_ref(&base) }, &news, &History::default(), SAME)
}

/// A kernel update that made calls dearer: what changed, what did not, what cannot be told.
fn an_update() -> Comparison {
    let skipped = |id: &str| {
        case(id, Outcome::Skipped { reason: ReasonCode::HugePages.because("the kernel gave no huge pages") })
    };
    let side = |name: &str, factor: f64| {
        let near = |id: &str, value: f64| rounds(id, &[value * 0.999, value, value * 1.0012]);
        let mut run = run(
            name,
            vec![
                near("ipc.x@n=0", 88.1 * factor),
                near("ipc.x@n=1", 1620.0 * factor.sqrt()),
                near("ipc.x@n=2", 104.0 * factor.powf(0.005)),
                near("net.x@n=0", 12.4e9 * factor),
                near("fact.x@n=0", 12.0),
                skipped("fact.x@n=1"),
            ],
        );
        run.host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: unret".into());
        run
    };
    let mut new = side("after", 1.378);
    new.host.kernel.release = "6.18.4".into();
    new.host.kernel.vulnerabilities.insert("retbleed".into(), "Mitigation: IBPB".into());
    new.disturbances.push(Text {
        en: "a busy process (pid 4711, cc1plus, 98 % of a CPU) disturbed this run".into(),
        zh: "有繁忙的进程（pid 4711，cc1plus，占一个 CPU 的 98%）干扰了本次运行".into(),
    });
    new.cases.push(rounds("ipc.x@n=9", &[1.0, 1.0, 1.0]));
    if let Outcome::Measured(measured) = &mut new.cases[1].outcome {
        measured.noise.disturbed = 30;
    }
    compare_runs(side("before", 1.0), &[new])
}

#[test]
fn the_table_and_the_markdown_are_as_they_were() {
    let plain = RenderOptions::default();
    let [english, chinese] = [(100, Lang::En, false), (80, Lang::Zh, true)]
        .map(|(width, lang, verbose)| RenderOptions { width, lang, verbose, ..plain });
    for (name, format, options) in [
        ("comparison-100-en.txt", "table", english),
        ("comparison-80-zh.txt", "table", chinese),
        ("comparison.md", "markdown", plain),
    ] {
        golden(name, &(format_named(format).unwrap().render)(&an_update(), &options));
    }
}

#[test]
fn runs_named_in_any_order_began_before_they_ended() {
    let at = |name: &str, hour: &str| Run {
        started: format!("2026-11-21T{hour}:00:00Z"),
        ..run(name, vec![rounds("ipc.x@n=0", &[100.0; 5])])
    };
    let (base, new) = ([at("b", "09"), at("a", "07")], [at("c", "10")]);
    let (base, new) = (Pool { name: "before", runs: &base }, [Pool { name: "after", runs: &new }]);
    let comparison = Comparison::of(base, &new, &History::default(), SAME);
    let text = (format_named("table").unwrap().render)(&comparison, &RenderOptions::default());
    assert!(text.contains("2026-11-21T07:00:00Z … 2026-11-21T09:00:00Z"), "{text}");
}

#[test]
fn one_run_differs_from_none() {
    let [one, other] = ["a", "b"].map(|name| run(name, vec![rounds("ipc.x@n=0", &[100.0; 5])]));
    let (hosts, options) = (hostmark_present::export::format_named("hosts").unwrap(), RenderOptions::default());
    assert!(!hosts.render_one(&one, &options).contains("identical ("));
    assert!(hosts.render(&[one, other], &options).unwrap().contains("identical ("));
}

#[test]
fn the_json_reads_back() {
    let comparison = an_update();
    let text = (format_named("json").unwrap().render)(&comparison, &RenderOptions::default());
    // What is for the eye alone is not in it.
    let again =
        (format_named("json").unwrap().render)(&serde_json::from_str(&text).unwrap(), &RenderOptions::default());
    assert_eq!(again, text);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], SCHEMA);
    assert_eq!(value["new"][0]["cases"][0]["verdict"], "slower");
    assert_eq!(value["new"][0]["cases"][0]["effect"]["test"]["runs"], 0);
}

#[test]
fn many_cases_are_shown_by_what_changed() {
    let mut random = Random(3);
    let scatter = Scatter { rounds: 5, round: 0.002, run: 0.0, shape: Shape::Normal };
    let base = scattered("a", &mut random, 120, scatter, 0);
    let new = scattered("b", &mut random, 120, scatter, 6);
    let comparison = compare_runs(base, &[new]);
    let table = |verbose| (FORMATS[0].render)(&comparison, &RenderOptions { verbose, ..RenderOptions::default() });
    let rows = |text: &str, word: &str| text.lines().filter(|line| line.ends_with(word)).count();
    assert_eq!(rows(&table(false), "slower"), 6);
    // No interval contradicts its verdict.
    for test in comparison.new[0].cases.iter().filter_map(|case| case.effect.as_ref()?.test.as_ref()) {
        assert_eq!(test.is_shown(), test.low > 1.0 || test.high < 1.0, "{test:?}");
    }
    let text = table(false);
    let left_out =
        text.split_once("not shown: ").and_then(|(_, rest)| rest.split_once(" cannot tell")).map(|(of, _)| of);
    let counts = left_out.and_then(|of| of.split_once(" same, ")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(counts.0.parse::<u32>().unwrap() + counts.1.parse::<u32>().unwrap(), 114);
    assert!(table(true).lines().filter(|line| line.contains("would miss <") || line.ends_with("same")).count() >= 114);
}

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

pub fn run(id: &str, cases: Vec<CaseRecord>) -> Run {
    let mut run = Run { id: id.into(), name: id.into(), probes: probes(), cases, ..empty() };
    run.host.hostname = "db-17".into();
    run.host.kernel.release = "6.18.1".into();
    run.host.memory.page_bytes = 4096;
    run
}

#[derive(Clone, Copy)]
pub struct Scatter {
    pub rounds: usize,
    /// Deviation between rounds, on the logarithms.
    pub round: f64,
    pub run: f64,
    /// How rounds scatter about their run.
    pub shape: Shape,
}

/// The law of what a round adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Normal,
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

/// The shares of cases that are called different, over pairs of runs without a difference: each by itself, and groups.
fn called_different(scatter: Scatter, pairs: u64, history: usize) -> (f64, f64) {
    let (mut called, mut all, mut groups) = (0, 0, 0);
    for pair in 0..pairs {
        let mut random = Random(pair * 1000 + 17);
        let mut made = |id: &str| scattered(id, &mut random, 100, scatter, 0);
        let (base, new) = (made("a"), made("b"));
        let mut known = History::default();
        (0..history).for_each(|index| known.add(&made(&format!("h{index}"))));
        let comparison = Comparison::of(pool("a", &[base]), &[pool("b", &[new])], &known, SAME);
        let counts = comparison.new[0].counts;
        assert_eq!(counts.not_comparable, 0);
        called += counts.slower + counts.faster;
        all += comparison.new[0].cases.len();
        let is_called = |group: &&GroupChange| matches!(group.verdict, Verdict::Slower | Verdict::Faster);
        groups += comparison.new[0].groups.iter().filter(is_called).count();
    }
    (called as f64 / all as f64, groups as f64 / pairs as f64)
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn of_runs_without_a_difference_few_cases_are_called_different() {
    for rounds in [3, 5, 10] {
        for shape in [Shape::Normal, Shape::Skewed, Shape::Bimodal] {
            // Runs that differ by nothing beyond their rounds, and up to three times as much as rounds do.
            for factor in [0.0, 1.0, 1.5, 3.0] {
                for history in [0, 4] {
                    let scatter = Scatter { rounds, round: 0.01, run: 0.01 * factor, shape };
                    let (share, groups) = called_different(scatter, PAIRS, history);
                    let counts = format!("{rounds} rounds, {shape:?}, runs {factor} times, {history} earlier runs");
                    assert!(share <= 0.05, "{counts}: {share}");
                    assert!(groups <= 0.3, "{counts}: groups {groups}");
                }
            }
        }
    }
}

/// Pairs of runs of which the shares are taken.
const PAIRS: u64 = 10;

/// What becomes of cases that are slower by so much: the shares that are found, that are called the same, and that cannot be told;
/// and of the others the share that is called different. `runs` a side.
fn found(slowed: f64, scatter: Scatter, history: usize, runs: usize) -> [f64; 4] {
    let (cases, changed) = (100, 20);
    let mut counts = [0; 4];
    for pair in 0..PAIRS {
        let mut random = Random(pair * 7919 + 5);
        let mut side = |name: &str, slowed: Option<f64>| -> Vec<Run> {
            let slowed = slowed.map_or(0, |_| changed);
            (0..runs).map(|index| scattered(&format!("{name}{index}"), &mut random, cases, scatter, slowed)).collect()
        };
        let (base, mut new) = (side("a", None), side("b", None));
        new.iter_mut().for_each(|run| slow(run, changed, slowed));
        let mut known = History::default();
        side("h", None).into_iter().take(history).for_each(|run| known.add(&run));
        (runs..history).for_each(|index| known.add(&scattered(&format!("k{index}"), &mut random, cases, scatter, 0)));
        let comparison = Comparison::of(pool("a", &base), &[pool("b", &new)], &known, SAME);
        for (index, case) in comparison.new[0].cases.iter().enumerate() {
            match (index < changed, case.verdict) {
                (true, Verdict::Slower) => counts[0] += 1,
                (true, Verdict::Same) => counts[1] += 1,
                (true, _) => counts[2] += 1,
                (false, Verdict::Slower | Verdict::Faster) => counts[3] += 1,
                (false, _) => {}
            }
        }
    }
    let changed_cases = PAIRS as f64 * changed as f64;
    let others = PAIRS as f64 * (cases - changed) as f64;
    [
        counts[0] as f64 / changed_cases,
        counts[1] as f64 / changed_cases,
        counts[2] as f64 / changed_cases,
        counts[3] as f64 / others,
    ]
}

/// Makes the first cases of a run slower.
fn slow(run: &mut Run, cases: usize, by: f64) {
    for case in run.cases.iter_mut().take(cases) {
        let medians: Vec<f64> = case.measured().unwrap().rounds.iter().map(|round| round.median * (1.0 + by)).collect();
        *case = rounds(&case.id, &medians);
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn what_can_be_seen_is_found_and_what_cannot_is_not_called_the_same() {
    let scatter = Scatter { rounds: 5, round: 0.005, run: 0.005, shape: Shape::Normal };
    // A half more is found by one run a side without history, and a tenth with.
    assert!(found(0.5, scatter, 0, 1)[0] >= 0.99);
    assert!(found(0.1, scatter, 10, 1)[0] >= 0.9);
    // A twentieth by five runs a side.
    assert!(found(0.05, scatter, 10, 5)[0] >= 0.9);
    for (slowed, history, runs) in [(0.05, 0, 1), (0.05, 4, 1), (0.1, 0, 1), (0.05, 0, 3)] {
        let [_, same, _, wrong] = found(slowed, scatter, history, runs);
        assert!(same <= 0.05 && wrong <= 0.05, "{slowed}, {history} earlier runs, {runs} a side: {same} {wrong}");
    }
}
