//! Files of the kernel that are not there.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};

pub(super) static NO_SYS: HostRule = HostRule {
    id: "host.no_sys",
    weight: HostWeight::Note,
    cure: Text { en: "mount it: mount -t sysfs sysfs /sys", zh: "挂载它：mount -t sysfs sysfs /sys" },
    see: |host, _| {
        // Every kernel names its clock source there, and is known by its release from elsewhere.
        let is_absent = host.kernel.clock_source.is_none() && host.nodes.is_empty();
        (is_absent && host.memory.transparent_huge_pages.is_none() && !host.kernel.release.is_empty()).then_some(())?;
        text(
            "no /sys: clock source, NUMA nodes, huge pages, mitigations are unknown",
            "没有 /sys：时钟源、NUMA 节点、大页和缓解措施均未知",
        )
    },
};
