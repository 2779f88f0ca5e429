//! Rule on the description of what programs read: every field that is written is named in docs/schema.md.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use hostmark_engine::estimate;
use hostmark_engine::probe::entries;
use hostmark_model::{
    Activity, Again, Also, Better, BlockDevice, Bounds, BusyTask, CacheFact, CalibratedClock, CaseRecord, Channels,
    ClockFacts, CpuFact, DirectoryFact, Disturbed, Doubt, Estimate, Event, FarEnd, FarUsage, Finding, FirmwareFacts,
    Flag, FlagKind, Gap, Grade, GroupFact, Histogram, HostFacts, HostFinding, HostReport, HostWeight, HugePages,
    Imported, InterfaceLosses, InterruptModeration, Job, LastCache, Leading, LimitFacts, LoopbackFacts, LostRound,
    Measured, MemoryFacts, MemoryLook, MemoryModule, Neighbours, NetworkInterface, NetworkPath, NodeFact, Noise, Nonce,
    Others, Outcome, PROTOCOL, PairRun, Params, PathBytes, Peer, Pressure, ProcessFacts, Profile, QueueingDiscipline,
    Quiet, Raw, ReasonCode, Repetition, Rings, RoundNoise, RoundRecord, RoundTime, Run, RunTime, SCHEMA, Scratch,
    SelfChecked, SeriesTurn, ServiceJob, Settings, StorageFacts, Text, Throttling, Tool, Trust,
};
use hostmark_probes::CATALOGUE;
use serde_json::{Value, json};

use super::sources::words;

/// Fields whose own fields are names of something else: of axes, quantities, notes, settings, resources.
const FREE: [&str; 10] = [
    "params",
    "also",
    "notes",
    "vulnerabilities",
    "set",
    "pressure",
    "resource_limits",
    "attributes",
    "group_settings",
    "sysctls",
];

/// Fields of `value` that `document` does not name between backquotes.
pub fn undescribed(document: &str, value: &Value) -> Vec<String> {
    let described: HashSet<&str> = document.split('`').skip(1).step_by(2).flat_map(words).collect();
    let mut names = Vec::new();
    collect(value, &mut names);
    names.retain(|name| !described.contains(name.as_str()));
    names.iter().map(|name| format!("docs/schema.md does not name `{name}`")).collect()
}

fn collect(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(members) => members.iter().for_each(|member| collect(member, names)),
        Value::Object(fields) => {
            for (name, field) in fields {
                names.push(name.clone());
                match field {
                    Value::Object(free) if FREE.contains(&name.as_str()) => {
                        free.values().for_each(|member| collect(member, names));
                    }
                    _ => collect(field, names),
                }
            }
        }
        _ => {}
    }
}

/// A run file, a job of either kind and every event, with one of everything in them.
pub fn examples() -> Value {
    let events = [
        Event::Hello { protocol: PROTOCOL, pid: 1 },
        Event::Filled { bytes: 1, of_bytes: 2 },
        Event::Measuring,
        Event::Note { key: "kernel".into(), value: "avx2".into() },
        Event::Samples { ns: vec![1.0], iterations: vec![1], amount: 0, disturbance_flags: vec![0] },
        Event::Histogram(histogram()),
        Event::Also { name: "loss".into(), values: vec![1.0] },
        Event::Chosen { scope: "memory.read within 16384 bytes".into(), way: "nt".into(), trials_ns: 1.0 },
        Event::Listening { address: ([127, 0, 0, 1], 1).into() },
        Event::Served(FarUsage::default()),
        Event::LastCache { bytes: 1, ns: 1.0 },
        Event::MemoryLook(MemoryLook { first_touch_bytes_per_s: 1.0, last_cache_bytes: None }),
        Event::Done { noise: round_noise() },
        Event::Skipped { reason: ReasonCode::NotApplicable.because("it is not there") },
        Event::Failed { reason: ReasonCode::CheckFailed.because("it broke") },
    ];
    json!([run(), events, job(), service_job(), host_report()])
}

fn round_noise() -> RoundNoise {
    let (time, core_khz) = (Some(RoundTime::default()), vec![[1, 3_000_000]]);
    RoundNoise { time, core_khz, looks: vec![[0, 5000]], shared: Some(0.1), ..RoundNoise::default() }
}

fn service_job() -> ServiceJob {
    ServiceJob {
        protocol: PROTOCOL,
        parent: 1,
        service: "tcp_echo".into(),
        params: Params::default(),
        at: vec![[127, 0, 0, 1].into()],
        nonce: Nonce::of([0; 16]),
        cpus: vec![0],
        memory_bytes: 1,
        copies: 1,
        setup_ns: 0,
        scratch: job().environment.scratch,
        folder: String::new(),
    }
}

fn host_report() -> HostReport {
    let finding =
        HostFinding { id: String::new(), weight: HostWeight::Disturbs, effect: Text::default(), cure: Text::default() };
    HostReport {
        schema: HostReport::SCHEMA.into(),
        host: host(),
        disturbed: Disturbed { busy: Some(BusyTask::default()), unseen_cpus: Some(0.1), ..Disturbed::default() },
        findings: vec![finding],
    }
}

fn job() -> Job {
    Job::bare("a.b", vec![0]).with(|job| {
        job.environment.clock = CalibratedClock::Counter { hz: 1e9, synchronized: true };
        job.environment.scratch = Scratch::Made { path: PathBytes(Vec::new()), device: 0, inode: 0 };
        job.environment.inputs.command = vec!["true".into()];
        (job.look_at_cache, job.look_at_memory) = (Some(0), true);
        job.cases[0].far = vec![FarEnd { address: ([127, 0, 0, 1], 1).into(), nonce: Nonce::of([0; 16]) }];
    })
}

fn run() -> Run {
    let case = |outcome| CaseRecord { id: "a.b".into(), probe: "a.b".into(), params: Params::default(), outcome };
    let reason = || ReasonCode::SystemCall.because("a reason").with("errno", "EPERM").lacking(2, 1);
    let outcomes = [
        Outcome::Measured(Box::new(measured())),
        Outcome::Skipped { reason: reason() },
        Outcome::Failed { reason: reason() },
    ];
    let lost = LostRound {
        case: "a.b".into(),
        round: 0,
        cpus: vec![0],
        others: Some(Others::default()),
        events: vec![Event::Failed { reason: reason() }],
    };
    let again = Again { version: "1".into(), gaps: vec![Gap { what: Text::default(), cases: vec!["a.b".into()] }] };
    let doubt = Doubt { text: Text::default(), cure: Text::default() };
    let clock = ClockFacts { source: "tsc".into(), hz: 1e9, reason: None, message: None, drift: None };
    Run {
        schema: SCHEMA.into(),
        id: String::new(),
        name: String::new(),
        note: Some(String::new()),
        series: Some(SeriesTurn { name: String::new(), every_s: 0.0, until: Some(String::new()) }),
        started: String::new(),
        finished: None,
        interrupted: None,
        imported: Some(Imported::default()),
        tool: Tool {
            version: String::new(),
            target: String::new(),
            libc: String::new(),
            is_static: false,
            digest: Some(String::new()),
        },
        place: Some(String::new()),
        guest: None,
        settings: Settings {
            profile: Profile::Quick,
            seed: 1,
            filters: Vec::new(),
            table: None,
            rounds: 3,
            limit_s: 60.0,
            clock,
            cpu: 0,
            set: BTreeMap::new(),
            inputs: job().environment.inputs,
        },
        host: host(),
        disturbances: vec![Text::default()],
        neighbours: Some(Neighbours {
            core_shared: Some(0.1),
            last_cache: Some(LastCache { bytes: 1, looks_ns: vec![1.0] }),
        }),
        others_share: Some(0.1),
        hottest_celsius: Some(60.0),
        trust: Some(Trust {
            grade: Grade::A,
            within: Some(0.1),
            core: Some(0.1),
            others: Some(0.1),
            runs: 3,
            left_out: vec![String::new()],
            doubts: vec![doubt],
            self_check: Some(SelfChecked { started: String::new(), passed: 1, failed: 1, not_possible: 1 }),
        }),
        time: Some(RunTime::default()),
        probes: entries(CATALOGUE).map(|entry| entry.info()).collect(),
        cases: outcomes.map(case).into(),
        lost_rounds: vec![lost],
        findings: vec![Finding {
            id: "a".into(),
            short: Text::default(),
            text: Text::default(),
            cure: None,
            command: None,
            cases: Vec::new(),
            cost: 0.5,
        }],
        peers: vec![peer()],
        pairs: vec![PairRun { from: "a".into(), to: "b".into(), turn: 0, cases: Vec::new(), failed: None }],
        again: Some(again),
    }
}

fn peer() -> Peer {
    let queue = QueueingDiscipline { inner: vec![String::new()], ..QueueingDiscipline::default() };
    let path = NetworkPath {
        queue: Some(queue),
        rings: Some(Rings::default()),
        moderation: Some(InterruptModeration::default()),
        channels: Some(Channels::default()),
        losses: Some(InterfaceLosses::default()),
        congestion_controls: vec![String::new()],
        ..NetworkPath::default()
    };
    let address = Some(IpAddr::from([127, 0, 0, 1]));
    Peer { name: String::new(), host: host(), place: Some(String::new()), address, path: Some(path), path_back: None }
}

fn host() -> HostFacts {
    let huge_pages = || vec![HugePages::default()];
    let named = || BTreeMap::from([("open_files".to_owned(), "1024".to_owned())]);
    let memory = MemoryFacts { huge_pages: Some(huge_pages()), ..MemoryFacts::default() };
    let pressure = BTreeMap::from([("cpu".to_owned(), Pressure::default())]);
    let storage = StorageFacts {
        devices: vec![BlockDevice::default()],
        directories: vec![DirectoryFact { stack: vec!["tmpfs".into()], ..DirectoryFact::default() }],
    };
    let process = ProcessFacts {
        policy: Some("SCHED_OTHER".into()),
        nice: Some(0),
        priority: Some(0),
        uclamp_min: Some(0),
        uclamp_max: Some(1024),
        traced: Some(false),
        no_new_privs: Some(false),
        attributes: named(),
        resource_limits: named(),
    };
    HostFacts {
        limits: LimitFacts { groups: vec![GroupFact::default()], group_settings: named(), ..LimitFacts::default() },
        process,
        cpus: vec![CpuFact { limit_hz: Some(1.0), ..CpuFact::default() }],
        caches: vec![CacheFact::default()],
        nodes: vec![NodeFact { huge_pages: huge_pages(), ..NodeFact::default() }],
        memory,
        firmware: FirmwareFacts { memory_modules: vec![MemoryModule::default()], ..FirmwareFacts::default() },
        storage,
        network: vec![NetworkInterface::default()],
        loopback: LoopbackFacts {
            mtu_bytes: Some(65536),
            queue: Some(QueueingDiscipline::default()),
            filter_rules: Some(0),
            programs: Some(vec![String::new()]),
            sysctls: named(),
        },
        activity: Activity { pressure, ..Activity::default() },
        ..HostFacts::default()
    }
}

fn histogram() -> Histogram {
    Histogram { values: vec![1], counts: vec![1] }
}

fn raw() -> Raw {
    let also = BTreeMap::from([("loss".to_owned(), vec![1.0])]);
    Raw { amount: 1, also, counts: vec![1], core_khz: vec![[1, 1]], ..Raw::default() }
}

fn measured() -> Measured {
    let estimate = || Estimate {
        quiet: Some(Quiet { value: 1.0, low: Some(1.0), high: Some(1.0), range: None, at_hz: Some(1e9) }),
        leading: Leading::Quiet,
        repetition: Some(Repetition { low: 1.0, high: 1.0, deviation: 0.1, runs: 3 }),
        ..estimate(&[vec![1.0]], 0.0, Better::Lower)
    };
    let round = RoundRecord {
        round: 0,
        median: 1.0,
        disturbance_flags: vec![0],
        core_hz: None,
        cpus: vec![0],
        iterations: 1,
        settled: true,
        steal_ns: None,
        throttled: Some(Throttling::default()),
        waited: Some(0.5),
        others: Some(Others::default()),
        shared: Some(0.1),
        far: vec![FarUsage::default()],
        raw: Some(raw()),
    };
    Measured {
        estimate: estimate(),
        also: BTreeMap::from([("cycles".to_owned(), Also { estimate: estimate() })]),
        samples: vec![vec![1.0]],
        histogram: Some(histogram()),
        rounds: vec![round],
        noise: Noise { shared: Some(0.1), ..Noise::default() },
        notes: BTreeMap::new(),
        flags: vec![Flag::new(FlagKind::FewRounds, "")],
        bounds: Some(Bounds { least: Some(1.0), most: Some(2.0) }),
    }
}

#[test]
fn a_field_that_is_not_described_is_found() {
    let value = json!({ "id": 1, "params": { "size": 1 }, "cases": [{ "late": { "later": 1 } }] });
    let found = undescribed("`id`, `params`, `cases[]` late `", &value);
    assert_eq!(found.len(), 2, "{found:?}");
}
