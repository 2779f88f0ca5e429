//! Cost of every kernel entry besides the hardware's own.

use hostmark_model::{Audit, HostFacts, HostWeight};

use super::HostRule;
use crate::texts::findings::host::kernel_entry as texts;

/// (vulnerability, part of the kernel's words, what it does on each entry or exit), the dearest first.
const COSTS: &[(&str, &str, &str)] = &[
    ("meltdown", "PTI", "page tables"),
    ("spec_rstack_overflow", "IBPB", "IBPB"),
    ("retbleed", "IBPB", "IBPB"),
    ("mds", "Clear CPU buffers", "VERW"),
    ("mmio_stale_data", "Clear CPU buffers", "VERW"),
    ("tsx_async_abort", "Clear CPU buffers", "VERW"),
    ("reg_file_data_sampling", "Clear Register File", "VERW"),
    ("tsa", "Clear CPU buffers", "VERW"),
    ("spec_rstack_overflow", "Safe RET", "returns"),
    ("retbleed", "untrained return thunk", "returns"),
    ("retbleed", "Stuffing", "returns"),
    ("spectre_v2", "BHI: SW loop", "history"),
    ("spectre_v2", "Retpolines", "retpolines"),
    ("indirect_target_selection", "Aligned branch", "thunks"),
];
/// More would not fit the line.
const MOST_NAMED: usize = 3;

/// The vulnerabilities whose mitigation costs on entries, with how, each effect once.
fn costly(host: &HostFacts) -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (name, words, how) in COSTS {
        let status = host.kernel.vulnerabilities.get(*name).filter(|status| status.contains("Mitigation"));
        if status.is_some_and(|status| status.contains(words)) && found.iter().all(|(_, known)| known != how) {
            found.push((name, how));
        }
    }
    found
}

/// Mitigations in force on kernel entry and exit, as `MDS (VERW)`, the most expensive first.
pub(in crate::findings) fn named_mitigations(host: &HostFacts) -> Vec<String> {
    costly(host).into_iter().map(|(name, how)| format!("{} ({how})", short(name))).collect()
}

pub(super) static MITIGATIONS: HostRule = HostRule {
    id: "host.mitigations",
    weight: HostWeight::Shifts,
    cure: texts::MITIGATIONS_CURE,
    see: |host, _| {
        let costly = costly(host);
        (!costly.is_empty()).then_some(())?;
        let named: Vec<&str> = costly.iter().take(MOST_NAMED).map(|(name, _)| short(name)).collect();
        let more = if costly.len() > MOST_NAMED { " …" } else { "" };
        let named = named.join(", ") + more;
        Some(texts::mitigations_effect!(named))
    },
};

/// The names by which people know the longest of them.
fn short(name: &'static str) -> &'static str {
    match name {
        "spec_rstack_overflow" => "SRSO",
        "reg_file_data_sampling" => "RFDS",
        "tsx_async_abort" => "TAA",
        "indirect_target_selection" => "ITS",
        name => name,
    }
}

pub(super) static SECCOMP: HostRule = HostRule {
    id: "host.seccomp",
    weight: HostWeight::Shifts,
    cure: texts::SECCOMP_CURE,
    see: |host, _| {
        host.limits.seccomp.as_deref().filter(|mode| *mode == "filter")?;
        let place = match host.virtualization.container.as_deref() {
            Some(_) => term!("this container"),
            None => term!("this process"),
        };
        Some(texts::seccomp_effect!(place))
    },
};

pub(super) static AUDIT: HostRule = HostRule {
    id: "host.audit",
    weight: HostWeight::Shifts,
    cure: texts::AUDIT_CURE,
    see: |host, _| {
        (host.kernel.audit == Some(Audit::On)).then_some(())?;
        Some(texts::audit_effect!())
    },
};
