//! Threads of a case: all that were asked for start, or none works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use hostmark_model::{CalibratedClock, DisturbanceFlags, ReasonCode};
use hostmark_say::say;

use crate::clock::{self, Clock, Ticks};
use crate::round_error::{Checked, OrSkipped, Result, RoundError};
use crate::sampling::sample::{Growth, Samples};
use crate::sampling::sampler::{self, MOST_ITERATIONS};
use crate::sys::affinity;
use crate::sys::call::named;
use crate::sys::usage::ThreadCounters;

/// Gate at which threads wait until it is known whether all have started.
#[derive(Default)]
struct Gate {
    are_all_there: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    fn open(&self, are_all_there: bool) {
        *self.are_all_there.lock().unwrap_or_else(PoisonError::into_inner) = Some(are_all_there);
        self.changed.notify_all();
    }

    fn wait(&self) -> bool {
        let mut known = self.are_all_there.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *known {
                Some(are_all_there) => return are_all_there,
                None => known = self.changed.wait(known).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Starts a thread for each work. Work begins when all threads are there; where the kernel refuses one, none of it is done,
/// so that no thread waits for a partner that never comes. Skipped then, with the reason.
pub fn start<'scope, T, W>(
    scope: &'scope Scope<'scope, '_>,
    works: impl IntoIterator<Item = W>,
) -> Result<Vec<ScopedJoinHandle<'scope, Result<T>>>>
where
    W: FnOnce() -> Result<T> + Send + 'scope,
    T: Send + 'scope,
{
    let gate = Arc::new(Gate::default());
    let mut threads = Vec::new();
    for work in works {
        let own = Arc::clone(&gate);
        let started = Builder::new().spawn_scoped(scope, move || match own.wait() {
            true => work(),
            false => Err(RoundError::failed(ReasonCode::ProcessDied, say!("another thread could not start"))),
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                gate.open(false);
                return Err(RoundError::lacking(say!("cannot start a thread"), &named("pthread_create", error)));
            }
        }
    }
    gate.open(true);
    Ok(threads)
}

/// Binds the calling thread to one CPU. Skipped where the kernel refuses.
pub fn bind(cpu: Cpu) -> Result<()> {
    affinity::bind(&[cpu.0]).or_lacking(|| say!("cannot bind to CPU {cpu}", cpu = cpu.0))
}

/// Waits for threads that were started together: their results, or the first error.
pub fn join<T>(threads: Vec<ScopedJoinHandle<'_, Result<T>>>) -> Result<Vec<T>> {
    // All are waited for before any error is told.
    let results: Vec<Result<T>> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap_or_else(|_| Err(RoundError::internal(say!("a thread panicked")))))
        .collect();
    results.into_iter().collect()
}

/// A logical CPU by the kernel's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cpu(pub usize);

/// A chunk of work between two readings of the clock lasts about this long, ns.
const CHUNK_NS: f64 = 100_000.0;
/// Samples that the common window is cut into.
const SLICES: usize = 20;
/// A worker that waited for its CPU longer than this share of a slice marks it.
const MOST_WAITED: f64 = 0.01;
/// Chunks that a worker logs at most.
const MOST_CHUNKS: usize = 1 << 16;

/// A clock that compares across CPUs: the counter where it is known to be the same on all, else the kernel's monotonic clock.
pub(crate) fn common_clock(run: &CalibratedClock, own: &Clock) -> CommonClock {
    match (run, own) {
        (CalibratedClock::Counter { synchronized: true, .. }, clock) => CommonClock::Own(clock.clone()),
        _ => CommonClock::Monotonic,
    }
}

/// See [`common_clock`].
#[derive(Debug, Clone)]
pub(crate) enum CommonClock {
    Own(Clock),
    /// `CLOCK_MONOTONIC`.
    Monotonic,
}

impl CommonClock {
    fn now(&self) -> Ticks {
        match self {
            CommonClock::Own(clock) => clock.end(),
            CommonClock::Monotonic => Ticks(clock::monotonic_ns()),
        }
    }

    fn ns(&self, ticks: Ticks) -> f64 {
        match self {
            CommonClock::Own(clock) => clock.ns(ticks),
            CommonClock::Monotonic => ticks.0 as f64,
        }
    }
}

/// Progress of one worker: when each of its chunks ended, and how much it had done by then.
#[derive(Debug, Clone, Default, PartialEq)]
struct Log {
    /// (ns since the common start, amount done until then); the first entry is its start with 0.
    chunks: Vec<(f64, f64)>,
    /// (ns since the common start, ns it had been kept waiting until then), one a block of slices.
    waits: Vec<(f64, f64)>,
    involuntary_switches: u64,
    faults: u64,
}

/// Measures the summed rate of one worker a CPU, with amounts as iterations. `are_long`: an iteration exceeds a chunk.
pub(crate) fn measure<R: Checked, W: FnMut(u64) -> R>(
    clock: &CommonClock,
    budget_ns: f64,
    cpus: &[Cpu],
    amount: u64,
    are_long: bool,
    make: impl Fn(Cpu) -> Result<W> + Sync,
) -> Result<Samples> {
    let barrier = Barrier::new(cpus.len());
    let broken = AtomicBool::new(false);
    let epoch = clock.now();
    let work = |cpu: Cpu| -> Result<Log> {
        let ready = prepare(clock, cpu, are_long, &make);
        if ready.is_err() {
            broken.store(true, Ordering::Relaxed);
        }
        // Everyone comes to the barrier, also who cannot work: else the others would wait for ever.
        barrier.wait();
        sampler::end();
        let (mut body, chunk) = ready?;
        if broken.load(Ordering::Relaxed) {
            return Ok(Log::default());
        }
        log_until(clock, epoch, budget_ns, amount, chunk, &mut body)
    };
    let work = &work;
    let logs = std::thread::scope(|scope| join(start(scope, cpus.iter().map(|&cpu| move || work(cpu)))?));
    common_window(&logs?).ok_or_else(|| {
        RoundError::skipped(
            ReasonCode::Disturbed,
            say!("its threads never ran at the same time: a CPU quota, or processes of higher priority, held the CPUs"),
        )
    })
}

/// Binds the thread, makes its work, warms it and finds how much of it makes a chunk.
fn prepare<R: Checked, W: FnMut(u64) -> R>(
    clock: &CommonClock,
    cpu: Cpu,
    are_long: bool,
    make: &(impl Fn(Cpu) -> Result<W> + Sync),
) -> Result<(W, u64)> {
    bind(cpu)?;
    let mut body = make(cpu)?;
    if are_long {
        return Ok((body, 1));
    }
    let mut timed = |chunk: u64| -> Result<f64> {
        let start = clock.now();
        body(chunk).check()?;
        Ok(clock.ns(clock.now().since(start)))
    };
    let mut chunk = 1_u64;
    loop {
        let mut ns = timed(chunk)?;
        if ns >= 0.5 * CHUNK_NS {
            // The cost of a first time, or an interruption, would make chunks so short that reading the clock counts.
            ns = ns.min(timed(chunk)?);
        }
        if ns >= 0.5 * CHUNK_NS || chunk >= MOST_ITERATIONS {
            let fitting = (chunk as f64 * CHUNK_NS / ns.max(1.0)) as u64;
            return Ok((body, fitting.max(1)));
        }
        chunk *= 2;
    }
}

/// Works until the time is over; an error of the work ends it at once.
fn log_until<R: Checked>(
    clock: &CommonClock,
    epoch: Ticks,
    budget_ns: f64,
    amount: u64,
    chunk: u64,
    body: &mut impl FnMut(u64) -> R,
) -> Result<Log> {
    let counters = ThreadCounters::open();
    let mut chunks = Vec::with_capacity(MOST_CHUNKS.min((budget_ns / CHUNK_NS) as usize * 4 + 64));
    let before = counters.read();
    let start_ns = clock.ns(clock.now().since(epoch));
    let (mut now_ns, mut done) = (start_ns, 0.0);
    chunks.push((now_ns, done));
    let mut waits = vec![(start_ns, 0.0)];
    let waited = |counters: &ThreadCounters| counters.read().run_delay_ns.saturating_sub(before.run_delay_ns) as f64;
    let (slice_ns, mut growth, mut slices) = (budget_ns / SLICES as f64, Growth::new(), 0);
    let mut next_look_ns = start_ns + slice_ns;
    while now_ns - start_ns < budget_ns && chunks.len() < chunks.capacity() {
        body(chunk).check()?;
        done += chunk as f64 * amount as f64;
        now_ns = clock.ns(clock.now().since(epoch));
        chunks.push((now_ns, done));
        if now_ns >= next_look_ns {
            let (from_ns, until_then) = waits.last().copied().unwrap_or_default();
            slices += 1;
            if growth.is_full(slices, now_ns - from_ns) {
                let waited_ns = waited(&counters);
                growth.ended(waited_ns - until_then > MOST_WAITED * (now_ns - from_ns));
                waits.push((now_ns, waited_ns));
                slices = 0;
            }
            next_look_ns = now_ns + slice_ns;
        }
    }
    waits.push((now_ns, waited(&counters)));
    let after = counters.read();
    Ok(Log {
        chunks,
        waits,
        involuntary_switches: after.involuntary_switches - before.involuntary_switches,
        faults: after.faults - before.faults,
    })
}

/// The amounts of all logs in slices of the window in which all of them worked.
fn common_window(logs: &[Log]) -> Option<Samples> {
    let first = |log: &Log| log.chunks.first().map(|chunk| chunk.0);
    let last = |log: &Log| log.chunks.last().map(|chunk| chunk.0);
    let begin = logs.iter().map(first).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)?;
    let end = logs.iter().map(last).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)?;
    let longest_chunk =
        logs.iter().flat_map(|log| log.chunks.windows(2)).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
    // A slice is no shorter than the longest chunk, so that interpolation inside a chunk invents no spread.
    let slices = (((end - begin) / longest_chunk.max(1.0)) as usize).clamp(1, SLICES);
    let slice_ns = (end - begin) / slices as f64;
    if slice_ns <= 0.0 {
        return None;
    }
    let mut samples = Samples::of_times(1);
    for slice in 0..slices {
        let (from, to) = (begin + slice as f64 * slice_ns, begin + (slice + 1) as f64 * slice_ns);
        let done: f64 = logs.iter().map(|log| at(&log.chunks, to) - at(&log.chunks, from)).sum();
        let waited: Vec<f64> = logs.iter().map(|log| at(&log.waits, to) - at(&log.waits, from)).collect();
        let delayed = waited.iter().any(|&ns| ns > MOST_WAITED * slice_ns);
        // Amounts are whole: the time is that of the whole amount nearest to what was done, at the slice's own rate.
        let whole = done.round().max(1.0);
        samples.ns.push(slice_ns * whole / done.max(f64::MIN_POSITIVE));
        samples.iterations.push(whole as u64);
        samples.disturbance_flags.push(DisturbanceFlags(if delayed { DisturbanceFlags::DELAYED } else { 0 }));
        samples.delays_ns.push(waited.iter().sum());
        samples.spent_ns.push(slice_ns);
    }
    samples.involuntary_switches = logs.iter().map(|log| log.involuntary_switches).sum();
    samples.faults = logs.iter().map(|log| log.faults).sum();
    Some(samples)
}

/// Returns the amount reached at a time inside a log of growing amounts, by linear interpolation between its entries.
fn at(log: &[(f64, f64)], ns: f64) -> f64 {
    let after = log.partition_point(|entry| entry.0 < ns);
    match (after.checked_sub(1).map(|before| log[before]), log.get(after)) {
        (Some((from, done)), Some(&(to, then))) => done + (then - done) * (ns - from) / (to - from).max(1e-9),
        (None, Some(&(_, done))) => done,
        (Some((_, done)), None) => done,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
    use rustix::thread::{Uid, set_thread_uid};

    use super::*;
    use crate::skip::skipped;
    use crate::sys::affinity;
    use crate::sys::process::in_a_child;

    #[test]
    fn all_threads_meet_and_give_their_results() {
        let barrier = Barrier::new(3);
        let work = |number: u32| {
            let barrier = &barrier;
            move || {
                barrier.wait();
                if number == 9 { Err(RoundError::not_applicable("nine")) } else { Ok(number) }
            }
        };
        let run = |numbers: [u32; 3]| std::thread::scope(|scope| join(start(scope, numbers.map(work))?));
        assert_eq!(run([1, 2, 3]), Ok(vec![1, 2, 3]));
        assert_eq!(run([1, 9, 3]), Err(RoundError::not_applicable("nine")));
    }

    #[test]
    fn where_one_thread_cannot_start_none_waits_for_it() {
        in_a_child(|| {
            // Root may have as many as it likes. Of a limit of memory some of those that have begun would run out as well, and end all.
            if set_thread_uid(Uid::from_raw(54_321)).is_err() && geteuid().is_root() {
                return Ok(());
            }
            setrlimit(Resource::Nproc, Rlimit { current: Some(64), maximum: Some(64) })?;
            let barrier = Barrier::new(4096);
            let work = |_| {
                let barrier = &barrier;
                move || {
                    barrier.wait();
                    Ok(())
                }
            };
            let ended = std::thread::scope(|scope| join(start(scope, (0..4096).map(work))?));
            match ended {
                Err(RoundError::Skipped(reason)) if reason.starts_with("cannot start a thread: pthread_create: ") => {
                    Ok(())
                }
                other => Err(std::io::Error::other(format!("{other:?}"))),
            }
        });
    }

    fn log(start: f64, end: f64, rate: f64) -> Log {
        let steps = 100;
        let at = |step: usize| start + (end - start) * step as f64 / steps as f64;
        let chunks = (0..=steps).map(|step| (at(step), (at(step) - start) * rate)).collect();
        Log { chunks, ..Log::default() }
    }

    #[test]
    fn only_the_common_window_counts_and_workers_that_never_ran_together_have_no_rate() {
        // One starts late, the other ends early: alone, each would seem to have had the whole time.
        let samples = common_window(&[log(0.0, 8e6, 2.0), log(2e6, 10e6, 3.0)]).unwrap();
        let spent: f64 = samples.ns.iter().sum();
        let done: u64 = samples.iterations.iter().sum();
        assert!((spent - 6e6).abs() < 1.0 && (done as f64 - 6e6 * 5.0).abs() < 100.0, "{done} in {spent}");
        assert_eq!(common_window(&[log(0.0, 1e6, 1.0), log(2e6, 3e6, 1.0)]), None);
        assert_eq!(common_window(&[]), None);
    }

    #[test]
    fn a_slice_of_few_operations_has_its_exact_rate() {
        // 1.55 operations a slice: counted whole, the rate would be wrong by a third.
        let samples = common_window(&[log(0.0, 20e6, 1.55e-6)]).unwrap();
        assert!(samples.ns.len() > 10);
        for (ns, &done) in samples.ns.iter().zip(&samples.iterations) {
            assert!((done as f64 / ns - 1.55e-6).abs() < 1e-12, "{done} in {ns}");
        }
    }

    #[test]
    fn a_worker_that_was_kept_waiting_marks_the_slices_it_waited_in() {
        let mut late = log(0.0, 1e6, 1.0);
        // 20 µs in the second half of the window.
        late.waits = vec![(0.0, 0.0), (5e5, 0.0), (1e6, 20_000.0)];
        let samples = common_window(&[late, log(0.0, 1e6, 1.0)]).unwrap();
        let marked: Vec<bool> = samples.disturbance_flags.iter().map(|flags| flags.is_disturbed()).collect();
        let half = marked.len() / 2;
        assert!(
            marked.len() >= 10 && marked[..half].iter().all(|&mark| !mark) && marked[half..].iter().all(|&mark| mark)
        );
        assert_eq!(samples.delays_ns.len(), samples.ns.len());
        assert!((samples.delays_ns.iter().sum::<f64>() - 20_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_cost_of_a_first_time_does_not_make_chunks_short() {
        let cpu = Cpu(affinity::allowed().unwrap()[0]);
        let make = |_| {
            let mut is_first = true;
            Ok(move |n: u64| {
                if std::mem::take(&mut is_first) {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                for turn in 0..n {
                    std::hint::black_box(turn);
                }
            })
        };
        let (_, chunk) = prepare(&CommonClock::Monotonic, cpu, false, &make).map_err(|_| "no CPU").unwrap();
        assert!(chunk > 100, "{chunk}");
    }

    #[test]
    fn two_workers_that_each_wait_a_known_time_have_the_sum_of_their_rates() {
        let cpus = affinity::allowed().unwrap();
        let [one, two] = [Cpu(cpus[0]), Cpu(*cpus.last().unwrap())];
        let wait_10_us = |n: u64| {
            for _ in 0..n {
                let until = clock::monotonic_ns() + 10_000;
                while clock::monotonic_ns() < until {}
            }
        };
        let mut undisturbed = 0.0;
        // What a hypervisor takes marks no sample: one of three tries is enough.
        for _ in 0..3 {
            let samples = match measure(&CommonClock::Monotonic, 50e6, &[one, two], 1, false, |_| {
                Ok::<_, RoundError>(wait_10_us)
            }) {
                Err(RoundError::Skipped(disturbed)) => return skipped(&disturbed),
                measured => measured.unwrap(),
            };
            let best = |is_one: fn(&DisturbanceFlags) -> bool| {
                let all = samples.ns.iter().zip(&samples.iterations).zip(&samples.disturbance_flags);
                all.filter(|(_, flags)| is_one(flags)).map(|((ns, &n), _)| n as f64 / ns * 1e9).fold(0.0, f64::max)
            };
            // 100 000 a second each; busy neighbours can only take from it, and where they do it is marked.
            let most = best(|_| true);
            assert!(most <= if one == two { 1e5 } else { 2e5 } * 1.05, "{most}");
            undisturbed = f64::max(undisturbed, best(|flags| !flags.is_disturbed()));
        }
        if one == two || undisturbed == 0.0 {
            return skipped("two threads had no two CPUs to themselves at any time");
        }
        assert!(undisturbed > 1.2e5, "{undisturbed}");
    }

    #[test]
    fn one_that_cannot_start_ends_all_with_its_reason() {
        let cpu = Cpu(affinity::allowed().unwrap()[0]);
        let make = |_| Err::<fn(u64), _>(RoundError::skipped(ReasonCode::TooLittleMemory, "no memory"));
        let result = measure(&CommonClock::Monotonic, 1e6, &[cpu], 1, false, make);
        assert_eq!(result, Err(RoundError::skipped(ReasonCode::TooLittleMemory, "no memory")));
    }
}
