//! What a guest cannot see of the machine beneath.

use hostmark_model::{HostWeight, Text};

use super::{HostRule, text};

pub(super) static UNKNOWN_PAGING: HostRule = HostRule {
    id: "host.nested_paging_unknown",
    weight: HostWeight::Shifts,
    cure: Text {
        en: "read /sys/module/kvm_*/parameters on the host, and measure there too",
        zh: "在宿主机上查看 /sys/module/kvm_*/parameters，并在那里也测量一次",
    },
    see: |host, _| {
        let hypervisor = host.virtualization.hypervisor.as_deref()?;
        host.virtualization.nested_paging.is_none().then_some(())?;
        let name: String = hypervisor.chars().take(12).collect();
        text(
            format!("a {name} guest: its host's paging (EPT, NPT, huge pages) is hidden"),
            format!("{name} 虚拟机：看不到宿主机的页表方式（EPT、NPT、大页）"),
        )
    },
};
