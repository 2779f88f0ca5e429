//! Operations that the engine does: single calls, short ones that repeat themselves, one a round, and the fastest of several ways.

use std::hint::black_box;

use hostmark_model::{CaseId, Choice};
use hostmark_say::say;

use super::timed::Elapsed;
use super::{Case, Cpu};
use crate::case::copies::{self, Copies};
use crate::clock::{Clock, Ticks};
use crate::quantity::Quantity;
use crate::round_error::{Checked, Result, RoundError};
use crate::sampling::lockstep::{self, ThreadWork};
use crate::sampling::memory_look::Steady;
use crate::sampling::sample::{CounterBlocks, Samples};
use crate::sampling::{choice, latencies, sampler};

/// The clock is read in a batch as often as this at most, once it has lasted this share of its time.
const TURNS: f64 = 16.0;

/// An operation of 100 ns or more, of which each call does the thing measured.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Calls<'case, F> {
    case: &'case mut Case,
    op: F,
}

/// The same, each call of which does the thing measured so many times.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct CallsEach<'case, F> {
    calls: Calls<'case, F>,
    times: u64,
}

/// The same, each call of which is also timed by itself.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct CallsSingly<'case, F>(Calls<'case, F>);

/// The same, timed in batches of ten thousand.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct CallsInBatches<'case, F>(Calls<'case, F>);

impl Case {
    /// An operation of 100 ns or more; what it returns is kept from the optimiser, and an error ends the round.
    #[inline(always)]
    pub fn calls<R: Checked, F: FnMut() -> R>(&mut self, op: F) -> Calls<'_, F> {
        Calls { case: self, op }
    }
}

impl<'case, R: Checked, F: FnMut() -> R> Calls<'case, F> {
    /// A call does the thing measured so many times; the value is that of one.
    #[inline(always)]
    pub fn each(self, times: u64) -> CallsEach<'case, F> {
        CallsEach { calls: self, times }
    }

    /// Records tails as well: after each sample as many operations are timed one by one into a histogram, of which the engine makes the
    /// declared percentiles. No clock is read inside samples, so the value is that of [`Calls::time`].
    pub fn singly(self) -> CallsSingly<'case, F> {
        CallsSingly(self)
    }

    /// Timed in batches of ten thousand, without a difference of two lengths: [`Quantity::REFERENCE_CYCLES`] and
    /// [`Quantity::BATCH_CYCLES`] stand beside the value.
    ///
    /// [`Quantity::REFERENCE_CYCLES`]: crate::quantity::Quantity::REFERENCE_CYCLES
    /// [`Quantity::BATCH_CYCLES`]: crate::quantity::Quantity::BATCH_CYCLES
    pub fn in_batches(self) -> CallsInBatches<'case, F> {
        CallsInBatches(self)
    }

    #[inline(always)]
    pub fn time(self) -> Result<()> {
        let Calls { case, mut op } = self;
        case.sample(0, &mut |iterations| {
            for _ in 0..iterations {
                black_box(op()).check()?;
            }
            Ok(())
        })
    }
}

impl<R: Checked, F: FnMut() -> R> CallsEach<'_, F> {
    #[inline(always)]
    pub fn time(self) -> Result<()> {
        let CallsEach { calls: Calls { case, op }, times } = self;
        case.calls(op).time()?;
        case.share(times);
        Ok(())
    }
}

impl<R: Checked, F: FnMut() -> R> CallsSingly<'_, F> {
    pub fn time(self) -> Result<()> {
        let Calls { case, mut op } = self.0;
        let body = &mut |iterations| {
            for _ in 0..iterations {
                black_box(op()).check()?;
            }
            Ok(())
        };
        if case.start_barrier()? {
            return copies::for_ever(&case.clock, body);
        }
        let (hint, clock) = (case.own.iterations, case.clock.clone());
        let mut recorder = latencies::recorder()?;
        let samples = case.sampler().take_and(hint, body, &mut |body, iterations| {
            latencies::count_singles(&mut recorder, &clock, iterations, body)
        })?;
        case.yielded.histogram = Some(latencies::counted(&recorder));
        case.keep(samples, 0)?;
        case.count(body)
    }
}

impl<R: Checked, F: FnMut() -> R> CallsInBatches<'_, F> {
    pub fn time(self) -> Result<()> {
        let Calls { case, mut op } = self.0;
        case.timed_batches(|clock, operations, most_ns| in_turns(clock, operations, most_ns, &mut op)).time()
    }
}

/// Does `op` so often, or until `most_ns` are over. The clock is read after one operation, two, four and so on, and in the end
/// every sixteenth of the time: next to nothing of a batch, however long an operation lasts.
#[inline(always)]
fn in_turns<R: Checked>(
    clock: &Clock,
    operations: u64,
    most_ns: f64,
    op: &mut impl FnMut() -> R,
) -> Result<(Ticks, u64)> {
    let (mut done, mut turn) = (0, 1);
    let start = clock.start();
    loop {
        for _ in 0..turn {
            black_box(op()).check()?;
        }
        done += turn;
        let spent = clock.end().since(start);
        let spent_ns = clock.ns(spent);
        if done >= operations || spent_ns >= most_ns {
            return Ok((spent, done));
        }
        if spent_ns < most_ns / TURNS {
            turn *= 2;
        }
        turn = turn.min(operations - done);
    }
}

/// A body that does its operation so many times as it is told.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Loops<'case, F> {
    case: &'case mut Case,
    body: F,
}

/// The same, less what another body takes.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct LoopsBeyond<'case, F, G> {
    case: &'case mut Case,
    whole: F,
    overhead: G,
    each: u64,
    is_steady: bool,
}

/// The same, and how fast a counter of others grew meanwhile.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct LoopsWithCounter<'case, F, C> {
    case: &'case mut Case,
    body: F,
    name: &'case str,
    counter: C,
}

impl Case {
    /// A short operation, under 100 ns: `body(n)` does it n times, unrolled; the value is the slope of two lengths. As with
    /// all that is measured, an error that the body returns ends the round: one that it kept to itself would be measured.
    #[inline(always)]
    pub fn loops<R: Checked, F: FnMut(u64) -> R>(&mut self, body: F) -> Loops<'_, F> {
        Loops { case: self, body }
    }
}

impl<'case, R: Checked, F: FnMut(u64) -> R> Loops<'case, F> {
    /// Measures the time beyond `overhead(n)`: both bodies run n times and are timed in turn, in every sample. Both sides are
    /// given as the further quantities [`Quantity::WHOLE`] and [`Quantity::OVERHEAD`]; nothing is clamped.
    pub fn beyond<S: Checked, G: FnMut(u64) -> S>(self, overhead: G) -> LoopsBeyond<'case, F, G> {
        LoopsBeyond { case: self.case, whole: self.body, overhead, each: 1, is_steady: false }
    }

    /// CoreMonitor each sample, how fast `counter` grew meanwhile, a second: values of the further quantity `name`.
    pub fn with_counter<C: Fn() -> u64>(self, name: &'case str, counter: C) -> LoopsWithCounter<'case, F, C> {
        LoopsWithCounter { case: self.case, body: self.body, name, counter }
    }

    #[inline(always)]
    pub fn time(self) -> Result<()> {
        let mut body = self.body;
        self.case.sample(0, &mut |iterations| body(iterations).check())
    }

    /// A rate: an iteration moves `amount` bytes or does `amount` operations.
    #[inline(always)]
    pub fn rate(self, amount: u64) -> Result<()> {
        let mut body = self.body;
        self.case.sample(amount, &mut |iterations| body(iterations).check())
    }
}

impl<R: Checked, F: FnMut(u64) -> R, S: Checked, G: FnMut(u64) -> S> LoopsBeyond<'_, F, G> {
    /// An iteration does the thing measured so many times; the value is that of one.
    pub fn each(self, times: u64) -> Self {
        LoopsBeyond { each: times, ..self }
    }

    /// Lets the measured body go on without pause, and times the overhead after it.
    pub fn steady(self) -> Self {
        LoopsBeyond { is_steady: true, ..self }
    }

    pub fn time(self) -> Result<()> {
        let LoopsBeyond { case, mut whole, mut overhead, each, is_steady } = self;
        let whole = &mut |iterations| whole(iterations).check();
        let overhead = &mut |iterations| overhead(iterations).check();
        if case.start_barrier()? {
            return copies::for_ever(&case.clock, whole);
        }
        let hint = case.own.iterations;
        let taken = match is_steady {
            true => case.sampler().take_steady_difference(hint, whole, overhead)?,
            false => case.sampler().take_difference(hint, whole, overhead)?,
        };
        case.also(Quantity::WHOLE.name, taken.whole_ns.iter().map(|ns| ns / each as f64))?;
        case.also(Quantity::OVERHEAD.name, taken.part_ns.iter().map(|ns| ns / each as f64))?;
        case.keep(taken.samples, 0)?;
        case.share(each);
        Ok(())
    }
}

impl<R: Checked, F: FnMut(u64) -> R, C: Fn() -> u64> LoopsWithCounter<'_, F, C> {
    pub fn time(self) -> Result<()> {
        let LoopsWithCounter { case, mut body, name, counter } = self;
        let clock = case.clock.clone();
        let mut rates: Vec<(u64, f64)> = Vec::new();
        case.sample_alone(0, &mut |iterations| {
            let (start, before) = (clock.start(), counter());
            let done = body(iterations);
            let grown = counter().saturating_sub(before) as f64;
            let ns = clock.ns(clock.end().since(start));
            rates.push((iterations, grown * 1e9 / ns.max(1.0)));
            done.check()
        })?;
        // The long lengths alone: in the short ones, and while the length is sought, the counter's steps are too coarse.
        let longest = rates.iter().map(|&(iterations, _)| iterations).max();
        case.also(name, rates.into_iter().filter(|rate| Some(rate.0) == longest).map(|rate| rate.1))
    }
}

/// Operation done once in a round.
#[must_use = "nothing is measured before it is said what is wanted of it"]
pub struct Once<'case, F> {
    case: &'case mut Case,
    next: F,
}

impl Case {
    /// Measures an operation done once in a round, such as a whole program or a first touch: nothing is thrown away. `next` returns its
    /// time, the time of several with their number, or a value in the probe's unit that is no measured time.
    pub fn once<T, F: FnOnce(&Clock) -> Result<T>>(&mut self, next: F) -> Once<'_, F> {
        Once { case: self, next }
    }

    fn single<T>(
        &mut self,
        (mut samples, amount): (Samples, u64),
        next: impl FnOnce(&Clock) -> Result<T>,
        read: impl FnOnce(&Clock, T, Ticks) -> (f64, u64, f64),
    ) -> Result<()> {
        self.be_alone()?;
        self.start_barrier()?;
        let blocks = CounterBlocks::begin(&self.clock, &self.interference);
        let start = self.clock.start();
        let outcome = next(&self.clock)?;
        let spent = self.clock.start().since(start);
        let (value, operations, ns) = read(&self.clock, outcome, spent);
        samples.push(value, operations, ns);
        blocks.end(&mut samples);
        self.keep(samples, amount)
    }
}

impl<T: Elapsed, F: FnOnce(&Clock) -> Result<T>> Once<'_, F> {
    pub fn time(self) -> Result<()> {
        self.measure(0)
    }

    /// A rate: an operation moves `amount` bytes or does `amount` things.
    pub fn rate(self, amount: u64) -> Result<()> {
        self.measure(amount)
    }

    fn measure(self, amount: u64) -> Result<()> {
        self.case.single((Samples::of_times(1), amount), self.next, |clock, outcome, _| {
            let (ticks, operations) = outcome.of();
            let ns = clock.ns(ticks);
            (ns, operations, ns)
        })
    }
}

impl<F: FnOnce(&Clock) -> Result<f64>> Once<'_, F> {
    pub fn value(self) -> Result<()> {
        self.case.single((Samples::of_values(1), 0), self.next, |clock, value, spent| (value, 1, clock.ns(spent)))
    }
}

/// Multiple of the last cache's size from which memory lies outside of it.
const OUTSIDE: u64 = 4;

impl Case {
    /// Returns the fastest of these ways, by index: the one that an earlier round chose, of this case or of one that differs from it in
    /// sizes alone and goes over memory which the same part of the same cache holds; where there is none, the fastest by trials in turn,
    /// the first named where none is clearly faster. `pass` does a stretch of work by a way, so many times that it lasts long enough; a
    /// trial is passes until two take as long. `bytes`: what the case goes over, all its arrays together.
    pub fn choose(&mut self, bytes: u64, ways: &[&str], mut pass: impl FnMut(usize, u64)) -> Result<usize> {
        if let Some(way) = self.chosen_before(bytes, ways)? {
            return Ok(way);
        }
        let (clock, seed) = (self.clock.clone(), self.own.seed);
        let begun = clock.start();
        let spent_ns = || clock.ns(clock.end().since(begun));
        let way = choice::fastest(ways.len(), seed, spent_ns, |way, repeats| {
            choice::trial_ns(&self.interference, || Ok(clock.time(|| pass(way, repeats))))
        })?;
        self.keep_choice(bytes, ways[way], clock.ns(clock.end().since(begun)));
        Ok(way)
    }

    /// Chooses in the same way for threads that work at once, one a CPU, each on so many bytes: a trial is a stretch of all, from barrier
    /// to barrier. The closure from `make` does a stretch by a way, so many times, each time it is called.
    pub fn choose_in_lockstep<T: FnMut(usize, u64)>(
        &mut self,
        cpus: &[Cpu],
        bytes: u64,
        ways: &[&str],
        make: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<usize> {
        if let Some(way) = self.chosen_before(bytes, ways)? {
            return Ok(way);
        }
        let begun = self.clock.start();
        let seed = self.own.seed;
        let way = lockstep::choose(&self.clock, &self.interference, cpus, ways.len(), seed, |index| {
            Ok(TrialWork(make(index)?))
        })?;
        self.keep_choice(bytes, ways[way], self.clock.ns(self.clock.end().since(begun)));
        // Memory may be filled anew for what is measured.
        sampler::go_on();
        Ok(way)
    }

    /// The way that needs no trials: the only one, an earlier round's, or the first where copies work at once and cannot confer.
    pub(super) fn chosen_before(&self, bytes: u64, ways: &[&str]) -> Result<Option<usize>> {
        if ways.is_empty() {
            return Err(RoundError::internal(say!("there is no way to choose from")));
        }
        let is_settled = ways.len() == 1 || !matches!(self.copies, Copies::Alone);
        if is_settled {
            return Ok(Some(0));
        }
        let scope = self.scope(bytes);
        let Some(Choice { way, .. }) = self.job.choices.iter().find(|choice| choice.scope == scope) else {
            return Ok(None);
        };
        let found = ways.iter().position(|known| known == way);
        let absent = || RoundError::internal(say!("an earlier round chose '{way}', which this one does not have"));
        found.map(Some).ok_or_else(absent)
    }

    /// Returns the scope in which a choice among ways to go over `bytes` is valid: all parameters but sizes, and the smallest half,
    /// three quarters or whole of a cache of the core's own that holds them: a size that fills the whole cache favours another way than
    /// one that leaves room. In the first cache it is this size alone: start-up costs weigh there, and trials take milliseconds. The size
    /// of the last cache is uncertain, so that each power of two has a choice until four times of it, or until a size that a look at
    /// memory has found not to be cached, which is memory for certain.
    fn scope(&self, bytes: u64) -> String {
        let (caches, alike) = (&self.job.caches_bytes, &self.alike);
        if caches.iter().min().is_some_and(|&first| bytes <= first) {
            return format!("{alike} over {bytes} bytes");
        }
        let last = caches.iter().copied().max().unwrap_or(0);
        let own = caches.iter().filter(|&&cache| cache < last);
        let parts = own.flat_map(|&cache| [cache / 2, cache / 4 * 3, cache]);
        let power = bytes.checked_next_power_of_two().filter(|_| !self.is_outside_caches(bytes));
        match parts.filter(|&part| part >= bytes).min().or(power) {
            Some(part) => format!("{alike} within {part} bytes"),
            None => format!("{alike} beyond the caches"),
        }
    }

    /// Tells whether so many bytes are memory: four last caches, or a size found uncached. Never where the host tells of no cache.
    pub fn is_outside_caches(&self, bytes: u64) -> bool {
        let (llc, told) = (self.job.llc_bytes, self.job.caches_bytes.iter().copied().max().unwrap_or(0));
        llc > 0 && bytes >= if llc < told { llc } else { OUTSIDE * llc }
    }

    /// Takes the choices of the cases of `like`, an id without sizes, and makes this case's valid for them: they do the same work.
    pub fn choose_like(&mut self, like: impl Into<String>) {
        self.alike = like.into();
    }

    /// Makes this case's choices valid for its like with any value on this axis.
    pub fn choose_for_all(&mut self, axis: &str) {
        let Ok(CaseId { probe, mut params }) = self.alike.parse::<CaseId>() else { return };
        params.0.retain(|(name, _)| name != axis);
        self.alike = CaseId { probe, params }.to_string();
    }

    /// Returns a helper that goes over memory until the caches' content is steady, before it is measured.
    pub fn steady(&self) -> Steady {
        Steady::new(self.clock.clone())
    }

    /// The same over so many bytes.
    pub fn steady_over(&self, bytes: u64) -> Steady {
        if self.is_outside_caches(bytes) { Steady::outside_caches(self.clock.clone()) } else { self.steady() }
    }

    /// Does passes as iterations. Where one lasts as long as a sample, no length is sought and no pass is thrown away.
    pub fn steadied<R>(&mut self, bytes: u64, pass: impl FnMut() -> R) {
        self.pass_ns = Some(self.steady_over(bytes).after(pass));
    }

    pub(super) fn keep_choice(&mut self, bytes: u64, way: &str, trials_ns: f64) {
        self.yielded.chosen = Some((Choice { scope: self.scope(bytes), way: way.to_owned() }, trials_ns));
    }
}

struct TrialWork<T>(T);

impl<T: FnMut(usize, u64)> ThreadWork for TrialWork<T> {
    fn pass(&mut self) {}

    fn trial(&mut self, way: usize, repeats: u64) {
        (self.0)(way, repeats);
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::timed::BATCH;
    use super::*;
    use crate::clock::FakeClock;

    #[test]
    fn a_batch_is_ten_thousand_operations_or_as_many_as_its_time_has() {
        let fake = FakeClock::new(1);
        let clock = Clock::Fake(fake.clone());
        let batch =
            |each_ns: u64, most_ns: f64| in_turns(&clock, BATCH, most_ns, &mut || fake.advance(each_ns)).unwrap();
        let (ticks, operations) = batch(100, 1e9);
        assert_eq!(operations, BATCH);
        // The clock was read some tens of times at most.
        assert!((1_000_000..1_000_100).contains(&ticks.0), "{ticks:?}");
        let (ticks, operations) = batch(1_000_000, 1e9);
        assert!((1000..=1130).contains(&operations), "{operations}");
        assert!(ticks.0 >= 1_000_000 * operations);
        assert_eq!(batch(2_000_000_000, 1e9).1, 1);
    }
}
