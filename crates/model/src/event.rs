//! What a worker says: JSON-line events, of which the last of each case ends its round.

use hostmark_say::say;
use serde::{Deserialize, Serialize};

use crate::{FarUsage, Histogram, MemoryLook, Message, Reason, RoundTime, Throttling};

/// How a worker ended that was killed by somebody else: as a rule that is the kernel, for a control group's memory or the machine's.
pub fn out_of_memory() -> Message {
    say!("was killed (SIGKILL) and not by hostmark: probably out of memory")
}

/// What disturbed a sample, as bits.
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

    /// Whether the sample counts as disturbed (moved, kept waiting, or of something else).
    pub fn is_disturbed(self) -> bool {
        self.0 & (Self::MIGRATED | Self::DELAYED | Self::FORBIDDEN) != 0
    }

    /// Whether a machine can have done what the sample says; one that it cannot is in no estimate.
    pub fn is_possible(self) -> bool {
        self.0 & Self::FORBIDDEN == 0
    }

    /// Whether nothing disturbed the sample that is known to cost time: what the quiet value is made of.
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
    /// Whether it is the last of its case.
    pub fn is_last(&self) -> bool {
        matches!(self, Event::Done { .. } | Event::Skipped { .. } | Event::Failed { .. })
    }
}
