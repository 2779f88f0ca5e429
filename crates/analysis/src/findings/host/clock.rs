//! The kernel's clock source.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};

pub(super) static SOURCE: HostRule = HostRule {
    id: "host.clock_source",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "echo tsc > …/clocksource0/current_clocksource where it is offered",
        zh: "若可选：echo tsc > …/clocksource0/current_clocksource",
    },
    see: |host, _| {
        let source = host.kernel.clock_source.as_deref()?;
        let best = match host.cpu.architecture.as_str() {
            "x86_64" => "tsc",
            "aarch64" => "arch_sys_counter",
            _ => return None,
        };
        (source != best).then_some(())?;
        text(
            format!("clock source {source}, not {best}: CPUs' times compare badly"),
            format!("时钟源为 {source} 而非 {best}：不同 CPU 的时间难以比较"),
        )
    },
};
