//! Protocols, a line of JSON each: between a run's parent and an agent, its program on another machine, and between a worker and the parent.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::message::{known, recorded, restored};
use crate::{
    Event, Exit, FarEnd, HostReport, Inputs, Message, PathBytes, PeerAnswer, PeerRequest, Profile, ReasonCode, Run,
    Scratch, ServiceJob,
};

/// Version of these lines. Speakers of another one are refused.
pub const AGENT_PROTOCOL: u32 = 3;

/// Bytes of a line at most, either way. A run is the longest one: a thorough one of a large machine has some tens of MiB.
pub const LONGEST_AGENT_LINE: usize = 64 << 20;

/// Request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRequest {
    /// The first line: the version of the lines that follow. The answer is the agent's own.
    Hello {
        /// [`AGENT_PROTOCOL`].
        protocol: u32,
    },
    /// Facts of this machine, and what would disturb a measurement. Answer: [`AgentAnswer::Facts`].
    Facts,
    /// Refuse what a run of this would be refused for, and measure nothing. Answer: [`AgentAnswer::Facts`] of the machine as that run would
    /// see it.
    Check(Box<RunRequest>),
    /// A run that is kept there. Answer: [`AgentAnswer::Run`].
    Kept {
        /// Name of the run, as `hostmark report` takes it.
        run: String,
    },
    /// Measure. Answers: a plan, then rounds as they end, and the run. Nothing else is asked for after it.
    Run(Box<RunRequest>),
    /// A round that was measured before the run was cut short: as many of these follow a request to go on as that says.
    Past(RoundLine),
    /// Serve the other half of what is measured elsewhere. Answer: [`AgentAnswer::Peer`].
    Peer(PeerRequest),
    /// Answer of a peer of the run, or why it cannot: the run had asked by [`AgentAnswer::Wants`].
    Relayed(Result<PeerAnswer, Message>),
    /// Lease for a time without requests, before another one comes.
    Idle {
        /// Milliseconds.
        ms: u64,
    },
    /// Number of the agent's lines that have come since its plan.
    #[serde(rename = "heard")]
    Acknowledge {
        /// Number of lines.
        lines: u64,
    },
    /// End the run, and give what there is.
    Stop,
    /// End of the requests.
    Bye,
}

/// Request for a run: what a person asks `hostmark run` for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunRequest {
    /// Filters as typed.
    pub filters: Vec<String>,
    /// Profile, which limits its time.
    pub profile: Profile,
    /// The seed, where one was given.
    pub seed: Option<u64>,
    /// Points in the place of an axis' own, as typed.
    pub set: Vec<String>,
    /// The table whose cells are measured, where one was named.
    pub table: Option<String>,
    /// Inputs of the run.
    pub inputs: Inputs,
    /// Addresses by which the run's peers are reached; none: those that they tell.
    pub via: Vec<IpAddr>,
    /// The run that is to go on, where it was cut short.
    pub begun: Option<Box<BegunRun>>,
}

/// A run that was cut short: what its journal's header says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BegunRun {
    /// The run before its first round.
    pub run: Run,
    /// Ids of the planned cases, in order.
    pub cases: Vec<String>,
    /// Number of rounds that follow, as [`AgentRequest::Past`].
    pub rounds: usize,
}

/// Answer of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentAnswer {
    /// First line of an agent.
    Hello {
        /// [`AGENT_PROTOCOL`].
        protocol: u32,
        /// The program's version.
        version: String,
        /// The target that it was built for.
        target: String,
        /// SHA-256 of the program that runs, hexadecimal; none where it cannot read itself.
        digest: Option<String>,
    },
    /// Facts of the machine.
    Facts(Box<HostReport>),
    /// Plan of the measurement: the run before its first round, and the ids of its cases. The first line of those that
    /// are counted and acknowledged.
    Plan {
        /// The run.
        run: Box<Run>,
        /// The cases.
        cases: Vec<String>,
    },
    /// Lease: the time that may pass from now on before the next line.
    Silent {
        /// Milliseconds.
        ms: u64,
    },
    /// A round is about to start.
    Step {
        /// Id of the case.
        case: String,
        /// Rounds done.
        done: u64,
        /// Rounds in all.
        all: u64,
        /// Time left by estimate, milliseconds.
        left_ms: u64,
    },
    /// The value of a constant of the first screen by the rounds so far, for whoever waits.
    Value {
        /// Id of the case.
        case: String,
        /// Value in the unit of its probe.
        value: f64,
    },
    /// A round has ended.
    Round(RoundLine),
    /// Answer of the agent as a peer.
    Peer(PeerAnswer),
    /// The run needs this of one of its peers. Answer: [`AgentRequest::Relayed`].
    Wants {
        /// The peer.
        peer: String,
        /// Request to the peer.
        request: PeerRequest,
    },
    /// The whole run.
    Run(Box<Run>),
    /// The agent cannot do what it was asked for. It says nothing more.
    Error(AgentRefusal),
}

/// Reason why an agent does not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRefusal {
    /// A sentence that ends with what to do.
    pub sentence: String,
    /// The exit code that it would have there.
    pub exit: u8,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    message: Option<Message>,
}

impl AgentRefusal {
    /// A refusal of this sentence.
    pub fn new(message: impl Into<Message>, exit: Exit) -> AgentRefusal {
        let (sentence, message) = recorded(message.into());
        AgentRefusal { sentence, exit: exit.code(), message }
    }
}
crate::has_a_message!(AgentRefusal);

impl From<&AgentRefusal> for Message {
    fn from(refusal: &AgentRefusal) -> Message {
        restored(&refusal.sentence, refusal.message.as_ref())
    }
}

/// A round as journals and agents write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundLine {
    /// The case id.
    pub case: String,
    /// Number of the round, from 0.
    pub round: u32,
    /// The CPUs it ran on.
    pub cpus: Vec<usize>,
    /// The run's time when it had ended, ns.
    pub until_ns: u64,
    /// All of its time, ns.
    pub spent_ns: u64,
    /// Time granted for samples, ns.
    pub granted_ns: u64,
    /// Events from the worker.
    pub events: Vec<Event>,
}

/// Remote place of a run that is kept here: what its journal needs to resume it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The words of the command that leads there.
    pub place: Vec<PathBytes>,
    /// SHA-256 of the program that measures there, hexadecimal.
    pub digest: String,
}

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
    /// Choices by earlier rounds among several ways to do what a case measures, each with its scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
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
        let only = JobCase { id: case.to_owned(), cpus: Vec::new(), seed: 1, iterations: None, far: Vec::new() };
        Job {
            environment: Environment::bare(),
            cases: if case.is_empty() { Vec::new() } else { vec![only] },
            choices: Vec::new(),
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
