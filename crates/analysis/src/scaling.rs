//! Growth of the work of several CPUs with their number, as processes and as threads of one process, and its law.

use hostmark_model::{Better, Leading, Message, Run};
use hostmark_say::say;
use hostmark_stats::scalability::{
    Dip, Growth, Knee, LEAST_POINTS, Linear, MOST_SCATTER, Parameter, Point, ScalingLaw, growth,
};
use hostmark_stats::{descriptive, trend};

use crate::curve::{CurvePoint, curve};
use crate::findings::cores;
use crate::format::{number, percent_number};
use crate::typography::{COMMA, SEMICOLON};

/// Probes of which each thread of one process has a time, and of processes that do the same.
const PARALLEL: &[&str] = &["paging.parallel_fault", "syscall.parallel"];
/// The axis by which the second has several operations.
const OPERATION: &str = "call";

/// Requests to a device past the cache, by how many are under way at once.
const QUEUED: &str = "disk.direct_io";
/// Threads that read memory together, and a load beside such threads.
const TOGETHER: &str = "memory.scaling";
const BESIDE: &str = "memory.loaded_latency";
/// A rate is near the highest when it has this share of it.
const NEAR_THE_MOST: f64 = 0.9;

/// An order of rounds that is rarer than this is none of chance.
const CHANCE: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parties {
    /// Copies, each with its own address space and descriptors.
    Processes,
    Threads,
    /// Requests that a device works on.
    Requests,
}

/// Growth of one workload with the number of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The probe, and the operation where it has several.
    pub source: String,
    pub parties: Parties,
    /// Throughput in multiples of one CPU's, by ascending number.
    pub points: Vec<Point>,
    /// Law of growth, where there are enough points.
    pub growth: Option<Growth>,
    /// The physical cores among the usable CPUs, where they count.
    pub cores: Option<f64>,
    /// The share by which every number of them did less in the last round than in the first.
    pub slows: Option<f64>,
    /// Latencies of a load beside threads that read memory, ns, by the number of all; 1 is beside nobody.
    pub beside: Vec<(u64, f64)>,
}

/// Every work that was measured on several CPUs at once, as processes and as threads.
pub fn of_run(run: &Run) -> Vec<Scaling> {
    let mut all = Vec::new();
    for source in cores::sources(run) {
        // These have copies of each operation.
        if source != PARALLEL[1] {
            let slows = slows(run, source, &curve(run, source, "copies", &[]));
            all.push(Scaling::of(
                run,
                source.to_owned(),
                Parties::Processes,
                cores::curve_of_source(run, source),
                slows,
            ));
        }
    }
    for &probe in PARALLEL {
        let mut operations: Vec<Option<&str>> =
            run.cases.iter().filter(|case| case.probe == probe).map(|case| case.params.get(OPERATION)).collect();
        operations.sort_unstable();
        operations.dedup();
        for operation in operations {
            let source = operation.map_or_else(|| probe.to_owned(), |operation| format!("{probe} {operation}"));
            let at: Vec<(&str, &str)> = operation.map(|operation| (OPERATION, operation)).into_iter().collect();
            let both = [(Parties::Processes, "copies"), (Parties::Threads, "threads")];
            // Copies of a probe without operations are a source above.
            for (parties, axis) in both.into_iter().skip(usize::from(operation.is_none())) {
                let times = curve(run, probe, axis, &at);
                let Some(one) = times.first().filter(|point| point.at == 1) else { continue };
                let point = |time: &CurvePoint| {
                    let parties = time.at as f64;
                    Point { parties, throughput: parties * typical(one) / typical(time) }
                };
                let points = times.iter().map(point).collect();
                all.push(Scaling::of(run, source.clone(), parties, points, slows(run, probe, &times)));
            }
        }
    }
    let rates = [
        (QUEUED, "depth", Some("read"), Parties::Requests),
        (QUEUED, "depth", Some("write"), Parties::Requests),
        (TOGETHER, "threads", None, Parties::Threads),
    ];
    for (probe, axis, operation, parties) in rates {
        let but: Vec<(&str, &str)> = operation.map(|operation| ("op", operation)).into_iter().collect();
        let rates = curve(run, probe, axis, &but);
        let Some(one) = rates.first().filter(|point| point.at == 1) else { continue };
        let throughput = |rate: &CurvePoint| typical(rate) / typical(one);
        let points = rates.iter().map(|rate| Point { parties: rate.at as f64, throughput: throughput(rate) }).collect();
        let source = operation.map_or_else(|| probe.to_owned(), |operation| format!("{probe} {operation}"));
        let scaling = Scaling::of(run, source, parties, points, slows(run, probe, &rates));
        let beside = if probe == TOGETHER { loads_beside(run) } else { Vec::new() };
        all.push(Scaling { beside, ..scaling });
    }
    all.retain(|scaling| scaling.points.len() > 1);
    all
}

/// Latencies of a load from memory, alone and beside others that read it, by the number of CPUs, ns.
fn loads_beside(run: &Run) -> Vec<(u64, f64)> {
    let alone = run.cases.iter().find(|case| case.probe == BESIDE && case.params.get("delay") == Some("idle"));
    let alone = alone.and_then(|case| Some((1, case.measured()?.estimate.value())));
    alone.into_iter().chain(curve(run, BESIDE, "threads", &[]).iter().map(|point| (point.at, typical(point)))).collect()
}

/// Typical value, as an undisturbed value of one CPU has no like among several.
fn typical(point: &CurvePoint) -> f64 {
    point.estimate.by(Leading::Typical).map_or(f64::NAN, |stated| stated.value)
}

/// The median share by which the points did less from the first round to the last; none if that may be chance or is not notable.
fn slows(run: &Run, probe: &str, points: &[CurvePoint]) -> Option<f64> {
    let is_rate = run.probes.iter().any(|info| info.id == probe && info.better == Better::Higher);
    let speeds = |point: &CurvePoint| -> Option<Vec<f64>> {
        let medians: Vec<f64> = point.case.measured()?.rounds.iter().map(|round| round.median).collect();
        let usual = descriptive::median(&medians)?;
        Some(medians.iter().map(|median| if is_rate { median / usual } else { usual / median }).collect())
    };
    let all: Vec<Vec<f64>> = points.iter().filter_map(speeds).collect();
    let rounds = all.iter().map(Vec::len).min()?;
    let of_round = |round| descriptive::median(&all.iter().map(|speeds| speeds[round]).collect::<Vec<f64>>());
    let trend = trend::trend(&(0..rounds).filter_map(of_round).collect::<Vec<f64>>())?;
    (trend.p < CHANCE && trend.change < -cores::NOTABLE).then_some(-trend.change)
}

impl Scaling {
    fn of(run: &Run, source: String, parties: Parties, points: Vec<Point>, slows: Option<f64>) -> Scaling {
        let cores = cores::usable_cores(&run.host).filter(|_| parties != Parties::Requests).map(|cores| cores as f64);
        let growth = growth(&points, cores, run.settings.seed);
        Scaling { source, parties, points, growth, cores, slows, beside: Vec::new() }
    }

    /// Tells whether enough numbers of CPUs were measured to fit a law.
    pub fn is_enough(&self) -> bool {
        self.points.len() >= LEAST_POINTS
    }

    pub fn label(&self) -> Message {
        let source = &self.source;
        match self.parties {
            Parties::Processes => say!("{source}, processes"),
            Parties::Threads => say!("{source}, threads of one process"),
            Parties::Requests => say!("{source}, requests in flight"),
        }
    }

    /// The law, the peak and the first fall; of too few numbers of CPUs, how many there are.
    pub fn in_words(&self) -> Message {
        if !self.is_enough() {
            let (some, least) = (self.points.len(), LEAST_POINTS);
            return match self.parties {
                Parties::Requests => say!("too few queue depths for a law ({some} of {least})"),
                _ => say!("too few numbers of CPUs for a law ({some} of {least})"),
            };
        }
        let mut parts: Vec<Message> = self.slows.map(slowing).into_iter().collect();
        match &self.growth {
            None => {}
            Some(Growth::Uneven(dip)) => parts.push(uneven(dip)),
            Some(Growth::Smooth { linear, knee, law, falls_from }) => {
                parts.extend(linear.map(|linear| self.linear(linear)));
                // With time in the curve, and where nothing but cores is needed, no contention bends it.
                match law.filter(|_| self.slows.is_none() && self.source != cores::PURE) {
                    Some(law) => parts.push(self.law(&law, *knee)),
                    None => parts.extend(self.bend(*linear, *knee)),
                }
                parts.extend(knee.map(|knee| self.beyond(knee)));
                parts.extend(falls_from.map(|parties| say!("{parties} do less than fewer did")));
            }
        }
        if self.parties == Parties::Requests || self.source == TOGETHER {
            parts.extend(self.knee());
        }
        let nanoseconds = |(cpus, ns): &(u64, f64)| say!("{ns:.0} ns by {cpus}");
        if let [_, _, ..] = self.beside[..] {
            parts.push(say!("a load takes {all}", all = Message::joined(self.beside.iter().map(nanoseconds), COMMA)));
        }
        Message::joined(parts, SEMICOLON)
    }
}

impl Scaling {
    /// Describes the number of CPUs up to which each does the same.
    fn linear(&self, linear: Linear) -> Message {
        let Linear { from, to, each } = linear;
        let times = self.points.iter().find(|point| point.parties == to).map_or(0.0, |point| point.throughput);
        let (each, times, is_cores) = (percent_number(each), number(times), self.are_cores(to));
        let is_like_one = (linear.each - 1.0).abs() <= MOST_SCATTER;
        match (is_cores, is_like_one) {
            (true, true) => say!("linear to the {to} physical cores ({times}x one alone)"),
            (true, false) => say!("linear from {from} to the {to} physical cores, each at {each} % of one alone"),
            (false, true) => say!("linear to {to} ({times}x one alone)"),
            (false, false) => say!("linear from {from} to {to}, each at {each} % of one alone"),
        }
    }

    /// Tells whether this number is all cores, and further ones their second hardware threads.
    fn are_cores(&self, parties: f64) -> bool {
        self.cores == Some(parties) && self.points.iter().any(|point| point.parties > parties)
    }

    /// Describes the throughput up to the knee, where it is no longer linear.
    fn bend(&self, linear: Option<Linear>, knee: Option<Knee>) -> Option<Message> {
        let last = self.points.iter().rfind(|point| knee.is_none_or(|knee| point.parties <= knee.at))?;
        let (most, times, each) = (last.parties, number(last.throughput), percent_number(last.each()));
        linear.is_none_or(|linear| linear.to < most).then(|| match self.are_cores(most) {
            true => say!("the {most} physical cores do {times}x one alone ({each} % each)"),
            false => say!("{most} do {times}x one alone ({each} % each)"),
        })
    }

    /// The law of those up to the knee, and how well it fits.
    fn law(&self, law: &ScalingLaw, knee: Option<Knee>) -> Message {
        let mut told = law.serial.as_ref().map_or_else(|| universal(law), amdahl);
        if let Some(Knee { at, .. }) = knee {
            told = say!("up to {at} {told}");
        }
        told = say!("{told}, scatter {scatter} %", scatter = percent_number(law.scatter));
        let most = self.points.last().map_or(0.0, |last| last.parties);
        match (law.peak(knee), &law.serial) {
            (Some(peak), _) => {
                let times = number(law.at(peak) / law.alone);
                match peak > most {
                    true => say!("{told}; peak at {peak:.0}, {times}x one alone by extrapolation"),
                    false => say!("{told}; peak at {peak:.0}, {times}x one alone"),
                }
            }
            (_, Some(serial)) if knee.is_none() && serial.low > 0.0 => {
                let times = number(1.0 / serial.value);
                say!("{told}, so never over {times}x one alone")
            }
            _ => told,
        }
    }

    fn beyond(&self, knee: Knee) -> Message {
        let (last, first) = (self.points[self.points.len() - 1], self.points[0].throughput);
        let (at, gain, most, times) = (knee.at, percent_number(knee.gain.abs()), last.parties, number(last.throughput));
        let is_flat = (knee.gain * first * (most - at)).abs() <= MOST_SCATTER * last.throughput;
        let one = match self.are_cores(at) {
            true => term!("SMT sibling"),
            false => term!("further one"),
        };
        let does = match (is_flat, knee.gain > 0.0) {
            (true, _) => term!("adds nothing").into(),
            (false, true) => say!("adds {gain} % of one alone"),
            (false, false) => say!("takes {gain} % of one alone away"),
        };
        say!("beyond {at} each {one} {does}: {most} do {times}x one alone")
    }

    /// The queue depth from which on more requests mostly wait.
    fn knee(&self) -> Option<Message> {
        let most = self.points.iter().max_by(|one, other| one.throughput.total_cmp(&other.throughput))?;
        let near = self.points.iter().find(|point| point.throughput >= NEAR_THE_MOST * most.throughput)?;
        let is_last = self.points.last().is_some_and(|last| last.parties == near.parties);
        let (depth, times) = (near.parties, number(near.throughput));
        Some(match is_last {
            true => say!("no knee up to {depth}: the rate still rises there ({times}x one)"),
            false => say!("knee at {depth} ({times}x one): more get under 10 % more done, and wait"),
        })
    }
}

fn share(of: &Parameter) -> Message {
    let [value, low, high] = [of.value, of.low, of.high].map(|share| number(share * 100.0));
    say!("{value} % ({low} to {high} %)")
}

fn amdahl(serial: &Parameter) -> Message {
    say!("Amdahl's law: serial share {share}", share = share(serial))
}

fn universal(law: &ScalingLaw) -> Message {
    let (contention, coherence) = (share(&law.contention), share(&law.coherence));
    say!("universal scalability law: contention σ {contention}, coherence κ {coherence}")
}

fn uneven(dip: &Dip) -> Message {
    let (at, share) = (dip.at, percent_number(dip.share));
    say!("uneven, so no law is told: {at} do {share} % less than smaller and larger numbers let expect")
}

fn slowing(share: f64) -> Message {
    let share = percent_number(share);
    say!(
        "the same number did {share} % less in the last round than in the first, so no law is told: CPU credits, \
             throttling or a busier host"
    )
}
