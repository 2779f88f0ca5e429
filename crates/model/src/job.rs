//! Input of a worker: the environment of its run and a job, as one line of JSON. It answers with [`Event`](crate::Event)s,
//! through two pipes of one machine. Another machine gets a whole run, never a worker: facts, clock, calibration and noise
//! belong to where it is measured.

use serde::{Deserialize, Serialize};

use crate::agent::{AgentAnswer, AgentRequest, RoundLine};
use crate::event::Event;
use crate::far::ServiceJob;
use crate::{FarEnd, Inputs, ReasonCode, Scratch};

/// Version of the protocol; a worker of another version is refused.
pub const PROTOCOL: u32 = 3;

/// The clock that the parent calibrated and every worker uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum CalibratedClock {
    /// The CPU's constant-rate counter, at this many ticks a second.
    Counter {
        /// Ticks a second.
        hz: f64,
        /// True where it is known to be the same on every CPU, so that times taken on two CPUs may be compared.
        synchronized: bool,
    },
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    MonotonicRaw,
}

/// Environment of every round of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Process id of the process that started the worker. A worker with another parent ends at once: whoever gave the job is
    /// gone.
    pub parent: u32,
    /// The clock to use.
    pub clock: CalibratedClock,
    /// The run's directory for files.
    pub scratch: Scratch,
    /// The same in memory, on a tmpfs.
    pub memory_scratch: Scratch,
    /// Inputs given by the person.
    pub inputs: Inputs,
}

/// Round of some cases that begin on the same CPU, measured one after the other in one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Environment of the run.
    pub environment: Environment,
    /// The cases in the sequence in which to measure them, as the points of a curve; none for the warm-up of a CPU.
    pub cases: Vec<JobCase>,
    /// Number of the round, from 0.
    pub round: u32,
    /// Time for the samples of each case, ns: set-up and warm-up come on top.
    pub budget_ns: u64,
    /// The CPUs that the cases may use, the first for the measuring thread.
    pub cpus: Vec<usize>,
    /// The CPU of the run that lies nearest to the first of these and is none of them: for a thread of the kernel that works
    /// for a case. Null where the run has no other.
    pub other_cpu: Option<usize>,
    /// Sizes of the data caches of the first of its CPUs, as far as they are told, the first level's first, bytes.
    pub caches_bytes: Vec<u64>,
    /// Size of the first-level data cache, bytes (0 when unknown).
    pub l1d_bytes: u64,
    /// Size of the last-level cache, bytes (0 when unknown).
    pub llc_bytes: u64,
    /// Sizes of all the different last-level caches of its CPUs together, bytes (0 when unknown).
    pub llc_sum_bytes: u64,
    /// A cache line, bytes.
    pub line_bytes: u64,
    /// Memory that a case may fill, bytes.
    pub memory_bytes: u64,
    /// Memory nodes of the host.
    pub nodes: usize,
    /// Longest set-up of a case, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// Name of the round's own directory in those of the environment; it is removed afterwards.
    pub folder: String,
    /// Size of a buffer, bytes, for a job that measures nothing but the cost of a load from it; 0: from the largest that the
    /// last cache holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_at_cache: Option<u64>,
    /// Tells that further jobs may follow: what this one fills is kept for them, and the worker waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_followed: bool,
    /// True for a job that measures nothing but the cost of the first touch of memory, and how much of the last cache there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look_at_memory: bool,
    /// True where it is not to measure but to do the same as the worker that started this one, until it is killed.
    pub replica: bool,
}

/// A case of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobCase {
    /// Id of the case.
    pub id: String,
    /// The CPUs that it may use, the first for the measuring thread; empty for all of the job's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// Seed of everything random in its round.
    pub seed: u64,
    /// Iterations of a sample that an earlier round found, so that this one need not search.
    pub iterations: Option<u64>,
    /// Choices by earlier rounds of its probe's cases among several ways to do what the case measures, each with its scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The far ends that were started for it, as many as it needs: one for each copy, or for each of several threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far: Vec<FarEnd>,
}

/// Way that was the fastest by trials, of several to do what a probe measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Scope of the choice: the case's other parameters, and which cache holds what it goes over.
    pub scope: String,
    /// Name of the way.
    pub way: String,
}

impl Environment {
    /// Returns this process' own, without a directory or an input.
    pub fn bare() -> Environment {
        let none = || Scratch::Missing(ReasonCode::MissingFile.because("no directory here; name one by --scratch"));
        Environment {
            protocol: PROTOCOL,
            parent: std::process::id(),
            clock: CalibratedClock::MonotonicRaw,
            scratch: none(),
            memory_scratch: none(),
            inputs: Inputs::default(),
        }
    }
}

impl Job {
    /// A job of one case on these CPUs that says of everything else what is true of no host in particular: a common cache,
    /// little time and memory, a bare environment. For tests, which have no run; an empty id asks for a warm-up.
    pub fn bare(case: &str, cpus: Vec<usize>) -> Job {
        let only = JobCase {
            id: case.to_owned(),
            cpus: Vec::new(),
            seed: 1,
            iterations: None,
            choices: Vec::new(),
            far: Vec::new(),
        };
        Job {
            environment: Environment::bare(),
            cases: if case.is_empty() { Vec::new() } else { vec![only] },
            round: 0,
            budget_ns: 40_000_000,
            cpus,
            other_cpu: None,
            caches_bytes: vec![32 << 10, 32 << 20],
            l1d_bytes: 32 << 10,
            llc_bytes: 32 << 20,
            llc_sum_bytes: 32 << 20,
            line_bytes: 64,
            memory_bytes: 1 << 20,
            nodes: 1,
            setup_ns: 0,
            folder: "round-0".into(),
            look_at_cache: None,
            is_followed: false,
            look_at_memory: false,
            replica: false,
        }
    }

    /// The same, changed: for tests.
    pub fn with(mut self, change: impl FnOnce(&mut Job)) -> Job {
        change(&mut self);
        self
    }

    /// The id of its only case, or of its first; empty for a warm-up.
    pub fn case(&self) -> &str {
        self.cases.first().map_or("", |case| &case.id)
    }
}

/// A value that fits on a line.
pub trait JsonLine: Sized {
    /// The line, with its end.
    fn to_line(&self) -> serde_json::Result<String>;

    /// The value of a line.
    fn from_line(line: &str) -> serde_json::Result<Self>;
}

macro_rules! lines {
    ($($name:ty),*) => {
        $(impl JsonLine for $name {
            fn to_line(&self) -> serde_json::Result<String> {
                Ok(serde_json::to_string(self)? + "\n")
            }

            fn from_line(line: &str) -> serde_json::Result<$name> {
                serde_json::from_str(line)
            }
        })*
    };
}

lines!(AgentAnswer, AgentRequest, Event, Job, crate::Message, RoundLine, ServiceJob);
