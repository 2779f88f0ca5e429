//! Protocol between a run's parent and an agent, its program on another machine: a line of JSON each, both ways.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::message::{known, recorded, restored};
use crate::{Event, Exit, HostReport, Inputs, Message, PathBytes, PeerAnswer, PeerRequest, Profile, Run};

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
