//! Data of results: ids, units, probes' texts, cases, runs, worker events and exit codes: pure data and serde.
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
mod estimate;
mod event;
mod fleet_run;
mod guest;
mod host;
pub mod imported;
mod inputs;
mod message;
mod outcome;
mod reason;
mod run;
#[cfg(test)]
mod schema_tests;
mod text;
pub mod timestamp;

pub use agent::{
    AGENT_PROTOCOL, AgentAnswer, AgentRefusal, AgentRequest, BegunRun, CalibratedClock, Choice, Elsewhere, Environment,
    Job, JobCase, JsonLine, LONGEST_AGENT_LINE, PROTOCOL, RoundLine, RunRequest,
};
pub use case::{
    AxisInfo, AxisKind, Better, CaseId, CaseIdError, EACH_POINT, Explain, Params, ProbeInfo, QuantityInfo, Unit,
    is_axis_value, size_text,
};
pub use estimate::{Doubt, Estimate, Grade, IntervalMethod, Leading, Quiet, Repetition, SelfChecked, Stated, Trust};
pub use event::{
    DisturbanceFlags, Event, Histogram, LastCache, Neighbours, Noise, Others, RoundNoise, RoundTime, RunTime,
    Throttling, out_of_memory,
};
pub use fleet_run::{FLEET_RUN_FILE, FLEET_RUN_SCHEMA, FleetHost, FleetPair, FleetRequest, FleetRun, HostState};
pub use guest::{Guest, GuestNet, GuestSetup, IN_SOFTWARE, SeriesTurn};
pub use host::{
    Activity, AroundCache, Audit, BlockDevice, BusyTask, CacheFact, CacheKind, Channels, CoreKindFact, CpuFact,
    CpuFacts, DirectoryFact, Disturbed, FirmwareFacts, GroupFact, HostFacts, HostFinding, HostReport, HostWeight,
    HugePages, InterfaceLosses, InterruptModeration, KernelFacts, LimitFacts, LoopbackFacts, MemoryFacts, MemoryLook,
    MemoryModule, NetworkInterface, NetworkPath, NodeFact, Offloads, Pressure, ProcessFacts, Purpose,
    QueueingDiscipline, Resource, Rings, Sight, StorageFacts, VirtualizationFacts, design_that_can,
};
pub use inputs::{
    FarEnd, FarUsage, ISOLATE, Inputs, Nonce, PathBytes, PeerAnswer, PeerRequest, PrintedUnit, Sampled, Scratch,
    ServeRequest, ServiceJob,
};
pub use message::{Given, Message, MessageArgument, Nested, Shown};
pub use outcome::{
    Again, Also, Bounds, CaseRecord, Flag, FlagKind, Gap, HERE, LostRound, Measured, Outcome, PEER_AXIS, Raw,
    RoundRecord, is_of_disturbed, is_of_small_buffer,
};
pub use reason::{Argument, Exit, Reason, ReasonCode, errno_name};
pub use run::{
    ClockFacts, Finding, Imported, LoadError, MOST_CASES, PairRun, Peer, Profile, Run, SCHEMA, Settings, Tool,
    json_fault, load_form, load_run, typed_id, typed_size, typed_value,
};
pub use text::{Bilingual, InLanguage, Lang, Text, append_in_chinese, counted};
