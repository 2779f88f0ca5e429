//! Everything that a probe's file needs, and nothing else.

pub use hostmark_model::{
    Also, AxisKind, Better, CacheFact, CacheKind, CaseRecord, CpuFact, Estimate, Explain, FarEnd, Flag, FlagKind,
    Histogram, HostFacts, Leading, Measured, Message, NodeFact, Noise, Nonce, Outcome, Params, PrintedUnit, Profile,
    Quiet, Reason, ReasonCode, RoundRecord, Sampled, Text, Unit, size_text,
};

pub use hostmark_say::say;

pub use hostmark_host::{
    DeviceWork, Root, device_work, domains, is_memory, nurseries, of_caches, single, storage_stack,
};
pub use hostmark_launch::group::null as null_device;
pub use hostmark_launch::serve::{MOST_AT_DOOR, who_makes_room};
pub use hostmark_stats::capacity::{self, Bracket};
pub use hostmark_stats::change::{Plateau, Reading, plateaus, plateaus_of};
pub use hostmark_stats::descriptive::{median, median_in_place};
pub use hostmark_stats::phases::phases;

pub use crate::case::Case;
pub use crate::case::allotment::{Allotment, Buffer, Filling};
pub use crate::clock::{Clock, Ticks, read_counter, smallest_step};
pub use crate::estimate::estimate;
pub use crate::plan::time_budget::{largest_buffer, may_fill_bytes};
pub use crate::probe::serving::{Service, Serving};
pub use crate::probe::{Axis, CoreBound, Fill, FullFactorial, Group, Limit, Measure, Need, Points, Probe, Source};
pub use crate::quantity::Quantity;
pub use crate::round_error::{Checked, OrSkipped, Result, RoundError, reason_of};
pub use crate::sampling::lockstep::ThreadWork;
pub use crate::sampling::memory_look::{SLOWER_THAN_CACHES_NS, Steady};
pub use crate::sampling::threads::{self, Cpu};
pub use crate::sys;
pub use crate::sys::call::{Call, received};
pub use crate::sys::memory::{Node, Pages};
