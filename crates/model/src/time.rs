//! Where time goes: in a round, as its worker sees it, and in a whole run.

use serde::{Deserialize, Serialize};

/// Where a worker's time went in one round, ns: what it did, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundTime {
    /// Finding the probe and its CPU, the clock's precision, counters of noise.
    pub facts_ns: f64,
    /// Warming the CPU up.
    pub warm_up_ns: f64,
    /// What the probe did before its first sample: memory, files, processes, trials of kernels.
    pub set_up_ns: f64,
    /// Of the set-up, touching memory for the first time that further jobs of this worker find.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_touch_ns: f64,
    /// Timed in samples that are kept.
    pub samples_ns: f64,
    /// Beside these until the last: the search for a length, samples that were thrown away, counters, the core's frequency.
    pub between_ns: f64,
    /// What came after the last sample: memory and files given back, processes ended.
    pub end_ns: f64,
}

fn is_zero(ns: &f64) -> bool {
    *ns == 0.0
}

/// Where a run's time went, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunTime {
    /// From the start of the command to its last round.
    pub wall_s: f64,
    /// Timed in samples that are stored.
    pub samples_s: f64,
    /// Setting up what is measured.
    pub set_up_s: f64,
    /// Between samples.
    pub between_s: f64,
    /// Warming CPUs up in rounds.
    pub warm_up_s: f64,
    /// Clock, placement and counters in rounds.
    pub facts_s: f64,
    /// Taking down what was measured.
    pub end_s: f64,
    /// The rest of the rounds: workers that start and end, the journal, and all of rounds that gave nothing.
    pub workers_s: f64,
    /// Between and before rounds: facts, clock, the warm-up of all CPUs.
    pub outside_s: f64,
}

impl RunTime {
    /// The part of the time that lies in samples, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.wall_s > 0.0 { self.samples_s / self.wall_s } else { 0.0 }
    }

    /// Adds a round that took `spent_s`, as its worker saw it where it told.
    pub fn add(&mut self, spent_s: f64, round: Option<&RoundTime>) {
        let round = round.copied().unwrap_or_default();
        let parts = [
            (&mut self.samples_s, round.samples_ns),
            (&mut self.set_up_s, round.set_up_ns),
            (&mut self.between_s, round.between_ns),
            (&mut self.warm_up_s, round.warm_up_ns),
            (&mut self.facts_s, round.facts_ns),
            (&mut self.end_s, round.end_ns),
        ];
        let mut known_s = 0.0;
        for (sum_s, part_ns) in parts {
            *sum_s += part_ns / 1e9;
            known_s += part_ns / 1e9;
        }
        self.workers_s += (spent_s - known_s).max(0.0);
    }

    /// The same of a run that took so long up to its last round.
    pub fn of(self, wall_s: f64) -> RunTime {
        let rounds_s = self.samples_s + self.set_up_s + self.between_s + self.warm_up_s + self.facts_s + self.end_s;
        RunTime { wall_s, outside_s: (wall_s - rounds_s - self.workers_s).max(0.0), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_run_come_to_the_whole() {
        let round = RoundTime {
            facts_ns: 1e8,
            warm_up_ns: 2e8,
            set_up_ns: 1e9,
            first_touch_ns: 9e8,
            samples_ns: 2e9,
            between_ns: 5e8,
            end_ns: 1e8,
        };
        let mut time = RunTime::default();
        time.add(4.0, Some(&round));
        time.add(0.5, None);
        let time = time.of(8.0);
        let parts = [time.samples_s, time.set_up_s, time.between_s, time.warm_up_s, time.facts_s, time.end_s];
        let sum = parts.iter().sum::<f64>() + time.workers_s + time.outside_s;
        assert!((sum - 8.0).abs() < 1e-9, "{time:?}");
        assert!((time.workers_s - 0.6).abs() < 1e-9 && (time.outside_s - 3.5).abs() < 1e-9, "{time:?}");
        assert_eq!((time.share(), RunTime::default().share()), (0.25, 0.0));
    }
}
