//! What is this machine? Reads /proc, /sys and a few marker files into `HostFacts`; an absent file is an absent fact.
#![forbid(unsafe_code)]

use std::path::Path;

use hostmark_model::HostFacts;

mod activity;
mod arm;
mod audit;
mod caches;
mod cgroups;
mod container;
mod cpu_list;
mod cpu_model;
mod cpu_times;
mod cpuinfo;
mod cpus;
mod device_work;
mod energy;
mod firmware;
mod hypervisor;
mod kernel;
mod kvm;
mod limits;
mod memory;
mod network;
mod network_path;
mod nodes;
mod noise;
mod own_process;
mod placement;
mod pmu;
mod processes;
mod root;
mod round_counters;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod spare;
mod storage;
mod storage_stack;
mod temperature;
mod throttling;
mod virtualization;
mod x86;

pub use cpu_list::parse_cpu_list;
pub use cpu_times::{CpuTimes, Used, note_busy};
pub use device_work::{DeviceWork, device_work};
pub use energy::{EnergyMeter, NoEnergy};
pub use hypervisor::EMULATED;
pub use kvm::{cpu_time_ns, exits, guest_settings};
pub use network_path::{addresses, network_path, ssh_address};
pub use noise::{NoiseSnapshot, busiest_other};
pub use placement::{
    CoreKind, Order, Placement, core_kinds, domains, in_order, node_pairs, of_caches, of_node, pair, single, spread,
};
pub use pmu::{CorePmu, NamedEvent};
pub use processes::BusyProcess;
pub use root::Root;
pub use round_counters::{RoundCounters, RoundLosses};
pub use spare::{Holder, Spare, SpareMemory};
pub use storage_stack::{is_memory, storage_stack};
pub use temperature::CpuSensors;

/// Everything that the files under `root` tell of the machine.
pub fn read(root: &Root) -> HostFacts {
    read_with_scratch(root, None)
}

/// The same for a run whose scratch directories go to `scratch` in the place of the usual directory.
pub fn read_with_scratch(root: &Root, scratch: Option<&Path>) -> HostFacts {
    let cpuinfo = cpuinfo::CpuInfo::read(root);
    let mut cpus = cpus::read(root, &cpuinfo);
    let nodes = nodes::read(root);
    nodes::assign(&nodes, &mut cpus);
    let caches = caches::read(root, &cpuinfo, &cpus);
    let mut host = HostFacts {
        hostname: root.text("/proc/sys/kernel/hostname").unwrap_or_default(),
        boot_id: root.text("/proc/sys/kernel/random/boot_id"),
        cpu: cpu_model::read(root, &cpuinfo, &cpus),
        caches,
        nodes,
        memory: memory::read(root),
        // Whoever plans a run looks at it.
        memory_look: None,
        kernel: kernel::read(root),
        virtualization: virtualization::read(root, &cpuinfo),
        limits: limits::read(root),
        process: own_process::read(root),
        firmware: firmware::read(root),
        storage: storage::read(root, scratch),
        network: network::read(root),
        loopback: network_path::loopback(root),
        activity: activity::read(root),
        cpus,
    };
    host.cpu.kinds = cpu_model::kinds(root, &host);
    host
}

/// The directories of the control groups in which one may be made that limits `controller`, by its name in version 1, for this process's
/// children.
pub fn nurseries(root: &Root, controller: &str) -> Vec<String> {
    cgroups::Groups::read(root).nurseries(controller)
}

/// The container that this process runs in, as [`read`] tells it.
pub fn container(root: &Root) -> Option<String> {
    container::read(root)
}

/// Everything that this machine tells of itself.
pub fn read_here() -> HostFacts {
    read(&Root::here())
}
