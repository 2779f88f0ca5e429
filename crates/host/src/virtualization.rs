//! Containers and hypervisors: what the machine runs in, what it could give to guests of its own, and what it tells of them.

use std::collections::BTreeMap;

use hostmark_model::VirtualizationFacts;

use crate::cpus::CpuInfo;
use crate::memory::chosen;
use crate::root::{Root, cpu_ns};

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
        hypervisor: hypervisor(root, cpuinfo),
        container: container(root),
        container_unknown: is_container_unknown(root),
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

/// Tells whether the processor itself says that it is no guest's: then nobody can steal its time. An Arm core does not say it.
pub(crate) fn is_hardware_for_sure(root: &Root) -> bool {
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

/// Name of a hypervisor that the processor reports without a name.
const UNNAMED: &str = "unknown";

/// QEMU that executes each instruction in software, by its own word: no hardware's time is to be had there.
pub const EMULATED: &str = "qemu-tcg";

/// Lower-case name, None on bare metal. `unknown` when the processor says "virtual" and nobody says by whom.
fn hypervisor(root: &Root, cpuinfo: &CpuInfo) -> Option<String> {
    if let Some(kind) = root.text("/sys/hypervisor/type") {
        return Some(kind.to_lowercase());
    }
    let on_x86 = cpuinfo.first("vendor_id").is_some();
    let has_flag = cpuinfo.words("flags").any(|flag| flag == "hypervisor");
    let named =
        hypervisor_from_cpuid(root).or_else(|| from_dmi(root, has_flag || !on_x86)).or_else(|| from_device_tree(root));
    named.or(has_flag.then_some(UNNAMED)).map(str::to_owned)
}

/// Signatures of hypervisors at CPUID leaf 0x40000000.
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
fn hypervisor_from_cpuid(root: &Root) -> Option<&'static str> {
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
fn hypervisor_from_cpuid(_: &Root) -> Option<&'static str> {
    None
}

/// KVM and Xen imitate Hyper-V for Windows guests at the first leaf, and then sign for themselves at the second.
#[cfg(any(target_arch = "x86_64", test))]
fn from_signatures(first: [u8; 12], second: impl FnOnce() -> [u8; 12]) -> Option<&'static str> {
    let named = |signature: [u8; 12]| SIGNATURES.iter().find(|(known, _)| **known == signature).map(|(_, name)| *name);
    if first == *MICROSOFT { named(second()).or(Some("microsoft")) } else { named(first) }
}

/// Returns the hypervisor by the firmware's tables: start of vendor, start of product, name. Clouds with one name for virtual and bare
/// machines have a question mark: they prove nothing where the processor denies (`may_be_virtual` is false).
fn from_dmi(root: &Root, may_be_virtual: bool) -> Option<&'static str> {
    let text = |name: &str| root.text(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product) = (text("sys_vendor"), text("product_name"));
    let name = include_str!("virtual_firmware.tsv").lines().find_map(|line| {
        let (maker, rest) = line.split_once('\t')?;
        let (model, name) = rest.split_once('\t')?;
        (vendor.starts_with(maker) && product.starts_with(model)).then_some(name)
    })?;
    match name.strip_prefix('?') {
        Some(name) => (may_be_virtual && !product.contains("metal")).then_some(name),
        None => Some(name),
    }
}

/// Derives the hypervisor on Arm from the device tree (Xen, KVM, VMware, QEMU's configuration device, a virtual machine).
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

/// Lower-case name: kubernetes, docker, podman, lxc, systemd-nspawn, wsl …; None outside a container.
pub(crate) fn container(root: &Root) -> Option<String> {
    if root.text("/proc/sys/kernel/osrelease").is_some_and(|release| release.contains("icrosoft")) {
        return Some("wsl".to_owned());
    }
    if is_container_unknown(root) {
        return None;
    }
    // A virtual machine that boots an image made for containers keeps the image's marker files.
    if is_in_first_namespaces(root) {
        return None;
    }
    let from_groups = from_control_groups(root);
    if from_groups == Some("kubernetes") || has_kubernetes_secrets(root) {
        return Some("kubernetes".to_owned());
    }
    root.text("/run/systemd/container")
        .or_else(|| from_init(root))
        .or_else(|| root.exists("/run/.containerenv").then(|| "podman".to_owned()))
        .or_else(|| root.exists("/.dockerenv").then(|| "docker".to_owned()))
        .or_else(|| from_groups.map(str::to_owned))
        .or_else(|| (root.exists("/proc/vz") && !root.exists("/proc/bc")).then(|| "openvz".to_owned()))
}

/// Tells whether /proc tells nothing of this process: marker files alone prove no container, see above.
fn is_container_unknown(root: &Root) -> bool {
    root.link("/proc/self/ns/pid").is_none() && root.raw("/proc/self/cgroup").is_none()
}

/// Tells whether processes, IPC and host name are those of the machine's first process. The numbers are constants
/// of the kernel (PROC_PID_INIT_INO and its neighbours); every container has at least one of the three for itself.
fn is_in_first_namespaces(root: &Root) -> bool {
    [("pid", "pid:[4026531836]"), ("ipc", "ipc:[4026531839]"), ("uts", "uts:[4026531838]")]
        .iter()
        .all(|(name, first)| root.link(&format!("/proc/self/ns/{name}")).is_some_and(|link| link == *first))
}

fn has_kubernetes_secrets(root: &Root) -> bool {
    ["/run", "/var/run"].iter().any(|dir| root.exists(&format!("{dir}/secrets/kubernetes.io")))
}

/// Returns what the container manager told the first process in its environment; root alone may read it.
fn from_init(root: &Root) -> Option<String> {
    let environment = root.raw("/proc/1/environ")?;
    let name = environment.split('\0').find_map(|variable| variable.strip_prefix("container="))?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Derives the container from managers' names of groups. `docker.service` and `lxc.monitor` are managers outside any container.
fn from_control_groups(root: &Root) -> Option<&'static str> {
    let manager = |part: &str| match part {
        "docker" => Some("docker"),
        "lxc" => Some("lxc"),
        _ if part.starts_with("kubepods") => Some("kubernetes"),
        _ if part.starts_with("docker-") && part.ends_with(".scope") => Some("docker"),
        _ if part.starts_with("libpod-") => Some("podman"),
        _ if part.starts_with("lxc.payload") => Some("lxc"),
        _ => None,
    };
    ["/proc/self/cgroup", "/proc/1/cgroup"].iter().find_map(|file| {
        let groups = root.raw(file)?;
        groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).flat_map(|path| path.split('/')).find_map(manager)
    })
}

/// Settings that matter to a guest, by name, and the file of each.
const SETTINGS: [(&str, &str); 10] = [
    ("nested_paging", "/sys/module/kvm_intel/parameters/ept"),
    ("nested_paging", "/sys/module/kvm_amd/parameters/npt"),
    ("nested_guests", "/sys/module/kvm_intel/parameters/nested"),
    ("nested_guests", "/sys/module/kvm_amd/parameters/nested"),
    ("tdp_mmu", "/sys/module/kvm/parameters/tdp_mmu"),
    ("nx_huge_pages", "/sys/module/kvm/parameters/nx_huge_pages"),
    ("halt_poll_ns", "/sys/module/kvm/parameters/halt_poll_ns"),
    ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("same_page_merging", "/sys/kernel/mm/ksm/run"),
];

/// Returns the settings of this machine that matter to a guest, by name.
pub fn guest_settings(root: &Root) -> BTreeMap<String, String> {
    let settings = SETTINGS.iter().filter_map(|(name, file)| Some(((*name).to_owned(), root.text(file)?)));
    settings.map(|(name, text)| (name, chosen(&text).unwrap_or(&text).to_owned())).collect()
}

/// Directory of KVM's counters, with one for each guest: named by its process's number and a descriptor.
const STATISTICS: &str = "/sys/kernel/debug/kvm";
/// Counters beside those whose names end in `exits`.
const COUNTED: [&str; 6] =
    ["halt_wakeup", "halt_successful_poll", "hypercalls", "insn_emulation", "pf_taken", "tlb_flush"];

/// Returns a process' exits from guest mode by reason, and KVM's other counts; nothing where that may not be read.
pub fn exits(root: &Root, process: u32) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let prefix = format!("{process}-");
    for guest in root.names(STATISTICS).iter().filter(|name| name.starts_with(&prefix)) {
        for name in root.names(&format!("{STATISTICS}/{guest}")) {
            if (name.ends_with("exits") || COUNTED.contains(&name.as_str()))
                && let Some(count) = root.number::<u64>(&format!("{STATISTICS}/{guest}/{name}"))
            {
                *counts.entry(name).or_default() += count;
            }
        }
    }
    counts
}

/// The CPU time of a process and all its threads, ns; none where there is no such process.
pub fn cpu_time_ns(root: &Root, process: u32) -> Option<u64> {
    cpu_ns(&root.raw(&format!("/proc/{process}/stat"))?, 2)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn imitators_of_hyper_v_are_seen_through() {
        assert_eq!(from_signatures(*b"KVMKVMKVM\0\0\0", || *MICROSOFT), Some("kvm"));
        assert_eq!(from_signatures(*MICROSOFT, || *b"KVMKVMKVM\0\0\0"), Some("kvm"));
        assert_eq!(from_signatures(*MICROSOFT, || [0; 12]), Some("microsoft"));
        assert_eq!(from_signatures(*b"TCGTCGTCGTCG", || [0; 12]), Some(EMULATED));
        assert_eq!(from_signatures([0; 12], || [0; 12]), None);
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn settings_are_reported_by_name_and_what_is_not_there_is_not_reported() {
        let at = tempfile::tempdir().unwrap();
        assert!(guest_settings(&Root::at(at.path())).is_empty());
        write(at.path(), "sys/module/kvm_amd/parameters/npt", "1\n");
        write(at.path(), "sys/module/kvm/parameters/halt_poll_ns", "200000\n");
        write(at.path(), "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        let settings = guest_settings(&Root::at(at.path()));
        let pairs: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("halt_poll_ns", "200000"), ("nested_paging", "1"), ("transparent_huge_pages", "madvise")]);
    }

    #[test]
    fn exits_are_those_of_this_process_alone() {
        let at = tempfile::tempdir().unwrap();
        for (file, count) in [
            ("12-9/io_exits", "7\n"),
            ("12-9/exits", "11\n"),
            ("12-9/guest_mode", "1\n"),
            ("12-14/io_exits", "3\n"),
            ("12-9/irq_exits", "no number"),
            ("123-9/io_exits", "100\n"),
        ] {
            write(at.path(), &format!("sys/kernel/debug/kvm/{file}"), count);
        }
        let counts = exits(&Root::at(at.path()), 12);
        assert_eq!(counts, BTreeMap::from([("exits".to_owned(), 11), ("io_exits".to_owned(), 10)]));
    }

    #[test]
    fn the_time_of_a_process_is_read_behind_its_name_whatever_that_is() {
        let at = tempfile::tempdir().unwrap();
        let line = "7 (a) R 1 (b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 9 9 20 0 1 0 5 1 1";
        write(at.path(), "proc/7/stat", line);
        assert_eq!(cpu_time_ns(&Root::at(at.path()), 7), Some(3_000_000_000));
        assert_eq!(cpu_time_ns(&Root::at(at.path()), 8), None);
        write(at.path(), "proc/9/stat", "9 (a) R 1");
        assert_eq!(cpu_time_ns(&Root::at(at.path()), 9), None);
        assert!(cpu_time_ns(&Root::here(), std::process::id()).is_some());
    }
}
