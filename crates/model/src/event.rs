//! The worker protocol: one order in, JSON-line events out, through two pipes of one machine. What goes to another machine
//! is a whole run, never a worker: facts, clock, calibration and noise belong to where it is measured.

use serde::{Deserialize, Serialize};

use crate::{Histogram, Scratch, Throttling};

/// Version of the protocol; a worker of another version is refused.
pub const PROTOCOL: u32 = 1;

/// The clock that the parent calibrated, which a worker uses as it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ClockOrder {
    /// The CPU's constant-rate counter, at this many ticks a second.
    Counter {
        /// Ticks a second.
        hz: f64,
        /// Whether it is known to be the same on every CPU, so that times taken on two CPUs may be compared.
        synchronized: bool,
    },
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    MonotonicRaw,
}

/// What a worker is to do: one round of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Process id of who gives the order, which started the worker: one whose parent is another ends at once, since whoever
    /// gave the order is gone.
    pub parent: u32,
    /// The case id; empty for the run's warm-up of a CPU.
    pub case: String,
    /// Which round, from 0.
    pub round: u32,
    /// Seed of everything random in the round.
    pub seed: u64,
    /// The clock to use.
    pub clock: ClockOrder,
    /// Time for samples, ns: set-up and warm-up come on top.
    pub budget_ns: u64,
    /// The CPUs that the case may use, the first for the measuring thread.
    pub cpus: Vec<usize>,
    /// The CPU of the run that lies nearest to the first of these and is none of them: for a thread of the kernel that works
    /// for the case. Null where the run has no other.
    #[serde(default)]
    pub other_cpu: Option<usize>,
    /// Iterations of a sample that an earlier round found, so that this one need not search.
    pub iterations: Option<u64>,
    /// Size of the first-level data cache, bytes (0 when unknown).
    pub l1d_bytes: u64,
    /// Size of the last-level cache, bytes (0 when unknown).
    pub llc_bytes: u64,
    /// Sizes of all the different last-level caches of its CPUs together, bytes (0 when unknown).
    pub llc_sum_bytes: u64,
    /// A cache line, bytes.
    pub line_bytes: u64,
    /// Memory that the case may fill, bytes.
    pub memory_bytes: u64,
    /// How long its set-up may take, ns; 0: as long as it takes.
    #[serde(default)]
    pub setup_ns: u64,
    /// The run's directory for files.
    pub scratch: Scratch,
    /// The same in memory, on a tmpfs.
    pub memory_scratch: Scratch,
    /// Name of the round's own directory in these; it is removed afterwards.
    pub folder: String,
    /// Whether it is not to measure but to do the same as the worker that gives the order, until it is killed.
    #[serde(default)]
    pub accompanies: bool,
    /// The words of the command that is to be measured, where one was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Of several ways to do what the case measures, the one that an earlier round of it chose. Null where none did.
    #[serde(default)]
    pub chosen: Option<String>,
}

impl Order {
    /// An order of a case on these CPUs that says of everything else what is true of no host in particular: a common cache,
    /// little time and memory, no directory, no command. For who has no run, as tests.
    pub fn bare(case: &str, cpus: Vec<usize>) -> Order {
        let none = || Scratch::Missing("no directory here; name one by --scratch".into());
        Order {
            protocol: PROTOCOL,
            parent: 0,
            case: case.to_owned(),
            round: 0,
            seed: 1,
            clock: ClockOrder::MonotonicRaw,
            budget_ns: 40_000_000,
            cpus,
            other_cpu: None,
            iterations: None,
            l1d_bytes: 32 << 10,
            llc_bytes: 32 << 20,
            llc_sum_bytes: 32 << 20,
            line_bytes: 64,
            memory_bytes: 1 << 20,
            setup_ns: 0,
            scratch: none(),
            memory_scratch: none(),
            folder: "round-0".into(),
            accompanies: false,
            chosen: None,
            command: Vec::new(),
        }
    }
}

/// Marks on a sample, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taint(pub u8);

impl Taint {
    /// The thread moved to another CPU.
    pub const MIGRATED: u8 = 1;
    /// The thread waited for a CPU for over 1 % of the sample.
    pub const DELAYED: u8 = 2;
    /// The thread was switched out against its will.
    pub const SWITCHED: u8 = 4;
    /// The thread took page faults.
    pub const FAULTED: u8 = 8;

    /// Whether the sample counts as disturbed (moved or kept waiting).
    pub fn is_tainted(self) -> bool {
        self.0 & (Self::MIGRATED | Self::DELAYED) != 0
    }
}

/// What a round saw of its surroundings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundNoise {
    /// Core clock beside the samples, hertz; none where no chain was timed.
    pub core_hz: Option<f64>,
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
    #[serde(default)]
    pub waited: Option<f64>,
    /// Steal on the round's CPUs, ns; none where the kernel does not say.
    pub steal_ns: Option<f64>,
    /// What CPU quotas did during the round; none where the kernel counts none.
    #[serde(default)]
    pub throttled: Option<Throttling>,
    /// Involuntary switches inside samples.
    pub involuntary_switches: u64,
    /// Page faults inside samples.
    pub faults: u64,
}

/// What a worker says, a line each, written before or after timing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The first line.
    Hello {
        /// [`PROTOCOL`].
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
    /// A worker that accompanies another has set up, and does from now on what the other measures.
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
        /// A [`Taint`] each.
        taints: Vec<u8>,
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
    /// Of several ways to do what the case measures, this round chose the fastest by trials; its other rounds go the same.
    Chosen {
        /// Its name.
        way: String,
        /// How long the trials took, ns: later rounds have none.
        trials_ns: f64,
    },
    /// The round is complete.
    Done {
        /// What it saw.
        noise: RoundNoise,
    },
    /// The round cannot be measured here.
    Skipped {
        /// Why.
        reason: String,
    },
    /// The round went wrong.
    Failed {
        /// What went wrong.
        reason: String,
    },
}
