//! Which hypervisor the machine runs under, if any: Xen's own word, CPUID, the firmware's tables, the device tree.

use crate::cpuinfo::CpuInfo;
use crate::root::Root;

/// Whether the processor itself says that it is no guest's: then nobody can steal its time. An Arm core does not say it.
pub(crate) fn is_ruled_out(root: &Root) -> bool {
    root.is_this_machine() && says_virtual() == Some(false)
}

#[cfg(target_arch = "x86_64")]
fn says_virtual() -> Option<bool> {
    Some(std::arch::x86_64::__cpuid(1).ecx & (1 << 31) != 0)
}

#[cfg(not(target_arch = "x86_64"))]
fn says_virtual() -> Option<bool> {
    None
}

/// Something virtual, by the processor's word, that does not say its name.
const UNNAMED: &str = "unknown";

/// QEMU that executes each instruction in software, by its own word: no hardware's time is to be had there.
pub const EMULATED: &str = "qemu-tcg";

/// Lower-case name, None on bare metal. `unknown` when the processor says "virtual" and nobody says by whom.
pub(crate) fn read(root: &Root, cpuinfo: &CpuInfo) -> Option<String> {
    if let Some(kind) = root.text("/sys/hypervisor/type") {
        return Some(kind.to_lowercase());
    }
    let on_x86 = cpuinfo.first("vendor_id").is_some();
    let has_flag = cpuinfo.words("flags").any(|flag| flag == "hypervisor");
    let named = from_cpuid(root).or_else(|| from_dmi(root, has_flag || !on_x86)).or_else(|| from_device_tree(root));
    named.or(has_flag.then_some(UNNAMED)).map(str::to_owned)
}

/// What hypervisors sign with at CPUID leaf 0x40000000.
#[cfg(any(target_arch = "x86_64", test))]
const SIGNATURES: &[(&[u8; 12], &str)] = &[
    (b"KVMKVMKVM\0\0\0", "kvm"),
    (b"Linux KVM Hv", "kvm"),
    (b"TCGTCGTCGTCG", EMULATED),
    (b"XenVMMXenVMM", "xen"),
    (b"VMwareVMware", "vmware"),
    (b"VBoxVBoxVBox", "virtualbox"),
    (b"bhyve bhyve ", "bhyve"),
    (b"ACRNACRNACRN", "acrn"),
    (b"OpenBSDVMM58", "openbsd"),
    (b" prl hyperv ", "parallels"),
    (b" lrpepyh  vr", "parallels"),
    (b"VirtualApple", "apple"),
    (MICROSOFT, "microsoft"),
];
#[cfg(any(target_arch = "x86_64", test))]
const MICROSOFT: &[u8; 12] = b"Microsoft Hv";

#[cfg(target_arch = "x86_64")]
fn from_cpuid(root: &Root) -> Option<&'static str> {
    use std::arch::x86_64::__cpuid;
    if !root.is_this_machine() || says_virtual() != Some(true) {
        return None;
    }
    let signature = |leaf: u32| {
        let words = __cpuid(leaf);
        let mut bytes = [0u8; 12];
        for (place, word) in bytes.chunks_exact_mut(4).zip([words.ebx, words.ecx, words.edx]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    };
    from_signatures(signature(0x4000_0000), || signature(0x4000_0100))
}

#[cfg(not(target_arch = "x86_64"))]
fn from_cpuid(_: &Root) -> Option<&'static str> {
    None
}

/// KVM and Xen imitate Hyper-V for Windows guests at the first leaf, and then sign for themselves at the second.
#[cfg(any(target_arch = "x86_64", test))]
fn from_signatures(first: [u8; 12], second: impl FnOnce() -> [u8; 12]) -> Option<&'static str> {
    let named = |signature: [u8; 12]| SIGNATURES.iter().find(|(known, _)| **known == signature).map(|(_, name)| *name);
    if first == *MICROSOFT { named(second()).or(Some("microsoft")) } else { named(first) }
}

/// (start of vendor, start of product, name) of firmware that only hypervisors carry.
const VIRTUAL_FIRMWARE: &[(&str, &str, &str)] = &[
    ("QEMU", "", "qemu"),
    ("", "KVM", "kvm"),
    ("", "RHEV Hypervisor", "kvm"),
    ("VMware", "", "vmware"),
    ("innotek", "", "virtualbox"),
    ("", "VirtualBox", "virtualbox"),
    ("Microsoft Corporation", "Virtual Machine", "microsoft"),
    ("Xen", "", "xen"),
    ("", "HVM domU", "xen"),
    ("Parallels", "", "parallels"),
    ("BHYVE", "", "bhyve"),
    ("Apple Inc.", "Apple Virtualization", "apple"),
    ("Bochs", "", "bochs"),
];

/// Clouds that put one name on their virtual and their bare machines, and use KVM for the former.
const KVM_CLOUDS: &[(&str, &str)] = &[
    ("Amazon EC2", ""),
    ("Google", "Google Compute Engine"),
    ("Alibaba Cloud", "Alibaba Cloud ECS"),
    ("DigitalOcean", "Droplet"),
    ("Hetzner", "vServer"),
    ("OpenStack Foundation", "OpenStack"),
];

/// What the firmware's tables say. `may_be_virtual` is false where the processor would say "virtual" and does not: a
/// cloud's name alone proves nothing then.
fn from_dmi(root: &Root, may_be_virtual: bool) -> Option<&'static str> {
    let text = |name: &str| root.text(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product) = (text("sys_vendor"), text("product_name"));
    let certain = VIRTUAL_FIRMWARE
        .iter()
        .find(|(maker, model, _)| vendor.starts_with(maker) && product.starts_with(model))
        .map(|(_, _, name)| *name);
    let is_metal = product.contains("metal");
    let is_kvm_cloud = |(maker, model): &(&str, &str)| vendor.starts_with(maker) && product.starts_with(model);
    certain.or_else(|| (may_be_virtual && !is_metal && KVM_CLOUDS.iter().any(is_kvm_cloud)).then_some("kvm"))
}

/// On Arm: the hypervisor node of Xen, KVM and VMware, else QEMU's configuration device, else a machine that its device
/// tree calls virtual.
fn from_device_tree(root: &Root) -> Option<&'static str> {
    const TREE: &str = "/sys/firmware/devicetree/base";
    if let Some(kind) = root.text(&format!("{TREE}/hypervisor/compatible")) {
        let known = [("xen", "xen"), ("vmware", "vmware"), ("kvm", "kvm")];
        return Some(known.iter().find(|(word, _)| kind.contains(word)).map_or(UNNAMED, |(_, name)| *name));
    }
    if root.names(TREE).iter().any(|name| name.starts_with("fw-cfg")) {
        return Some("qemu");
    }
    root.text(&format!("{TREE}/compatible")).is_some_and(|machine| machine.contains("dummy-virt")).then_some(UNNAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imitators_of_hyper_v_are_seen_through() {
        assert_eq!(from_signatures(*b"KVMKVMKVM\0\0\0", || *MICROSOFT), Some("kvm"));
        assert_eq!(from_signatures(*MICROSOFT, || *b"KVMKVMKVM\0\0\0"), Some("kvm"));
        assert_eq!(from_signatures(*MICROSOFT, || [0; 12]), Some("microsoft"));
        assert_eq!(from_signatures(*b"TCGTCGTCGTCG", || [0; 12]), Some(EMULATED));
        assert_eq!(from_signatures([0; 12], || [0; 12]), None);
    }
}
