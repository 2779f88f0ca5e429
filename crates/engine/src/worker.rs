//! The worker: runs a job's round in this fresh process and reports it in JSON lines; with filled memory it waits for further jobs.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hostmark_host::{Root, RoundCounters};
use hostmark_model::{
    AxisKind, CalibratedClock, CaseId, Choice, Event, Job, JobCase, JsonLine, Message, PROTOCOL, Params, Reason,
    ReasonCode, RoundNoise, RoundTime,
};
use hostmark_say::say;

use crate::case::copies::{self, Copies};
use crate::case::surroundings::Bind;
use crate::case::{Case, WorkersPart, Yield, allotment};
use crate::clock::{Clock, CoreClock, Precision, monotonic_ns, warm_up};
use crate::plan::checked_value;
use crate::probe::{Axis, Catalogue, Entry, FREE, Quantity, find};
use crate::round_error::{OrSkipped, Result, RoundError, panicked};
use crate::sampling::memory_look;
use crate::sampling::sample::{self, Interference, Samples};
use crate::sampling::sampler::{self, MOST_ITERATIONS};
use crate::sys::affinity::{self, MOST_CPUS};
use crate::sys::call::Call;
use crate::sys::usage::ThreadCounters;
use crate::sys::{exit_message, ipc_cleanup, process, scratch};

pub mod far;
pub(crate) mod session;

/// The warm-up of a CPU at the start of a run: at least, at most, ns.
const RUN_WARM_UP_NS: (f64, f64) = (20e6, 200e6);
/// The warm-up of a round, at most, ns.
const ROUND_WARM_UP_NS: f64 = 5e6;

/// Serves a job, and those that follow it; the process should end afterwards, whatever is returned.
pub fn serve(catalogue: Catalogue, input: &mut impl BufRead, output: &mut impl Write) -> std::io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line).call("read")?;
    let job = Job::from_line(&line)?;
    let environment = &job.environment;
    if !process::die_with_parent(environment.parent) {
        return match process::has_parent(environment.parent) {
            true => {
                let reason = ReasonCode::SystemCall.because(say!("prctl: the worker cannot ask to die with the run"));
                greet(output)?;
                write_events(&[Event::Failed { reason }], output)
            }
            // Whoever gave the job is gone: nobody would read an answer.
            false => Ok(()),
        };
    }
    // When memory runs out, this process dies and no other. Where the kernel refuses, as without /proc, it still fills only its share.
    let _ = process::be_killed_first();
    // A panic is reported as an event, not on the terminal of whoever measures.
    std::panic::set_hook(Box::new(|_| {}));
    sampler::begin()?;
    // What is made from now on and outlives every process is written down where the janitor looks.
    let run = [&environment.memory_scratch, &environment.scratch]
        .into_iter()
        .find_map(|scratch| scratch::of_run(scratch)?.ok());
    if let Some(run) = run {
        ipc_cleanup::write_down_in(run);
    }
    respond(catalogue, job, input, output)
}

/// Does the job, and those that follow it, and writes what came of them.
fn respond(
    catalogue: Catalogue,
    mut job: Job,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> std::io::Result<()> {
    greet(output)?;
    exit_message::answer_with_last_words();
    let mut line = String::new();
    loop {
        for_each_case(catalogue, &job, |events| {
            exit_message::answer_self();
            write_events(&events, output)?;
            exit_message::answer_for_children();
            Ok(())
        })?;
        line.clear();
        if !job.is_followed || exit_message::received().is_some() || input.read_line(&mut line).call("read")? == 0 {
            return Ok(());
        }
        job = Job::from_line(&line)?;
    }
}

/// Says that it is there, before anything that may take long.
fn greet(output: &mut impl Write) -> std::io::Result<()> {
    write_events(&[Event::Hello { protocol: PROTOCOL, pid: std::process::id() }], output)
}

/// Writes what came of a job: after timing, at once.
fn write_events(events: &[Event], output: &mut impl Write) -> std::io::Result<()> {
    output.write_all(lines(events)?.as_bytes()).call("write")?;
    output.flush().call("write")
}

fn lines(events: &[Event]) -> serde_json::Result<String> {
    let mut text = String::new();
    for event in events {
        text += &event.to_line()?;
    }
    Ok(text)
}

/// Does the job on the calling thread, which it binds to the job's CPUs: its cases one after the other. Returns the events of all.
pub fn answer(catalogue: Catalogue, job: Job) -> Vec<Event> {
    let mut all = Vec::new();
    let done: std::io::Result<()> = for_each_case(catalogue, &job, |events| {
        all.extend(events);
        Ok(())
    });
    debug_assert!(done.is_ok());
    all
}

/// Does the job's cases in sequence and reports each when it is done: a failure loses no more than the case under way.
fn for_each_case(
    catalogue: Catalogue,
    job: &Job,
    mut done: impl FnMut(Vec<Event>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let protocol = job.environment.protocol;
    if protocol != PROTOCOL {
        let text = say!("the job is of protocol {protocol}, and this worker speaks {PROTOCOL}");
        let reason = ReasonCode::Protocol.because(text);
        return done(vec![Event::Failed { reason }]);
    }
    let sound = check(job);
    if job.cases.is_empty() {
        return done(guarded(|| sound.and_then(|()| warm_cpu(job))));
    }
    if job.cases.len() > 1 || job.is_followed {
        // Of what further jobs find, each goes over another part.
        allotment::keep(job.is_followed.then_some(job.cases[0].seed));
    }
    let mut known = job.clone();
    for own in &job.cases {
        // The case before may have come to its samples.
        sampler::go_on();
        let events = guarded(|| {
            sound.clone()?;
            let id = own.id.parse().map_err(|error| RoundError::failed(ReasonCode::Protocol, error))?;
            round(catalogue, &known, own, id)
        });
        known.choices.extend(events.iter().find_map(choice_of));
        done(events)?;
        // What a child has said, and an alarm that it may have set off, belong to this case: the others have another worker.
        if exit_message::received().is_some() {
            break;
        }
    }
    Ok(())
}

/// Returns the choice of a round for those after it.
fn choice_of(event: &Event) -> Option<Choice> {
    match event {
        Event::Chosen { scope, way, .. } => Some(Choice { scope: scope.clone(), way: way.clone() }),
        _ => None,
    }
}

/// The events of a round, or what became of it instead.
fn guarded(round: impl FnOnce() -> Result<Vec<Event>>) -> Vec<Event> {
    match catch_unwind(AssertUnwindSafe(round)) {
        Ok(Ok(events)) => events,
        Ok(Err(RoundError::Skipped(reason))) => vec![Event::Skipped { reason: with_last_words(reason) }],
        Ok(Err(RoundError::Failed(reason))) => vec![Event::Failed { reason: with_last_words(reason) }],
        Err(panic) => vec![Event::Failed { reason: panicked(&*panic) }],
    }
}

/// Adds the reason why a process that this one forked has ended, where one has: mostly its consequence.
fn with_last_words(reason: Reason) -> Reason {
    match exit_message::received() {
        Some(words) if !reason.contains(&words.to_string()) => {
            ReasonCode::ProcessDied.because(say!("{words} ({reason})", words = exit_message::as_reason(words)))
        }
        _ => reason,
    }
}

fn bind(cpus: &[usize]) -> Result<()> {
    match cpus {
        [] => Ok(()),
        _ => affinity::bind(cpus).or_lacking(|| say!("cannot bind to CPUs {cpus:?}")),
    }
}

/// The CPUs of the measuring thread: the first, or all where the scheduler is to decide.
fn own_cpus<'a>(entry: &Entry, id: &CaseId, cpus: &'a [usize]) -> &'a [usize] {
    if is_free(entry, id) { cpus } else { &cpus[..cpus.len().min(1)] }
}

/// The run's warm-up of one CPU, or a look at the last cache or at memory from there.
fn warm_cpu(job: &Job) -> Result<Vec<Event>> {
    bind(&job.cpus)?;
    let clock = Clock::calibrated(&job.environment.clock);
    if let Some(looked) = memory_look::look(job, &clock).or_else(|| memory_look::answer(job, &clock)) {
        return looked;
    }
    let warm = warm_up(&clock, RUN_WARM_UP_NS.0, RUN_WARM_UP_NS.1);
    let noise = RoundNoise { settled: warm.settled, ..RoundNoise::default() };
    Ok(vec![Event::Done { noise }])
}

/// Returns how many workers do what the case measures at the same time.
fn copies(entry: &Entry, id: &CaseId) -> Result<usize> {
    match entry.probe.axis_of(AxisKind::Copies).and_then(|axis| id.params.get(axis.name)) {
        Some(copies) => Ok(copies.parse()?),
        None => Ok(1),
    }
}

/// Returns the id shared by cases of its probe that differ in sizes alone: its other parameters.
fn alike(entry: &Entry, id: &CaseId) -> String {
    let is_size = |name: &str| {
        entry.probe.axes.iter().any(|axis| axis.name == name && matches!(axis.kind, AxisKind::Size | AxisKind::Count))
    };
    let others = id.params.0.iter().filter(|(name, _)| !is_size(name)).cloned().collect();
    CaseId { probe: id.probe.clone(), params: Params(others) }.to_string()
}

fn cpus_of<'a>(job: &'a Job, own: &'a JobCase) -> &'a [usize] {
    if own.cpus.is_empty() { &job.cpus } else { &own.cpus }
}

/// The directory of a case of the job: one of its own for each, since that of a case before may not have been removable.
fn folder_of(job: &Job, own: &JobCase) -> String {
    match job.cases.iter().position(|case| case.id == own.id) {
        None | Some(0) => job.folder.clone(),
        Some(place) => format!("{}-{place}", job.folder),
    }
}

/// The worker's part of the case, with its replicas, which start before this one is bound, so that they do not share its CPU.
fn part_of(entry: &Entry, id: &CaseId, copies: usize, job: &Job, own: &JobCase) -> Result<WorkersPart> {
    let cpus = cpus_of(job, own).to_vec();
    // Which CPU lies beside a case's is told for those that have all of the job's.
    let other_cpu = job.other_cpu.filter(|_| own.cpus.is_empty());
    let alone = Job { cases: vec![own.clone()], cpus, other_cpu, folder: folder_of(job, own), ..job.clone() };
    let alike = alike(entry, id);
    if job.replica || copies == 1 {
        let copies = if job.replica { Copies::Replica } else { Copies::Alone };
        return Ok(WorkersPart { job: alone, own: own.clone(), alike, copies });
    }
    // The two parties of a copy are both on its CPU: the plan has no other placement of copies.
    let parties = if entry.probe.axis_of(AxisKind::Placement).is_some() { 2 } else { 1 };
    let mut jobs = copies::jobs(&alone, copies, parties)?;
    let copies = Copies::start(&jobs[1..], copies::this_program)?;
    Ok(WorkersPart { job: jobs.swap_remove(0), own: own.clone(), alike, copies })
}

fn round(catalogue: Catalogue, job: &Job, own: &JobCase, id: CaseId) -> Result<Vec<Event>> {
    let begun_ns = monotonic_ns();
    let entry = find(catalogue, &id.probe).ok_or_else(|| {
        RoundError::failed(ReasonCode::UnknownProbe, say!("the worker knows no probe '{probe}'", probe = id.probe))
    })?;
    let Some(measure) = entry.probe.measure.in_worker() else {
        return Err(RoundError::internal(say!("a derived probe has no rounds")));
    };
    let cpus = cpus_of(job, own).to_vec();
    check_case(&entry, &id, &cpus)?;
    check_far_ends(&entry, &id, job, own)?;
    if let Some(reason) = entry.probe.needs.iter().find_map(|need| need.not_given(&job.environment.inputs)) {
        return Err(RoundError::Skipped(reason));
    }
    let copies = copies(&entry, &id)?;
    let part = part_of(&entry, &id, copies, job, own)?;
    bind(own_cpus(&entry, &id, &part.job.cpus))?;
    let clock = Clock::calibrated(&job.environment.clock);
    let precision = Precision::of(&clock);
    let counters = RoundCounters::begin(&Root::here(), &cpus);
    let cold_ns = monotonic_ns();
    let warm = warm_up(&clock, 0.0, ROUND_WARM_UP_NS);
    let core = CoreClock::new(&clock);
    let interference = Interference::Thread(ThreadCounters::open());
    let warm_ns = monotonic_ns();
    let is_bound = !is_free(&entry, &id);
    let mut case = Case::new(id, part, clock, precision, Some(core), interference);
    case.share_memory(copies as u64);
    // Where the scheduler decides, the round may run elsewhere.
    case.looks_around = is_bound.then(Vec::new);
    let measured = measure(&mut case);
    let losses = counters.end();
    case.clean();
    measured?;
    let phases = Phases { begun_ns, cold_ns, warm_ns, over_ns: monotonic_ns() };
    let surroundings = RoundNoise {
        settled: warm.settled,
        looks: case.looks_around.take().unwrap_or_default(),
        steal_ns: losses.steal_ns.map(|ns| ns as f64),
        throttled: losses.throttled,
        time: Some(phases.time(&case.yielded, if job.is_followed { case.memory.touched_ns() } else { 0 })),
        ..RoundNoise::default()
    };
    report(&entry, case, surroundings)
}

/// Times when a round's phases began, by the monotonic clock, ns.
struct Phases {
    begun_ns: u64,
    cold_ns: u64,
    warm_ns: u64,
    over_ns: u64,
}

impl Phases {
    /// Returns the time of each phase. A round without samples has set up until its end.
    fn time(&self, yielded: &Yield, first_touch_ns: u64) -> RoundTime {
        let complete_ns = if yielded.complete_ns == 0 { self.over_ns } else { yielded.complete_ns };
        let sampling_ns = sampler::ended_ns().clamp(self.warm_ns, complete_ns.max(self.warm_ns));
        let between = |from_ns: u64, to_ns: u64| to_ns.saturating_sub(from_ns) as f64;
        let spent = |samples: &Samples| samples.spent_ns.iter().sum::<f64>();
        let sampled_ns = between(sampling_ns, complete_ns);
        let samples_ns = yielded.samples.as_ref().map_or(0.0, spent).min(sampled_ns);
        RoundTime {
            facts_ns: between(self.begun_ns, self.cold_ns),
            warm_up_ns: between(self.cold_ns, self.warm_ns),
            set_up_ns: between(self.warm_ns, sampling_ns),
            first_touch_ns: first_touch_ns.min(sampling_ns - self.warm_ns) as f64,
            samples_ns,
            between_ns: sampled_ns - samples_ns,
            end_ns: between(complete_ns, self.over_ns),
        }
    }
}

/// The sum of `part` as a share of the sum of `whole`; none of nothing.
fn share(part: &[f64], whole: &[f64]) -> Option<f64> {
    let (part, whole): (f64, f64) = (part.iter().sum(), whole.iter().sum());
    (whole > 0.0).then(|| part / whole).filter(|share| share.is_finite())
}

/// The events of a round that measured, in these surroundings.
fn report(entry: &Entry, mut case: Case, surroundings: RoundNoise) -> Result<Vec<Event>> {
    let mut samples = case
        .yielded
        .samples
        .take()
        .ok_or_else(|| RoundError::internal(say!("the probe ended without measuring anything")))?;
    if entry.probe.unit.is_time_or_rate() {
        samples.mark_below_zero()?;
    }
    let mut also = std::mem::take(&mut case.yielded.also);
    if let Some(name) = also.keys().find(|name| !entry.probe.also.iter().any(|quantity| quantity.is_given_as(name))) {
        return Err(RoundError::internal(say!("the probe declares no quantity '{name}' that it measures itself")));
    }
    let whole = |quantity: &Quantity| {
        let Yield { mean_ns, amount, .. } = case.yielded;
        Some((quantity.name.to_owned(), vec![samples.whole.value(quantity, mean_ns, amount, entry.probe.unit)?]))
    };
    also.extend(entry.probe.also.iter().filter_map(whole));
    let counted = std::mem::take(&mut case.yielded.counted);
    also.extend(counted.into_iter().map(|(name, value)| (name.to_owned(), vec![value])));
    if entry.probe.blocking {
        samples.forgive_usual_delay();
    }
    let precision = case.precision();
    let noise = RoundNoise {
        core_hz: case.core().and_then(CoreClock::median_hz),
        core_khz: sample::in_rows(&samples.core_hz),
        looks: if samples.looks.is_empty() { surroundings.looks.clone() } else { samples.looks.clone() },
        resolution_ns: if samples.is_time { precision.resolution_ns } else { 0.0 },
        clock_cost_ns: precision.cost_ns,
        iterations: samples.learned,
        run_delay_ns: samples.delays_ns.iter().sum(),
        waited: share(&samples.delays_ns, &samples.spent_ns),
        involuntary_switches: samples.involuntary_switches,
        faults: samples.faults,
        ..surroundings
    };
    let mut events: Vec<Event> =
        std::mem::take(&mut case.yielded.notes).into_iter().map(|(key, value)| Event::Note { key, value }).collect();
    let chosen = case.yielded.chosen.take();
    events.extend(chosen.map(|(Choice { scope, way }, trials_ns)| Event::Chosen { scope, way, trials_ns }));
    events.push(Event::Samples {
        ns: samples.ns,
        iterations: samples.iterations,
        amount: case.yielded.amount,
        disturbance_flags: samples.disturbance_flags.iter().map(|flags| flags.0).collect(),
    });
    events.extend(case.yielded.histogram.take().map(Event::Histogram));
    let given = also.into_iter().filter(|(_, values)| !values.is_empty());
    events.extend(given.map(|(name, values)| Event::Also { name, values }));
    events.push(Event::Done { noise });
    Ok(events)
}

/// No curve has as many points.
const MOST_CASES: usize = 10_000;
/// A round of more time for samples is none, ns: 30 days.
const MOST_BUDGET_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;
/// No cache, and no line of one, is as large, bytes.
const MOST_CACHE_BYTES: u64 = 1 << 40;
const MOST_LINE_BYTES: u64 = 1 << 20;
/// Ticks a second of a counter.
const RATES_HZ: std::ops::RangeInclusive<f64> = 1e3..=1e12;

fn expect(is_sound: bool, what: impl FnOnce() -> Message) -> Result<()> {
    if is_sound {
        Ok(())
    } else {
        Err(RoundError::failed(ReasonCode::Protocol, say!("the job cannot be meant: {what}", what = what())))
    }
}

/// Checks the numbers of the job; Failed where one is out of all proportion.
pub(crate) fn check(job: &Job) -> Result<()> {
    for cpu in job.cpus.iter().chain(&job.other_cpu).chain(job.cases.iter().flat_map(|case| &case.cpus)) {
        expect(*cpu < MOST_CPUS, || say!("there is no CPU {cpu}"))?;
    }
    expect(job.cpus.len() <= MOST_CPUS, || say!("it names {cpus} CPUs", cpus = job.cpus.len()))?;
    expect(job.budget_ns <= MOST_BUDGET_NS, || say!("{budget_ns} ns for samples", budget_ns = job.budget_ns))?;
    for &bytes in [job.l1d_bytes, job.llc_bytes, job.llc_sum_bytes].iter().chain(&job.caches_bytes) {
        expect(bytes <= MOST_CACHE_BYTES, || say!("a cache of {bytes} bytes"))?;
    }
    let line = job.line_bytes;
    expect((1..=MOST_LINE_BYTES).contains(&line), || say!("a cache line of {line} bytes"))?;
    expect(job.cases.len() <= MOST_CASES, || say!("it has {cases} cases", cases = job.cases.len()))?;
    for iterations in job.cases.iter().filter_map(|case| case.iterations) {
        expect(iterations <= MOST_ITERATIONS, || say!("{iterations} iterations of a sample"))?;
    }
    let looked_at = job.look_at_cache.unwrap_or(0);
    expect(looked_at <= memory_look::MOST_BYTES, || say!("a look at {looked_at} bytes"))?;
    if let CalibratedClock::Counter { hz, .. } = job.environment.clock {
        expect(RATES_HZ.contains(&hz), || say!("a counter of {hz} ticks a second"))?;
    }
    Ok(())
}

/// Checks the far ends; Failed where the case has more or fewer than it needs.
fn check_far_ends(entry: &Entry, id: &CaseId, job: &Job, own: &JobCase) -> Result<()> {
    let needed = match entry.probe.service() {
        Some(_) if job.replica => 1,
        _ => far::cpus_of(entry, id, &job.cpus).len(),
    };
    expect(own.far.len() == needed, || {
        say!("it has {far} far ends, and {id} needs {needed}", far = own.far.len(), id = own.id)
    })
}

/// Checks the case; Failed where it is not one of the probe's, or has more threads than CPUs.
fn check_case(entry: &Entry, id: &CaseId, cpus: &[usize]) -> Result<()> {
    for (axis, value) in &id.params.0 {
        let taken =
            checked_value(entry, axis, value).map_err(|error| RoundError::failed(ReasonCode::Protocol, error))?;
        // In a job every value stands as it is in a case id.
        expect(taken == *value, || say!("{axis}={value} stands for {taken}"))?;
    }
    for axis in entry.probe.axes {
        let missing = || {
            RoundError::failed(
                ReasonCode::Protocol,
                say!("the job cannot be meant: {probe} has no value of {name}", probe = id.probe, name = axis.name),
            )
        };
        let value = id.params.get(axis.name).ok_or_else(missing)?;
        if axis.kind == AxisKind::Threads {
            let threads: usize = value.parse()?;
            expect(threads.div_ceil(axis.threads_per_cpu) <= cpus.len(), || {
                say!("{threads} threads on {cpus} CPUs", cpus = cpus.len())
            })?;
        }
    }
    Ok(())
}

/// Tells whether the scheduler decides where a case runs.
pub(crate) fn is_free(entry: &Entry, id: &CaseId) -> bool {
    let is_free = |axis: &Axis| axis.kind == AxisKind::Placement && id.params.get(axis.name) == Some(FREE);
    Bind::of_case(&id.params) == Some(Bind::Free) || entry.probe.axes.iter().any(is_free)
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
