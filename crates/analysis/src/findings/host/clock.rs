//! The kernel's clock source.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::texts::findings::host::clock as texts;

pub(super) static SOURCE: HostRule = HostRule {
    id: "host.clock_source",
    weight: HostWeight::Disturbs,
    cure: texts::SOURCE_CURE,
    see: |host, _| {
        let source = host.kernel.clock_source.as_deref()?;
        let best = match host.cpu.architecture.as_str() {
            "x86_64" => "tsc",
            "aarch64" => "arch_sys_counter",
            _ => return None,
        };
        (source != best).then_some(())?;
        Some(texts::source_effect!(source, best))
    },
};
