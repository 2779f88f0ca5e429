//! Hypervisors and containers.

use crate::machines;
use crate::machines::Tree;

fn hypervisor(build: impl FnOnce(&Tree)) -> Option<String> {
    let tree = Tree::new();
    build(&tree);
    tree.facts().virtualization.hypervisor
}

fn hypervisor_of_file(path: &str, content: &str) -> Option<String> {
    Tree::new().file(path, content).facts().virtualization.hypervisor
}

fn container_of_file(path: &str, content: &str) -> Option<String> {
    // Namespaces of its own, of which /proc tells.
    Tree::new().link("/proc/self/ns/pid", "pid:[4026532001]").file(path, content).facts().virtualization.container
}

fn x86(tree: &Tree, flags: &str) {
    tree.file("/proc/cpuinfo", format!("processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: {flags}\n\n"));
}

fn dmi(tree: &Tree, vendor: &str, product: &str) {
    tree.file("/sys/class/dmi/id/sys_vendor", vendor).file("/sys/class/dmi/id/product_name", product);
}

#[test]
fn a_bare_machine_has_no_hypervisor() {
    assert_eq!(machines::two_sockets().facts().virtualization.hypervisor, None);
    assert_eq!(hypervisor(|_| ()), None);
}

#[test]
fn a_virtual_processor_without_a_name_is_unknown() {
    assert_eq!(machines::small_guest().facts().virtualization.hypervisor.as_deref(), Some("unknown"));
}

#[test]
fn firmware_names_the_hypervisor() {
    for (vendor, product, name) in [
        ("QEMU\n", "Standard PC (Q35 + ICH9, 2009)\n", "qemu"),
        ("VMware, Inc.\n", "VMware7,1\n", "vmware"),
        ("Microsoft Corporation\n", "Virtual Machine\n", "microsoft"),
        ("innotek GmbH\n", "VirtualBox\n", "virtualbox"),
        ("Amazon EC2\n", "m5.large\n", "kvm"),
        ("Google\n", "Google Compute Engine\n", "kvm"),
        ("Xen\n", "HVM domU\n", "xen"),
    ] {
        let found = hypervisor(|tree| {
            x86(tree, "fpu hypervisor");
            dmi(tree, vendor, product);
        });
        assert_eq!(found.as_deref(), Some(name), "{vendor}");
    }
}

#[test]
fn a_clouds_bare_machines_are_bare() {
    for (vendor, product) in [("Amazon EC2", "m5.metal"), ("Google", "Google Compute Engine")] {
        let found = hypervisor(|tree| {
            x86(tree, "fpu");
            dmi(tree, vendor, product);
        });
        assert_eq!(found, None, "{vendor}: the processor would say so");
    }
    assert_eq!(hypervisor(|tree| dmi(tree, "Amazon EC2", "m6g.metal")), None, "no flag on Arm");
    assert_eq!(hypervisor(|tree| dmi(tree, "Microsoft Corporation", "Surface Pro")), None);
}

#[test]
fn xen_says_so_itself_and_arm_in_the_device_tree() {
    let base = "/sys/firmware/devicetree/base";
    for (path, content, name) in [
        ("/sys/hypervisor/type".to_owned(), "xen\n", "xen"),
        (format!("{base}/hypervisor/compatible"), "linux,kvm\0", "kvm"),
        (format!("{base}/fw-cfg@9020000/reg"), "", "qemu"),
        (format!("{base}/compatible"), "linux,dummy-virt\0", "unknown"),
    ] {
        assert_eq!(hypervisor_of_file(&path, content).as_deref(), Some(name), "{path}");
    }
    assert_eq!(hypervisor_of_file(&format!("{base}/compatible"), "raspberrypi,5-model-b\0"), None);
}

#[test]
fn containers_are_recognized_by_marker_environment_and_group() {
    for (path, content, name) in [
        ("/.dockerenv", "", "docker"),
        ("/run/.containerenv", "engine=\"podman-5.2\"\n", "podman"),
        ("/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("/proc/1/environ", "PATH=/bin\0container=lxc\0TERM=linux\0", "lxc"),
        ("/run/secrets/kubernetes.io/serviceaccount/token", "", "kubernetes"),
        ("/proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-ab.scope\n", "kubernetes"),
        ("/proc/self/cgroup", "0::/system.slice/docker-0123.scope\n", "docker"),
        ("/proc/self/cgroup", "4:memory:/machine.slice/libpod-77.scope/x\n", "podman"),
        ("/proc/1/cgroup", "2:cpu:/lxc/web\n", "lxc"),
        ("/proc/sys/kernel/osrelease", "6.6.87-microsoft-standard-WSL2\n", "wsl"),
    ] {
        assert_eq!(container_of_file(path, content).as_deref(), Some(name), "{path} {content}");
    }
}

#[test]
fn a_container_managers_own_service_is_no_container() {
    for path in ["/system.slice/docker.service", "/lxc.monitor.web", "/user.slice/dockerfans", "/"] {
        let found = container_of_file("/proc/self/cgroup", &format!("0::{path}\n"));
        assert_eq!(found, None, "{path}");
    }
}

#[test]
fn a_machine_booted_from_a_container_image_is_no_container() {
    let tree = machines::small_guest();
    assert_eq!(tree.facts().virtualization.container, None);
    tree.remove("/proc/self/ns/uts").link("/proc/self/ns/uts", "uts:[4026532777]");
    assert_eq!(tree.facts().virtualization.container.as_deref(), Some("docker"));
}

#[test]
fn how_the_kernel_treats_this_process_is_read() {
    let tree = Tree::new();
    let fields = |nice: &str, priority: &str, policy: &str| {
        // The fields behind the name, from the third on.
        let mut all = vec!["0"; 50];
        (all[16], all[37], all[38]) = (nice, priority, policy);
        format!("42 (a b) c) {}\n", all.join(" "))
    };
    let yields = |tree: &Tree| hostmark_analysis::findings::host::yields(&tree.facts()).is_some();
    assert!(tree.facts().process.is_unknown() && !yields(&tree));
    tree.file("/proc/self/status", "Name:\thostmark\nTracerPid:\t7\nNoNewPrivs:\t1\nSeccomp:\t0\n")
        .file(
            "/proc/self/sched",
            "hostmark (42, #threads: 1)\nuclamp.min :          0\nuclamp.max                  :        512\n",
        )
        .file(
            "/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max cpu time              unlimited            unlimited            seconds   \n\
             Max open files            1024                 1048576              files     \n",
        )
        .file("/proc/self/stat", fields("0", "0", "5"));
    let process = tree.facts().process;
    assert_eq!((process.policy.as_deref(), process.nice, process.priority), (Some("SCHED_IDLE"), Some(0), Some(0)));
    assert_eq!((process.uclamp_min, process.uclamp_max), (Some(0), Some(512)));
    assert_eq!((process.traced, process.no_new_privs), (Some(true), Some(true)));
    let limits: Vec<(&str, &str)> = process.resource_limits.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(limits, [("cpu_time_s", "unlimited"), ("open_files", "1024")]);
    assert!(yields(&tree));
    for (nice, policy, wanted) in [("5", "0", true), ("-5", "0", false), ("0", "3", false), ("0", "99", false)] {
        tree.file("/proc/self/stat", fields(nice, "0", policy));
        assert_eq!(yields(&tree), wanted, "{nice} {policy}");
    }
}
