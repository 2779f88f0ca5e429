//! Guests that are booted under emulation: they answer, measure, end, and leave nothing.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use hostmark_launch::agent::{AgentError, AgentLink};
use hostmark_launch::guest::{Accel, Booted, DiskFormat, DiskSpec, GuestError, GuestSpec, NetSpec, kernel};
use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, Errors, Membership, Terms};
use hostmark_model::{AgentAnswer, AgentRequest, HostFacts, Inputs, Outcome, Profile, Run, RunRequest};
use rustix::process::{Pid, Signal, kill_process};

use crate::skip::skipped;

/// The program as it is built for guests: one that lies about somewhere may be of another day.
const NAMED: &str = "HOSTMARK_STATIC";
/// The kernel and its modules that are named so, else those of this machine.
const KERNEL: &str = "HOSTMARK_KERNEL";
const MODULES: &str = "HOSTMARK_MODULES";

/// What a test boots; none, and the reason told, where something is missing.
pub fn spec() -> Option<(GuestSpec, Programs)> {
    if !cfg!(target_arch = "x86_64") {
        skipped("guests are made on x86_64 alone");
        return None;
    }
    let Some(program) = program() else {
        skipped(
            "HOSTMARK_STATIC names no static program: cargo build --target x86_64-unknown-linux-musl -p hostmark makes one",
        );
        return None;
    };
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let kernel = match named(KERNEL).map_or_else(kernel::found, Ok) {
        Ok(kernel) => kernel,
        Err(error) => {
            skipped(&error.to_string());
            return None;
        }
    };
    let (boot_timeout, modules) = (Duration::from_secs(120), named(MODULES));
    let spec = GuestSpec { boot_timeout, modules, ..GuestSpec::new(Accel::Tcg, kernel) };
    if std::process::Command::new(&spec.qemu).arg("--version").output().is_err() {
        skipped("there is no QEMU");
        return None;
    }
    let programs = Programs::of(&program, true, Path::new("/nowhere"));
    Some((spec, programs))
}

/// The program as it is built for guests.
pub fn program() -> Option<PathBuf> {
    std::env::var_os(NAMED).map(PathBuf::from)
}

pub fn agent(booted: &Booted, programs: &Programs) -> AgentLink {
    let (errors, ending) = (Errors::Captured, Ending::Killed);
    let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: None };
    AgentLink::open(&booted.place(), "guest", programs, terms, |_| {}).unwrap()
}

/// What such a filter asks for.
pub fn request(filter: &str, inputs: Inputs) -> AgentRequest {
    let (filters, profile) = (vec![filter.to_owned()], Profile::Quick);
    let (set, via) = (Vec::new(), Vec::new());
    AgentRequest::Run(Box::new(RunRequest {
        filters,
        profile,
        seed: Some(7),
        set,
        table: None,
        inputs,
        via,
        begun: None,
    }))
}

/// What it measures in a guest.
pub fn measured(booted: &Booted, programs: &Programs, filter: &str, inputs: Inputs) -> Run {
    let mut link = agent(booted, programs);
    link.ask(&request(filter, inputs)).unwrap();
    loop {
        if let AgentAnswer::Run(run) = link.receive().unwrap() {
            assert!(link.finish());
            return *run;
        }
    }
}

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

#[test]
fn a_guest_answers_one_agent_after_the_other() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    for _ in 0..2 {
        let mut link = agent(&booted, &programs);
        link.ask(&AgentRequest::Facts).unwrap();
        let AgentAnswer::Facts(report) = link.receive().unwrap() else { panic!("no facts") };
        assert!(report.host.virtualization.hypervisor.is_some(), "{:?}", report.host.virtualization);
        assert!(link.finish());
    }
    let described = booted.described();
    assert!(described.vmm.starts_with("QEMU ") && described.machine.starts_with("pc-q35-"), "{described:?}");
    assert!(described.boot_ns > 0 && described.digests.len() == 2);
}

/// Tells a child of this test that it boots a guest, and is killed.
const IS_KILLED: &str = "HOSTMARK_GUEST_IS_KILLED";
/// How often it is looked whether a process has ended, every 10 ms.
const LOOKS: usize = 500;

fn has_ended(id: u32) -> bool {
    (0..LOOKS).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !Path::new(&format!("/proc/{id}")).exists()
    })
}

#[test]
fn a_guest_that_dies_half_way_is_reported_with_its_console() {
    let Some((spec, programs)) = spec() else { return };
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("monitor");
    let chardev = format!("socket,id=test,path={},server=on,wait=off", socket.display());
    let words = ["-chardev", &chardev, "-mon", "chardev=test,mode=control"].map(str::to_owned);
    let booted = Booted::boot(&GuestSpec { qemu_args: words.to_vec(), ..spec }, &programs, None, |_| {}).unwrap();
    let mut link = agent(&booted, &programs);
    link.ask(&request("syscall", Inputs::default())).unwrap();
    while !matches!(link.receive().unwrap(), AgentAnswer::Round(_)) {}
    let mut monitor = UnixStream::connect(&socket).unwrap();
    monitor.write_all(b"{\"execute\":\"qmp_capabilities\"}{\"execute\":\"system_reset\"}\n").unwrap();
    let error = loop {
        match link.receive() {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("the guest has stopped") && error.contains("console ends with"), "{error}");
}

#[test]
fn a_guest_whose_emulator_is_killed_is_reported_at_once() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    let mut link = agent(&booted, &programs);
    // A child of this process that nobody has waited for: the number is its own.
    kill_process(Pid::from_raw(booted.id() as i32).unwrap(), Signal::KILL).unwrap();
    let error = match link.ask(&AgentRequest::Facts).and_then(|()| link.receive()) {
        Err(error @ AgentError::Ended { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(error.contains("QEMU has ended"), "{error}");
}

#[test]
fn a_session_that_is_left_in_the_middle_makes_room_for_the_next() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    for _ in 0..2 {
        let mut link = agent(&booted, &programs);
        link.ask(&request("syscall.null", Inputs::default())).unwrap();
        while !matches!(link.receive().unwrap(), AgentAnswer::Round(_)) {}
        // Its process here is killed: the guest is told nothing.
        kill_process(Pid::from_raw(link.id() as i32).unwrap(), Signal::KILL).unwrap();
    }
    let mut link = agent(&booted, &programs);
    link.ask(&AgentRequest::Facts).unwrap();
    assert!(matches!(link.receive().unwrap(), AgentAnswer::Facts(_)));
}

#[test]
fn a_guest_that_floods_its_channel_is_ended() {
    let Some((spec, programs)) = spec() else { return };
    let none = tempfile::tempdir().unwrap();
    fs::write(none.path().join("modules.dep"), "").unwrap();
    let spec = GuestSpec { modules: Some(none.path().into()), ..spec };
    // The kernel's own words go to the serial port that the channel is.
    let garbage = |more: &str| {
        let append = format!("earlyprintk=ttyS1,115200,keep {more}").split_whitespace().map(str::to_owned).collect();
        Booted::boot(&GuestSpec { append, ..spec.clone() }, &programs, None, |_| {})
    };
    let error = garbage("ignore_loglevel dyndbg=+p").unwrap_err();
    assert!(matches!(error, GuestError::Floods(_)), "{error}");
    // What is less comes before the answer, and is dropped.
    let booted = garbage("quiet").unwrap();
    let mut link = agent(&booted, &programs);
    link.ask(&AgentRequest::Facts).unwrap();
    assert!(matches!(link.receive().unwrap(), AgentAnswer::Facts(_)));
}

#[test]
fn whoever_is_killed_with_a_guest_leaves_no_emulator() {
    let Some((spec, programs)) = spec() else { return };
    if std::env::var_os(IS_KILLED).is_some() {
        // The one that is killed.
        let booted = Booted::boot(&spec, &programs, None, |id| {
            let _ = writeln!(std::io::stderr(), "QEMU {id}");
        });
        let _ = writeln!(std::io::stderr(), "booted");
        std::thread::sleep(Duration::from_secs(60));
        drop(booted);
        return;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    for is_booted in [false, true] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &name, "--nocapture", "--test-threads", "1"]).env(IS_KILLED, "1");
        let mut killed = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(killed.stderr.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.starts_with("QEMU ")).unwrap();
        let id: u32 = line.trim_start_matches("QEMU ").parse().unwrap();
        if is_booted {
            assert!(lines.any(|line| line == "booted"));
        }
        assert!(Path::new(&format!("/proc/{id}")).exists());
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(has_ended(id), "QEMU {id} is still there");
    }
}

/// The error of a boot, after which QEMU is gone.
fn refused(spec: &GuestSpec, programs: &Programs) -> String {
    let mut id = None;
    let error = Booted::boot(spec, programs, None, |qemu| id = Some(qemu)).unwrap_err();
    if let Some(id) = id {
        assert!(!Path::new(&format!("/proc/{id}")).exists(), "QEMU is still there");
    }
    let text = error.to_string();
    assert!(!text.contains(['\n', '\u{1b}']) && text.len() < 6000, "{text:?}");
    text
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_anything_is_started() {
    let Some((spec, programs)) = spec() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "#!/bin/sh\n").unwrap();
    let spec = GuestSpec { kernel: file.path().into(), ..spec };
    let mut has_started = false;
    let error = Booted::boot(&spec, &programs, None, |_| has_started = true).unwrap_err();
    assert!(matches!(error, GuestError::Kernel(_)) && !has_started, "{error}");
}

#[test]
fn a_file_with_only_the_marks_of_a_kernel_ends_within_the_limit() {
    let Some((spec, programs)) = spec() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut bytes = vec![0; 1 << 16];
    (bytes[0x1f1], bytes[0x1fe], bytes[0x1ff]) = (4, 0x55, 0xaa);
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(file.path(), bytes).unwrap();
    let spec = GuestSpec { kernel: file.path().into(), boot_timeout: Duration::from_secs(5), ..spec };
    let text = refused(&spec, &programs);
    assert!(
        text.contains("has not answered in 5 s")
            || text.contains("ended while it booted")
            || text.contains("does not start"),
        "{text}"
    );
}

#[test]
fn a_guest_that_is_late_is_ended_with_the_last_lines_of_its_console() {
    let Some((spec, programs)) = spec() else { return };
    // No first process is found: the kernel goes on to look for others, and panics.
    let append = vec!["rdinit=/no/such".to_owned(), "panic=0".to_owned()];
    let spec = GuestSpec { append, boot_timeout: Duration::from_secs(20), ..spec };
    let text = refused(&spec, &programs);
    assert!(text.contains("has not answered in 20 s; its console ends with: "), "{text}");
    assert!(text.contains("Kernel panic"), "{text}");
}

#[test]
fn a_kernel_that_panics_is_reported_at_once() {
    let Some((spec, programs)) = spec() else { return };
    let spec = GuestSpec { append: vec!["rdinit=/no/such".to_owned()], ..spec };
    let text = refused(&spec, &programs);
    assert!(text.contains("after a panic; its console ends with: ") && text.contains("Kernel panic"), "{text}");
}

/// An emulator whose guests panic as if they had met a breakpoint that nobody set, as often as that; then they boot.
fn misemulates(spec: &GuestSpec, folder: &Path, times: u32) -> GuestSpec {
    let (qemu, panics) = (folder.join("qemu"), r#"console=ttyS0 panic=-1 rdinit=/no/such said="int3: 0000 [#1]""#);
    let script = format!(
        "#!/bin/sh\necho >>{0}/boots\n[ $(wc -l <{0}/boots) -le {times} ] && set -- \"$@\" -append '{panics}'\nexec {1} \"$@\"\n",
        folder.display(),
        spec.qemu.display()
    );
    fs::write(&qemu, script).unwrap();
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o700)).unwrap();
    GuestSpec { qemu: qemu.into(), cpus: 2, ..spec.clone() }
}

#[test]
fn a_guest_whose_emulator_ran_what_the_kernel_had_changed_is_booted_anew() {
    let Some((spec, programs)) = spec() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    let booted = Booted::boot(&misemulates(&spec, folder.path(), 1), &programs, None, |qemu| {
        assert!(ids.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()), "the former QEMU is still there");
        ids.push(qemu);
    });
    let booted = booted.unwrap();
    assert!(ids.len() == 2 && booted.id() == ids[1], "{ids:?}");
}

#[test]
fn an_emulator_that_fails_each_time_is_named() {
    let Some((spec, programs)) = spec() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = refused(&misemulates(&spec, folder.path(), 99), &programs);
    assert!(text.contains("code that the kernel had just changed; its console ends with: "), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("boots")).unwrap().len(), 3);
}

#[test]
fn an_option_that_qemu_does_not_know_is_reported_in_its_words() {
    let Some((spec, programs)) = spec() else { return };
    let text = refused(&GuestSpec { cpu: Some("no-such-cpu".into()), ..spec.clone() }, &programs);
    assert!(text.contains("no-such-cpu"), "{text}");
    let text = refused(&GuestSpec { qemu_args: vec!["-no-such-option".into()], ..spec.clone() }, &programs);
    assert!(text.contains("-no-such-option"), "{text}");
    let text = refused(&GuestSpec { qemu: "qemu-no-such".into(), ..spec }, &programs);
    assert!(text.contains("qemu-no-such") && text.contains("install"), "{text}");
}

#[test]
fn a_request_to_stop_ends_a_boot_at_once() {
    let Some((spec, programs)) = spec() else { return };
    let (stop, ask) = rustix::pipe::pipe().unwrap();
    let (begins, begun) = std::sync::mpsc::channel();
    let asks = std::thread::spawn(move || {
        begun.recv().unwrap();
        // In the middle of it.
        std::thread::sleep(Duration::from_millis(300));
        rustix::io::write(&ask, b"x").unwrap();
        ask
    });
    let mut id = 0;
    let started = |qemu| {
        id = qemu;
        begins.send(()).unwrap();
    };
    let error = Booted::boot(&spec, &programs, Some(Rc::new(stop)), started).unwrap_err();
    assert!(matches!(error, GuestError::Stopped), "{error}");
    assert!(!Path::new(&format!("/proc/{id}")).exists());
    asks.join().unwrap();
}

#[test]
fn a_guest_under_kvm_comes_up_or_ends_within_its_limit() {
    let Some((spec, programs)) = spec() else { return };
    let spec = GuestSpec { accel: Accel::Kvm, boot_timeout: Duration::from_secs(10), ..spec };
    let error = match Booted::boot(&spec, &programs, None, |_| {}) {
        Ok(_) => return,
        Err(error) => error.to_string(),
    };
    assert!(error.contains("--accel tcg"), "{error}");
}

#[test]
fn a_module_that_the_kernel_refuses_is_reported_by_its_name() {
    let Some((spec, programs)) = spec() else { return };
    let module = tempfile::NamedTempFile::new().unwrap();
    fs::write(module.path(), "no module").unwrap();
    let spec = GuestSpec { module: Some(module.path().into()), ..spec };
    assert!(refused(&spec, &programs).contains("is no module of hostmark (it is no ELF file); build it in kmod/"));
    fs::write(module.path(), b"\x7fELF\x02\x01").unwrap();
    let text = refused(&spec, &programs);
    assert!(text.contains("it switched itself off") && text.contains("/modules/hostmark.ko: "), "{text}");
}

#[test]
fn memory_and_pages_that_the_host_does_not_have_are_reported() {
    let Some((spec, programs)) = spec() else { return };
    let text = refused(&GuestSpec { huge_pages: Some(1 << 30), memory: 1 << 50, ..spec.clone() }, &programs);
    assert!(text.contains("QEMU does not start ("), "{text}");
    for (spec, word) in [
        (GuestSpec { cpus: 0, ..spec.clone() }, "one CPU"),
        (GuestSpec { cpus: 3, nodes: 2, ..spec.clone() }, "evenly"),
        (GuestSpec { memory: (1 << 30) + 1, ..spec.clone() }, "MiB"),
        (GuestSpec { cpus: 2, pin: vec![0], ..spec.clone() }, "one for each"),
        (GuestSpec { pin: vec![1 << 20], ..spec.clone() }, "--pin"),
        (GuestSpec { modules: Some("/no/such".into()), ..spec.clone() }, "--modules"),
        (GuestSpec { image: Some("/no/such".into()), ..spec }, "--image"),
    ] {
        let text = refused(&spec, &programs);
        assert!(text.contains(word), "{text}");
    }
}
