//! Host rules on the CPUs: their number, what others use of them, clocks, and costs of kernel entries.

use hostmark_model::HostWeight::{Disturbs, Shifts};
use hostmark_model::{Audit, HostFacts};

use super::{HostRule, rule};
use crate::format::{frequency_text, number, percent};
use crate::texts::findings::host as texts;

pub(super) static QUOTA: HostRule = rule("host.cpu_quota", Disturbs, texts::cpus::QUOTA_CURE, |host, _| {
    let (usable, quota) = (host.usable_cpus().len(), host.limits.cpu_quota?);
    if usable == 0 || quota >= usable as f64 {
        return None;
    }
    let quota = number(quota);
    Some(texts::cpus::quota_effect!(quota, usable))
});

pub(super) static SINGLE: HostRule = rule("host.single_cpu", Disturbs, texts::cpus::SINGLE_CURE, |host, _| {
    (host.usable_cpus().len() == 1).then_some(())?;
    Some(texts::cpus::single_effect!())
});

pub(super) static SIBLINGS: HostRule = rule("host.smt_siblings", Disturbs, texts::cpus::SIBLINGS_CURE, |host, _| {
    let online = |id: &usize| host.cpus.iter().any(|cpu| cpu.id == *id && cpu.online);
    let shares = |id: &usize| {
        let cpu = host.cpus.iter().find(|cpu| cpu.id == *id);
        cpu.is_some_and(|cpu| cpu.siblings.iter().any(|other| other != id && online(other)))
    };
    let shared = host.usable_cpus().iter().filter(|id| shares(id)).count();
    if host.cpu.smt_active == Some(false) || shared == 0 {
        return None;
    }
    Some(texts::cpus::siblings_effect!(shared))
});

/// Less than this share of a CPU is what every system's own services take now and then.
const BUSY_CPUS: f64 = 0.1;
/// One lost time slice in a hundred is seen in tails, and soon in medians.
const STEAL_SHARE: f64 = 0.01;
/// Load of an idle system: its own services, and a share for each CPU of a large one.
const IDLE_LOAD: f64 = 0.5;
const IDLE_LOAD_PER_CPU: f64 = 0.05;
/// Longer names would push the effect off its line; the kernel cuts them at 15 itself.
const NAME_CHARS: usize = 15;

pub(super) static STEAL: HostRule = rule("host.steal", Disturbs, texts::activity::STEAL_CURE, |_, disturbed| {
    let share = percent(disturbed.steal_share.filter(|share| *share >= STEAL_SHARE)?);
    Some(texts::activity::steal_effect!(share))
});

pub(super) static BUSY: HostRule = rule("host.busy_process", Disturbs, texts::activity::BUSY_CURE, |_, disturbed| {
    let busy = disturbed.busy.as_ref().filter(|busy| busy.cpus >= BUSY_CPUS)?;
    let (pid, cpu, share) = (busy.pid, busy.last_cpu, percent(busy.cpus));
    let name: String = busy.name.chars().take(NAME_CHARS).collect();
    Some(texts::activity::busy_effect!(name, pid, share, cpu))
});

pub(super) static UNSEEN_BUSY: HostRule =
    rule("host.busy_unseen", Disturbs, texts::activity::UNSEEN_BUSY_CURE, |_, disturbed| {
        let share = percent(disturbed.unseen_cpus.filter(|cpus| *cpus >= BUSY_CPUS)?);
        Some(texts::activity::unseen_busy_effect!(share))
    });

pub(super) static LOAD: HostRule = rule("host.load", Disturbs, texts::activity::LOAD_CURE, |host, disturbed| {
    let load = disturbed.load.or(host.activity.load)?[0];
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    (load >= IDLE_LOAD + IDLE_LOAD_PER_CPU * online as f64).then_some(())?;
    let load = number(load);
    Some(texts::activity::load_effect!(load))
});

/// Governors under which the clock follows the load.
pub(in crate::findings) const FOLLOWING_GOVERNORS: [&str; 4] = ["powersave", "ondemand", "conservative", "schedutil"];

pub(super) static GOVERNOR: HostRule = rule("host.governor", Disturbs, texts::frequency::GOVERNOR_CURE, |host, _| {
    // Of several kinds of core each has its own.
    let of_kinds = host.cpu.kinds.iter().filter_map(|kind| kind.governor.as_deref());
    let governor =
        host.cpu.governor.as_deref().into_iter().chain(of_kinds).find(|name| FOLLOWING_GOVERNORS.contains(name))?;
    Some(texts::frequency::governor_effect!(governor))
});

/// The lowest limit of a usable CPU's clock that is below what its hardware can, and that, hertz.
pub(in crate::findings) fn limited_hz(host: &HostFacts) -> Option<(f64, f64)> {
    let limits =
        host.cpus.iter().filter(|cpu| cpu.online && cpu.allowed).filter_map(|cpu| cpu.limit_hz.zip(cpu.max_hz));
    limits.filter(|(limit, most)| *limit < *most * NEAR).min_by(|one, other| one.0.total_cmp(&other.0))
}

/// A limit above this share of the hardware's is nobody's intention.
const NEAR: f64 = 0.98;

pub(super) static LIMITED: HostRule =
    rule("host.frequency_limit", Shifts, texts::frequency::LIMITED_CURE, |host, _| {
        let (limit, most) = limited_hz(host)?;
        let [limit, most] = [limit, most].map(frequency_text);
        Some(texts::frequency::limited_effect!(limit, most))
    });

pub(super) static TURBO: HostRule = rule("host.turbo", Disturbs, texts::frequency::TURBO_CURE, |host, _| {
    host.cpu.turbo.filter(|on| *on)?;
    Some(texts::frequency::turbo_effect!())
});

pub(super) static CLOCK_SOURCE: HostRule = rule("host.clock_source", Disturbs, texts::clock::SOURCE_CURE, |host, _| {
    let source = host.kernel.clock_source.as_deref()?;
    let best = match host.cpu.architecture.as_str() {
        "x86_64" => "tsc",
        "aarch64" => "arch_sys_counter",
        _ => return None,
    };
    (source != best).then_some(())?;
    Some(texts::clock::source_effect!(source, best))
});

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

pub(super) static MITIGATIONS: HostRule =
    rule("host.mitigations", Shifts, texts::kernel_entry::MITIGATIONS_CURE, |host, _| {
        let costly = costly(host);
        (!costly.is_empty()).then_some(())?;
        let named: Vec<&str> = costly.iter().take(MOST_NAMED).map(|(name, _)| short(name)).collect();
        let more = if costly.len() > MOST_NAMED { " …" } else { "" };
        let named = named.join(", ") + more;
        Some(texts::kernel_entry::mitigations_effect!(named))
    });

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

pub(super) static SECCOMP: HostRule = rule("host.seccomp", Shifts, texts::kernel_entry::SECCOMP_CURE, |host, _| {
    host.limits.seccomp.as_deref().filter(|mode| *mode == "filter")?;
    let place = match host.virtualization.container.as_deref() {
        Some(_) => term!("this container"),
        None => term!("this process"),
    };
    Some(texts::kernel_entry::seccomp_effect!(place))
});

pub(super) static AUDIT: HostRule = rule("host.audit", Shifts, texts::kernel_entry::AUDIT_CURE, |host, _| {
    (host.kernel.audit == Some(Audit::On)).then_some(())?;
    Some(texts::kernel_entry::audit_effect!())
});
