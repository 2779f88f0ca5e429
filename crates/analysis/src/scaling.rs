//! How the work of several CPUs grows with their number, as processes and as threads of one process, and by which law.

use hostmark_model::{Better, Lang, Leading, Run};
use hostmark_stats::scalability::{
    Dip, Growth, Knee, LEAST_POINTS, Linear, MOST_SCATTER, Parameter, Point, ScalingLaw, growth,
};
use hostmark_stats::{descriptive, trend};

use crate::bilingual::{SEMICOLON, Words, joined};
use crate::curve::{CurvePoint, curve};
use crate::findings::copies;
use crate::format::{number, percent_number};

/// Probes of which each thread of one process has a time, and of processes that do the same.
const PARALLEL: &[&str] = &["paging.parallel_fault", "syscall.parallel"];
/// The axis by which the second has several operations.
const OPERATION: &str = "call";

/// Requests to a device past the cache, by how many are under way at once.
const QUEUED: &[&str] = &["disk.read", "disk.write"];
/// A rate is near the highest when it has this share of it.
const NEAR_THE_MOST: f64 = 0.9;

/// An order of rounds that is rarer than this is none of chance.
const CHANCE: f64 = 0.05;

/// What does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parties {
    /// Copies, each with its own address space and descriptors.
    Processes,
    /// Those of one process.
    Threads,
    /// Requests that a device works on.
    Requests,
}

/// How one work grows with the number of CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The probe, and the operation where it has several.
    pub source: String,
    /// Who does it.
    pub parties: Parties,
    /// In times of what one alone does, by ascending number.
    pub points: Vec<Point>,
    /// How they grow, where there are enough.
    pub growth: Option<Growth>,
    /// The physical cores among the usable CPUs, where they count.
    pub cores: Option<f64>,
    /// The share by which every number of them did less in the last round than in the first.
    pub slows: Option<f64>,
}

/// Every work that was measured on several CPUs at once, as processes and as threads.
pub fn of_run(run: &Run) -> Vec<Scaling> {
    let mut all = Vec::new();
    for source in copies::sources(run) {
        // These have copies of each operation.
        if source != PARALLEL[1] {
            let slows = slows(run, source, &curve(run, source, "copies", &[]));
            all.push(Scaling::of(run, source.to_owned(), Parties::Processes, copies::curve(run, source), slows));
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
    for &probe in QUEUED {
        let rates = curve(run, probe, "depth", &[]);
        let Some(one) = rates.first().filter(|point| point.at == 1) else { continue };
        let throughput = |rate: &CurvePoint| typical(rate) / typical(one);
        let points = rates.iter().map(|rate| Point { parties: rate.at as f64, throughput: throughput(rate) }).collect();
        all.push(Scaling::of(run, probe.to_owned(), Parties::Requests, points, slows(run, probe, &rates)));
    }
    all.retain(|scaling| scaling.points.len() > 1);
    all
}

/// What scales is typical: a quiet value of one alone has no like among several.
fn typical(point: &CurvePoint) -> f64 {
    point.estimate.by(Leading::Typical).map_or(f64::NAN, |stated| stated.value)
}

/// The share by which the points did less from the first round to the last, by the median of all; none where the order of rounds may be
/// chance, or the share is not notable.
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
    (trend.p < CHANCE && trend.change < -copies::NOTABLE).then_some(-trend.change)
}

impl Scaling {
    fn of(run: &Run, source: String, parties: Parties, points: Vec<Point>, slows: Option<f64>) -> Scaling {
        let cores = copies::usable_cores(&run.host).filter(|_| parties != Parties::Requests).map(|cores| cores as f64);
        let growth = growth(&points, cores, run.settings.seed);
        Scaling { source, parties, points, growth, cores, slows }
    }

    /// Whether so many numbers of CPUs were measured that a law can be told.
    pub fn is_enough(&self) -> bool {
        self.points.len() >= LEAST_POINTS
    }

    /// What did the work.
    pub fn label(&self) -> Words {
        let (en, zh) = match self.parties {
            Parties::Processes => ("processes", "多进程"),
            Parties::Threads => ("threads of one process", "同一进程的线程"),
            Parties::Requests => ("requests in flight", "在途请求"),
        };
        Words { en: format!("{}, {en}", self.source), zh: format!("{}，{zh}", self.source) }
    }

    /// The law, the peak and the first fall; of too few numbers of CPUs, how many there are.
    pub fn in_words(&self) -> Words {
        if !self.is_enough() {
            let (some, least) = (self.points.len(), LEAST_POINTS);
            return Words {
                en: match self.parties {
                    Parties::Requests => format!("too few queue depths for a law ({some} of {least})"),
                    _ => format!("too few numbers of CPUs for a law ({some} of {least})"),
                },
                zh: match self.parties {
                    Parties::Requests => format!("队列深度的取值太少，无法判断定律（{some} 个，需 {least} 个）"),
                    _ => format!("CPU 数目的取值太少，无法判断定律（{some} 个，需 {least} 个）"),
                },
            };
        }
        let mut parts: Vec<Words> = self.slows.map(slowing).into_iter().collect();
        match &self.growth {
            None => {}
            Some(Growth::Uneven(dip)) => parts.push(uneven(dip)),
            Some(Growth::Smooth { linear, knee, law, falls_from }) => {
                parts.extend(linear.map(|linear| self.linear(linear)));
                // With time in the curve, and where nothing but cores is needed, no contention bends it.
                match law.filter(|_| self.slows.is_none() && self.source != copies::PURE) {
                    Some(law) => parts.push(self.law(&law, *knee)),
                    None => parts.extend(self.bend(*linear, *knee)),
                }
                parts.extend(knee.map(|knee| self.beyond(knee)));
                parts.extend(falls_from.map(|parties| Words {
                    en: format!("{parties} do less than fewer did"),
                    zh: format!("{parties} 个时少于更少数目时所做"),
                }));
            }
        }
        if self.parties == Parties::Requests {
            parts.extend(self.knee());
        }
        joined(&parts, SEMICOLON)
    }
}

impl Scaling {
    /// Up to which number each does the same.
    fn linear(&self, linear: Linear) -> Words {
        let Linear { from, to, each } = linear;
        let times = self.points.iter().find(|point| point.parties == to).map_or(0.0, |point| point.throughput);
        let (each, times, is_cores) = (percent_number(each), number(times), self.are_cores(to));
        let is_like_one = (linear.each - 1.0).abs() <= MOST_SCATTER;
        Words {
            en: match (is_cores, is_like_one) {
                (true, true) => format!("linear to the {to} physical cores ({times}x one alone)"),
                (true, false) => {
                    format!("linear from {from} to the {to} physical cores, each at {each} % of one alone")
                }
                (false, true) => format!("linear to {to} ({times}x one alone)"),
                (false, false) => format!("linear from {from} to {to}, each at {each} % of one alone"),
            },
            zh: match (is_cores, is_like_one) {
                (true, true) => format!("到 {to} 个物理核心为止呈线性（为单独一个的 {times} 倍）"),
                (true, false) => format!("从 {from} 个到 {to} 个物理核心呈线性，每个为单独一个的 {each}%"),
                (false, true) => format!("到 {to} 个为止呈线性（为单独一个的 {times} 倍）"),
                (false, false) => format!("从 {from} 个到 {to} 个呈线性，每个为单独一个的 {each}%"),
            },
        }
    }

    /// Whether so many are all cores, and further ones their second threads.
    fn are_cores(&self, parties: f64) -> bool {
        self.cores == Some(parties) && self.points.iter().any(|point| point.parties > parties)
    }

    /// What the most up to the knee do, where they are no longer linear.
    fn bend(&self, linear: Option<Linear>, knee: Option<Knee>) -> Option<Words> {
        let last = self.points.iter().rfind(|point| knee.is_none_or(|knee| point.parties <= knee.at))?;
        let (most, times, each) = (last.parties, number(last.throughput), percent_number(last.each()));
        linear.is_none_or(|linear| linear.to < most).then(|| match self.are_cores(most) {
            true => Words {
                en: format!("the {most} physical cores do {times}x one alone ({each} % each)"),
                zh: format!("{most} 个物理核心为单独一个的 {times} 倍（每个 {each}%）"),
            },
            false => Words {
                en: format!("{most} do {times}x one alone ({each} % each)"),
                zh: format!("{most} 个为单独一个的 {times} 倍（每个 {each}%）"),
            },
        })
    }

    /// The law of those up to the knee, and how well it fits.
    fn law(&self, law: &ScalingLaw, knee: Option<Knee>) -> Words {
        let Words { mut en, mut zh } = law.serial.as_ref().map_or_else(|| universal(law), amdahl);
        if let Some(knee) = knee {
            (en, zh) = (format!("up to {} {en}", knee.at), format!("{} 个以内{zh}", knee.at));
        }
        let scatter = percent_number(law.scatter);
        en += &format!(", scatter {scatter} %");
        zh += &format!("，离散 {scatter}%");
        let most = self.points.last().map_or(0.0, |last| last.parties);
        match (law.peak(knee), &law.serial) {
            (Some(peak), _) => {
                let times = number(law.at(peak) / law.alone);
                en += &format!("; peak at {peak:.0}, {times}x one alone");
                zh += &format!("；峰值在 {peak:.0} 个，为单独一个的 {times} 倍");
                if peak > most {
                    en += " by extrapolation";
                    zh += "（外推）";
                }
            }
            (_, Some(serial)) if knee.is_none() && serial.low > 0.0 => {
                let times = number(1.0 / serial.value);
                en += &format!(", so never over {times}x one alone");
                zh += &format!("，无论多少都不超过单独一个的 {times} 倍");
            }
            _ => {}
        }
        Words { en, zh }
    }

    /// What those beyond a knee add.
    fn beyond(&self, knee: Knee) -> Words {
        let (last, first) = (self.points[self.points.len() - 1], self.points[0].throughput);
        let (at, gain, most, times) = (knee.at, percent_number(knee.gain.abs()), last.parties, number(last.throughput));
        let is_flat = (knee.gain * first * (most - at)).abs() <= MOST_SCATTER * last.throughput;
        let (one, one_zh) = match self.are_cores(at) {
            true => ("SMT sibling", " SMT 兄弟线程"),
            false => ("further one", "更多的一个"),
        };
        let does = match (is_flat, knee.gain > 0.0) {
            (true, _) => term!("adds nothing").to_owned_text(),
            (false, true) => {
                Words { en: format!("adds {gain} % of one alone"), zh: format!("只多出单独一个的 {gain}%") }
            }
            (false, false) => Words {
                en: format!("takes {gain} % of one alone away"),
                zh: format!("反而减少单独一个的 {gain}%"),
            },
        };
        let (en, zh) = (does.en, does.zh);
        Words {
            en: format!("beyond {at} each {one} {en}: {most} do {times}x one alone"),
            zh: format!("超过 {at} 个后，每个{one_zh}{zh}：{most} 个为单独一个的 {times} 倍"),
        }
    }

    /// The queue depth from which on more requests mostly wait.
    fn knee(&self) -> Option<Words> {
        let most = self.points.iter().max_by(|one, other| one.throughput.total_cmp(&other.throughput))?;
        let near = self.points.iter().find(|point| point.throughput >= NEAR_THE_MOST * most.throughput)?;
        let is_last = self.points.last().is_some_and(|last| last.parties == near.parties);
        let (depth, times) = (near.parties, number(near.throughput));
        Some(match is_last {
            true => Words {
                en: format!("no knee up to {depth}: the rate still rises there ({times}x one)"),
                zh: format!("到 {depth} 为止没有拐点：速率仍在上升（为单个的 {times} 倍）"),
            },
            false => Words {
                en: format!("knee at {depth} ({times}x one): more get under 10 % more done, and wait"),
                zh: format!("拐点在 {depth}（为单个的 {times} 倍）：再增加，速率多不出 10%，只是等待更久"),
            },
        })
    }
}

/// A share with its interval.
fn share(of: &Parameter, lang: Lang) -> String {
    let [value, low, high] = [of.value, of.low, of.high].map(fine_percent);
    match lang {
        Lang::En => format!("{value} % ({low} to {high} %)"),
        Lang::Zh => format!("{value}%（{low} 到 {high}%）"),
    }
}

/// A share as a percentage, with three digits: coherence is small.
fn fine_percent(share: f64) -> String {
    number(share * 100.0)
}

fn amdahl(serial: &Parameter) -> Words {
    Words {
        en: format!("Amdahl's law: serial share {}", share(serial, Lang::En)),
        zh: format!("阿姆达尔定律：串行份额 {}", share(serial, Lang::Zh)),
    }
}

fn universal(law: &ScalingLaw) -> Words {
    let of = |lang| (share(&law.contention, lang), share(&law.coherence, lang));
    let ((contention, coherence), (contention_zh, coherence_zh)) = (of(Lang::En), of(Lang::Zh));
    Words {
        en: format!("universal scalability law: contention σ {contention}, coherence κ {coherence}"),
        zh: format!("通用可扩展性定律：竞争 σ {contention_zh}，一致性 κ {coherence_zh}"),
    }
}

fn uneven(dip: &Dip) -> Words {
    let (at, share) = (dip.at, percent_number(dip.share));
    Words {
        en: format!("uneven, so no law is told: {at} do {share} % less than smaller and larger numbers let expect"),
        zh: format!("不平滑，故不给出定律：{at} 个比更少与更多的数目所预期的少 {share}%"),
    }
}

fn slowing(share: f64) -> Words {
    let share = percent_number(share);
    Words {
        en: format!(
            "the same number did {share} % less in the last round than in the first, so no law is told: CPU credits, \
             throttling or a busier host"
        ),
        zh: format!("同样的数目在最后一轮比第一轮少做 {share}%，故不给出定律：CPU 积分用完、被限流，或宿主机更忙"),
    }
}
