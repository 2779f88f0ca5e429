//! What `hostmark fleet run` leaves beside the runs: which hosts it was to measure, and what became of each.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Profile, Text};

/// The form of that file.
pub const FLEET_RUN_SCHEMA: &str = "hostmark.fleet_run/1";
/// What the file is called.
pub const FLEET_RUN_FILE: &str = "fleet.json";

/// A fleet that is measured, or was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetRun {
    /// Form of the file.
    pub schema: String,
    /// Where the hosts come from: `hosts`, `slurm` or `kubernetes`.
    pub engine: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// What is measured on each.
    pub request: FleetRequest,
    /// The hosts, in order.
    pub hosts: Vec<FleetHost>,
    /// What was measured between them, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<FleetPair>,
}

/// What the network carries between two hosts, in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPair {
    /// The host that sent and asked, as its engine calls it.
    pub from: String,
    /// The host that received and answered.
    pub to: String,
    /// The turn of the tournament, from 0: pairs of one turn may have been measured at the same time.
    pub turn: u32,
    /// What TCP carries, bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Estimate>,
    /// How long a TCP round trip takes, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Estimate>,
    /// Why there is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// What each host measures. Runs of different requests have nothing to be held against each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetRequest {
    /// The time limit of a run.
    pub profile: Profile,
    /// Groups, probes and cases; all where there is none.
    pub filters: Vec<String>,
    /// Values of axes, as typed.
    pub set: Vec<String>,
    /// The seed of all random sequences, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A host of a fleet that is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetHost {
    /// What its engine calls it.
    pub host: String,
    /// How far it is.
    pub state: HostState,
    /// Why it has no run, or what is to know of the one that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds from its turn's beginning to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
    /// The name of its run's file, in the same directory.
    pub file: String,
}

/// How far a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// Its turn has not come.
    Waiting,
    /// It is being measured; a file that says so after the end of hostmark was left by one that was killed.
    Running,
    /// Its run is whole.
    Measured,
    /// It could not be measured.
    Failed,
    /// It was not done in the time that a host has.
    Slow,
    /// It was there, and then no more.
    Lost,
    /// A person asked to stop.
    Stopped,
}

impl HostState {
    /// The state in a word.
    pub const fn word(self) -> Text {
        match self {
            HostState::Waiting => term!("waiting"),
            HostState::Running => term!("running"),
            HostState::Measured => term!("measured"),
            HostState::Failed => term!("failed"),
            HostState::Slow => term!("too slow"),
            HostState::Lost => term!("lost"),
            HostState::Stopped => term!("stopped"),
        }
    }
}

impl FleetRun {
    /// Reads the file's text; none where it is something else.
    pub fn load(text: &str) -> Option<FleetRun> {
        serde_json::from_str(text).ok().filter(|fleet: &FleetRun| fleet.schema == FLEET_RUN_SCHEMA)
    }
}
