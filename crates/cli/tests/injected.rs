//! Every system call fails once: whatever the program does then, it harms nobody, says what failed, and leaves nothing.

use std::cell::RefCell;

use hostmark_engine::worker::far::LOOPBACK;
use nix::libc;
use nix::libc::c_long;

use crate::faults::{Call, Came, Excuse, NEVER_FAIL, Report, call};
use crate::jobs::{Places, jobs};
use crate::prelude::*;
use crate::tracer::{Fault, Part, Seen, WAITS, trace};
use crate::under_way::{Queues, names, objects};

/// Set for the process that the test starts in namespaces of its own.
const INSIDE: &str = "HOSTMARK_INSIDE";
/// How much is tried: `whole` everything, `whole:2/3` the second third of it, `sparse` less of every probe; else of some
/// probes, one of each kind.
const EXTENT: &str = "HOSTMARK_INJECT";
/// What cases' names begin with, where not all are to be tried.
const CASES: &str = "HOSTMARK_INJECT_CASES";
/// Those that are tried when nothing is asked for: threads, copies, peers by every way of waiting, guards, programs, files.
const USUAL: [&str; 10] = [
    "clock.loop",
    "cpu.flops@isa=best,type=f64,threads=2",
    "syscall.null@copies=2",
    "process.exec@way=fork,child=static",
    "paging.fault@kind=anonymous",
    "sched.wakeup",
    "ipc.hand_over@by=file_lock,cpus=same_cpu",
    "ipc.bandwidth@by=shared_memory,message=65536,cpus=same_cpu",
    "ipc.hand_over@by=sysv_semaphore",
    "net.tcp_connect",
];
/// What the loader, the allocator and the language's start of a process or a thread say, which end it as they like.
const OF_START: [&str; 5] = [
    "error while loading shared libraries",
    "fatal runtime error",
    "memory allocation",
    "malloc():",
    "cannot allocate TLS",
];
/// Reasons that so short a round may give at any time.
const OF_CHANCE: [&str; 3] =
    ["its threads never ran at the same time", "the times of this round show no step", "a round of this run may take"];
/// Another build of the program in the place of this one.
const OTHER: &str = "HOSTMARK_INJECT_PROGRAM";
/// A round of so little time takes less, also under trace on a busy machine.
const PATIENCE: Duration = Duration::from_secs(8);
/// A run of one cheap case takes less.
const RUN_PATIENCE: Duration = Duration::from_secs(60);

/// Says something while the test goes on.
pub fn report_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn program() -> String {
    std::env::var(OTHER).unwrap_or_else(|_| PROGRAM.to_owned())
}

struct Extent {
    is_whole: bool,
    /// Whether nothing was asked for.
    is_usual: bool,
    shard: usize,
    shards: usize,
    cases: String,
}

impl Extent {
    fn asked() -> Extent {
        let typed = std::env::var(EXTENT).unwrap_or_default();
        let numbers = typed.split_once(':').and_then(|(_, numbers)| numbers.split_once('/'));
        let number = |text: &str| text.parse::<usize>().unwrap();
        let (shard, shards) = numbers.map_or((0, 1), |(shard, shards)| (number(shard) - 1, number(shards)));
        let cases = std::env::var(CASES).unwrap_or_default();
        let is_usual = typed.is_empty() && cases.is_empty();
        Extent { is_whole: typed.starts_with("whole"), is_usual, shard, shards, cases }
    }

    fn has(&self, index: usize) -> bool {
        index % self.shards == self.shard
    }

    fn has_case(&self, index: usize, case: &str) -> bool {
        let is_usual = || USUAL.iter().any(|usual| case.starts_with(usual));
        self.has(index) && case.starts_with(&self.cases) && (!self.is_usual || is_usual())
    }

    /// Whether of runs, which take a second each, this one is tried.
    fn has_run(&self, index: usize) -> bool {
        let every = if self.is_whole { 1 } else { 5 };
        self.has(index) && index.is_multiple_of(if self.is_usual { 23 } else { every })
    }
}

/// What a worker said and did.
struct Round {
    seen: Seen,
    last: Option<Event>,
    errors: String,
}

/// Has a worker do a job under trace, opposite far ends that are not.
fn round(job: &Job, fault: Option<&Fault>) -> Round {
    let far = far_ends(&[&program()], job, &LOOPBACK).unwrap_or_else(|missing| panic!("{}: {missing:?}", job.case()));
    let ends = far.as_ref().map_or(&[][..], |far| far.ends());
    let job = &job.clone().with(|job| job.cases[0].far = ends.to_vec());
    let said = tempfile::NamedTempFile::new().unwrap();
    let errors = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new(WAITS[0]);
    command.args(&WAITS[1..]).args([&program(), "worker"]).process_group(0);
    command.stdout(Stdio::from(said.reopen().unwrap())).stderr(Stdio::from(errors.reopen().unwrap()));
    let input = format!("{}\n", serde_json::to_string(job).unwrap());
    let seen = trace(command, &input, fault, true, PATIENCE);
    let text = fs::read_to_string(said.path()).unwrap();
    let last = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
    Round { seen, last, errors: fs::read_to_string(errors.path()).unwrap_or_default() }
}

impl Round {
    fn came(&self) -> (Came, String) {
        match &self.last {
            Some(Event::Done { .. }) => (Came::Done, String::new()),
            Some(Event::Skipped { reason }) => (Came::Skipped, reason.text.clone()),
            Some(Event::Failed { reason }) => (Came::Failed, reason.text.clone()),
            _ if self.seen.is_hung => (Came::Died, "no answer".to_owned()),
            _ => (Came::Died, format!("{} {}", self.seen.ended, last_line(&self.errors))),
        }
    }
}

fn last_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or_default()
}

/// How often each call was made before the first in which a sequence differs from another.
fn common(one: &[c_long], other: &[c_long]) -> BTreeMap<c_long, usize> {
    counts(one.iter().zip(other).take_while(|(one, other)| one == other).map(|(one, _)| *one))
}

fn counts(calls: impl Iterator<Item = c_long>) -> BTreeMap<c_long, usize> {
    let mut counts = BTreeMap::new();
    calls.for_each(|number| *counts.entry(number).or_default() += 1);
    counts
}

fn of_first(seen: &Seen) -> Vec<c_long> {
    seen.calls.iter().filter(|(_, _, is_first)| *is_first).map(|(_, number, _)| *number).collect()
}

/// The counts before which a fault is tried, from `from` up to `count`: every early one, then fewer and fewer.
fn points(from: usize, count: usize, is_whole: bool) -> Vec<usize> {
    let (dense, growth) = if is_whole { (8, 1) } else { (0, 6) };
    let mut points = Vec::new();
    let mut at = from;
    while at < count {
        points.push(at);
        at += 1.max((at - from).saturating_sub(dense) * growth / 2);
    }
    points
}

/// The calls among those counted that can fail, with their counts.
fn failing(counts: &BTreeMap<c_long, usize>, at: &str, report: &mut Report) -> Vec<(&'static Call, usize)> {
    let mut found = Vec::new();
    for (&number, &count) in counts.iter().filter(|(number, _)| !NEVER_FAIL.contains(number)) {
        match call(number) {
            Some(call) => found.push((call, count)),
            None => report.harmed(at, &format!("call {number} is not in the list of calls")),
        }
    }
    found
}

/// A process of this user that has nothing to do with the program, and must outlive it.
struct Bystander(Running);

impl Bystander {
    fn new() -> Bystander {
        let mut command = Command::new("setsid");
        command.args(["sleep", "100000"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Bystander(Running(command.spawn().unwrap()))
    }

    fn is_alive(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }
}

/// What must be as it was after every fault.
struct World {
    bystander: Bystander,
    queues: Queues,
    objects: RefCell<BTreeSet<String>>,
}

impl World {
    fn new() -> World {
        let queues = Queues::seen();
        let objects = RefCell::new(objects(&queues));
        World { bystander: Bystander::new(), queues, objects }
    }

    /// The objects that are there and were not.
    fn look(&self, at: &str, report: &mut Report) -> Vec<String> {
        if !self.bystander.is_alive() {
            report.harmed(at, "the bystander is dead");
        }
        let now = objects(&self.queues);
        let new = now.difference(&self.objects.borrow()).cloned().collect();
        *self.objects.borrow_mut() = now;
        new
    }
}

/// Each call of each probe's round fails.
fn rounds(extent: &Extent, world: &World, report: &mut Report) {
    let places = Places::new();
    let jobs = jobs(&places);
    let plainest = jobs.iter().find(|job| job.case() == "clock.loop").unwrap();
    let startups: Vec<Vec<c_long>> = (0..4).map(|_| of_first(&round(plainest, None).seen)).collect();
    let mut tried = BTreeSet::new();
    let (mut left_over, mut calls_of_probes) = (0, BTreeSet::new());
    let chosen = jobs.iter().enumerate().filter(|(index, job)| extent.has_case(*index, job.case()));
    for (_, job) in chosen {
        let plain = round(job, None);
        let counts = counts(plain.seen.calls.iter().map(|(_, number, _)| *number));
        // Of several cases of a probe that ask the kernel for the same, one is enough.
        let probe = job.case().split('@').next().unwrap().to_owned();
        if !tried.insert((probe, counts.keys().copied().collect::<Vec<c_long>>())) {
            continue;
        }
        calls_of_probes.extend(counts.keys().copied());
        // What every round does before its probe begins is tried with one.
        let own = of_first(&plain.seen);
        let usual = match job.case() == plainest.case() {
            true => BTreeMap::new(),
            false => {
                let startup = startups.iter().map(|startup| common(startup, &own));
                startup.max_by_key(|startup| startup.values().sum::<usize>()).unwrap_or_default()
            }
        };
        let mut here = 0;
        for (call, count) in failing(&counts, job.case(), report) {
            let from = usual.get(&call.number).copied().unwrap_or_default();
            for before in points(from, count, extent.is_whole) {
                let fault = Fault { part: Part::Worker, number: call.number, before, error: call.error };
                let round = round(job, Some(&fault));
                if !round.seen.is_injected {
                    break;
                }
                here += 1;
                let at = format!("{} {} {before}", job.case(), call.name);
                let (came, reason) = round.came();
                let (plainly, without) = plain.came();
                let is_of_start = OF_START.iter().any(|words| round.errors.contains(words));
                let is_of_chance = OF_CHANCE.iter().any(|words| reason.contains(words));
                let excuse = match () {
                    () if round.seen.is_early || is_of_start => Some(Excuse::Early),
                    () if is_of_chance => Some(Excuse::AsWithout),
                    () if round.seen.is_foreign => Some(Excuse::Foreign),
                    () if came == plainly && Report::is_like(&reason, &without) => Some(Excuse::AsWithout),
                    () => None,
                };
                report.add(call, &at, came, &reason, excuse);
                report.look_at(&at, &round.seen);
                // Who is woken by nobody waits, and so does who waits for the end of what was not closed.
                if round.seen.is_hung && ![libc::SYS_futex, libc::SYS_close].contains(&call.number) {
                    report.harmed(&at, "went on and on");
                }
                let left = [world.look(&at, report), places.left()].concat();
                if left.iter().any(|left| left.contains("touched")) {
                    report.harmed(&at, &format!("{left:?}"));
                }
                left_over += left.len();
            }
        }
        report_line(&format!("{}: {} calls, {here} faults; plain: {:?}", job.case(), own.len(), plain.came().0));
    }
    report_line(&format!(
        "{left_over} directories and objects were left to the janitor; {} kinds of calls",
        calls_of_probes.len()
    ));
}

/// Each call of the run's own process, and of its janitor, fails.
fn runs(extent: &Extent, world: &World, report: &mut Report) {
    const FILTERS: [&str; 2] = ["clock.loop", "ipc.round_trip@by=unix_stream,cpus=same_cpu"];
    const FAR: [&str; 1] = ["net.http@connection=keep_alive,size=1024,cpus=same_cpu"];
    let mut begun = 0;
    for part in [Part::Run, Part::Janitor, Part::Service] {
        let is_far = part == Part::Service;
        let plain = run(if is_far { &FAR } else { &FILTERS[..1] }, None, world, report);
        assert_eq!(plain.ended, 0);
        let counts = counts(plain.calls.iter().filter(|(of, ..)| *of == part).map(|(_, number, _)| *number));
        for (call, count) in failing(&counts, "run", report) {
            for before in points(0, count, extent.is_whole) {
                begun += 1;
                if !extent.has_run(begun) {
                    continue;
                }
                let fault = Fault { part, number: call.number, before, error: call.error };
                let filters = match before % 4 {
                    _ if is_far => &FAR[..],
                    3 => &FILTERS[1..],
                    _ => &FILTERS[..1],
                };
                run(filters, Some((call, &fault)), world, report);
            }
        }
    }
}

/// A run under trace, after which nothing may be left but what it measured.
fn run(filters: &[&str], fault: Option<(&'static Call, &Fault)>, world: &World, report: &mut Report) -> Seen {
    let home = Home::new();
    let (output, errors) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let mut command = home.start(WAITS[0]);
    command.args(&WAITS[1..]).args([&program(), "run", "--format", "json", "--seed", "1"]).args(filters);
    command.stdout(Stdio::from(output.reopen().unwrap())).stderr(Stdio::from(errors.reopen().unwrap()));
    let before: BTreeSet<String> = names("/dev/shm".as_ref()).into_iter().collect();
    let seen = trace(command, "", fault.map(|(_, fault)| fault), false, RUN_PATIENCE);
    let Some((call, fault)) = fault.filter(|_| seen.is_injected) else { return seen };
    let at = format!("run {filters:?} {:?} {} {}", fault.part, call.name, fault.before);
    let errors = fs::read_to_string(errors.path()).unwrap_or_default();
    let cases = load_run(&fs::read_to_string(output.path()).unwrap_or_default()).map_or(Vec::new(), |run| run.cases);
    let reasons = cases.iter().filter_map(|case| match &case.outcome {
        Outcome::Failed { reason } | Outcome::Skipped { reason } => Some(&**reason),
        Outcome::Measured(_) => None,
    });
    let reason = &reasons.chain([last_line(&errors)]).collect::<Vec<_>>().join(" ");
    // 126 is how the shell says that it could not execute the program.
    let is_early = OF_START.iter().any(|words| errors.contains(words)) || errors.is_empty() || seen.ended == 126;
    let came = match seen.ended {
        0 => Came::Done,
        2..=5 => Came::Failed,
        _ => Came::Died,
    };
    let excuse = match () {
        () if seen.is_foreign => Some(Excuse::Foreign),
        // A janitor and a worker say nothing of themselves, but how they ended is said.
        () if is_early || (seen.is_early && fault.part != Part::Run) => Some(Excuse::Early),
        () => None,
    };
    report.add(call, &at, came, reason, excuse);
    report.look_at(&at, &seen);
    if came == Came::Died && !is_early {
        report.harmed(&at, &format!("ended with {}: {reason}", seen.ended));
    }
    if seen.is_hung {
        report.harmed(&at, "went on and on");
    }
    let objects = world.look(&at, report);
    let shm: Vec<String> = names("/dev/shm".as_ref()).into_iter().filter(|name| !before.contains(name)).collect();
    let scratch = names(home.scratch.path());
    if !shm.is_empty() || !scratch.is_empty() || !objects.is_empty() {
        report.harmed(&at, &format!("left: {objects:?} {shm:?} {scratch:?} {:?}", files(home.scratch.path())));
    }
    seen
}

/// The other test starts it, in namespaces of its own.
#[test]
fn inside() {
    let _alone = alone();
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let (extent, world) = (Extent::asked(), World::new());
    let mut report = Report::default();
    rounds(&extent, &world, &mut report);
    report_line(&format!("rounds:\n{}", report.text()));
    let mut of_runs = Report::default();
    if extent.cases.is_empty() || extent.cases == "run" {
        runs(&extent, &world, &mut of_runs);
        report_line(&format!("runs:\n{}", of_runs.text()));
    }
    let harm = [report.harm, of_runs.harm].concat();
    assert!(harm.is_empty(), "{} harms:\n{}", harm.len(), harm.join("\n"));
    assert!(report.faults + of_runs.faults > 0, "no call was made to fail");
}

/// Then also memory for files of one's own: what others put there meanwhile is not taken for what was left.
const ALONE: &str = "mount -t tmpfs tmpfs /dev/shm 2>/dev/null; exec \"$0\" \"$@\"";
/// Processes, System V objects and mounts of one's own.
const NAMESPACES: [&str; 7] =
    ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--ipc", "--propagation=private"];

#[test]
fn whatever_call_fails_nobody_is_harmed_and_nothing_is_left() {
    let _alone = alone();
    let can = Command::new(NAMESPACES[0]).args(&NAMESPACES[1..]).arg("true").output();
    if !can.is_ok_and(|output| output.status.success()) {
        return skipped("no namespaces of processes and of System V objects are available here");
    }
    let bystander = Bystander::new();
    let mut command = Command::new(NAMESPACES[0]);
    command.args(&NAMESPACES[1..]).args(["sh", "-c", ALONE]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "injected::inside", "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    let output = command.output().unwrap();
    let (code, out, errors) = said(&output);
    if std::env::var_os(EXTENT).is_some() || code != 0 {
        report_line(&format!("{out}\n{errors}"));
    }
    assert!(bystander.is_alive());
    assert_eq!(code, 0);
}
