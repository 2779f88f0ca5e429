//! The verbs by which a case finds out which of several ways is the fastest here, once for all of its rounds.

use hostmark_model::{CaseId, Choice, ReasonCode};
use hostmark_say::say;

use super::{Case, Cpu};
use crate::case::copies::Copies;
use crate::round_error::{Result, RoundError};
use crate::sampling::choice;
use crate::sampling::lockstep::{self, ThreadWork};
use crate::sampling::setup;
use crate::sampling::steady::Steady;

/// What is so many times as large as the last cache lies outside of it.
const OUTSIDE: u64 = 4;

impl Case {
    /// Which of these ways the case goes, by its name: what an earlier round chose, of this case or of one that differs from it
    /// in sizes alone and goes over memory which the same part of the same cache holds; where there is none, the
    /// fastest of them by trials in turn, the first named where none is clearly faster. `pass` does a stretch of work by a
    /// way, so many times that it lasts long enough; a trial is passes until two take as long. `bytes`: what the case goes over, all its
    /// arrays together.
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

    /// The same for threads that work at once, one a CPU, each on so many bytes: a trial is a stretch of all, from barrier to barrier. What `make`
    /// makes does a stretch by a way, so many times, each time it is called.
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
        setup::go_on();
        Ok(way)
    }

    /// The way that needs no trials: the only one, that of an earlier round, or the first where copies, which have no word
    /// with each other, do the same at once.
    pub(super) fn chosen_before(&self, bytes: u64, ways: &[&str]) -> Result<Option<usize>> {
        if ways.is_empty() {
            return Err(RoundError::failed(ReasonCode::Internal, say!("there is no way to choose from")));
        }
        let is_settled = ways.len() == 1 || !matches!(self.copies, Copies::Alone);
        if is_settled {
            return Ok(Some(0));
        }
        let scope = self.scope(bytes);
        let Some(Choice { way, .. }) = self.own.choices.iter().find(|choice| choice.scope == scope) else {
            return Ok(None);
        };
        let found = ways.iter().position(|known| known == way);
        let absent = || {
            RoundError::failed(
                ReasonCode::Internal,
                say!("an earlier round chose '{way}', which this one does not have"),
            )
        };
        found.map(Some).ok_or_else(absent)
    }

    /// What a choice among ways to go over so many bytes holds for: all parameters but sizes, and the smallest half, three quarters or
    /// whole of a cache of the core's own that holds them. What fills the whole of one is another way's than what leaves it room. In the
    /// first cache it holds for this size alone: what a way begins with weighs there, and trials take milliseconds. Of the last cache
    /// nobody knows how much there is, so that each power of two has a choice until four times of it, or what a look at memory has
    /// found not to be held, which is memory for certain.
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

    /// Whether so many bytes are memory: four times the last cache, or what a look at memory has found not to be held. Never where the host tells of
    /// no cache.
    pub fn is_outside_caches(&self, bytes: u64) -> bool {
        let (llc, told) = (self.job.llc_bytes, self.job.caches_bytes.iter().copied().max().unwrap_or(0));
        llc > 0 && bytes >= if llc < told { llc } else { OUTSIDE * llc }
    }

    /// What this case chooses holds for its like with any value on this axis.
    pub fn choose_for_all(&mut self, axis: &str) {
        let Ok(CaseId { probe, mut params }) = self.alike.parse::<CaseId>() else { return };
        params.0.retain(|(name, _)| name != axis);
        self.alike = CaseId { probe, params }.to_string();
    }

    /// What goes over memory until the caches hold what they will hold of it, before it is measured.
    pub fn steady(&self) -> Steady {
        Steady::new(self.clock.clone())
    }

    /// The same over so many bytes.
    pub fn steady_over(&self, bytes: u64) -> Steady {
        if self.is_outside_caches(bytes) { Steady::outside_caches(self.clock.clone()) } else { self.steady() }
    }

    /// Does so what is measured itself: a pass is an iteration. Where it lasts as long as a sample, no length is sought, and none of its
    /// passes is thrown away.
    pub fn steadied<R>(&mut self, bytes: u64, pass: impl FnMut() -> R) {
        self.pass_ns = Some(self.steady_over(bytes).after(pass));
    }

    pub(super) fn keep_choice(&mut self, bytes: u64, way: &str, trials_ns: f64) {
        self.yielded.chosen = Some((Choice { scope: self.scope(bytes), way: way.to_owned() }, trials_ns));
    }
}

/// Work that is only tried.
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
