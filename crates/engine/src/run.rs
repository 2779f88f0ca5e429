//! A run: passes over the plan in seeded order, a fresh worker a round, inside a hard wall limit.

mod costs;
mod progress;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use hostmark_launch::WorkerLink;
use hostmark_model::{Environment, Event, HostFacts, Job, JobCase, Outcome, RunTime};
use hostmark_stats::interval::LEAST_ROUNDS;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::contention::{Blocks, Judged, Meters};
use crate::far::{self, FarEnds, Missing, OpenService, Waiting, Wanted};
use crate::journal::{Journal, PastRound, Took};
use crate::outcomes;
use crate::plan::{Plan, PlannedCase, TIME_BUDGET, nearest_other};
use crate::record::{CaseRounds, Record, Round, RoundResult, round_seed};
use crate::session::{self, End, Heard};
use crate::time_budget::{TimeBudget, Verdict};
use crate::wall::Wall;
use progress::Progress;

/// Opens a link to a fresh worker that has been given the job.
pub type OpenLink<'a> = dyn FnMut(&Job) -> io::Result<Box<dyn WorkerLink>> + 'a;

/// What a run tells while it goes on; called between rounds alone, never while something is timed.
pub trait Observer {
    /// A round is about to start: its case, rounds done, rounds in all, time left by estimate.
    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration);
}

/// What a run stands on.
pub struct Setting<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The machine.
    pub host: &'a HostFacts,
    /// What every worker gets: clock, directories, inputs.
    pub environment: Environment,
    /// Rounds that this plan's run had measured before it was cut short, in the order of its journal.
    pub past: Vec<PastRound>,
    /// How far ends are started.
    pub open_service: &'a OpenService<'a>,
    /// What tells who used the CPUs.
    pub meters: &'a dyn Meters,
}

/// What a run came to.
pub struct Results {
    /// Its rounds: [`outcomes::of`] makes its cases of them.
    pub record: Record,
    /// Where its time went.
    pub time: RunTime,
    /// Whether the person stopped it.
    pub interrupted: bool,
    /// Whether the journal could not be written to its end, and why.
    pub journal_lost: Option<io::Error>,
}

struct Runner<'a> {
    setting: &'a Setting<'a>,
    open: &'a mut OpenLink<'a>,
    wall: &'a dyn Wall,
    observer: &'a mut dyn Observer,
    journal: Option<&'a mut Journal>,
    states: Vec<Progress>,
    interrupted: bool,
    journal_lost: Option<io::Error>,
    /// Of each case, the default of its probe, or itself when that is not in the plan.
    defaults: Vec<usize>,
    /// What was measured before, as far as it has not been taken over.
    past: VecDeque<PastRound>,
    done: usize,
    time: RunTime,
    blocks: Blocks<'a>,
}

/// Measures the plan, and records its rounds.
pub fn run<'a>(
    setting: &'a Setting<'a>,
    open: &'a mut OpenLink<'a>,
    wall: &'a dyn Wall,
    observer: &'a mut dyn Observer,
    journal: Option<&'a mut Journal>,
) -> Results {
    let fresh = |case: &PlannedCase| Progress { ended: case.skip.is_some(), ..Progress::default() };
    let cases = &setting.plan.cases;
    let states = cases.iter().map(fresh).collect();
    let (defaults, past) = (defaults(cases), setting.past.clone().into());
    let blocks = Blocks::new(setting.meters);
    let (interrupted, journal_lost, done) = (false, None, 0);
    let mut runner = Runner {
        setting,
        open,
        wall,
        observer,
        journal,
        states,
        interrupted,
        journal_lost,
        defaults,
        past,
        done,
        time: RunTime::default(),
        blocks,
    };
    runner.measure();
    runner.finish()
}

impl Runner<'_> {
    fn measure(&mut self) {
        let plan = self.setting.plan;
        let rounds = TimeBudget::rounds(plan);
        self.warm_cpus();
        for pass in 0..rounds {
            let mut sequence = self.shuffled(self.pending(), u64::from(pass));
            if pass == 0 {
                // Whatever the machine does, every default has a value, and then what tells most; and a probe's other cases know
                // what a round of its default costs.
                sequence.sort_by_key(|&index| plan.cases[index].worth);
            }
            if self.interrupted || !self.pass(pass, &sequence, (rounds - pass - 1) as usize) {
                return;
            }
        }
        // Time left over: one more round for the widest intervals, decided once; what was decided before comes first.
        let mut sequence = self.begun_anyway();
        let more = self.shuffled(self.widest_that_fit(), u64::from(rounds));
        sequence.extend(more.into_iter().filter(|index| !sequence.contains(index)).collect::<Vec<usize>>());
        for &index in &sequence {
            self.states[index].dropped = false;
        }
        self.pass(rounds, &sequence, 0);
    }

    fn pending(&self) -> Vec<usize> {
        (0..self.states.len()).filter(|&index| self.is_pending(index)).collect()
    }

    fn is_pending(&self, index: usize) -> bool {
        !self.states[index].ended && !self.states[index].dropped
    }

    fn shuffled(&self, mut cases: Vec<usize>, pass: u64) -> Vec<usize> {
        let seed = self.setting.plan.request.seed ^ pass.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        cases.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        cases
    }

    /// Waits until the clock of every CPU that the plan uses is steady, so that the first rounds are like the last; on
    /// hosts of very many CPUs, of as many as there is time for, the single-party cases' first.
    fn warm_cpus(&mut self) {
        let plan = self.setting.plan;
        let used = self.pending().into_iter().flat_map(|index| plan.cases[index].cpus.iter().copied());
        let mut seen = std::collections::HashSet::new();
        let cpus: Vec<usize> = std::iter::once(plan.cpu).chain(used).filter(|&cpu| seen.insert(cpu)).collect();
        let end = self.wall.elapsed() + TimeBudget::warm_up(plan);
        for cpu in cpus {
            if self.wall.elapsed() >= end {
                return;
            }
            let job = self.job(Vec::new(), vec![cpu], 0, Duration::ZERO);
            if let Ok(mut link) = (self.open)(&job) {
                let (patience, limit) = (TimeBudget::WARM_UP_LIMIT, TimeBudget::hard_limit(plan));
                // Whether it settled is measured again in every round.
                let heard = session::collect_events(link.as_mut(), 1, self.wall, patience, limit);
                link.end();
                if heard.end == End::Interrupted {
                    self.interrupted = true;
                    return;
                }
            }
        }
    }

    /// One pass; `later`: passes after this one. False when the run is over.
    fn pass(&mut self, pass: u32, sequence: &[usize], later: usize) -> bool {
        for (position, &index) in sequence.iter().enumerate() {
            if !self.is_pending(index) {
                continue;
            }
            let case = &self.setting.plan.cases[index];
            let id = case.id.to_string();
            match self.past.front() {
                Some(past) if past.case == id && past.round.round == pass => {
                    self.take_over(index);
                    continue;
                }
                // What comes later in the journal shows that there was no time for this one.
                Some(_) => {
                    self.drop_unless_enough(index, later);
                    continue;
                }
                None => {}
            }
            let remaining: Vec<usize> =
                sequence[position..].iter().copied().filter(|&index| self.is_pending(index)).collect();
            let (next, rounds, overhead) = self.costs(index, &remaining, later);
            let budget = TimeBudget::new(self.setting.plan, self.wall.elapsed(), rounds, overhead);
            let grant = match budget.decide(next) {
                Verdict::Sample(grant) => grant,
                Verdict::Drop => {
                    self.drop_unless_enough(index, later);
                    continue;
                }
                Verdict::Over => return false,
            };
            self.observer.round(&id, self.done, self.done + rounds, budget.expected());
            if !self.round(index, &id, pass, grant) {
                return false;
            }
            self.done += 1;
        }
        true
    }

    /// Without a round of this pass, a case that cannot have as many as an interval needs leaves its time to the others.
    fn drop_unless_enough(&mut self, index: usize, later: usize) {
        self.states[index].dropped = self.states[index].rounds.len() + later < LEAST_ROUNDS;
    }

    /// The cases of the past rounds that are left when all planned passes are over, in their order.
    fn begun_anyway(&self) -> Vec<usize> {
        let index = |past: &PastRound| self.setting.plan.cases.iter().position(|case| case.id.to_string() == past.case);
        self.past.iter().filter_map(index).collect()
    }

    /// Takes over the next of the past rounds, which is one of this case.
    fn take_over(&mut self, index: usize) {
        if let Some(past) = self.past.pop_front() {
            self.count(&past.round, &past.took);
            self.states[index].add(past.round, &past.took);
            self.done += 1;
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
            round,
            budget_ns: grant.as_nanos() as u64,
            l1d_bytes: first_level.map_or(0, |cache| cache.size_bytes),
            llc_bytes: cache.map_or(0, |cache| cache.size_bytes),
            llc_sum_bytes: host.last_level_caches_bytes(&cpus),
            line_bytes: cache.and_then(|cache| cache.line_bytes).unwrap_or(64),
            memory_bytes: TimeBudget::memory_bytes(host),
            folder: format!("round-{}", self.done),
            setup_ns: TimeBudget::set_up(self.setting.plan, self.wall.elapsed()).as_nanos() as u64,
            other_cpu: nearest_other(host, &cpus),
            cpus,
            replica: false,
        }
    }

    /// One round of one case. False when the run is over.
    fn round(&mut self, index: usize, id: &str, pass: u32, grant: Duration) -> bool {
        let began = self.wall.elapsed();
        let cpus = self.setting.plan.cases[index].cpus.clone();
        let Progress { iterations, chosen, .. } = &self.states[index];
        let seed = round_seed(self.setting.plan.request.seed, id, pass);
        let own = JobCase { id: id.to_owned(), seed, iterations: *iterations, chosen: chosen.clone(), far: Vec::new() };
        let job = self.job(vec![own], cpus.clone(), pass, grant);
        self.blocks.begin(began);
        let Heard { mut rounds, end } = self.measure_case(index, job, grant);
        let Some(events) = rounds.pop().filter(|_| end == End::Complete) else {
            // What a stopped round had said so far is no round.
            self.interrupted |= end == End::Interrupted;
            return false;
        };
        let until = self.wall.elapsed();
        let judged = self.blocks.end(until, index, self.states[index].rounds.len(), &cpus);
        let round = RoundResult { round: pass, cpus, events, others: None };
        let mut took = Took { until, spent: until - began, granted: grant };
        if self.journal_lost.is_none()
            && let Some(journal) = self.journal.as_deref_mut()
            && let Err(error) = journal.append(id, &round, &took)
        {
            self.journal_lost = Some(error);
        }
        // The journal costs time too.
        took.spent = self.wall.elapsed() - began;
        self.count(&round, &took);
        self.states[index].add(round, &took);
        self.judge(judged);
        true
    }

    /// Where the time of a round went.
    fn count(&mut self, round: &RoundResult, took: &Took) {
        let time = match round.events.last() {
            Some(Event::Done { noise }) => noise.time.as_ref(),
            _ => None,
        };
        self.time.add(took.spent.as_secs_f64(), time);
    }

    /// What became known of who else used the CPUs of these rounds.
    fn judge(&mut self, judged: Vec<Judged>) {
        for (case, place, others) in judged {
            self.states[case].rounds[place].others = Some(others);
        }
    }

    /// Starts the far ends that a case of the job needs.
    fn far_ends(&self, case: &PlannedCase, job: &Job) -> Result<Option<FarEnds>, Missing> {
        let Some(service) = case.entry.probe.service() else { return Ok(None) };
        let plan = self.setting.plan;
        let wanted = Wanted {
            service: service.name,
            params: &case.id.params,
            cpus: far::cpus_of(&case.entry, &case.id, &job.cpus),
            at: &far::LOOPBACK,
            memory_bytes: job.memory_bytes,
            setup_ns: job.setup_ns,
            scratch: &job.environment.scratch,
            folder: &job.folder,
        };
        let (patience, limit) = (TimeBudget::patience(plan), TimeBudget::hard_limit(plan));
        FarEnds::start(self.setting.open_service, &wanted, Waiting { wall: self.wall, patience, limit }).map(Some)
    }

    /// Has a round of one case measured: starts its far ends, opens a link to a fresh worker, hears it out, and ends them all.
    fn measure_case(&mut self, index: usize, mut job: Job, grant: Duration) -> Heard {
        let without = |end| Heard { rounds: Vec::new(), end };
        let far = match self.far_ends(&self.setting.plan.cases[index], &job) {
            Ok(far) => far,
            Err(Missing::Round(stop)) => return Heard { rounds: vec![vec![stop.into()]], end: End::Complete },
            Err(Missing::OutOfTime) => return without(End::OutOfTime),
            Err(Missing::Interrupted) => return without(End::Interrupted),
        };
        let ends = far.as_ref().map_or(&[][..], FarEnds::ends);
        job.cases.iter_mut().for_each(|case| case.far = ends.to_vec());
        let mut heard = self.hold_session(&job, grant);
        if let (Some(far), End::Complete, Some(events)) = (far, heard.end, heard.rounds.last_mut()) {
            far.finish(events);
        }
        heard
    }

    /// Opens a link to a fresh worker, hears it out, and ends it.
    fn hold_session(&mut self, job: &Job, grant: Duration) -> Heard {
        let plan = self.setting.plan;
        let cases = job.cases.len();
        let mut link = match (self.open)(job) {
            Ok(link) => link,
            Err(error) => {
                let reason = format!("no worker could be started: {error}");
                return Heard { rounds: vec![vec![Event::Failed { reason }]; cases], end: End::Complete };
            }
        };
        // It tells of all cases when all are done.
        let patience = cases as u32 * (grant + TimeBudget::patience(plan));
        let heard = session::collect_events(link.as_mut(), cases, self.wall, patience, TimeBudget::hard_limit(plan));
        link.end();
        heard
    }

    /// A case and its rounds so far.
    fn case_rounds(&self, index: usize) -> CaseRounds {
        let (case, state) = (&self.setting.plan.cases[index], &self.states[index]);
        let stopped = self.interrupted && !state.dropped;
        let without = || if stopped { "interrupted" } else { TIME_BUDGET }.to_owned();
        let skip = case.skip.clone().or_else(|| state.rounds.is_empty().then(without));
        let rounds = state.rounds.iter().cloned().map(Round::of).collect();
        CaseRounds { entry: case.entry, id: case.id.clone(), rounds, skip }
    }

    /// A case's outcome so far.
    fn outcome(&self, index: usize) -> Outcome {
        let plan = self.setting.plan;
        outcomes::of_case(&self.case_rounds(index), TimeBudget::rounds(plan), plan.request.seed)
    }

    fn finish(mut self) -> Results {
        let blocks = std::mem::replace(&mut self.blocks, Blocks::new(self.setting.meters));
        self.judge(blocks.rest());
        let plan = self.setting.plan;
        let record = Record {
            seed: plan.request.seed,
            planned: TimeBudget::rounds(plan),
            host: self.setting.host.clone(),
            selected: plan.selected.clone(),
            cases: (0..self.states.len()).map(|index| self.case_rounds(index)).collect(),
        };
        let time = self.time.of(self.wall.elapsed().as_secs_f64());
        Results { record, time, interrupted: self.interrupted, journal_lost: self.journal_lost }
    }
}

/// Of each case, the default of its probe, or itself when that is not in the plan.
fn defaults(cases: &[PlannedCase]) -> Vec<usize> {
    let of_probe: HashMap<&str, usize> =
        cases.iter().enumerate().filter(|(_, case)| case.is_default).map(|(i, case)| (&*case.id.probe, i)).collect();
    cases.iter().enumerate().map(|(index, case)| *of_probe.get(&*case.id.probe).unwrap_or(&index)).collect()
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
