//! What this user may not look at.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};

/// Above this a user without rights may count nothing.
const USER_LEVEL: i32 = 2;

pub(super) static PERF: HostRule = HostRule {
    id: "host.perf_not_permitted",
    weight: HostWeight::Note,
    cure: Text {
        en: "sysctl kernel.perf_event_paranoid=1, or root; results are fine without",
        zh: "sysctl kernel.perf_event_paranoid=1，或以 root 运行；没有它结果同样有效",
    },
    see: |host, _| {
        let level = host
            .kernel
            .perf_event_paranoid
            .filter(|level| *level > USER_LEVEL && host.limits.is_root == Some(false))?;
        text(
            format!("performance counters are not permitted (perf_event_paranoid={level})"),
            format!("不允许使用性能计数器（perf_event_paranoid={level}）"),
        )
    },
};
