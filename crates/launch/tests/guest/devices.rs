//! What a guest is given: either channel, CPUs and nodes, a disk, a network, an image.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hostmark_launch::guest::{Booted, DiskFormat, DiskSpec, GuestSpec, NetSpec};
use hostmark_launch::program::Programs;
use hostmark_model::{AgentAnswer, AgentRequest, HostFacts, Inputs, Outcome};

use super::spot::{agent, measured, program, spec};
use crate::skip::skipped;

/// Names a module that was built for the kernel that is booted here.
const MODULE: &str = "HOSTMARK_MODULE";
/// Tells a child of a test that it may change its network.
const HAS_OWN_NETWORK: &str = "HOSTMARK_HAS_OWN_NETWORK";

/// What an agent says of the guest.
fn facts(booted: &Booted, programs: &Programs) -> HostFacts {
    let mut link = agent(booted, programs);
    link.ask(&AgentRequest::Facts).unwrap();
    let AgentAnswer::Facts(report) = link.receive().unwrap() else { panic!("no facts") };
    assert!(link.finish());
    report.host
}

/// Whether all of these programs are there.
fn has(programs: &[&str]) -> bool {
    let is_missing =
        |name: &&&str| !["/usr/sbin", "/sbin", "/usr/bin", "/bin"].iter().any(|at| Path::new(at).join(name).exists());
    let missing = programs.iter().find(is_missing);
    missing.inspect(|name| skipped(&format!("there is no {name}"))).is_none()
}

#[test]
fn a_kernel_without_modules_has_its_channel_over_a_serial_port() {
    let Some((spec, programs)) = spec() else { return };
    let none = tempfile::tempdir().unwrap();
    fs::write(none.path().join("modules.dep"), "").unwrap();
    let spec = GuestSpec { modules: Some(none.path().into()), ..spec };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    assert_eq!(booted.described().channel, "serial");
    assert!(facts(&booted, &programs).virtualization.hypervisor.is_some());
}

#[test]
fn a_guest_has_the_cpus_nodes_disk_and_network_that_were_asked_for() {
    let Some((spec, programs)) = spec() else { return };
    if !has(&["mkfs.ext4"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (format, cache) = (DiskFormat::Raw, "writeback".into());
    let disk = DiskSpec { directory: place.path().into(), size: 128 << 20, format, cache, iothread: true };
    let spec = GuestSpec {
        cpus: 4,
        nodes: 2,
        memory: 1 << 30,
        pin: vec![0; 4],
        disk: Some(disk),
        net: Some(NetSpec::User),
        ..spec
    };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    let described = booted.described();
    let disk = described.disk.unwrap();
    assert_eq!(disk, "virtio-blk, raw, cache=writeback, own thread");
    let host = facts(&booted, &programs);
    assert_eq!((host.cpus.len(), host.nodes.len()), (4, 2), "{host:?}");
    assert!(host.network.iter().any(|interface| interface.name == "eth0"), "{:?}", host.network);
    // Each thread of a virtual CPU may run on that CPU alone.
    let tasks = fs::read_dir(format!("/proc/{}/task", booted.id())).unwrap().map(|task| task.unwrap().path());
    let bound = tasks.filter(|task| {
        let status = fs::read_to_string(task.join("status")).unwrap_or_default();
        status.lines().any(|line| line.split_whitespace().eq(["Cpus_allowed_list:", "0"]))
    });
    assert_eq!(bound.count(), 4);
}

#[test]
fn agents_run_in_the_filesystem_of_an_image_which_is_not_written() {
    let Some((spec, programs)) = spec() else { return };
    if !has(&["mkfs.ext4", "qemu-img"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (root, image) = (place.path().join("root"), place.path().join("image"));
    for directory in ["etc", "bin", "proc", "sys", "dev", "tmp"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("etc/os-release"), "PRETTY_NAME=\"Test 1\"\n").unwrap();
    // It is static, and is not in PATH but in the image.
    fs::copy(program().unwrap(), root.join("bin/tool")).unwrap();
    let made = Command::new("/usr/sbin/mkfs.ext4").args(["-q", "-d"]).arg(&root).arg(&image).arg("128M").output();
    assert!(made.unwrap().status.success());
    let before = fs::read(&image).unwrap();
    let (format, cache) = (DiskFormat::Qcow2, "writeback".into());
    let disk = DiskSpec { directory: place.path().into(), size: 64 << 20, format, cache, iothread: false };
    let spec = GuestSpec { image: Some(image.clone()), disk: Some(disk), ..spec };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    assert!(booted.described().digests.contains_key("image"));
    let command = ["/bin/tool", "--version"].map(str::to_owned);
    let inputs = Inputs { command: command.to_vec(), ..Inputs::default() };
    let run = measured(&booted, &programs, "external", inputs);
    assert!(run.cases.iter().all(|case| matches!(case.outcome, Outcome::Measured(_))), "{:?}", run.cases);
    drop(booted);
    assert!(fs::read(&image).unwrap() == before, "the image was written");
}

#[test]
fn a_guest_has_the_module_of_the_kernel_that_is_given() {
    let Some((spec, programs)) = spec() else { return };
    let Some(module) = std::env::var_os(MODULE) else {
        return skipped(&format!("{MODULE} names no module that was built for the guest's kernel"));
    };
    let spec = GuestSpec { module: Some(module.into()), ..spec };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    assert!(booted.described().digests.contains_key("module"));
    assert!(facts(&booted, &programs).kernel.module_version.is_some());
}

#[test]
fn a_guest_is_reached_by_an_interface_of_the_host() {
    let Some((spec, programs)) = spec() else { return };
    if std::env::var_os(HAS_OWN_NETWORK).is_none() {
        return in_a_network_of_its_own();
    }
    let net = NetSpec::Tap { interface: "tap0".into(), address: [10, 99, 0, 2].into(), prefix: 24 };
    let booted = Booted::boot(&GuestSpec { net: Some(net), ..spec }, &programs, None, |_| {}).unwrap();
    assert!(booted.described().net.unwrap().starts_with("virtio-net, tap"));
    // Nobody listens there, which only the guest itself can say.
    let address = (Ipv4Addr::new(10, 99, 0, 2), 9).into();
    let refused = TcpStream::connect_timeout(&address, Duration::from_secs(20)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    drop(booted);
}

/// Runs the test again in a network of its own, which has the interface.
fn in_a_network_of_its_own() {
    let name = std::thread::current().name().unwrap().to_owned();
    let script = "ip tuntap add tap0 mode tap && ip addr add 10.99.0.1/24 dev tap0 && ip link set tap0 up || exit 77\n\
                  exec \"$0\" --exact \"$1\" --test-threads 1";
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", script]).arg(std::env::current_exe().unwrap()).arg(name);
    match command.env(HAS_OWN_NETWORK, "1").output() {
        Ok(output) if output.status.code() == Some(77) => skipped("no interface can be made (ip tuntap)"),
        Ok(output) if output.status.code() == Some(1) && output.stdout.is_empty() => {
            skipped(&format!("no network of its own ({})", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => skipped(&format!("unshare: {error}")),
    }
}
