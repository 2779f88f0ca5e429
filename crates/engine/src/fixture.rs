//! A small catalogue and small hosts, for tests alone.

use std::path::Path;
use std::time::Duration;

use hostmark_model::{
    Better, CacheFact, CaseId, CaseRecord, CpuFact, Explain, HostFacts, Inputs, Measured, MemoryFacts, NodeFact,
    Outcome, Params, Profile, RoundRecord, Text, Unit,
};
use hostmark_say::say;

use crate::case::Case;
use crate::estimate::estimate;
use crate::plan::{Plan, PlannedCase, Priority, Request, plan};
use crate::probe::serving::{Service, Serving};
use crate::probe::{Axis, Catalogue, Entry, FullFactorial, Group, Limit, Measure, Need, Points, Probe, Source, find};
use crate::record::journal::{Header, Journal, PastRound, ResumeError};
use crate::round_error::{Result, RoundError};

const TEXT: Text = Text { en: "a text", zh: "文字" };

/// A probe without axes, from which the others differ.
pub const PLAIN: Probe = Probe {
    title: TEXT,
    explain: Explain { what: TEXT, why: TEXT, reading: TEXT, typical: TEXT, causes: TEXT },
    section: TEXT,
    measure: Measure::Run(never),
    ..Probe::PLAIN
};

fn never(_: &mut Case) -> Result<()> {
    Err(RoundError::internal(say!("no worker measures in these tests")))
}

/// A probe with a far half, which no test measures.
pub const BETWEEN: Probe = Probe { measure: Measure::Between { service: &SERVICE, measure: never }, ..PLAIN };
static SERVICE: Service = Service { name: "nobody", serve: serves_nobody };

fn serves_nobody(_: &mut Serving) -> Result<()> {
    Err(RoundError::internal(say!("no worker measures in these tests")))
}

/// The largest cache and twice it, unsorted and with a repetition.
fn around_the_cache(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let cache = host.caches.iter().map(|cache| cache.size_bytes).max().unwrap_or(8 << 20);
    let mut sizes = vec![2 * cache, 4096, cache, 4096];
    if profile >= Profile::Standard {
        sizes.push(4 * cache);
    }
    sizes
}

static LATENCY: Probe = Probe {
    axes: &[
        Axis::size("size", "65536", Points::OfHost(around_the_cache)),
        Axis::choice(
            "pattern",
            "random",
            Points::quick(&["in_page", "random"]).standard(&["stride"]).thorough(&["64"]),
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "pattern"] }],
    limit: Limit::Rising("size"),
    replaces: &["lat_mem_rd"],
    ..PLAIN
};

/// Returns one record a source, so that a test sees what it was given; none where nothing was measured.
fn echo(records: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let measured = records.iter().filter(|record| record.measured().is_some());
    measured.map(|record| CaseRecord { probe: "memory.hierarchy".into(), ..record.clone() }).collect()
}

static HIERARCHY: Probe =
    Probe { measure: Measure::Derive { from: &[Source::whole("memory.latency")], derive: echo }, ..PLAIN };

fn breaks(_: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    panic!("no curve")
}

fn is_not_a_number(records: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let mut records = records.to_vec();
    for record in &mut records {
        record.probe = "odd.nan".into();
        if let Outcome::Measured(measured) = &mut record.outcome {
            measured.estimate.typical = f64::NAN;
        }
    }
    records
}

static BREAKS: Probe =
    Probe { measure: Measure::Derive { from: &[Source::whole("net.tcp")], derive: breaks }, ..PLAIN };
static NAN: Probe =
    Probe { measure: Measure::Derive { from: &[Source::whole("net.tcp")], derive: is_not_a_number }, ..PLAIN };

const PLACES: &[&str] =
    &["same_cpu", "smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node", "free"];
pub const CPUS: Axis = Axis::placements("cpus", "same_cpu", Points::quick(PLACES));
static PIPE: Probe = Probe { axes: &[CPUS], blocking: true, replaces: &["lat_pipe"], ..PLAIN };
static TCP: Probe = Probe { ..PLAIN };
static CONNECT: Probe = Probe { replaces: &["lat_connect"], needs: &[Need::Root], ..PLAIN };
static STREAM: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    axes: &[
        Axis::threads("threads", Points::quick(&["2", "1"]).standard(&["4"])),
        Axis::count("passes", "10", Points::quick(&["9", "100"])),
    ],
    limit: Limit::BytesPerCycle,
    needs: &[Need::HugePages],
    ..PLAIN
};

pub static CATALOGUE: Catalogue = &[
    &Group {
        name: "memory",
        shares_worker: false,
        probes: &[("hierarchy", &HIERARCHY), ("latency", &LATENCY), ("stream", &STREAM)],
    },
    &Group { name: "net", shares_worker: false, probes: &[("tcp", &TCP), ("tcp_connect", &CONNECT)] },
    &Group { name: "ipc", shares_worker: false, probes: &[("pipe", &PIPE)] },
];

/// Derived probes that go wrong.
pub static ODD: Catalogue = &[
    &Group { name: "net", shares_worker: false, probes: &[("tcp", &TCP)] },
    &Group { name: "odd", shares_worker: false, probes: &[("breaks", &BREAKS), ("nan", &NAN)] },
];

static ON_ALL: Probe = Probe {
    axes: &[
        Axis::all_threads("threads", Points::quick(&["all"]).standard(&["1"])),
        Axis::settled_count("elements", |host| host.last_level_caches_bytes(&host.usable_cpus()) / 2),
    ],
    ..PLAIN
};

/// A probe whose numbers have words for defaults, which the host settles.
pub static WORDS: Catalogue = &[&Group { name: "words", shares_worker: false, probes: &[("all", &ON_ALL)] }];

static TEN: Probe = Probe {
    axes: &[Axis::count("n", "1", Points::quick(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]))],
    ..PLAIN
};

/// Twenty probes of ten cases each: what the quick profile is meant for.
pub static MANY: Catalogue = &[&Group { name: "many", shares_worker: false, probes: TWENTY }];

/// The same, of which one worker measures several.
pub static SHARED: Catalogue = &[&Group { name: "many", shares_worker: true, probes: TWENTY }];

const TWENTY: &[(&str, &Probe)] = &{
    let (mut probes, mut names) = ([("", &TEN); 20], "abcdefghijklmnopqrst");
    let mut at = 0;
    while at < probes.len() {
        (probes[at].0, names) = names.split_at(1);
        at += 1;
    }
    probes
};

/// A host of two cores with two threads each (0 and 2, 1 and 3), one 4 MiB cache, one node, root, Linux 6.1.
pub fn host() -> HostFacts {
    let cpu = |id: usize| CpuFact {
        id,
        online: true,
        allowed: true,
        core: Some(id % 2),
        node: Some(0),
        siblings: vec![id % 2, id % 2 + 2],
        ..CpuFact::default()
    };
    let mut host = HostFacts {
        cpus: (0..4).map(cpu).collect(),
        caches: vec![CacheFact {
            level: 3,
            size_bytes: 4 << 20,
            shared_cpus: (0..4).collect(),
            ..CacheFact::default()
        }],
        nodes: vec![NodeFact { memory_bytes: 1 << 34, cpus: (0..4).collect(), ..NodeFact::default() }],
        memory: MemoryFacts { available_bytes: 1 << 33, pmd_page_bytes: Some(2 << 20), ..MemoryFacts::default() },
        ..HostFacts::default()
    };
    host.kernel.release = "6.1.0-13-amd64".into();
    host.limits.is_root = Some(true);
    host
}

/// The same host, of which the process may use these CPUs alone.
pub fn host_with(cpus: &[usize]) -> HostFacts {
    let mut host = host();
    host.cpus.iter_mut().for_each(|cpu| cpu.allowed = cpus.contains(&cpu.id));
    host
}

pub fn request(filters: &[&str], profile: Profile) -> Request {
    Request {
        filters: filters.iter().map(|&filter| filter.into()).collect(),
        profile,
        seed: 7,
        set: Vec::new(),
        inputs: Inputs::default(),
    }
}

pub fn planned(catalogue: Catalogue, filters: &[&str], profile: Profile) -> Plan {
    plan(catalogue, &host(), request(filters, profile)).unwrap()
}

/// Ids of the cases of a plan, in its order.
pub fn ids(plan: &Plan) -> Vec<String> {
    plan.cases.iter().map(|case| case.id.to_string()).collect()
}

pub fn entry(id: &str) -> Entry {
    find(CATALOGUE, id).unwrap()
}

/// A measured record whose rounds have these medians; its interval follows from them.
pub fn record(id: &str, medians: &[f64]) -> CaseRecord {
    let id: CaseId = id.parse().unwrap();
    let rounds: Vec<Vec<f64>> = medians.iter().map(|&median| vec![median]).collect();
    let measured = Measured { estimate: estimate(&rounds, 0.0, Better::Lower), samples: rounds, ..Measured::default() };
    let outcome = Outcome::Measured(Box::new(measured));
    CaseRecord { id: id.to_string(), probe: id.probe, params: id.params, outcome }
}

pub fn planned_case(probe: &'static Probe, id: &str) -> PlannedCase {
    PlannedCase {
        entry: Entry { group: "ipc", name: "pipe", shares_worker: false, probe },
        id: id.parse().unwrap(),
        is_default: false,
        steps: 0,
        priority: Priority::Default,
        set_up: Duration::ZERO,
        first_touch: Duration::ZERO,
        cpus: vec![0],
        skip: None,
    }
}

pub fn round_at(core_hz: f64) -> RoundRecord {
    RoundRecord {
        round: 0,
        median: 1.0,
        core_hz: Some(core_hz),
        cpus: vec![0],
        iterations: 1,
        settled: true,
        ..RoundRecord::default()
    }
}

pub fn params(pairs: &[(&str, &str)]) -> Params {
    Params(pairs.iter().map(|&(axis, value)| (axis.into(), value.into())).collect())
}

/// Returns a free journal, resumed. A process that another test's thread starts copies its lock until it executes its program.
pub fn resumed<R: serde::de::DeserializeOwned>(
    path: &Path,
) -> std::result::Result<(Journal, Header<R>, Vec<PastRound>), ResumeError> {
    for _ in 0..500 {
        match Journal::resume(path) {
            Err(ResumeError::UnderWay) => crate::sys::clock::sleep(Duration::from_millis(10)),
            other => return other,
        }
    }
    Err(ResumeError::UnderWay)
}
