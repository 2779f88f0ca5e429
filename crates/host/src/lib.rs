//! Facts about this machine: reads /proc, /sys and a few marker files into `HostFacts`; an absent file is an absent fact.
#![forbid(unsafe_code)]

use std::path::Path;

use hostmark_model::HostFacts;
use rustix::system::Uname;

mod cgroups;
mod cpu_model;
mod cpus;
mod kernel;
mod memory;
mod network_path;
mod noise;
mod placement;
mod root;
mod sensors;
#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod storage;
mod virtualization;

pub use kernel::tracer;
pub use memory::{Holder, Spare, SpareMemory};
pub use network_path::{addresses, carrier_changes, network_path, read_interfaces, ssh_address, without_carrier};
pub use noise::{
    BusyProcess, CpuTimes, NoiseSnapshot, RoundCounters, RoundLosses, Used, busiest_other, event_tracer, note_busy,
};
pub use placement::{
    CoreKind, Order, Placement, core_kinds, domains, in_order, node_pairs, of_caches, of_node, pair, single, spread,
};
pub use root::{Root, parse_cpu_list};
pub use sensors::{CorePmu, CpuSensors, EnergyMeter, NamedEvent, NoEnergy};
pub use storage::{DeviceWork, device_work, is_memory, storage_stack};
pub use virtualization::{EMULATED, cpu_time_ns, exits, guest_settings};

/// Everything that the files under `root` tell of the machine.
pub fn read(root: &Root) -> HostFacts {
    read_with_scratch(root, None)
}

/// The same for a run whose scratch directories go to `scratch` in the place of the usual directory.
pub fn read_with_scratch(root: &Root, scratch: Option<&Path>) -> HostFacts {
    let cpuinfo = cpus::CpuInfo::read(root);
    let mut cpus = cpus::read_cpus(root, &cpuinfo);
    let nodes = cpus::read_nodes(root);
    cpus::assign_nodes(&nodes, &mut cpus);
    let caches = cpus::read_caches(root, &cpuinfo, &cpus);
    let mut host = HostFacts {
        hostname: kernel::name(root, "hostname", Uname::nodename),
        boot_id: root.text("/proc/sys/kernel/random/boot_id"),
        cpu: cpu_model::read(root, &cpuinfo, &cpus),
        caches,
        nodes,
        memory: memory::read(root),
        // Whoever plans a run looks at it.
        memory_look: None,
        kernel: kernel::read(root),
        virtualization: virtualization::read(root, &cpuinfo),
        limits: cgroups::read_limits(root),
        process: kernel::read_process(root),
        firmware: cpu_model::read_firmware(root),
        storage: storage::read(root, scratch),
        network: network_path::read_interfaces(root),
        loopback: network_path::loopback(root),
        activity: kernel::read_activity(root),
        cpus,
    };
    host.cpu.kinds = cpu_model::kinds(root, &host);
    host
}

/// Cgroup directories where this process may create a child group that limits `controller` (its version 1 name).
pub fn nurseries(root: &Root, controller: &str) -> Vec<String> {
    cgroups::Groups::read(root).nurseries(controller)
}

/// The container that this process runs in, as [`read`] tells it.
pub fn container(root: &Root) -> Option<String> {
    virtualization::container(root)
}

/// Everything that this machine tells of itself.
pub fn read_here() -> HostFacts {
    read(&Root::here())
}
