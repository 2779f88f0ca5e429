//! Files of the kernel that are not there.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::texts::findings::host::kernel_files as texts;

pub(super) static NO_SYS: HostRule = HostRule {
    id: "host.no_sys",
    weight: HostWeight::Note,
    cure: texts::NO_SYS_CURE,
    see: |host, _| {
        // Every kernel names its clock source there, and is known by its release from elsewhere.
        let is_absent = host.kernel.clock_source.is_none() && host.nodes.is_empty();
        (is_absent && host.memory.transparent_huge_pages.is_none() && !host.kernel.release.is_empty()).then_some(())?;
        Some(texts::no_sys_effect!())
    },
};
