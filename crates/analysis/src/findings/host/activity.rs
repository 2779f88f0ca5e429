//! What others do with the CPUs at this moment.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};
use crate::format::{number, percent};

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
    cure: Text {
        en: "measure at a quiet hour, or move to a dedicated host or instance",
        zh: "在空闲时段测量，或改用独占主机或独占实例",
    },
    see: |_, disturbed| {
        let share = percent(disturbed.steal_share.filter(|share| *share >= STEAL_SHARE)?);
        text(
            format!("steal {share}: the hypervisor gives this machine's CPU time to others"),
            format!("CPU steal {share}：宿主机把本机的 CPU 时间分给了其他虚拟机"),
        )
    },
};

pub(super) static BUSY: HostRule = HostRule {
    id: "host.busy_process",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "stop it, wait for its end, or keep it on other CPUs: taskset -acp CPUS PID",
        zh: "停止它、等它结束，或把它限制在其他 CPU 上：taskset -acp CPUS PID",
    },
    see: |_, disturbed| {
        let busy = disturbed.busy.as_ref().filter(|busy| busy.cpus >= BUSY_CPUS)?;
        let (pid, cpu, share) = (busy.pid, busy.last_cpu, percent(busy.cpus));
        let name: String = busy.name.chars().take(NAME_CHARS).collect();
        text(
            format!("{name} (pid {pid}) takes {share} of a CPU ({cpu}): samples wait"),
            format!("{name}（pid {pid}）占用一个 CPU（{cpu}）的 {share}：样本要等待"),
        )
    },
};

pub(super) static LOAD: HostRule = HostRule {
    id: "host.load",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "see who runs (top, systemctl list-timers), and wait until it is over",
        zh: "查看谁在运行（top、systemctl list-timers），等其结束",
    },
    see: |host, disturbed| {
        let load = disturbed.load.or(host.activity.load)?[0];
        let online = host.cpus.iter().filter(|cpu| cpu.online).count();
        (load >= IDLE_LOAD + IDLE_LOAD_PER_CPU * online as f64).then_some(())?;
        let load = number(load);
        text(
            format!("a load of {load} in the last minute: others want the CPUs and caches too"),
            format!("最近一分钟负载为 {load}：还有其他任务在使用 CPU 与缓存"),
        )
    },
};
