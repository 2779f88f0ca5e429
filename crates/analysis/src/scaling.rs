//! How the work of several CPUs grows with their number, as processes and as threads of one process, and by which law.

use hostmark_model::{Lang, Leading, Run};
use hostmark_stats::scalability::{self, LEAST_POINTS, Parameter, Point, ScalingLaw, falls_from};

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
    /// The law of enough points that follow one.
    pub law: Option<ScalingLaw>,
    /// The serial share of a law whose coherence is not known to be above 0.
    pub serial: Option<Parameter>,
    /// The first number of parties that does less than fewer did.
    pub falls_from: Option<f64>,
}

/// Every work that was measured on several CPUs at once, as processes and as threads.
pub fn of_run(run: &Run) -> Vec<Scaling> {
    let mut all = Vec::new();
    for source in copies::sources(run) {
        // These have copies of each operation.
        if source != PARALLEL[1] {
            all.push(Scaling::of(run, source.to_owned(), Parties::Processes, copies::curve(run, source)));
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
                all.push(Scaling::of(run, source.clone(), parties, times.iter().map(point).collect()));
            }
        }
    }
    for &probe in QUEUED {
        let rates = curve(run, probe, "depth", &[]);
        let Some(one) = rates.first().filter(|point| point.at == 1) else { continue };
        let throughput = |rate: &CurvePoint| typical(rate) / typical(one);
        let points = rates.iter().map(|rate| Point { parties: rate.at as f64, throughput: throughput(rate) }).collect();
        all.push(Scaling::of(run, probe.to_owned(), Parties::Requests, points));
    }
    all.retain(|scaling| scaling.points.len() > 1);
    all
}

/// What scales is typical: a quiet value of one alone has no like among several.
fn typical(point: &CurvePoint) -> f64 {
    point.estimate.by(Leading::Typical).map_or(f64::NAN, |stated| stated.value)
}

impl Scaling {
    fn of(run: &Run, source: String, parties: Parties, points: Vec<Point>) -> Scaling {
        let cores = copies::usable_cores(&run.host).filter(|_| parties != Parties::Requests);
        let (cores, seed) = (cores.map(|cores| cores as f64), run.settings.seed);
        let law = scalability::law(&points, cores, seed);
        let amdahl = law.filter(|law| law.coherence.low <= 0.0);
        let serial = amdahl.and_then(|law| scalability::serial_share(&points, &law, seed));
        let falls_from = falls_from(&points, law.map_or(scalability::MOST_SCATTER, |law| law.scatter));
        Scaling { source, parties, points, law, serial, falls_from }
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
        let mut parts = vec![match (&self.law, &self.serial) {
            (Some(_), Some(serial)) => amdahl(serial),
            (Some(law), None) => universal(law),
            (None, _) => Words {
                en: "follows no law: the points scatter by over 5 %".into(),
                zh: "不服从任何定律：各点的离散超过 5%".into(),
            },
        }];
        if let Some(knee) = self.law.and_then(|law| law.knee) {
            let (at, gain) = (knee.at, percent_number(knee.gain));
            parts.push(Words {
                en: format!("beyond {at} each further one adds {gain} % of what one does alone"),
                zh: format!("超过 {at} 之后，每增加一个只多出单独一个的 {gain}%"),
            });
        }
        if self.parties == Parties::Requests {
            parts.extend(self.knee());
        }
        if let Some(parties) = self.falls_from {
            parts.push(Words {
                en: format!("{parties} do less than fewer did"),
                zh: format!("{parties} 个时少于更少数目时所做"),
            });
        }
        joined(&parts, SEMICOLON)
    }
}

impl Scaling {
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
    let mut words = Words {
        en: format!("Amdahl's law: serial share {}", share(serial, Lang::En)),
        zh: format!("阿姆达尔定律：串行份额 {}", share(serial, Lang::Zh)),
    };
    if serial.low > 0.0 {
        let most = number(1.0 / serial.value);
        words.en += &format!(", so never over {most}x one alone");
        words.zh += &format!("，无论多少都不超过单独一个的 {most} 倍");
    }
    words
}

fn universal(law: &ScalingLaw) -> Words {
    let of = |lang| (share(&law.contention, lang), share(&law.coherence, lang));
    let ((contention, coherence), (contention_zh, coherence_zh)) = (of(Lang::En), of(Lang::Zh));
    let mut words = Words {
        en: format!("universal scalability law: contention σ {contention}, coherence κ {coherence}"),
        zh: format!("通用可扩展性定律：竞争 σ {contention_zh}，一致性 κ {coherence_zh}"),
    };
    if let Some(peak) = law.peak() {
        let most = number(law.at(peak) / law.alone);
        words.en += &format!("; peak at {peak:.0}, {most}x one alone");
        words.zh += &format!("；峰值在 {peak:.0} 个，为单独一个的 {most} 倍");
    }
    words
}
