//! Clocks of the CPUs that move by themselves.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};

/// Governors under which the clock follows the load.
pub(in crate::findings) const FOLLOWING: [&str; 4] = ["powersave", "ondemand", "conservative", "schedutil"];

pub(super) static GOVERNOR: HostRule = HostRule {
    id: "host.governor",
    weight: HostWeight::Disturbs,
    cure: Text { en: "cpupower frequency-set -g performance", zh: "执行 cpupower frequency-set -g performance" },
    see: |host, _| {
        // Of several kinds of core each has its own.
        let of_kinds = host.cpu.kinds.iter().filter_map(|kind| kind.governor.as_deref());
        let governor =
            host.cpu.governor.as_deref().into_iter().chain(of_kinds).find(|name| FOLLOWING.contains(name))?;
        text(
            format!("governor {governor}: the clock follows the load and lags behind it"),
            format!("调频策略为 {governor}：频率随负载变化，短用例在升频之前就已结束"),
        )
    },
};

pub(super) static TURBO: HostRule = HostRule {
    id: "host.turbo",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "echo 1 > …/cpu/intel_pstate/no_turbo, or echo 0 > …/cpu/cpufreq/boost",
        zh: "echo 1 > …/cpu/intel_pstate/no_turbo，或 echo 0 > …/cpu/cpufreq/boost",
    },
    see: |host, _| {
        host.cpu.turbo.filter(|on| *on)?;
        text(
            "turbo is on: the clock depends on heat, power and how many cores are busy",
            "睿频已开启：频率取决于温度、功耗和繁忙核心的数量",
        )
    },
};
