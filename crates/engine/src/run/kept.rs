//! The worker that is kept: what it has filled serves the rounds of all replicates that need memory, and is touched once.

use std::io;
use std::time::Duration;

use hostmark_model::Job;

use super::Runner;
use crate::plan::time_budget::TimeBudget;
use crate::worker::session::WorkerSession;

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
    pub(super) fn part_with(&mut self, session: WorkerSession<'a>, job: &Job, is_sound: bool) {
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
