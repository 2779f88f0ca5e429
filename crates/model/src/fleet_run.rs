//! Record that `hostmark fleet run` leaves beside the runs: which hosts it was to measure, and what became of each.

use serde::{Deserialize, Serialize};

use crate::{Estimate, Profile, Text};

/// The form of that file.
pub const FLEET_RUN_SCHEMA: &str = "hostmark.fleet_run/1";
/// Name of the file.
pub const FLEET_RUN_FILE: &str = "fleet.json";

/// A fleet that is measured, or was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetRun {
    /// Form of the file.
    pub schema: String,
    /// Source of the hosts: `hosts`, `slurm` or `kubernetes`.
    pub engine: String,
    /// Time when it began, RFC 3339.
    pub started: String,
    /// Request measured on each.
    pub request: FleetRequest,
    /// The hosts, in order.
    pub hosts: Vec<FleetHost>,
    /// Measurements between them, where these were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<FleetPair>,
}

/// Network capacity between two hosts, in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetPair {
    /// The host that sent and asked, as its engine calls it.
    pub from: String,
    /// The host that received and answered.
    pub to: String,
    /// The turn of the tournament, from 0: pairs of one turn may have been measured at the same time.
    pub turn: u32,
    /// TCP bandwidth, bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Estimate>,
    /// TCP round-trip time, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Estimate>,
    /// Reason why there is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Request to each host. Runs of different requests are not comparable.
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
    /// Name of the host in its engine.
    pub host: String,
    /// State of the host.
    pub state: HostState,
    /// Reason why it has no run, or a remark on the one that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Seconds from its turn's beginning to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
    /// The name of its run's file, in the same directory.
    pub file: String,
}

/// State of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// Host whose turn has not come.
    Waiting,
    /// Host that is being measured; a file that says so after the end of hostmark was left by one that was killed.
    Running,
    /// Host whose run is whole.
    Measured,
    /// Host that could not be measured.
    Failed,
    /// Host that was not done in the time that a host has.
    Slow,
    /// Host that was there, and then no more.
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
