//! What is a result? Ids, units, probes' texts, cases, runs, worker events and exit codes: pure data and serde.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

extern crate self as hostmark_model;

/// The macro `term!`, made of `terms.md`.
#[macro_use]
mod texts {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

mod agent;
mod case;
mod chinese;
mod estimate;
mod event;
mod exit;
mod far;
mod fleet_run;
mod guest;
mod histogram;
mod host;
pub mod imported;
mod inputs;
mod job;
mod line;
mod message;
mod noise;
mod outcome;
mod peer;
mod probe;
mod reason;
mod record;
mod run;
mod sampled;
#[cfg(test)]
mod schema_tests;
mod scratch;
mod series;
mod text;
mod time;
pub mod timestamp;
mod trust;
mod typed;
mod unit;

pub use agent::{
    AGENT_PROTOCOL, AgentAnswer, AgentRefusal, AgentRequest, BegunRun, Elsewhere, LONGEST_AGENT_LINE, RoundLine,
    RunRequest,
};
pub use case::{CaseId, CaseIdError, EACH_POINT, Params, is_axis_value, size_text};
pub use chinese::append_in_chinese;
pub use estimate::{Estimate, IntervalMethod, Leading, Quiet, Repetition, Stated};
pub use event::{DisturbanceFlags, Event, RoundNoise, out_of_memory};
pub use exit::Exit;
pub use far::{FarEnd, FarUsage, Nonce, ServiceJob};
pub use fleet_run::{FLEET_RUN_FILE, FLEET_RUN_SCHEMA, FleetHost, FleetPair, FleetRequest, FleetRun, HostState};
pub use guest::{Guest, GuestNet, GuestSetup, IN_SOFTWARE};
pub use histogram::Histogram;
pub use host::{
    Activity, AroundCache, Audit, BlockDevice, BusyTask, CacheFact, CacheKind, Channels, CoreKindFact, CpuFact,
    CpuFacts, DirectoryFact, Disturbed, FirmwareFacts, GroupFact, HostFacts, HostFinding, HostReport, HostWeight,
    HugePages, InterfaceLosses, InterruptModeration, KernelFacts, LimitFacts, LoopbackFacts, MemoryFacts, MemoryLook,
    MemoryModule, NetworkInterface, NetworkPath, NodeFact, Offloads, Pressure, ProcessFacts, Purpose,
    QueueingDiscipline, Resource, Rings, Sight, StorageFacts, VirtualizationFacts, design_that_can,
};
pub use inputs::{ISOLATE, Inputs};
pub use job::{CalibratedClock, Choice, Environment, Job, JobCase, PROTOCOL};
pub use line::JsonLine;
pub use message::{Given, Message, MessageArgument, Nested, Shown};
pub use noise::{LastCache, Neighbours, Noise, Others, Throttling};
pub use outcome::{
    Also, Bounds, CaseRecord, Flag, FlagKind, HERE, Measured, Outcome, PEER_AXIS, RoundRecord, is_of_disturbed,
    is_of_small_buffer,
};
pub use peer::{PeerAnswer, PeerRequest, ServeRequest};
pub use probe::{AxisInfo, AxisKind, Explain, ProbeInfo, QuantityInfo};
pub use reason::{Argument, Reason, ReasonCode, errno_name};
pub use record::{Again, Gap, LostRound, Raw};
pub use run::{
    ClockFacts, Finding, Imported, LoadError, PairRun, Peer, Profile, Run, SCHEMA, Settings, Tool, load_form, load_run,
};
pub use sampled::{PrintedUnit, Sampled};
pub use scratch::{PathBytes, Scratch};
pub use series::SeriesTurn;
pub use text::{Bilingual, InLanguage, Lang, Text, counted};
pub use time::{RoundTime, RunTime};
pub use trust::{Doubt, Grade, SelfChecked, Trust};
pub use typed::{typed_id, typed_size, typed_value};
pub use unit::{Better, Unit};
