//! Effects of a host's facts and of its current activity on a measurement; one rule each, in [`HOST_RULES`].

mod cpu;
mod process;
mod resources;

pub(super) use cpu::{FOLLOWING_GOVERNORS, limited_hz, named_mitigations};
pub use process::{limits_unseen, tracer, yields};
pub(super) use process::{slack_ns, store_bypass};
pub(super) use resources::{SWAP_BYTES, io_limit, obstacles, small_buffer};

use hostmark_model::{Disturbed, HostFacts, HostFinding, HostReport, HostWeight, Text};

/// A rule over a host. Effect and cure are one line each, also on a terminal of 80 columns.
#[derive(Debug)]
pub struct HostRule {
    pub id: &'static str,
    pub weight: HostWeight,
    pub cure: Text,
    /// Observation and its effect; None when all is well or the host does not say.
    pub see: fn(&HostFacts, &Disturbed) -> Option<Text<String>>,
}

const fn rule(
    id: &'static str,
    weight: HostWeight,
    cure: Text,
    see: fn(&HostFacts, &Disturbed) -> Option<Text<String>>,
) -> HostRule {
    HostRule { id, weight, cure, see }
}

/// Every rule, what disturbs most first.
pub static HOST_RULES: &[&HostRule] = &[
    &cpu::QUOTA,
    &process::YIELDS,
    &process::TRACED,
    &cpu::STEAL,
    &cpu::BUSY,
    &cpu::UNSEEN_BUSY,
    &resources::RESERVED,
    &resources::LITTLE,
    &resources::SWAP,
    &cpu::LOAD,
    &cpu::GOVERNOR,
    &cpu::SINGLE,
    &cpu::SIBLINGS,
    &cpu::TURBO,
    &cpu::CLOCK_SOURCE,
    &resources::BALANCING,
    &resources::MERGING,
    &resources::DATA,
    &process::NO_PROC,
    &process::LIMITS,
    &process::COUNTERS,
    &process::POLICY,
    &process::CLAMPED,
    &process::SLACK,
    &process::STORE_BYPASS,
    &cpu::LIMITED,
    &resources::IO_LIMIT,
    &resources::IO_PRIORITY,
    &resources::OBSTACLES,
    &cpu::MITIGATIONS,
    &cpu::SECCOMP,
    &cpu::AUDIT,
    &resources::NO_HUGE_PAGES,
    &process::HUGE_PAGES_FORBIDDEN,
    &process::UNKNOWN_PAGING,
    &resources::SCRATCH,
    &process::NO_SYS,
    &process::LIMITS_ABOVE,
    &process::PROCESSES,
    &resources::FILTER_UNSEEN,
    &process::PERF,
];

/// Findings about a host, in the order of [`HOST_RULES`].
pub fn host_findings(host: &HostFacts, disturbed: &Disturbed) -> Vec<HostFinding> {
    let of_rule = |rule: &&'static HostRule| {
        let effect = (rule.see)(host, disturbed)?;
        Some(HostFinding { id: rule.id.to_owned(), weight: rule.weight, effect, cure: rule.cure.to_owned_text() })
    };
    HOST_RULES.iter().filter_map(of_rule).collect()
}

pub fn host_report(host: HostFacts, disturbed: Disturbed) -> HostReport {
    let findings = host_findings(&host, &disturbed);
    HostReport { schema: HostReport::SCHEMA.to_owned(), host, disturbed, findings }
}
