//! Rules on what people read: links that lead somewhere, and no word about the machine it was written on.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::net::IpAddr;

use hostmark_analysis::findings::{self, Demonstration, Rule};
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

use super::layout::ours;
use super::modules::{Modules, crates};
use super::sources::words;
use super::{File, Tree};

/// Where one machine has something that others have not.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/op", "t/")];

/// Links of documents to files that are not there.
pub fn dead_links(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.with_ending(".md") {
        for link in links(&file.text) {
            let path = link.split('#').next().unwrap_or_default();
            let is_elsewhere = link.contains("://") || link.starts_with("mailto:");
            if !path.is_empty() && !is_elsewhere && !resolve(file.folder(), path).is_some_and(|path| tree.has(&path)) {
                found.push(file.says(format!("leads to {link}, which is not there")));
            }
        }
    }
    found
}

/// The targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        // Every second part between backquotes is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let prose = if is_code { "" } else { &prose };
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        found.extend(targets.map(str::to_owned));
    }
    found
}

/// Where a table of findings and the rules that draw them part: what either has alone, or the table has twice.
pub fn findings_apart(document: &str, rules: &[&Rule]) -> Vec<String> {
    let rows = document.lines().skip_while(|line| !line.starts_with("| finding |")).skip(2);
    let listed: Vec<&str> = rows.map_while(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    let count = |id: &str| listed.iter().filter(|other| **other == id).count();
    let missing =
        rules.iter().filter(|rule| count(rule.id) == 0).map(|rule| format!("{}: the table lacks it", rule.id));
    let strange = listed.iter().filter(|id| rules.iter().all(|rule| rule.id != **id));
    let strange = strange.map(|id| format!("{id}: no rule draws it"));
    let twice = listed.iter().filter(|id| count(id) > 1).map(|id| format!("{id}: the table has it twice"));
    missing.chain(strange).chain(twice).collect()
}

/// `path` as seen from `folder`, without `.` and `..`; none when it leads out of the repository.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Text files that name a path of the machine they were written on.
pub fn machine_paths(tree: &Tree) -> Vec<String> {
    let named = |file: &File| {
        let path = MACHINE_PATHS.into_iter().find(|path| file.text.contains(path))?;
        Some(file.says(format!("names {path}, which other machines have not")))
    };
    tree.files().filter_map(named).collect()
}

#[test]
fn a_dead_link_is_found() {
    let tree = Tree::of(&[
        ("README.md", "[a](docs/a.md#part) [b](docs/b.md) [c](docs) [d](https://d.example/x) [e](#part) `[f](g.md)`"),
        ("docs/a.md", "[up](../README.md) [out](../../a.md) [there](./a.md)\n```\n[code](no.md)\n```\n[late](no.md)"),
    ]);
    let found = dead_links(&tree);
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn a_machine_path_is_found() {
    let bad = format!("cd {}main", MACHINE_PATHS[0]);
    let tree = Tree::of(&[("a.sh", &bad), ("docs/network/b.md", "see crates/host/src/root.rs and /tmp")]);
    assert_eq!(machine_paths(&tree).len(), 1, "{:?}", machine_paths(&tree));
}

#[test]
fn a_table_of_findings_that_is_not_that_of_the_rules_is_found() {
    const fn rule(id: &'static str) -> Rule {
        let (shown, doubt) = (Demonstration::Host, findings::Doubt { spoiled_by: &[], rivals: &[] });
        Rule { id, shown, probes: &[], cure: None, doubt, draw: |_| Vec::new() }
    }
    let (one, two) = (&rule("run.one"), &rule("run.two"));
    let table = |rows: &str| {
        format!("| other |\n|---|\n| `run.x` |\n\n| finding | condition |\n|---|---|\n{rows}\n\n| `run.y` |")
    };
    assert_eq!(findings_apart(&table("| `run.two` | a |\n| `run.one` | b |"), &[one, two]), Vec::<String>::new());
    assert_eq!(findings_apart(&table("| `run.one` | a |"), &[one, two]), ["run.two: the table lacks it"]);
    assert_eq!(findings_apart(&table("| `run.one` | a |\n| `run.old` | b |"), &[one]), ["run.old: no rule draws it"]);
    assert_eq!(findings_apart(&table("| `run.one` | a |\n| `run.one` | b |"), &[one]).len(), 2);
    assert_eq!(findings_apart("", &[one]).len(), 1);
}

/// The document with the picture.
pub const DOCUMENT: &str = "docs/modules.md";
/// What stands before the picture and behind it.
const BEGIN: &str = "<!-- made by HOSTMARK_BLESS=1 cargo test -p hostmark --test fast tidy:: -->\n";
const END: &str = "<!-- end of what is made -->\n";

type Arrows<'a> = BTreeSet<(&'a str, &'a str)>;

/// The document as manifests and code have it now; an error where there is no place for the picture.
pub fn drawn(tree: &Tree) -> Result<String, String> {
    let text = tree.file(DOCUMENT).map(|file| file.text.as_str()).unwrap_or_default();
    let around = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = around.ok_or(format!("{DOCUMENT} has no place for the picture: {BEGIN}{END}"))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", picture(tree)))
}

/// A graph of the crates, and a list of each crate's modules.
fn picture(tree: &Tree) -> String {
    let names: Vec<&str> = crates(tree).into_iter().collect();
    let manifest = |name: &str| tree.file(&format!("crates/{name}/Cargo.toml")).map(|file| ours(&file.text));
    let imports: Vec<(&str, String)> =
        names.iter().flat_map(|name| manifest(name).unwrap_or_default().into_iter().map(|to| (*name, to))).collect();
    let arrows: Arrows = imports.iter().map(|(from, to)| (*from, to.as_str())).collect();
    let mut text = String::from("\n```mermaid\ngraph TD\n");
    for (from, to) in arrows.iter().filter(|arrow| !follows(arrow, &arrows)) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {from} --> {to}");
    }
    text.push_str("```\n");
    for name in layers(&names, &arrows).into_iter().rev().flatten() {
        let modules = Modules::of(tree, name);
        let imports = modules.imports(&[]);
        let arrows: Arrows = imports.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let _ = writeln!(text, "\n`{name}`\n\n```text");
        let inside = modules.inside(&[]);
        let width = inside.iter().map(|name| name.len()).max().unwrap_or_default();
        for (layer, names) in layers(&inside, &arrows).iter().enumerate().rev() {
            if layer == 0 {
                let _ = writeln!(text, "1  {}", names.join(" "));
                continue;
            }
            for name in names {
                let to: Vec<&str> = arrows.iter().filter(|(from, _)| from == name).map(|(_, to)| *to).collect();
                let _ = writeln!(text, "{}  {name:<width$} → {}", layer + 1, to.join(" "));
            }
        }
        text.push_str("```\n");
    }
    text + "\n"
}

/// Whether one who follows other arrows comes from the arrow's begin to its end as well.
fn follows(arrow: &(&str, &str), arrows: &Arrows) -> bool {
    let mut reached: BTreeSet<&str> =
        arrows.iter().filter(|(from, to)| *from == arrow.0 && *to != arrow.1).map(|(_, to)| *to).collect();
    loop {
        let next: Vec<&str> = arrows
            .iter()
            .filter(|(from, to)| reached.contains(from) && !reached.contains(to))
            .map(|(_, to)| *to)
            .collect();
        if next.is_empty() {
            return reached.contains(arrow.1);
        }
        reached.extend(next);
    }
}

/// Names in layers, the lowest first: each imports of those below it alone. What stands in a circle is one layer.
fn layers<'a>(names: &[&'a str], arrows: &Arrows) -> Vec<Vec<&'a str>> {
    let mut layers: Vec<Vec<&str>> = Vec::new();
    let mut left: BTreeSet<&str> = names.iter().copied().collect();
    while !left.is_empty() {
        let is_free = |name: &&str| !arrows.iter().any(|(from, to)| from == name && left.contains(to));
        let free: Vec<&str> = left.iter().copied().filter(is_free).collect();
        let layer = if free.is_empty() { left.iter().copied().collect() } else { free };
        left.retain(|name| !layer.contains(name));
        layers.push(layer);
    }
    layers
}

#[test]
fn the_picture_shows_who_imports_whom() {
    let tree = Tree::of(&[
        ("docs/modules.md", &format!("# A\n{BEGIN}old\n{END}rest\n")),
        ("crates/a/Cargo.toml", "[dependencies]\nhostmark-b.workspace = true\nhostmark-c.workspace = true"),
        ("crates/a/src/main.rs", "//! A."),
        (
            "crates/b/Cargo.toml",
            "[dependencies]\nhostmark-c.workspace = true\n[dev-dependencies]\nhostmark-a.workspace = true",
        ),
        ("crates/b/src/lib.rs", "//! B.\nmod top;\nmod low;\nmod other;"),
        ("crates/b/src/top.rs", "//! T.\nuse crate::{low, other};"),
        ("crates/b/src/low.rs", "//! L."),
        ("crates/b/src/other.rs", "//! O.\nuse crate::low::Thing;"),
        ("crates/c/src/lib.rs", "//! C."),
    ]);
    let drawn = drawn(&tree).unwrap();
    let graph = "\n```mermaid\ngraph TD\n    a --> b\n    b --> c\n```\n";
    let list = "3  top   → low other\n2  other → low\n1  low\n";
    let lists = format!("\n`a`\n\n```text\n```\n\n`b`\n\n```text\n{list}```\n\n`c`\n\n```text\n```\n\n");
    assert_eq!(drawn, format!("# A\n{BEGIN}{graph}{lists}{END}rest\n"));
}

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
        service: "echo".into(),
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
