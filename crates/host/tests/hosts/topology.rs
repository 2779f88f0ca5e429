//! An empty tree, and the meters and counters of a CPU.

use hostmark_host::{CorePmu, EnergyMeter, NoEnergy};
use hostmark_model::{GroupFact, Resource, Sight};

use crate::machines::{self, Tree};

#[test]
fn an_empty_root_gives_no_facts_and_no_panic() {
    let host = Tree::new().facts();
    let mut expected = hostmark_model::HostFacts::default();
    expected.memory.page_bytes = 4096;
    (expected.limits.unknown, expected.virtualization.container_unknown) = (true, true);
    let unseen = |resource| GroupFact { resource, path: None, sight: Sight::Nothing };
    expected.limits.groups = [Resource::Cpu, Resource::Memory].map(unseen).to_vec();
    assert_eq!(host, expected);
}

#[test]
fn the_energy_of_a_cpus_own_package_is_read_whoever_tells_it() {
    let tree = machines::two_sockets();
    let root = tree.root();
    let of = |cpu| EnergyMeter::of_cpu(&root, cpu);
    assert_eq!(of(0).err(), Some(NoEnergy::Untold));
    let rapl = "/sys/class/powercap/intel-rapl";
    // The platform, a package with its memory, and the same package again as another interface has it.
    tree.file(&format!("{rapl}:0/name"), "psys\n")
        .file(&format!("{rapl}:0/energy_uj"), "1\n")
        .file(&format!("{rapl}:1/name"), "package-0\n")
        .file(&format!("{rapl}:1/energy_uj"), "262143320000\n")
        .file(&format!("{rapl}:1/max_energy_range_uj"), "262143328850\n")
        .file(&format!("{rapl}:1:0/name"), "dram\n")
        .file(&format!("{rapl}-mmio:0/name"), "package-0\n")
        .file(&format!("{rapl}-mmio:0/energy_uj"), "3\n");
    let meter = of(0).unwrap();
    let before = meter.read_uj().unwrap();
    assert_eq!((before, meter.used_uj(before, before + 1500)), (262_143_320_000, Some(1500)));
    // It wraps behind its largest value.
    assert_eq!(meter.used_uj(before, 150), Some(9000));
    // Nobody else may read it.
    tree.remove(&format!("{rapl}:1/energy_uj")).file(&format!("{rapl}:1/energy_uj"), "");
    assert_eq!(of(0).err(), Some(NoEnergy::Forbidden(format!("{rapl}:1/energy_uj"))));
    // The other package has no zone, and a sensor: it says of no value that it is the last.
    let other = tree.facts().cpus.iter().find(|cpu| cpu.package == Some(1)).unwrap().id;
    assert_eq!(of(other).err(), Some(NoEnergy::Untold));
    let sensors = "/sys/class/hwmon/hwmon3";
    tree.file(&format!("{sensors}/energy1_label"), "Ecore000\n")
        .file(&format!("{sensors}/energy1_input"), "11\n")
        .file(&format!("{sensors}/energy66_label"), "Esocket1\n")
        .file(&format!("{sensors}/energy66_input"), "70000\n");
    let meter = of(other).unwrap();
    assert_eq!((meter.read_uj(), meter.used_uj(5, 8), meter.used_uj(8, 5)), (Some(70_000), Some(3), None));
}

#[test]
fn a_cores_counters_are_found_by_its_cpu_and_their_events_by_name() {
    let tree = Tree::new();
    let devices = "/sys/bus/event_source/devices";
    assert_eq!(CorePmu::of_cpu(&tree.root(), 0), None);
    tree.file(&format!("{devices}/cpu/type"), "4\n")
        .file(&format!("{devices}/software/type"), "1\n")
        .file(&format!("{devices}/cpu/format/event"), "config:0-7,32-35\n")
        .file(&format!("{devices}/cpu/format/edge"), "config:18\n")
        .file(&format!("{devices}/cpu/format/ldlat"), "config1:0-15\n")
        .file(&format!("{devices}/cpu/events/wide"), "event=0x1ab,edge\n")
        .file(&format!("{devices}/cpu/events/too-wide"), "event=0x1aaab\n")
        .file(&format!("{devices}/cpu/events/load"), "event=0xcd,ldlat=3\n");
    let root = tree.root();
    let pmu = CorePmu::of_cpu(&root, 5).unwrap();
    assert_eq!((pmu.number, pmu.is_one_of_several), (4, false));
    assert_eq!(pmu.event(&root, "wide").map(|event| (event.kind, event.config)), Some((4, 0x1_0004_00ab)));
    // What has no such place, or needs more than one number, is none.
    assert_eq!(["too-wide", "load", "absent"].map(|name| pmu.event(&root, name)), [None; 3]);
}
