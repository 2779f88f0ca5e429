//! Resources that a run loses while it goes on: CPUs that leave its cpuset or go offline, and the loopback interface.

use std::time::Duration;

use hostmark_model::{DisturbanceFlags, Event, HostFacts, Job, LastCache, MemoryLook, Neighbours, Reason, ReasonCode};
use hostmark_say::say;

use super::{OpenLink, RunContext, Runner, caches_bytes};
use crate::case::surroundings::Bind;
use crate::clock::Wall;
use crate::estimate::core_width;
use crate::plan::time_budget::TimeBudget;
use crate::record::Record;
use crate::record::contention::Meters;
use crate::worker;
use crate::worker::session::{SessionEnd, WorkerSession};

/// Resource that a run may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Cpu(usize),
    /// The interface by which both ends of a connection are on this machine.
    Loopback,
}

/// A loss, and the run's time when it was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub what: Resource,
    pub at: Duration,
}

/// Resources of a run when it began, and those it has lost since.
pub(super) struct Holdings {
    cpus: Vec<usize>,
    had_loopback: bool,
    lost: Vec<Taken>,
    pub(super) taken: Vec<Taken>,
    /// The process that traced the run when it began, or that came later, and when.
    was_traced: bool,
    event_tracer: Option<String>,
    pub(super) tracer: Option<(String, Duration)>,
    /// CPU on which cases of one CPU are measured instead.
    spare: Option<usize>,
}

impl Holdings {
    pub(super) fn of(meters: &dyn Meters) -> Holdings {
        Holdings {
            cpus: meters.allowed_cpus().unwrap_or_default(),
            had_loopback: meters.has_loopback() == Some(true),
            lost: Vec::new(),
            taken: Vec::new(),
            was_traced: meters.tracer().or_else(|| meters.event_tracer()).is_some(),
            event_tracer: None,
            tracer: None,
            spare: None,
        }
    }

    /// Looks at what is lost now; what is given back is lost no more.
    fn look(&mut self, meters: &dyn Meters, host: &HostFacts, at: Duration) {
        let now = meters.allowed_cpus();
        let is_gone = |cpu: &&usize| now.as_ref().is_some_and(|now| !now.contains(cpu));
        let cpus = self.cpus.iter().filter(is_gone).map(|&cpu| Resource::Cpu(cpu));
        let has_no_loopback = self.had_loopback && meters.has_loopback() == Some(false);
        let lost: Vec<Resource> = cpus.chain(has_no_loopback.then_some(Resource::Loopback)).collect();
        if lost.iter().eq(self.lost.iter().map(|known| &known.what)) {
            return;
        }
        let known = |what| self.lost.iter().find(|known| known.what == what).copied();
        let is_new = |taken: &Taken| known(taken.what).is_none();
        let lost: Vec<Taken> = lost.into_iter().map(|what| known(what).unwrap_or(Taken { what, at })).collect();
        self.taken.extend(lost.iter().copied().filter(is_new));
        self.lost = lost;
        let mut left = host.clone();
        left.cpus.retain(|cpu| self.loss_of(Resource::Cpu(cpu.id)).is_none());
        self.spare = hostmark_host::single(&left);
    }

    fn loss_of(&self, what: Resource) -> Option<&Taken> {
        self.lost.iter().find(|taken| taken.what == what)
    }
}

impl Taken {
    /// Returns the reason of a case that needs it.
    fn reason(&self) -> Reason {
        let seconds = self.at.as_secs();
        match self.what {
            Resource::Cpu(cpu) => ReasonCode::CpuUnavailable.because(say!("CPU {cpu} was taken from this run after {seconds} s: it went offline, or left the cpuset of this process")),
            Resource::Loopback => ReasonCode::Unreachable.because(say!("the loopback interface was found down after {seconds} s; bring it up by: ip link set lo up")),
        }
    }
}

impl Runner<'_> {
    /// Marks the samples of a round that has just ended, where somebody has begun to trace the run.
    pub(super) fn mark_traced(&mut self, events: &mut [Event]) {
        let (holdings, meters) = (&mut self.holdings, self.setting.meters);
        let tracer = || meters.tracer().or_else(|| holdings.event_tracer.clone());
        let tracer = if holdings.was_traced { None } else { tracer() };
        let Some(name) = tracer else { return };
        holdings.tracer.get_or_insert((name, self.wall.elapsed()));
        for event in events {
            if let Event::Samples { disturbance_flags, .. } = event {
                disturbance_flags.iter_mut().for_each(|flags| *flags |= DisturbanceFlags::TRACED);
            }
        }
    }

    /// Looks for who follows the run by events, before each replicate.
    pub(super) fn look_for_event_tracers(&mut self) {
        self.holdings.event_tracer = self.setting.meters.event_tracer();
    }

    /// Looks at what the run has lost. A few system calls, between rounds.
    pub(super) fn look_at_losses(&mut self) {
        self.holdings.look(self.setting.meters, self.setting.host, self.wall.elapsed());
    }

    /// The CPUs on which a case is measured now: those of the plan, or what stands in for the only one.
    pub(super) fn cpus_of(&self, index: usize) -> Vec<usize> {
        let planned = &self.setting.plan.cases[index];
        let first = planned.cpus.first().copied().unwrap_or_default();
        let is_bound = matches!(Bind::of_case(&planned.id.params), Some(Bind::Cpu(_)));
        let has_one = planned.cpus.iter().all(|&cpu| cpu == first) && !is_bound;
        match has_one.then(|| self.stand_in(first)).flatten() {
            Some(other) => vec![other; planned.cpus.len()],
            None => planned.cpus.clone(),
        }
    }

    /// The CPU that stands in for one that was taken, of the same kind; none where it is not taken, or a person chose it.
    fn stand_in(&self, cpu: usize) -> Option<usize> {
        let RunContext { plan, host, .. } = self.setting;
        self.holdings.loss_of(Resource::Cpu(cpu))?;
        let is_alike = |other: &usize| host.kind_of_core(*other) == host.kind_of_core(cpu);
        self.holdings.spare.filter(is_alike).filter(|_| plan.request.inputs.cpus.is_none())
    }

    /// Returns the reason why a case cannot be measured on these CPUs any more.
    pub(super) fn loss(&self, index: usize, cpus: &[usize]) -> Option<Reason> {
        let planned = &self.setting.plan.cases[index];
        let needs_loopback =
            planned.entry.probe.service().is_some() && planned.entry.peer(&planned.id.params).is_none();
        let of_cpu = |cpu: &usize| self.holdings.loss_of(Resource::Cpu(*cpu));
        let taken = match worker::is_free(&planned.entry, &planned.id) {
            // It runs on whatever is left.
            true => None,
            false => cpus.iter().find_map(of_cpu),
        };
        let taken = taken.or_else(|| self.holdings.loss_of(Resource::Loopback).filter(|_| needs_loopback));
        taken.map(Taken::reason)
    }

    /// Ends a case that cannot be measured any more; whether it is one.
    pub(super) fn ends_by_loss(&mut self, index: usize, round: u32) -> bool {
        self.look_at_losses();
        let Some(reason) = self.loss(index, &self.cpus_of(index)) else { return false };
        self.keep(index, round, vec![Event::Skipped { reason }], self.wall.elapsed(), Duration::ZERO);
        true
    }
}

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

    pub(super) fn neighbours(&self, record: &Record) -> Option<Neighbours> {
        let (core_shared, last_cache) = (core_width::core_shared(&record.cases), self.last_cache.clone());
        (core_shared.is_some() || last_cache.is_some()).then_some(Neighbours { core_shared, last_cache })
    }
}

/// Silence of the worker, which says nothing until it is done.
const PATIENCE: Duration = Duration::from_secs(3);

/// Looks at the memory of this machine; none where too little can be spared for it, or others had the CPU.
pub fn look_at_memory(host: &HostFacts, open: &mut OpenLink, wall: &dyn Wall) -> Option<MemoryLook> {
    let cpu = hostmark_host::single(host)?;
    let job = Job {
        look_at_memory: true,
        caches_bytes: caches_bytes(host, cpu),
        memory_bytes: TimeBudget::memory_bytes(host),
        ..Job::bare("", vec![cpu])
    };
    let mut session = WorkerSession::new(open(&job).ok()?, wall, PATIENCE, wall.elapsed() + PATIENCE);
    let events = session.round().events;
    session.end();
    events.into_iter().find_map(|event| if let Event::MemoryLook(look) = event { Some(look) } else { None })
}
