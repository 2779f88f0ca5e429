//! What a run sees of others on the same physical machine, of which this system's kernel knows nothing.

use std::time::Duration;

use hostmark_model::{Event, LastCache, Neighbours};

use super::Runner;
use crate::estimate::core_width;
use crate::plan::time_budget::TimeBudget;
use crate::record::Record;
use crate::worker::session::{SessionEnd, WorkerSession};

/// The group whose values depend on the last cache.
const MEMORY: &str = "memory";

impl Runner<'_> {
    /// Looks at the last cache, when the run begins and before each replicate, where cases of memory are measured.
    pub(super) fn look_at_cache(&mut self) {
        let plan = self.setting.plan;
        let is_wanted = plan.cases.iter().any(|case| case.entry.group == MEMORY && case.skip.is_none());
        let limit = TimeBudget::hard_limit(plan);
        if !is_wanted || self.has_no_last_cache || self.interrupted || self.wall.elapsed() >= limit {
            return;
        }
        let bytes = self.last_cache.as_ref().map_or(0, |cache| cache.bytes);
        let mut job = self.job(Vec::new(), vec![self.stand_in(plan.cpu).unwrap_or(plan.cpu)], 0, Duration::ZERO);
        job.look_at_cache = Some(bytes);
        self.observer.silent(TimeBudget::WARM_UP_LIMIT);
        let Ok(link) = (self.open)(&job) else { return };
        let mut session = WorkerSession::new(link, self.wall, TimeBudget::WARM_UP_LIMIT, limit);
        let round = session.round();
        session.end();
        self.interrupted |= round.end == SessionEnd::Interrupted;
        let look = round.events.iter().find_map(|event| match event {
            Event::LastCache { bytes, ns } if ns.is_finite() && *ns > 0.0 => Some((*bytes, *ns)),
            _ => None,
        });
        // One that others disturbed is dropped, and the next replicate looks again.
        let was_disturbed = round.events.iter().any(|event| matches!(event, Event::Failed { .. }));
        match (look, &mut self.last_cache) {
            (Some((_, ns)), Some(cache)) => cache.looks_ns.push(ns),
            (Some((bytes, ns)), none) => *none = Some(LastCache { bytes, looks_ns: vec![ns] }),
            (None, none) => self.has_no_last_cache = none.is_none() && !was_disturbed,
        }
    }

    /// What was seen of others.
    pub(super) fn neighbours(&self, record: &Record) -> Option<Neighbours> {
        let (core_shared, last_cache) = (core_width::core_shared(&record.cases), self.last_cache.clone());
        (core_shared.is_some() || last_cache.is_some()).then_some(Neighbours { core_shared, last_cache })
    }
}
