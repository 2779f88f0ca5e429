//! Facts that a guest cannot see of the machine beneath.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::texts::findings::host::virtualization as texts;

pub(super) static UNKNOWN_PAGING: HostRule = HostRule {
    id: "host.nested_paging_unknown",
    weight: HostWeight::Shifts,
    cure: texts::UNKNOWN_PAGING_CURE,
    see: |host, _| {
        let hypervisor = host.virtualization.hypervisor.as_deref()?;
        host.virtualization.nested_paging.is_none().then_some(())?;
        let name: String = hypervisor.chars().take(12).collect();
        Some(texts::unknown_paging_effect!(name))
    },
};
