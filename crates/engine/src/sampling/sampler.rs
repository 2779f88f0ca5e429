//! Sampler of a round: how many iterations, and two lengths.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hostmark_model::{Event, JsonLine, ReasonCode};
use hostmark_say::say;
use hostmark_stats::descriptive::median;

use crate::clock::{Clock, CoreClock, Precision, monotonic_ns};
use crate::round_error::{Result, RoundError};
use crate::sampling::sample::{CoreMonitor, CounterBlocks, Interference, MOST_SAMPLES, Samples};
use crate::sys::call::Call;

/// A sample lasts so long, ns, whatever the budget, so that a quantile of samples means the same in every profile: exact, yet an
/// interruption spoils one sample and not the case.
const SAMPLE_NS: f64 = 400_000.0;
/// Samples of a round that are kept, about: a longer budget spreads them out, and does between them what it does in them.
const SAMPLES_A_ROUND: f64 = 320.0;
/// Longest operation, or look at a number of iterations, ns, if it can be helped.
const LONGEST_SAMPLE_NS: f64 = 5_000_000.0;
/// The long length is this many times the short one: the difference loses a fifteenth of the time, and gains little noise.
/// (At 1:2 the slope would be three times as wide as the plain quotient in the same time; docs/decisions/0001.)
const LENGTH_RATIO: u64 = 16;
/// A short length that took more than this part of the long one was disturbed: the difference would be over 2 % less than the operation takes.
const MOST_OF_LONG: f64 = 1.0 / LENGTH_RATIO as f64 + 0.02;
/// Number of iterations from which on a sample is the difference of two lengths; below, one operation is long enough by itself.
const SLOPE_FROM: u64 = 2 * LENGTH_RATIO;
/// Lengths are whole turns of the unrolled bodies from here on.
const TURN: u64 = 64;
/// Samples of a round at least, where one is not longer than the budget.
const LEAST_SAMPLES: usize = 3;
/// A round ends after this multiple of its budget, also without so many samples that are above zero.
const LONGEST_ROUND: f64 = 4.0;
/// Bodies timed at most while the number of iterations is sought: one whose time jumps with its length never fits.
const MOST_TURNS: usize = 64;
/// Least length of a sample as a share of the target: a shorter one shows that the length was found by the cost of a first
/// time, as of pages that a child had still to be given, however long that lasts.
const FAR_TOO_SHORT: f64 = 0.25;
/// Largest number of searches for a length: one whose time jumps never fits.
const MOST_SOUGHT: usize = 16;
/// An operation of which this many take no longer than a sample takes no time at all: no core is that fast.
pub(crate) const MOST_ITERATIONS: u64 = 1 << 40;

/// Body that does as many iterations as it is told.
pub type Body<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Takes a round's samples of a body that does as many iterations as it is told.
pub struct Sampler<'a> {
    pub clock: &'a Clock,
    pub precision: Precision,
    /// The core's frequency beside the samples; none on a fake clock.
    pub core: Option<&'a mut CoreClock>,
    /// Sees what interferes with the thread.
    pub interference: &'a Interference,
    /// Time for samples, ns.
    pub budget_ns: f64,
    /// Time that an iteration has just taken under the conditions of samples, ns.
    pub pass_ns: Option<f64>,
}

impl Sampler<'_> {
    fn target_ns(&self) -> f64 {
        SAMPLE_NS.max(self.precision.shortest_sample_ns())
    }

    /// Takes samples until the budget is spent. `hint`: iterations that an earlier round found.
    pub fn take(&mut self, hint: Option<u64>, body: &mut Body<'_>) -> Result<Samples> {
        self.take_and(hint, body, &mut |_, _| Ok(()))
    }

    /// The same; after each sample `then` has its turn, with the body and the sample's number of iterations.
    pub fn take_and(
        &mut self,
        hint: Option<u64>,
        body: &mut Body<'_>,
        then: &mut dyn FnMut(&mut Body<'_>, u64) -> Result<()>,
    ) -> Result<Samples> {
        let (mut iterations, mut sample_ns) = self.find_iterations(hint, body)?;
        let mut samples = Samples::of_times(iterations);
        let (begin, mut sought) = (self.clock.start(), 1);
        let mut beside = CoreMonitor::begin(self.clock, self.core.take());
        let mut blocks = CounterBlocks::begin(self.clock, self.interference);
        while !self.is_enough(self.clock.ns(self.clock.start().since(begin)), sample_ns, &samples) {
            self.one(iterations, body, &mut samples)?;
            let last_ns = samples.spent_ns.last().copied().unwrap_or(0.0);
            if self.is_far_too_short(last_ns) && sought < MOST_SOUGHT {
                (iterations, sample_ns) = self.lengthened(2 * iterations, body)?;
                samples = Samples::of_times(iterations);
                blocks.begin_anew();
                sought += 1;
                continue;
            }
            beside.add(&mut samples);
            then(body, iterations)?;
            blocks.add(&mut samples);
            for _ in 0..self.passed_over(sample_ns) {
                body(iterations)?;
            }
        }
        beside.end(&mut samples);
        blocks.end(&mut samples);
        Ok(samples)
    }

    /// Returns how often a sample's work is done between two samples without being one.
    fn passed_over(&self, sample_ns: f64) -> u64 {
        (self.budget_ns / SAMPLES_A_ROUND / sample_ns.max(SAMPLE_NS)) as u64
    }

    /// Tells whether a round of these `samples` of `sample_ns` each is over after `spent_ns`: those below zero do not count as taken.
    pub(crate) fn is_enough(&self, spent_ns: f64, sample_ns: f64, samples: &Samples) -> bool {
        let least = if sample_ns * LEAST_SAMPLES as f64 > 2.0 * self.budget_ns { 1 } else { LEAST_SAMPLES };
        let is_usable = || {
            let usable = samples.ns.iter().filter(|&&ns| ns >= 0.0).count();
            usable >= least || spent_ns >= LONGEST_ROUND * self.budget_ns && !samples.ns.is_empty()
        };
        samples.ns.len() >= MOST_SAMPLES || (spent_ns >= self.budget_ns && is_usable())
    }

    /// Tells whether a sample shows that its length was found by the cost of a first time. Samples before it were of that cost too.
    fn is_far_too_short(&self, ns: f64) -> bool {
        ns < FAR_TOO_SHORT * self.target_ns()
    }

    /// Takes one sample: the short length, then the long one, and the difference of the two. A disturbed long one makes the sample longer,
    /// and is left to the estimate; a disturbed short one would make it shorter than any core can be, so that is timed again.
    fn one(&self, iterations: u64, body: &mut dyn FnMut(u64) -> Result<()>, samples: &mut Samples) -> Result<()> {
        if iterations >= SLOPE_FROM {
            let short = short_length(iterations);
            let mut short_ns = self.timed(short, body)?;
            let long_ns = self.timed(iterations, body)?;
            if short_ns > MOST_OF_LONG * long_ns {
                let again_ns = self.timed(short, body)?;
                samples.whole.add(short, again_ns);
                short_ns = short_ns.min(again_ns);
            }
            samples.push(long_ns - short_ns, iterations - short, long_ns + short_ns);
            samples.whole.add(2 * short, 0.0);
        } else {
            let ns = self.timed(iterations, body)?;
            samples.push(ns, iterations, ns);
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn timed(&self, iterations: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<f64> {
        let mut result = Ok(());
        let ns = self.clock.time(|| result = body(iterations));
        result.map(|()| ns)
    }

    /// Finds how many iterations make a sample of the target's length, and how long it is. Its last turn is the round's
    /// first sample, which is thrown away: it pays for cold caches and predictors.
    fn find_iterations(&self, hint: Option<u64>, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<(u64, f64)> {
        let target_ns = self.target_ns();
        if let Some(ns) = self.pass_ns.filter(|&ns| ns >= target_ns) {
            return Ok((1, ns));
        }
        if let Some(hint) = hint.filter(|&hint| hint > 0)
            && fits(hint, &mut |iterations| self.timed(iterations, body))?
        {
            let ns = self.timed(hint, body)?;
            if (hint == 1 && ns >= target_ns) || (0.5 * target_ns..2.0 * target_ns).contains(&ns) {
                return Ok((hint, ns));
            }
        }
        self.lengthened(1, body)
    }

    /// Finds how many iterations make a sample, by two looks: the first may have met the cost of a first time.
    fn find_confirmed(&self, hint: Option<u64>, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
        let (mut iterations, _) = self.find_iterations(hint, body)?;
        for _ in 0..MOST_SOUGHT {
            let ns = self.timed(iterations, body)?;
            if !self.is_far_too_short(ns) {
                break;
            }
            (iterations, _) = self.lengthened(2 * iterations, body)?;
        }
        Ok(iterations)
    }

    /// Finds how many iterations make a sample, and how long it is, with `least` iterations in the first turn.
    fn lengthened(&self, least: u64, body: &mut dyn FnMut(u64) -> Result<()>) -> Result<(u64, f64)> {
        let (target_ns, mut iterations) = (self.target_ns(), least);
        for _ in 0..MOST_TURNS {
            let ns = self.timed(iterations, body)?;
            if ns < 0.5 * target_ns {
                if iterations >= MOST_ITERATIONS {
                    return Err(RoundError::wrong(say!("the operation takes no time, however often it is done")));
                }
                // Never in one leap: a first short length is mostly start-up cost.
                let factor = (target_ns / ns.max(1.0)).clamp(2.0, 16.0);
                iterations = whole_turns((iterations as f64 * factor) as u64);
                continue;
            }
            let fitting = whole_turns(((iterations as f64 * target_ns / ns) as u64).max(1));
            if fitting >= iterations {
                return Ok((fitting, ns * fitting as f64 / iterations as f64));
            }
            // Longer than the target: perhaps an interruption; a second look decides.
            let again_ns = self.timed(fitting, body)?;
            if fitting == 1 || again_ns >= 0.5 * target_ns {
                return Ok((fitting, again_ns));
            }
            iterations = fitting;
        }
        Ok((iterations, self.timed(iterations, body)?))
    }
}

/// Tells whether so many iterations last no longer than a few samples. An earlier round found them, but of an order that
/// does not fit the case they may last for years: a small part of them tells, then one of 64 times as many.
pub(crate) fn fits(iterations: u64, timed: &mut dyn FnMut(u64) -> Result<f64>) -> Result<bool> {
    for shift in [36, 30, 24, 18, 12, 6] {
        let part = iterations >> shift;
        if part > 0 && timed(part)? > LONGEST_SAMPLE_NS {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the iterations of the sample to subtract: the short length, or none where one operation is long enough by itself.
pub(crate) fn short_of(iterations: u64) -> u64 {
    if iterations >= SLOPE_FROM { short_length(iterations) } else { 0 }
}

fn short_length(iterations: u64) -> u64 {
    iterations / LENGTH_RATIO
}

/// Rounds up so that both lengths are whole turns of an unrolled body, where they are long enough.
fn whole_turns(iterations: u64) -> u64 {
    let turn = LENGTH_RATIO * TURN;
    if iterations < turn { iterations } else { iterations.next_multiple_of(turn) }
}

/// Number of turns of a whole that goes on before its first sample, and of timings of its part after the last one.
const TURNS: usize = 8;

/// Samples of a difference, and both sides of each, ns an iteration.
pub(crate) struct Differences {
    pub samples: Samples,
    pub whole_ns: Vec<f64>,
    pub part_ns: Vec<f64>,
}

impl Differences {
    fn none(learned: u64) -> Differences {
        Differences { samples: Samples::of_times(learned), whole_ns: Vec::new(), part_ns: Vec::new() }
    }
}

impl Sampler<'_> {
    /// Takes samples until the budget is spent: in each both bodies are timed in turn for as long, so that drift changes both. Nothing is
    /// clamped: a part that took longer than the whole is a time below zero, and marked ([`Samples::mark_below_zero`]).
    pub(crate) fn take_difference(
        &mut self,
        hint: Option<u64>,
        whole: &mut dyn FnMut(u64) -> Result<()>,
        part: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Differences> {
        let mut of_whole = self.find_confirmed(hint, whole)?;
        let mut of_part = self.find_confirmed(None, part)?;
        let mut taken = Differences::none(of_whole);
        let (begin, mut sought) = (self.clock.start(), 1);
        let mut beside = CoreMonitor::begin(self.clock, self.core.take());
        let mut blocks = CounterBlocks::begin(self.clock, self.interference);
        loop {
            let whole_ns = self.timed(of_whole, whole)?;
            let part_ns = self.timed(of_part, part)?;
            if (self.is_far_too_short(whole_ns) || self.is_far_too_short(part_ns)) && sought < MOST_SOUGHT {
                of_whole = self.find_confirmed(Some(of_whole), whole)?;
                of_part = self.find_confirmed(Some(of_part), part)?;
                taken = Differences::none(of_whole);
                blocks.begin_anew();
                sought += 1;
                continue;
            }
            let (whole_each_ns, part_each_ns) = (whole_ns / of_whole as f64, part_ns / of_part as f64);
            let left_ns = (whole_each_ns - part_each_ns) * of_whole as f64;
            taken.samples.push(left_ns, of_whole, whole_ns + part_ns);
            taken.whole_ns.push(whole_each_ns);
            taken.part_ns.push(part_each_ns);
            beside.add(&mut taken.samples);
            blocks.add(&mut taken.samples);
            let spent_ns = self.clock.ns(self.clock.start().since(begin));
            if self.is_enough(spent_ns, whole_ns + part_ns, &taken.samples) {
                beside.end(&mut taken.samples);
                blocks.end(&mut taken.samples);
                return Ok(taken);
            }
        }
    }

    /// The same of a whole that goes on: it does not stand still for the part, which is timed after it. Where processes take turns, the
    /// scheduler remembers that this one had the CPU alone before, and fewer wake-ups preempt another process: a ring of eight took 85 % of
    /// its time for 0.1 s after the part. So the part comes last, and the whole goes on for a while before its first sample.
    pub(crate) fn take_steady_difference(
        &mut self,
        hint: Option<u64>,
        whole: &mut dyn FnMut(u64) -> Result<()>,
        part: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Differences> {
        let of_whole = self.find_confirmed(hint, whole)?;
        (0..TURNS).try_for_each(|_| self.timed(of_whole, whole).map(drop))?;
        let mut samples = self.take(Some(of_whole), whole)?;
        let of_part = self.find_confirmed(None, part)?;
        let timed = |_| Ok(self.timed(of_part, part)? / of_part as f64);
        let part_ns = (0..TURNS).map(timed).collect::<Result<Vec<f64>>>()?;
        let part_each_ns = median(&part_ns).unwrap_or_default();
        let mut whole_ns = Vec::new();
        for (ns, &iterations) in samples.ns.iter_mut().zip(&samples.iterations) {
            whole_ns.push(*ns / iterations as f64);
            *ns -= part_each_ns * iterations as f64;
        }
        Ok(Differences { samples, whole_ns, part_ns })
    }
}

/// Least time between two reports, ns: their reader may be on the CPU that fills.
const APART_NS: u64 = 250_000_000;

/// True where this process reports its progress: a worker does, until it takes its first sample.
static SPEAKS: AtomicBool = AtomicBool::new(false);
/// Time when the set-up was over, by the monotonic clock, ns.
static ENDED_NS: AtomicU64 = AtomicU64::new(0);
/// Output of the reports, and the time of the last one.
static VOICE: Mutex<Option<Voice>> = Mutex::new(None);

struct Voice {
    output: File,
    reported_ns: u64,
}

/// Reports what this process has filled on its standard output from now on.
pub(crate) fn begin() -> io::Result<()> {
    // A descriptor of its own: the thread that does the job has locked the library's.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned().call("fcntl")?);
    if let Ok(mut voice) = VOICE.lock() {
        *voice = Some(Voice { output, reported_ns: monotonic_ns() });
        SPEAKS.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// The first sample is about to be taken: nothing is told any more.
pub(crate) fn end() {
    SPEAKS.store(false, Ordering::Relaxed);
    ENDED_NS.store(monotonic_ns(), Ordering::Relaxed);
}

/// Returns the time when [`end`] was last called in this process, by the monotonic clock, ns.
pub(crate) fn ended_ns() -> u64 {
    ENDED_NS.load(Ordering::Relaxed)
}

/// Resumes the reports where there were any: what was done so far was no sample yet.
pub(crate) fn go_on() {
    let has_voice = VOICE.lock().is_ok_and(|voice| voice.is_some());
    SPEAKS.store(has_voice, Ordering::Relaxed);
}

/// Tells what is filled, unless it has just told or is measuring. A missing listener shows at the end of the round.
pub(crate) fn report_progress(bytes: u64, of_bytes: u64) {
    if !SPEAKS.load(Ordering::Relaxed) {
        return;
    }
    // Of several threads that fill, one tells.
    if let Ok(mut voice) = VOICE.try_lock()
        && let Some(Voice { output, reported_ns }) = &mut *voice
        && monotonic_ns().saturating_sub(*reported_ns) >= APART_NS
        && let Ok(line) = (Event::Filled { bytes, of_bytes }).to_line()
    {
        *reported_ns = monotonic_ns();
        let _ = output.write_all(line.as_bytes());
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    began_ns: u64,
    /// 0: as long as it takes.
    limit_ns: u64,
}

impl Deadline {
    /// Returns the deadline `limit_ns` from now; 0 is for ever.
    pub(crate) fn from_now(limit_ns: u64) -> Deadline {
        Deadline { began_ns: monotonic_ns(), limit_ns }
    }

    /// Checks the time to fill `of_bytes`, of which `done_bytes` took since `begun_ns`; Skipped if that would miss the deadline.
    pub(crate) fn forecast(self, begun_ns: u64, done_bytes: u64, of_bytes: u64) -> Result<()> {
        self.forecast_at(monotonic_ns(), begun_ns, done_bytes, of_bytes)
    }

    fn forecast_at(self, now_ns: u64, begun_ns: u64, done_bytes: u64, of_bytes: u64) -> Result<()> {
        let spent_ns = now_ns.saturating_sub(begun_ns) as f64;
        let left_ns = spent_ns * of_bytes.saturating_sub(done_bytes) as f64 / done_bytes.max(1) as f64;
        let ends_ns = now_ns.saturating_sub(self.began_ns) as f64 + left_ns;
        if self.limit_ns == 0 || done_bytes >= of_bytes || ends_ns <= self.limit_ns as f64 {
            return Ok(());
        }
        let rate = done_bytes as f64 / spent_ns.max(1.0) * 1e3;
        Err(RoundError::skipped(
            ReasonCode::TimeBudget,
            say!(
                "filling {of_bytes} MiB at {rate:.3} MB/s takes {taken:.1} s, and a round of this run may take {limit:.1} s to set up; \
             use a longer profile",
                of_bytes = of_bytes >> 20,
                taken = (spent_ns + left_ns) / 1e9,
                limit = self.limit_ns as f64 / 1e9
            ),
        ))
    }
}

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
