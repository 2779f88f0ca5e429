//! Events of a worker: JSON lines, of which the last of each case ends its round; what disturbed it, and where its time went.

use hostmark_say::say;
use serde::{Deserialize, Serialize};

use crate::{FarUsage, MemoryLook, Message, Reason};

/// Returns how a worker killed by somebody else ended: as a rule that is the kernel, for a control group's memory or the machine's.
pub fn out_of_memory() -> Message {
    say!("was killed (SIGKILL) and not by hostmark: probably out of memory")
}

/// Disturbances of a sample, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisturbanceFlags(pub u8);

impl DisturbanceFlags {
    /// The thread moved to another CPU.
    pub const MIGRATED: u8 = 1;
    /// The thread waited for a CPU for over 1 % of the block of samples that the counters were read around.
    pub const DELAYED: u8 = 2;
    /// The thread was switched out against its will.
    pub const SWITCHED: u8 = 4;
    /// The thread took page faults.
    pub const FAULTED: u8 = 8;
    /// Another thread ran on the same core, which the kernel does not tell of: that of another guest, or on the other thread
    /// of the core.
    pub const SHARED: u8 = 16;
    /// No machine is that fast: what was timed was something else. A difference of two times below zero is such a sample.
    pub const FORBIDDEN: u8 = 32;
    /// A tracer was attached to the run, which stops system calls and signals.
    pub const TRACED: u8 = 64;

    /// Tells whether the sample counts as disturbed (moved, kept waiting, traced, or of something else).
    pub fn is_disturbed(self) -> bool {
        self.0 & (Self::MIGRATED | Self::DELAYED | Self::FORBIDDEN | Self::TRACED) != 0
    }

    /// Tells whether the sample is possible on any machine; an impossible one is in no estimate.
    pub fn is_possible(self) -> bool {
        self.0 & Self::FORBIDDEN == 0
    }

    /// Tells whether the sample is free of all disturbances known to cost time: the quiet value is made of such samples.
    pub fn is_quiet(self) -> bool {
        !self.is_disturbed() && self.0 & Self::SHARED == 0
    }
}

/// What a round saw of its surroundings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundNoise {
    /// Core clock beside the samples, hertz; none where no chain was timed.
    pub core_hz: Option<f64>,
    /// The same beside each sample, in their order: of so many in a row, kHz; 0 where it changed. Empty where no chain was timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_khz: Vec<[u64; 2]>,
    /// Looks at the core, in order: so many samples since the one before, and so many independent adds in a thousand cycles. Two that
    /// have no samples between them lie before the round and behind it. Empty where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<[u64; 2]>,
    /// The share of looks at the core in which another thread ran on it too: known when the run is over. None where it was not looked
    /// at, or where it is not known what the core does alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<f64>,
    /// Smallest step of the clock, ns.
    pub resolution_ns: f64,
    /// Cost of a start and an end of the clock, ns.
    pub clock_cost_ns: f64,
    /// Whether the warm-up settled.
    pub settled: bool,
    /// Iterations of a sample.
    pub iterations: u64,
    /// Time waited for a CPU inside samples, ns.
    pub run_delay_ns: f64,
    /// The same as a share of the samples' whole time; none where nothing was timed.
    pub waited: Option<f64>,
    /// Steal on the round's CPUs, ns; none where the kernel does not say.
    pub steal_ns: Option<f64>,
    /// What CPU quotas did during the round; none where the kernel counts none.
    pub throttled: Option<Throttling>,
    /// Involuntary switches inside samples.
    pub involuntary_switches: u64,
    /// Page faults inside samples.
    pub faults: u64,
    /// Where the worker's time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<RoundTime>,
}

/// What a worker says, a line each, written before or after timing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The first line.
    Hello {
        /// [`PROTOCOL`](crate::PROTOCOL).
        protocol: u32,
        /// The worker's process id.
        pid: u32,
    },
    /// How far the set-up is: a buffer or a file is being filled. Told only before the first sample is taken.
    Filled {
        /// What is filled so far.
        bytes: u64,
        /// What is to be filled.
        of_bytes: u64,
    },
    /// A replica has set up, and does from now on what the worker that started it measures.
    Measuring,
    /// Something the probe wants known.
    Note {
        /// A short key.
        key: String,
        /// Its value.
        value: String,
    },
    /// The round's samples.
    Samples {
        /// Timed nanoseconds of each.
        ns: Vec<f64>,
        /// Iterations of each.
        iterations: Vec<u64>,
        /// Bytes or operations an iteration when the case is a rate; 0 when it is a time.
        amount: u64,
        /// [`DisturbanceFlags`] of each.
        #[serde(rename = "taints")]
        disturbance_flags: Vec<u8>,
    },
    /// Every operation of the round, where single ones are timed.
    Histogram(Histogram),
    /// Values of a further quantity that the probe measured itself, in that quantity's unit.
    Also {
        /// The quantity's name.
        name: String,
        /// Its values in this round, any number.
        values: Vec<f64>,
    },
    /// Of several ways to do what the case measures, this round chose the fastest by trials; all later rounds of the same
    /// scope go the same.
    Chosen {
        /// What it holds for: the case's other parameters, and which cache holds what it goes over.
        scope: String,
        /// Its name.
        way: String,
        /// How long the trials took, ns: later rounds have none.
        trials_ns: f64,
    },
    /// What a dependent load from a buffer in the last cache took.
    LastCache {
        /// The buffer.
        bytes: u64,
        /// A load, ns.
        ns: f64,
    },
    /// The look at memory before a run is planned.
    MemoryLook(MemoryLook),
    /// A far end has set up, and serves from now on.
    Listening {
        /// Where.
        address: std::net::SocketAddr,
    },
    /// A far end has served, and ends.
    Served(FarUsage),
    /// The round is complete.
    Done {
        /// What it saw.
        noise: RoundNoise,
    },
    /// The round cannot be measured here.
    Skipped {
        /// Why.
        #[serde(flatten)]
        reason: Reason,
    },
    /// The round went wrong.
    Failed {
        /// What went wrong.
        #[serde(flatten)]
        reason: Reason,
    },
}

impl Event {
    /// Tells whether it is the last of its case.
    pub fn is_last(&self) -> bool {
        matches!(self, Event::Done { .. } | Event::Skipped { .. } | Event::Failed { .. })
    }
}

/// Times of single operations, counted by value as an HdrHistogram with three significant digits does it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Histogram {
    /// Ascending, ns: the middle of each range that holds operations. A range is a thousandth of its value wide at most.
    pub values: Vec<u64>,
    /// Operations in each.
    pub counts: Vec<u64>,
}

/// What CPU quotas did to the control groups of the measured process, whoever of them used the quota up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Throttling {
    /// Periods of a quota (mostly 100 ms) in which a group was stopped until the period's end.
    pub periods: u64,
    /// For how long, ns: summed over the CPUs that were stopped, and counted by the kernel when they go on.
    pub ns: f64,
}

/// What others used of a CPU of a round: neither the run's own processes, nor idle.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Others {
    /// The share of its time, 0 to 1, over a second or more around the round: of the CPU that others used most.
    pub share: f64,
    /// How far the share may be off: the kernel counts by ticks.
    pub error: f64,
}

/// What disturbed a case, summed over its samples and rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Noise {
    /// Samples that were marked: migrated, or of a block of samples that was kept waiting for over 1 % of its time.
    #[serde(rename = "tainted")]
    pub disturbed: u64,
    /// Marked samples that were left out of the estimate.
    pub left_out: u64,
    /// Time the measured thread was runnable and did not run, ns.
    pub run_delay_ns: f64,
    /// Time the hypervisor gave to others meanwhile, ns (it moves in ticks of 10 ms; absent where the kernel does not say).
    pub steal_ns: Option<f64>,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults inside blocks of samples.
    pub faults: u64,
    /// Rounds whose warm-up did not settle.
    pub unsettled_rounds: u32,
    /// Rounds in which a CPU quota stopped the process; absent where the kernel counts none.
    pub throttled_rounds: Option<u32>,
    /// For how long, ns, as [`Throttling::ns`] counts it.
    pub throttled_ns: Option<f64>,
    /// Rounds that others disturbed by using a CPU of theirs; absent where none could be judged.
    pub contended_rounds: Option<u32>,
    /// The share of that CPU's time, 0 to 1, that others used, on average over these rounds; absent without one.
    pub others_share: Option<f64>,
    /// The share of looks at the cores of its rounds in which another thread ran on them too; absent where none was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<f64>,
}

/// What others of the same physical machine took, of which this system's kernel knows nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Neighbours {
    /// The share of looks at a core in which another thread ran on it too; absent where none was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_shared: Option<f64>,
    /// What a load from the last cache cost as the run went on; absent where no such cache was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cache: Option<LastCache>,
}

/// Looks at the last cache, one per replicate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastCache {
    /// The buffer that was gone over, bytes: the largest that the cache held when the run began.
    pub bytes: u64,
    /// What a dependent load took, ns, in the order of the looks.
    pub looks_ns: Vec<f64>,
}

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
