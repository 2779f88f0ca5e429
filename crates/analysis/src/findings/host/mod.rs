//! Effects of a host's facts and of its current activity on a measurement; one rule each, in [`HOST_RULES`].

mod activity;
mod clock;
mod cpus;
mod frequency;
mod kernel_entry;
mod kernel_files;
mod loopback;
mod memory;
mod permissions;
mod place;
mod process;
mod unseen;
mod virtualization;

pub(super) use frequency::{FOLLOWING as FOLLOWING_GOVERNORS, limited_hz};
pub(super) use kernel_entry::named_mitigations;
pub(super) use loopback::{obstacles, small_buffer};
pub(super) use memory::SWAP_BYTES;
pub(super) use place::io_limit;
pub(super) use process::{slack_ns, store_bypass};
pub use process::{tracer, yields};
pub use unseen::limits_unseen;

use hostmark_model::{Disturbed, HostFacts, HostFinding, HostReport, HostWeight, Text};

/// A rule over a host. Effect and cure are one line each, also on a terminal of 80 columns.
#[derive(Debug)]
pub struct HostRule {
    pub id: &'static str,
    /// Weight for a measurement.
    pub weight: HostWeight,
    pub cure: Text,
    /// Observation and its effect; None when all is well or the host does not say.
    pub see: fn(&HostFacts, &Disturbed) -> Option<Text<String>>,
}

/// Every rule, what disturbs most first.
pub static HOST_RULES: &[&HostRule] = &[
    &cpus::QUOTA,
    &process::YIELDS,
    &process::TRACED,
    &activity::STEAL,
    &activity::BUSY,
    &activity::UNSEEN_BUSY,
    &memory::RESERVED,
    &memory::LITTLE,
    &memory::SWAP,
    &activity::LOAD,
    &frequency::GOVERNOR,
    &cpus::SINGLE,
    &cpus::SIBLINGS,
    &frequency::TURBO,
    &clock::SOURCE,
    &memory::BALANCING,
    &memory::MERGING,
    &place::DATA,
    &unseen::NO_PROC,
    &unseen::LIMITS,
    &unseen::COUNTERS,
    &process::POLICY,
    &process::CLAMPED,
    &process::SLACK,
    &process::STORE_BYPASS,
    &frequency::LIMITED,
    &place::IO_LIMIT,
    &loopback::OBSTACLES,
    &kernel_entry::MITIGATIONS,
    &kernel_entry::SECCOMP,
    &kernel_entry::AUDIT,
    &memory::NO_HUGE_PAGES,
    &process::HUGE_PAGES_FORBIDDEN,
    &virtualization::UNKNOWN_PAGING,
    &place::SCRATCH,
    &kernel_files::NO_SYS,
    &unseen::LIMITS_ABOVE,
    &unseen::PROCESSES,
    &loopback::FILTER_UNSEEN,
    &permissions::PERF,
];

/// Findings about a host, in the order of [`HOST_RULES`].
pub fn host_findings(host: &HostFacts, disturbed: &Disturbed) -> Vec<HostFinding> {
    let of_rule = |rule: &&'static HostRule| {
        let effect = (rule.see)(host, disturbed)?;
        Some(HostFinding { id: rule.id.to_owned(), weight: rule.weight, effect, cure: rule.cure.to_owned_text() })
    };
    HOST_RULES.iter().filter_map(of_rule).collect()
}

/// A host with what follows from it.
pub fn host_report(host: HostFacts, disturbed: Disturbed) -> HostReport {
    let findings = host_findings(&host, &disturbed);
    HostReport { schema: HostReport::SCHEMA.to_owned(), host, disturbed, findings }
}
