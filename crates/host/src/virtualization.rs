//! What the machine runs in, and what it could give to guests of its own.

use hostmark_model::VirtualizationFacts;

use crate::cpuinfo::CpuInfo;
use crate::root::Root;
use crate::{container, hypervisor};

pub(crate) fn read(root: &Root, cpuinfo: &CpuInfo) -> VirtualizationFacts {
    let has = |wanted: &str| cpuinfo.words("flags").any(|flag| flag == wanted);
    let extension = ["vmx", "svm"].into_iter().find(|name| has(name));
    // Kernels since 5.11 list what comes with VMX on a line of its own; a line or flag that lacks the name says no.
    let flag = |intel: &str, amd: &str| match extension? {
        "vmx" => Some(has(intel) || cpuinfo.words("vmx flags").any(|flag| flag == intel)),
        _ => Some(has(amd)),
    };
    let parameter = |name: &str| {
        ["kvm_intel", "kvm_amd"]
            .iter()
            .find_map(|module| switch(root, &format!("/sys/module/{module}/parameters/{name}")))
    };
    VirtualizationFacts {
        hypervisor: hypervisor::read(root, cpuinfo),
        container: container::read(root),
        container_unknown: container::is_unknown(root),
        extension: extension.map(str::to_owned),
        nested_paging: parameter("ept").or_else(|| parameter("npt")).or_else(|| flag("ept", "npt")),
        tagged_tlb: parameter("vpid").or_else(|| flag("vpid", "flushbyasid")),
        nested_guests: parameter("nested"),
        // To open it would load the module.
        kvm_permitted: root.permits("/dev/kvm"),
    }
}

/// A module's parameter: `Y`, `N`, `1`, `0`.
fn switch(root: &Root, path: &str) -> Option<bool> {
    match root.text(path)?.as_str() {
        "Y" | "1" => Some(true),
        "N" | "0" => Some(false),
        _ => None,
    }
}
