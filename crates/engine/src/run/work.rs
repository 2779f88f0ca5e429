//! The work of one worker: the rounds of a unit, started, heard out, journaled and taken into account.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use hostmark_model::{Event, FarEnd, Job, JobCase, ReasonCode};
use hostmark_say::say;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::Runner;
use crate::plan::time_budget::{RoundDecision, TimeBudget};
use crate::plan::{PlannedCase, Priority};
use crate::record::journal::Took;
use crate::record::{RoundResult, round_seed};
use crate::round_error::RoundError;
use crate::worker::far::{self, Distant, FarEnds, FarRequest, Missing, Peers, Waiting};
use crate::worker::session::{RoundEvents, SessionEnd, WorkerSession};

impl<'a> Runner<'a> {
    /// The rounds of a unit by one worker, or as many as it does; none where another has to do even the first. Nothing when the run is over.
    pub(super) fn work(&mut self, unit: &[usize], round: u32, grant: Duration) -> Option<usize> {
        let plan = self.setting.plan;
        let began = self.wall.elapsed();
        let all = unit.iter().map(|&index| self.cpus_of(index));
        let cpus = all.max_by_key(Vec::len).unwrap_or_default();
        let own = unit.iter().map(|&index| self.job_case(index, round, &cpus)).collect();
        let mut job = self.job(own, cpus.clone(), round, grant);
        job.is_followed = plan.cases[unit[0]].keeps_worker();
        self.blocks.begin(began);
        let mut rounds = Vec::new();
        let is_over = match self.far_ends(&plan.cases[unit[0]], &job) {
            Err(Missing::OutOfTime) => true,
            Err(Missing::Interrupted) => {
                self.interrupted = true;
                true
            }
            Err(Missing::Round(error)) => {
                rounds.push(self.keep(unit[0], round, vec![error.into()], began, grant));
                false
            }
            Ok(far) => {
                let ends = far.as_ref().map_or(&[][..], RoundFarEnds::ends);
                job.cases.iter_mut().for_each(|case| case.far = ends.to_vec());
                self.collect_rounds(unit, &job, far, began, &mut rounds)
            }
        };
        let measured = rounds.len();
        let until = self.wall.elapsed();
        let judged = self.blocks.end(until, rounds, &cpus);
        self.judge(judged);
        // Between rounds: to read a sensor disturbs its core.
        self.hottest_celsius =
            [self.hottest_celsius, self.setting.meters.hottest_celsius()].into_iter().flatten().reduce(f64::max);
        self.sync();
        (!is_over).then_some(measured)
    }

    fn job_case(&self, index: usize, round: u32, cpus: &[usize]) -> JobCase {
        let (id, own) = (&self.setting.plan.cases[index].id, self.cpus_of(index));
        let name = id.to_string();
        JobCase {
            seed: round_seed(self.setting.plan.request.seed, &name, round),
            id: name,
            cpus: if own == cpus { Vec::new() } else { own },
            iterations: self.states[index].iterations,
            far: Vec::new(),
        }
    }

    /// Hears out as many rounds as a worker does and ends it, unless others need its memory, and the far ends. True: the run is over.
    fn collect_rounds(
        &mut self,
        unit: &[usize],
        job: &Job,
        far: Option<RoundFarEnds>,
        began: Duration,
        rounds: &mut Vec<(usize, usize)>,
    ) -> bool {
        let (round, mut began, grant) = (job.round, began, Duration::from_nanos(job.budget_ns));
        let (mut session, mut far) = match self.session(job) {
            Ok(session) => (Some(session), far),
            Err(error) => {
                let error = RoundError::from(error).within(say!("no worker could be started"));
                rounds.push(self.keep(unit[0], round, vec![error.into()], began, grant));
                return false;
            }
        };
        for (place, &index) in unit.iter().enumerate() {
            let Some(running) = &mut session else { break };
            let cpus = self.cpus_of(index);
            let RoundEvents { mut events, end } = running.round();
            // What a failure may have left behind is met by no other case.
            let has_failed = matches!(events.last(), Some(Event::Failed { .. }));
            self.look_at_losses();
            let loss = self.loss(index, &cpus);
            let lacks_memory = matches!(events.last(), Some(Event::Skipped { reason }) if reason.code == Some(ReasonCode::TooLittleMemory));
            if lacks_memory && self.give_back() {
                // There is more now, for a fresh worker.
                session.take().into_iter().for_each(WorkerSession::end);
                return false;
            }
            if running.is_over() || has_failed || loss.is_some() || place + 1 == unit.len() {
                let is_sound = !running.is_over() && !has_failed && loss.is_none();
                session.take().into_iter().for_each(|session| self.part_with(session, job, is_sound));
                if let (Some(far), SessionEnd::Complete) = (far.take(), end) {
                    far.finish(&mut events);
                }
            }
            if let (Some(reason), SessionEnd::Complete) = (loss, end) {
                // It was measured elsewhere, or with nobody at the other end; where another CPU stands in, it has further rounds.
                if self.loss(index, &self.cpus_of(index)).is_some() {
                    rounds.push(self.keep(index, round, vec![Event::Skipped { reason }], began, grant));
                }
                return false;
            }
            match end {
                SessionEnd::Complete => rounds.push(self.keep(index, round, events, began, grant)),
                // Another worker does what this one has not begun.
                SessionEnd::Gone => return false,
                // What a stopped round had said so far is no round.
                SessionEnd::OutOfTime | SessionEnd::Interrupted => {
                    self.interrupted |= end == SessionEnd::Interrupted;
                    return true;
                }
            }
            began = self.wall.elapsed();
        }
        session.into_iter().for_each(WorkerSession::end);
        false
    }

    /// Journals a round that has just ended, and takes it into account; gives its case and its place among the case's rounds.
    pub(super) fn keep(
        &mut self,
        index: usize,
        round: u32,
        mut events: Vec<Event>,
        began: Duration,
        granted: Duration,
    ) -> (usize, usize) {
        self.mark_traced(&mut events);
        let id = &self.setting.plan.cases[index].id;
        let until = self.wall.elapsed();
        let round = RoundResult { round, cpus: self.cpus_of(index), events, others: None };
        let mut took = Took { until, spent: until - began, granted };
        if self.journal_lost.is_none()
            && let Some(journal) = self.journal.as_deref_mut()
            && let Err(error) = journal.append(&id.to_string(), &round, &took)
        {
            self.journal_lost = Some(error);
        }
        // The journal costs time too.
        took.spent = self.wall.elapsed() - began;
        let place = self.states[index].rounds.len();
        self.add(index, round, &took);
        (index, place)
    }

    /// Puts the rounds of a worker onto the journal's device, when nothing is timed.
    fn sync(&mut self) {
        if self.journal_lost.is_none()
            && let Some(journal) = self.journal.as_deref_mut()
            && let Err(error) = journal.sync()
        {
            self.journal_lost = Some(error);
        }
    }

    fn far_ends(&self, case: &PlannedCase, job: &Job) -> Result<Option<RoundFarEnds<'a>>, Missing> {
        let Some(service) = case.entry.probe.service() else { return Ok(None) };
        let plan = self.setting.plan;
        let (patience, limit) = (TimeBudget::patience(plan), TimeBudget::hard_limit(plan));
        if let Some(peer) = case.entry.peer(&case.id.params) {
            let silent = Duration::from_nanos(job.budget_ns) + patience * 2;
            let request = far::request_of(&case.entry, &case.id, job, silent)?;
            let peers: &'a dyn Peers = self.setting.peers;
            return peers.serve(peer, request).map(|distant| Some(RoundFarEnds::There(distant)));
        }
        let at = far::of_version(&far::LOOPBACK, &case.id.params);
        let wanted = FarRequest {
            service: service.name,
            params: &case.id.params,
            cpus: far::cpus_of(&case.entry, &case.id, &job.cpus),
            at: &at,
            memory_bytes: job.memory_bytes,
            setup_ns: job.setup_ns,
            scratch: &job.environment.scratch,
            folder: &job.folder,
            nonces: &[],
        };
        let waiting = Waiting { wall: self.wall, patience, limit };
        FarEnds::start(self.setting.open_service, &wanted, waiting).map(|ends| Some(RoundFarEnds::Here(ends)))
    }
}

enum RoundFarEnds<'a> {
    Here(FarEnds),
    There(Box<dyn Distant + 'a>),
}

impl RoundFarEnds<'_> {
    fn ends(&self) -> &[FarEnd] {
        match self {
            RoundFarEnds::Here(ends) => ends.ends(),
            RoundFarEnds::There(distant) => distant.ends(),
        }
    }

    /// Ends them, and adds what they say to a complete round.
    fn finish(self, events: &mut Vec<Event>) {
        match self {
            RoundFarEnds::Here(ends) => ends.finish(events),
            RoundFarEnds::There(distant) => distant.account().join(events),
        }
    }
}

/// Cases of one worker at most.
const MOST_CASES: usize = 32;

/// Properties shared by the cases of one unit.
#[derive(PartialEq, Eq, Hash)]
struct Common<'a> {
    group: &'static str,
    cpus: &'a [usize],
    has_long_set_up: bool,
    keeps_worker: bool,
    /// Priority in the first replicate, where the highest comes first.
    priority: Option<Priority>,
}

impl Runner<'_> {
    /// The cases of a replicate by units, each for one worker, in seeded order; the cases of a unit are in seeded order too,
    /// but for the first replicate, in which those come first that tell most. In the others what takes long to fill comes last.
    pub(super) fn units(&self, mut cases: Vec<usize>, replicate: u32) -> Vec<Vec<usize>> {
        let seed = self.setting.plan.request.seed ^ u64::from(replicate).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        cases.shuffle(&mut random);
        let mut units: Vec<Vec<usize>> = Vec::new();
        let mut open: HashMap<Common, usize> = HashMap::new();
        for index in cases {
            let Some(common) = self.common(index, replicate) else {
                units.push(vec![index]);
                continue;
            };
            match open.get(&common) {
                Some(&unit) if units[unit].len() < MOST_CASES => units[unit].push(index),
                _ => {
                    open.insert(common, units.len());
                    units.push(vec![index]);
                }
            }
        }
        units.shuffle(&mut random);
        let cases = &self.setting.plan.cases;
        if replicate == 0 {
            units.iter_mut().for_each(|unit| unit.sort_by_key(|&index| cases[index].priority));
        } else {
            // What takes long to fill comes last: whatever time is left then is no other case's.
            units.sort_by_key(|unit| cases[unit[0]].has_long_set_up());
        }
        units
    }

    /// Returns what a case shares with those beside which one worker may measure it; `None` where it has a worker to itself.
    fn common(&self, index: usize, replicate: u32) -> Option<Common<'_>> {
        let case = &self.setting.plan.cases[index];
        let is_alone = !case.entry.shares_worker || case.entry.probe.service().is_some();
        (!is_alone).then(|| Common {
            group: case.entry.group,
            // What takes long to fill is filled for one thread and for several.
            cpus: if case.has_long_set_up() { &case.cpus[..case.cpus.len().min(1)] } else { &case.cpus },
            has_long_set_up: case.has_long_set_up(),
            keeps_worker: case.keeps_worker(),
            priority: (replicate == 0).then_some(case.unit_priority()),
        })
    }

    /// Returns how many of a unit's cases one worker measures now, the first of them at least, and the time of each for
    /// samples: as many as have time, and as a part of the run's limit holds. `budget`: what the first of them leaves.
    pub(super) fn together(
        &self,
        unit: &[usize],
        replicate: u32,
        remaining: &[usize],
        mut budget: TimeBudget,
        granted: Duration,
    ) -> (Vec<usize>, Duration) {
        let (mut together, mut granted) = (vec![unit[0]], granted);
        let mut left = TimeBudget::of_unit(self.setting.plan);
        for &index in &unit[1..] {
            let next = self.costs(index, remaining, replicate).0;
            let RoundDecision::Sample(grant) = budget.decide(next) else { break };
            left = left.saturating_sub(grant + next.overhead);
            budget = budget.after(grant + next.overhead);
            if left.is_zero() || !self.is_pending(index) || self.past_of(index, replicate).is_some() {
                break;
            }
            granted = granted.min(grant);
            together.push(index);
        }
        (together, granted)
    }
}

/// A worker that waits for another job.
pub(super) struct KeptWorker<'a> {
    session: WorkerSession<'a>,
    /// The CPU that has touched its memory.
    cpu: Option<usize>,
}

impl<'a> Runner<'a> {
    /// Gives the job to the worker that was kept for such, or to a fresh one.
    pub(super) fn session(&mut self, job: &Job) -> io::Result<WorkerSession<'a>> {
        let plan = self.setting.plan;
        let patience = Duration::from_nanos(job.budget_ns) + TimeBudget::patience(plan);
        if job.is_followed {
            let cpu = job.cpus.first().copied();
            if let Some(kept) = self.kept.as_mut().filter(|kept| kept.cpu == cpu)
                && kept.session.give(job, patience).is_ok()
                && let Some(kept) = self.kept.take()
            {
                return Ok(kept.session);
            }
            // It has ended meanwhile, or touched memory from another CPU.
            self.give_back();
        }
        let link = (self.open)(job)?;
        Ok(WorkerSession::new(link, self.wall, patience, TimeBudget::hard_limit(plan)))
    }

    /// Ends a worker that has done its job, or keeps it, where it is sound and others need what it has filled.
    fn part_with(&mut self, session: WorkerSession<'a>, job: &Job, is_sound: bool) {
        let plan = self.setting.plan;
        let needs = |index: &usize| {
            let case = &plan.cases[*index];
            let has_all = self.states[*index].rounds.len() >= plan.rounds_of(case) as usize;
            case.keeps_worker() && self.is_pending(*index) && !has_all
        };
        if is_sound && job.is_followed && (0..self.states.len()).any(|index| needs(&index)) {
            self.blocks.keep(session.pid());
            self.kept = Some(KeptWorker { session, cpu: job.cpus.first().copied() });
            return;
        }
        session.end();
        if job.is_followed {
            self.blocks.keep(None);
        }
    }

    /// Ends the worker that is kept; whether there was one.
    pub(super) fn give_back(&mut self) -> bool {
        let Some(kept) = self.kept.take() else { return false };
        kept.session.end();
        self.blocks.keep(None);
        true
    }
}
