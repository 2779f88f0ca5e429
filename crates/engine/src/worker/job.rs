//! Jobs as they are read: what cannot be meant is refused in a sentence, before anything is done with it.

use hostmark_model::{AxisKind, CalibratedClock, CaseId, Job, JobCase, Message, ReasonCode};
use hostmark_say::say;

use crate::case::bind::Bind;
use crate::plan::checked_value;
use crate::probe::{Axis, Entry, FREE};
use crate::round_error::{Result, RoundError};
use crate::sampling::last_cache;
use crate::sampling::sampler::MOST_ITERATIONS;
use crate::sys::affinity::MOST_CPUS;
use crate::worker::far;

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

/// Failed where a number of the job is out of all proportion.
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
    expect(looked_at <= last_cache::MOST_BYTES, || say!("a look at {looked_at} bytes"))?;
    if let CalibratedClock::Counter { hz, .. } = job.environment.clock {
        expect(RATES_HZ.contains(&hz), || say!("a counter of {hz} ticks a second"))?;
    }
    Ok(())
}

/// Failed where the case has more or fewer far ends than it needs.
pub(crate) fn check_far_ends(entry: &Entry, id: &CaseId, job: &Job, own: &JobCase) -> Result<()> {
    let needed = match entry.probe.service() {
        Some(_) if job.replica => 1,
        _ => far::cpus_of(entry, id, &job.cpus).len(),
    };
    expect(own.far.len() == needed, || {
        say!("it has {far} far ends, and {id} needs {needed}", far = own.far.len(), id = own.id)
    })
}

/// Failed where the case is not one of the probe's, or has more threads than CPUs.
pub(crate) fn check_case(entry: &Entry, id: &CaseId, cpus: &[usize]) -> Result<()> {
    for (axis, value) in &id.params.0 {
        let taken = checked_value(entry, axis, value)
            .map_err(|error| RoundError::failed(ReasonCode::Protocol, error.message()))?;
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

/// Whether the scheduler decides where a case runs.
pub(crate) fn is_free(entry: &Entry, id: &CaseId) -> bool {
    let is_free = |axis: &Axis| axis.kind == AxisKind::Placement && id.params.get(axis.name) == Some(FREE);
    Bind::of_case(&id.params) == Some(Bind::Free) || entry.probe.axes.iter().any(is_free)
}
