//! A run: replicates of the plan in seeded order, fresh workers in each but for what fills memory, inside a hard wall limit.

mod costs;
mod taken;
mod work;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use hostmark_launch::WorkerLink;
use hostmark_model::{
    CaseId, Choice, Environment, HostFacts, Job, JobCase, LastCache, Neighbours, Outcome, ProbeInfo, Profile, Reason,
    ReasonCode, RunTime,
};
use hostmark_say::say;

use crate::clock::Wall;
use crate::estimate::core_width::{self, CoreWidths};
use crate::estimate::{gate, outcomes};
use crate::plan::time_budget::{RoundDecision, TimeBudget};
use crate::plan::{Plan, PlannedCase, nearest_other, no_time};
use crate::record::contention::{Blocks, Judged, Meters};
use crate::record::journal::{PastRound, RoundSink, Took};
use crate::record::{CaseRounds, Record, Round, RoundResult};
use crate::worker::far::{OpenService, Peers};
use crate::worker::session::{SessionEnd, WorkerSession};
use costs::Progress;
use taken::Holdings;
pub use taken::{Resource, Taken, look_at_memory};
use work::KeptWorker;

/// Opens a link to a fresh worker that has been given the job.
pub type OpenLink<'a> = dyn FnMut(&Job) -> io::Result<Box<dyn WorkerLink>> + 'a;

/// Observer of a run; called between rounds alone, never while something is timed.
pub trait Observer {
    /// Announces the probes and the cases that are to be measured, before anything else of the run.
    fn begins(&mut self, _probes: &[ProbeInfo], _planned: &[CaseId]) {}

    /// Announces that up to this much time may pass before the next call.
    fn silent(&mut self, _at_most: Duration) {}

    /// A round is about to start: its case, rounds done, rounds in all, time left by estimate.
    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration);

    /// Tells whether it wants the results of this case while the run goes on.
    fn watches(&self, _case: &CaseId) -> bool {
        false
    }

    /// The value of a watched case by its rounds so far, in its probe's unit.
    fn value(&mut self, _case: &CaseId, _value: f64) {}

    /// The outcome of a watched case behind its last planned round; time left over may give it one more.
    fn ended(&mut self, _case: &CaseId, _outcome: Outcome) {}
}

pub struct RunContext<'a> {
    pub plan: &'a Plan,
    pub host: &'a HostFacts,
    /// Environment of every worker: clock, directories, inputs.
    pub environment: Environment,
    /// Rounds that this plan's run had measured before it was cut short, in the order of its journal.
    pub past: Vec<PastRound>,
    pub open_service: &'a OpenService<'a>,
    /// Machines on which far ends may be.
    pub peers: &'a dyn Peers,
    pub meters: &'a dyn Meters,
}

pub struct Results {
    /// Rounds: [`outcomes::of`] makes its cases of them.
    pub record: Record,
    pub time: RunTime,
    /// CPU time taken by other guests of the same physical machine; `None` where unknown.
    pub neighbours: Option<Neighbours>,
    /// The hottest that a processor was after a round, degrees Celsius; none where nothing tells.
    pub hottest_celsius: Option<f64>,
    /// Resources that it lost meanwhile, in order.
    pub taken: Vec<Taken>,
    /// The process that began to trace it, and when.
    pub tracer: Option<(String, Duration)>,
    /// True where the person stopped it.
    pub interrupted: bool,
    /// Error where the journal could not be written to its end.
    pub journal_lost: Option<io::Error>,
}

struct Runner<'a> {
    setting: &'a RunContext<'a>,
    open: &'a mut OpenLink<'a>,
    wall: &'a dyn Wall,
    observer: &'a mut dyn Observer,
    journal: Option<&'a mut dyn RoundSink>,
    states: Vec<Progress>,
    /// Choices that the rounds of each probe have made.
    choices: Vec<Choice>,
    widths: CoreWidths,
    /// Last cache as its looks saw it; or that there is none.
    last_cache: Option<LastCache>,
    has_no_last_cache: bool,
    hottest_celsius: Option<f64>,
    interrupted: bool,
    journal_lost: Option<io::Error>,
    /// Time of rounds that failed for passing reasons.
    stumbled: Duration,
    /// Index, for each case, of its probe's default, or its own when that is not in the plan.
    defaults: Vec<usize>,
    /// Number of cases, for each case, that come before it where there is no time for all.
    ranks: Vec<usize>,
    /// Rounds of the resumed journal that have not been taken over yet.
    past: VecDeque<PastRound>,
    done: usize,
    time: RunTime,
    blocks: Blocks<'a>,
    /// The worker that has filled memory, and waits for the next job that needs it.
    kept: Option<KeptWorker<'a>>,
    holdings: Holdings,
}

/// Measures the plan, and records its rounds.
pub fn run<'a>(
    setting: &'a RunContext<'a>,
    open: &'a mut OpenLink<'a>,
    wall: &'a dyn Wall,
    observer: &'a mut dyn Observer,
    journal: Option<&'a mut dyn RoundSink>,
) -> Results {
    let fresh = |case: &PlannedCase| Progress { ended: case.skip.is_some(), ..costs::Progress::default() };
    let cases = &setting.plan.cases;
    let states = cases.iter().map(fresh).collect();
    let (defaults, past) = (defaults(cases), setting.past.clone().into());
    let mut ranks = vec![usize::MAX; cases.len()];
    setting.plan.by_priority().into_iter().enumerate().for_each(|(rank, index)| ranks[index] = rank);
    let blocks = Blocks::new(setting.meters);
    let (interrupted, journal_lost, done) = (false, None, 0);
    let mut runner = Runner {
        setting,
        open,
        wall,
        observer,
        journal,
        states,
        choices: Vec::new(),
        widths: CoreWidths::default(),
        last_cache: None,
        has_no_last_cache: false,
        hottest_celsius: None,
        interrupted,
        journal_lost,
        stumbled: Duration::ZERO,
        defaults,
        ranks,
        past,
        done,
        time: RunTime::default(),
        blocks,
        kept: None,
        holdings: Holdings::of(setting.meters),
    };
    runner.measure();
    runner.finish()
}

impl Runner<'_> {
    fn measure(&mut self) {
        let plan = self.setting.plan;
        let rounds = plan.cases.iter().map(|case| plan.rounds_of(case)).max().unwrap_or(0);
        self.warm_cpus();
        for replicate in 0..rounds {
            let is_due = |&index: &usize| {
                self.is_pending(index) && replicate < plan.rounds_of(&plan.cases[index])
                    || self.past_of(index, replicate).is_some()
            };
            let mut units = self.units((0..self.states.len()).filter(is_due).collect(), replicate);
            if replicate == 0 {
                // Whatever the machine does, every default has a value, those first that are cheap to set up, and then what tells
                // most; and a probe's other cases know what a round of its default costs. What fills memory comes after
                // the cells that fill nothing: hundreds of them take less than one that fills a machine's memory.
                let order =
                    |case: &PlannedCase| (case.unit_priority(), case.has_long_set_up(), case.entry.shares_worker);
                units.sort_by_key(|unit| order(&plan.cases[unit[0]]));
            }
            if self.interrupted || !self.run_replicate(replicate, &units) {
                return;
            }
        }
        // Time left over: one more round for the widest intervals, decided once; what was decided before comes first.
        let begun = self.begun_anyway();
        let mut more = self.units(self.widest_that_fit(), rounds);
        more.iter_mut().for_each(|unit| unit.retain(|index| !begun.contains(index)));
        let mut units: Vec<Vec<usize>> = begun.into_iter().map(|index| vec![index]).collect();
        units.extend(more);
        for &index in units.iter().flatten() {
            self.states[index].dropped = false;
        }
        self.run_replicate(rounds, &units);
    }

    fn pending(&self) -> Vec<usize> {
        (0..self.states.len()).filter(|&index| self.is_pending(index)).collect()
    }

    fn is_pending(&self, index: usize) -> bool {
        !self.states[index].ended && !self.states[index].dropped
    }

    /// Waits until the clock of every CPU that the plan uses is steady, so that the first rounds are like the last; on
    /// hosts of very many CPUs, of as many as there is time for, the single-party cases' first.
    fn warm_cpus(&mut self) {
        let plan = self.setting.plan;
        let used = self.pending().into_iter().flat_map(|index| plan.cases[index].cpus.iter().copied());
        let mut seen = std::collections::HashSet::new();
        let cpus: Vec<usize> = std::iter::once(plan.cpu).chain(used).filter(|&cpu| seen.insert(cpu)).collect();
        let end = self.wall.elapsed() + TimeBudget::warm_up(plan);
        self.observer.silent(TimeBudget::warm_up(plan) + TimeBudget::WARM_UP_LIMIT);
        for cpu in cpus {
            if self.wall.elapsed() >= end {
                return;
            }
            let job = self.job(Vec::new(), vec![cpu], 0, Duration::ZERO);
            if let Ok(link) = (self.open)(&job) {
                let (patience, limit) = (TimeBudget::WARM_UP_LIMIT, TimeBudget::hard_limit(plan));
                let mut session = WorkerSession::new(link, self.wall, patience, limit);
                // Whether it settled is measured again in every round.
                let round = session.round();
                session.end();
                if round.end == SessionEnd::Interrupted {
                    self.interrupted = true;
                    return;
                }
            }
        }
    }

    /// Runs a replicate. False when the run is over.
    fn run_replicate(&mut self, replicate: u32, units: &[Vec<usize>]) -> bool {
        if !units.is_empty() {
            self.look_for_event_tracers();
            self.look_at_cache();
        }
        let sequence: Vec<usize> = units.iter().flatten().copied().collect();
        // Of each round, how many of its unit are still to come, itself among them.
        let left: Vec<usize> = units.iter().flat_map(|unit| (1..=unit.len()).rev()).collect();
        let mut position = 0;
        while position < sequence.len() {
            let index = sequence[position];
            let plan = self.setting.plan;
            if let Some(place) = self.past_of(index, replicate) {
                self.take_over(index, place);
                position += 1;
                continue;
            }
            if !self.is_pending(index) || self.ends_by_loss(index, replicate) {
                position += 1;
                continue;
            }
            let to_come = &sequence[position..];
            let remaining: Vec<usize> = to_come.iter().copied().filter(|&index| self.is_pending(index)).collect();
            let (next, rounds, overhead) = self.costs(index, &remaining, replicate);
            let elapsed = self.wall.elapsed() + self.wall.report_delay();
            let budget = TimeBudget::new(plan, elapsed, rounds, overhead);
            let grant = match budget.decide(next) {
                RoundDecision::Sample(grant) => grant,
                RoundDecision::Over if self.past.is_empty() => return false,
                RoundDecision::Drop | RoundDecision::Over => {
                    self.drop_unless_enough(index, replicate);
                    position += 1;
                    continue;
                }
            };
            let budget = budget.after(grant + next.overhead);
            let (unit, grant) = self.together(&to_come[..left[position]], replicate, &remaining, budget, grant);
            self.observer.silent(TimeBudget::silent(plan, self.wall.elapsed(), grant));
            let all = self.done + self.to_come(&remaining, replicate).iter().sum::<usize>();
            self.observer.round(&plan.cases[index].id.to_string(), self.done, all, budget.expected());
            match self.work(&unit, replicate, grant) {
                // Of a round that was spoilt nothing is kept.
                Some(measured) => {
                    position += measured;
                    self.report_values(&unit[..measured.min(unit.len())], replicate);
                }
                None => return false,
            }
        }
        true
    }

    /// Tells what is watched of these cases, of which this was a round.
    fn report_values(&mut self, unit: &[usize], replicate: u32) {
        for &index in unit {
            let id = &self.setting.plan.cases[index].id;
            if !self.observer.watches(id) {
                continue;
            }
            let outcome = self.outcome(index);
            if let Outcome::Measured(measured) = &outcome {
                self.observer.value(id, measured.estimate.value());
            }
            if self.later(index, replicate) == 0 {
                self.observer.ended(id, outcome);
            }
        }
    }

    /// Drops a case that cannot have as many rounds as an interval needs: it leaves its time to the others.
    fn drop_unless_enough(&mut self, index: usize, replicate: u32) {
        self.states[index].dropped =
            self.states[index].rounds.len() + self.later(index, replicate) < self.least_rounds(index);
    }

    /// The cases of the past rounds that are left when all planned replicates are over, in their order.
    fn begun_anyway(&self) -> Vec<usize> {
        let index = |past: &PastRound| self.setting.plan.cases.iter().position(|case| case.id.to_string() == past.case);
        self.past.iter().filter_map(index).collect()
    }

    /// Returns the position of a round among the past ones left. Behind a torn line of the journal their order differs from here.
    fn past_of(&self, index: usize, round: u32) -> Option<usize> {
        if self.past.is_empty() {
            return None;
        }
        let id = self.setting.plan.cases[index].id.to_string();
        self.past.iter().position(|past| past.round.round == round && past.case == id)
    }

    /// Takes over the past round at `place`, which is one of this case.
    fn take_over(&mut self, index: usize, place: usize) {
        if let Some(past) = self.past.remove(place) {
            self.states[index].dropped = false;
            self.add(index, past.round, &past.took);
        }
    }

    /// The job of these cases on these CPUs; the warm-up of the first of these where there is no case.
    fn job(&self, cases: Vec<JobCase>, cpus: Vec<usize>, round: u32, grant: Duration) -> Job {
        let host = self.setting.host;
        let first_level = cpus.first().and_then(|&cpu| host.cache(cpu, 1));
        let cache = cpus.first().and_then(|&cpu| host.last_level_cache(cpu));
        Job {
            environment: self.setting.environment.clone(),
            cases,
            choices: self.choices.clone(),
            round,
            budget_ns: grant.as_nanos() as u64,
            caches_bytes: cpus.first().map_or(Vec::new(), |&cpu| caches_bytes(host, cpu)),
            l1d_bytes: first_level.map_or(0, |cache| cache.size_bytes),
            llc_bytes: cache.map_or(0, |cache| host.effective_bytes(cache)),
            llc_sum_bytes: host.last_level_caches_bytes(&cpus),
            line_bytes: cache.and_then(|cache| cache.line_bytes).unwrap_or(64),
            memory_bytes: TimeBudget::memory_bytes(host),
            nodes: host.nodes.len(),
            folder: format!("round-{}", self.done),
            setup_ns: TimeBudget::set_up(self.setting.plan, self.wall.elapsed()).as_nanos() as u64,
            other_cpu: nearest_other(host, &cpus),
            look_at_cache: None,
            is_followed: false,
            look_at_memory: false,
            cpus,
            replica: false,
        }
    }

    /// Takes a round into account: what it learned, and where its time went.
    fn add(&mut self, index: usize, round: RoundResult, took: &Took) {
        if let Some((choice, _)) = round.chosen() {
            // The first stays: all of one scope go the same way.
            if !self.choices.iter().any(|known| known.scope == choice.scope) {
                self.choices.push(choice);
            }
        }
        if let Some(noise) = round.noise() {
            self.widths.add(self.setting.host, round.cpus.first(), &core_width::looks(noise));
        }
        self.time.add(took.spent.as_secs_f64(), round.noise().and_then(|noise| noise.time.as_ref()));
        let may_pass = round.ended_by().is_some_and(Reason::may_pass);
        // Cases that hang again and again would have all of the time.
        let is_forgiven = may_pass && self.stumbled <= TimeBudget::patience(self.setting.plan);
        self.stumbled += if may_pass { took.spent } else { Duration::ZERO };
        self.states[index].add(round, took, is_forgiven);
        self.done += 1;
    }

    /// Stores the CPU time that others used in these rounds.
    fn judge(&mut self, judged: Vec<Judged>) {
        for (case, place, others) in judged {
            self.states[case].rounds[place].others = Some(others);
        }
    }

    fn case_rounds(&self, index: usize) -> CaseRounds {
        let (case, state) = (&self.setting.plan.cases[index], &self.states[index]);
        let stopped = self.interrupted && !state.dropped;
        let without = || if stopped { ReasonCode::Interrupted.because(say!("interrupted")) } else { no_time() };
        // What takes long to fill has all rounds of a glance, or is left out by name.
        let is_glance = self.setting.plan.request.profile == Profile::Glance && !self.interrupted;
        let has_all_or_none = is_glance && case.has_long_set_up() && !state.ended;
        let wanted = if has_all_or_none { self.least_rounds(index) } else { 1 };
        let skip = case.skip.clone().or_else(|| (state.rounds.len() < wanted).then(without));
        let rounds = state.rounds.iter().cloned().map(Round::of).collect();
        CaseRounds { entry: case.entry, id: case.id.clone(), rounds, skip }
    }

    /// A case's outcome by what is known so far.
    fn outcome(&self, index: usize) -> Outcome {
        let (plan, host) = (self.setting.plan, self.setting.host);
        let mut case = self.case_rounds(index);
        case.rounds.iter_mut().for_each(|round| self.widths.mark(host, false, round));
        gate::mark_samples(&mut case, host);
        outcomes::of_case(&case, TimeBudget::rounds(plan), host)
    }

    fn finish(mut self) -> Results {
        self.give_back();
        let blocks = std::mem::replace(&mut self.blocks, Blocks::new(self.setting.meters));
        self.judge(blocks.rest());
        let plan = self.setting.plan;
        let record = outcomes::mark(Record {
            seed: plan.request.seed,
            planned: TimeBudget::rounds(plan),
            host: self.setting.host.clone(),
            // Who measures knows them.
            peers: Vec::new(),
            selected: plan.selected.clone(),
            cases: (0..self.states.len()).map(|index| self.case_rounds(index)).collect(),
        });
        let time = self.time.of(self.wall.elapsed().as_secs_f64());
        let (neighbours, hottest_celsius) = (self.neighbours(&record), self.hottest_celsius);
        let Holdings { taken, tracer, .. } = self.holdings;
        let (interrupted, journal_lost) = (self.interrupted, self.journal_lost);
        Results { record, time, neighbours, hottest_celsius, taken, tracer, interrupted, journal_lost }
    }
}

/// Sizes of the data caches of a CPU, as far as they are told, bytes.
fn caches_bytes(host: &HostFacts, cpu: usize) -> Vec<u64> {
    let sizes = (1..=5).filter_map(|level| host.cache(cpu, level)).map(|cache| cache.size_bytes);
    sizes.filter(|&bytes| bytes > 0).collect()
}

/// Returns, for each case, the default of its probe with its far end on the same machine, or itself when that is not in the plan.
fn defaults(cases: &[PlannedCase]) -> Vec<usize> {
    let key = |case: &PlannedCase| {
        let (entry, params) = (&case.entry, &case.id.params);
        let of_way = entry.way(params).map(|(_, way)| way.to_owned());
        (case.id.probe.clone(), of_way, entry.peer(params).map(str::to_owned))
    };
    let of_probe: HashMap<_, usize> =
        cases.iter().enumerate().filter(|(_, case)| case.is_default).map(|(index, case)| (key(case), index)).collect();
    cases.iter().enumerate().map(|(index, case)| *of_probe.get(&key(case)).unwrap_or(&index)).collect()
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
