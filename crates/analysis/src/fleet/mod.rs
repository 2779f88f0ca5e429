//! Many hosts beside each other: which are not like the others of their kind, and why.

mod assembly;
mod between;
mod changes;
mod data;
mod gathering;
#[cfg(test)]
pub(crate) mod made_up;
mod pairs;
pub mod planted;
mod score;
mod why;

pub use between::{BetweenHosts, Carried, FailedPair, PairApart};
pub use changes::{CaseChange, Changed, HostChange, changes};
pub use data::{
    CaseSpread, Deviation, Drift, Fleet, GroupSpread, HostResult, KindOfHosts, OddCase, OtherEstimate, RareFact,
    SCHEMA, SharedFact, WithinBy,
};
pub use gathering::{BesideUsual, CaseBesideUsual, Gathering, Unread};
pub use score::LEAST_HOSTS;

use hostmark_model::{Message, Run, Text, size_text};
use hostmark_say::say;
use serde::Serialize;

use crate::typography::COMMA;
use crate::words;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct HostClass {
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    pub cpu: String,
    pub cpus: usize,
    pub packages: usize,
    /// Memory as a class, since firmware and kernel keep some: the nearest of 512 MiB, 768 MiB, 1, 1.5, 2, 3 GiB and so on. 0: unknown.
    pub memory_bytes: u64,
    /// The hypervisor; none of native hosts.
    pub hypervisor: Option<String>,
}

impl HostClass {
    pub(super) fn of(run: &Run) -> HostClass {
        let host = &run.host;
        let text = |text: &str| text.chars().take(LONGEST).collect::<String>();
        HostClass {
            architecture: text(&host.cpu.architecture),
            cpu: text(host.cpu.model.as_deref().unwrap_or_default()),
            cpus: host.cpus.iter().filter(|cpu| cpu.online).count(),
            packages: host.cpu.packages,
            memory_bytes: class(host.memory.total_bytes),
            hypervisor: host.virtualization.hypervisor.as_deref().map(text),
        }
    }

    /// Description: `AMD EPYC 9654, 2 × 192 CPUs, 768 GiB, native`.
    pub fn words(&self) -> Text<String> {
        let cpu = if self.cpu.is_empty() { &self.architecture } else { &self.cpu };
        let mut parts = vec![if cpu.is_empty() { term!("unknown CPU").into() } else { Message::plain(cpu) }];
        if self.cpus > 0 {
            parts.push(say!("{cpus:CPU}", cpus = self.cpus));
        }
        if self.memory_bytes > 0 {
            parts.push(size_text(self.memory_bytes).into());
        }
        parts.push(match &self.hypervisor {
            Some(hypervisor) => say!("{hypervisor} guest"),
            None => term!("native").into(),
        });
        words(Message::joined(parts, COMMA))
    }
}

/// A file may hold anything.
const LONGEST: usize = 120;

/// The nearest of the powers of two and the half-way sizes between them: a module that is missing does not make another kind.
fn class(bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let power = 1_u64 << bytes.ilog2().min(62);
    let sizes = [power, power / 2 * 3, power.saturating_mul(2)];
    let far = |size: &u64| (*size as f64 / bytes as f64).ln().abs();
    sizes.into_iter().min_by(|one, other| far(one).total_cmp(&far(other))).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_keeps_and_a_missing_module_make_no_other_kind() {
        let gib = |number: f64| (number * f64::from(1 << 30)) as u64;
        for (total, expected) in
            [(251.4, 256.0), (256.0, 256.0), (224.0, 256.0), (188.7, 192.0), (15.2, 16.0), (377.0, 384.0)]
        {
            assert_eq!(class(gib(total)), gib(expected), "{total}");
        }
        assert_ne!(class(gib(128.0)), class(gib(256.0)));
        assert_eq!(class(0), 0);
        assert!(class(u64::MAX) > 1 << 62);
    }
}
