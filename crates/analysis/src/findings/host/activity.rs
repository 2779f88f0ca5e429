//! Current CPU use of other programs.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::format::{number, percent};
use crate::texts::findings::host::activity as texts;

/// Less than this share of a CPU is what every system's own services take now and then.
const BUSY_CPUS: f64 = 0.1;
/// One lost time slice in a hundred is seen in tails, and soon in medians.
const STEAL_SHARE: f64 = 0.01;
/// Load of an idle system: its own services, and a share for each CPU of a large one.
const IDLE_LOAD: f64 = 0.5;
const IDLE_LOAD_PER_CPU: f64 = 0.05;
/// Longer names would push the effect off its line; the kernel cuts them at 15 itself.
const NAME_CHARS: usize = 15;

pub(super) static STEAL: HostRule = HostRule {
    id: "host.steal",
    weight: HostWeight::Disturbs,
    cure: texts::STEAL_CURE,
    see: |_, disturbed| {
        let share = percent(disturbed.steal_share.filter(|share| *share >= STEAL_SHARE)?);
        Some(texts::steal_effect!(share))
    },
};

pub(super) static BUSY: HostRule = HostRule {
    id: "host.busy_process",
    weight: HostWeight::Disturbs,
    cure: texts::BUSY_CURE,
    see: |_, disturbed| {
        let busy = disturbed.busy.as_ref().filter(|busy| busy.cpus >= BUSY_CPUS)?;
        let (pid, cpu, share) = (busy.pid, busy.last_cpu, percent(busy.cpus));
        let name: String = busy.name.chars().take(NAME_CHARS).collect();
        Some(texts::busy_effect!(name, pid, share, cpu))
    },
};

pub(super) static UNSEEN_BUSY: HostRule = HostRule {
    id: "host.busy_unseen",
    weight: HostWeight::Disturbs,
    cure: texts::UNSEEN_BUSY_CURE,
    see: |_, disturbed| {
        let share = percent(disturbed.unseen_cpus.filter(|cpus| *cpus >= BUSY_CPUS)?);
        Some(texts::unseen_busy_effect!(share))
    },
};

pub(super) static LOAD: HostRule = HostRule {
    id: "host.load",
    weight: HostWeight::Disturbs,
    cure: texts::LOAD_CURE,
    see: |host, disturbed| {
        let load = disturbed.load.or(host.activity.load)?[0];
        let online = host.cpus.iter().filter(|cpu| cpu.online).count();
        (load >= IDLE_LOAD + IDLE_LOAD_PER_CPU * online as f64).then_some(())?;
        let load = number(load);
        Some(texts::load_effect!(load))
    },
};
