//! Guests: the probes of a guest's exits, and `hostmark vm run` with a guest that it makes, under emulation.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hostmark_launch::guest::kernel;
use hostmark_model::{CaseRecord, Outcome, Run, load_run};
use rustix::process::Signal;

use crate::alone::{alone, beside};
use crate::control_groups::groups;
use crate::processes::{SOON, processes, within};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, Running, ended, files, with_code};

// Guests share the machine's CPUs: one at a time.

/// An emulated machine boots in seconds, and a loaded host takes its time.
const BOOTS_WITHIN: &str = "180";

/// The kernel that is named so, else one of this machine.
const KERNEL: &str = "HOSTMARK_KERNEL";

fn named(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// The program as it runs in guests; none, and the reason told, where something is missing.
fn program() -> Option<String> {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        skipped("there is no qemu-system-x86_64");
        return None;
    }
    if let Err(error) = named(KERNEL).map_or_else(kernel::found, Ok) {
        skipped(&error.to_string());
        return None;
    }
    let found = named("HOSTMARK_STATIC");
    if found.is_none() {
        skipped(
            "HOSTMARK_STATIC names no static program: cargo build --target x86_64-unknown-linux-musl -p hostmark makes one",
        );
    }
    Some(found?.display().to_string())
}

/// The command that makes a guest under emulation, of a program in a home.
fn vm_run(home: &Home, program: &str, words: &[&str]) -> Command {
    // A background job of a script is started with signals ignored, and its children inherit it.
    let mut command = home.start("env");
    command.args(["--default-signal=INT,HUP", program]);
    command.args(["vm", "run", "--accel", "tcg", "--boot-timeout", BOOTS_WITHIN, "--smp", "1"]);
    // A test may name others.
    if !words.contains(&"--memory") {
        command.args(["--memory", "512M"]);
    }
    if let Some(kernel) = named(KERNEL).filter(|_| !words.contains(&"--kernel")) {
        command.arg("--kernel").arg(kernel);
    }
    command.args(words);
    command
}

fn runs(home: &Home) -> Vec<Run> {
    let mut all = files(home.data.path());
    all.sort();
    all.iter().map(|file| load_run(&std::fs::read_to_string(file).unwrap()).unwrap()).collect()
}

fn assert_nothing_is_left(home: &Home) {
    assert!(within(SOON, || processes(home).is_empty()), "left: {:?}", processes(home));
    assert!(within(SOON, || files(home.scratch.path()).is_empty()), "left: {:?}", files(home.scratch.path()));
    assert!(within(SOON, || groups().is_empty()), "left: {:?}", groups());
}

#[test]
fn a_guest_is_made_and_measured_beside_this_machine_and_says_what_it_was() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let home = Home::new();
    let (shown, _) = with_code(0, ended(&mut vm_run(&home, &program, &["syscall.null", "--runs", "2"])));
    assert_nothing_is_left(&home);
    let runs = runs(&home);
    let of = |name: &str| runs.iter().filter(|run| run.name == name).collect::<Vec<_>>();
    let (native, guest) = (of("native"), of("guest"));
    assert_eq!((native.len(), guest.len()), (2, 2), "{shown}");
    for (native, guest) in native.iter().zip(&guest) {
        assert_eq!(native.tool, guest.tool, "the same file on both sides");
        assert_eq!((native.settings.seed, &native.guest, &guest.place), (guest.settings.seed, &None, &None));
        assert_ne!(native.host.boot_id, guest.host.boot_id);
        assert_eq!(native.host.usable_cpus().len(), guest.host.usable_cpus().len());
        assert!(guest.cases.iter().all(|case| matches!(case.outcome, Outcome::Measured(_))), "{:?}", guest.cases);
        let facts = guest.guest.as_ref().unwrap();
        assert_eq!((facts.accel.as_str(), facts.cpus, facts.memory), ("tcg", 1, 512 << 20));
        assert!(facts.vmm.contains("QEMU") && facts.command.len() > 5 && facts.digests.contains_key("kernel"));
        assert!(facts.idle_cpus.is_some_and(|cpus| (0.0..1.5).contains(&cpus)), "{:?}", facts.idle_cpus);
        assert!(facts.host.contains_key("clock_source"), "{:?}", facts.host);
    }
}

#[test]
fn what_cannot_be_a_guest_is_one_sentence_and_leaves_nothing() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let none = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(none.path(), "no kernel").unwrap();
    let none = none.path().display().to_string();
    for (words, code, says) in [
        (&["--kernel", none.as_str()][..], 2, "kernel"),
        (&["--kernel", "/dev/zero"], 2, "kernel"),
        (&["--qemu", "no-such-qemu"], 2, "no-such-qemu"),
        (&["--qemu-arg", "-no-such-option"], 2, "no-such-option"),
        (&["--nodes", "2"], 2, "nodes"),
    ] {
        let home = Home::new();
        let (ended_with, shown, errors) = ended(&mut vm_run(&home, &program, &[&["syscall.null"], words].concat()));
        assert_eq!(ended_with, code, "{words:?}: {shown}{errors}");
        let lines: Vec<&str> = errors.lines().collect();
        assert!(lines.len() == 1 && errors.to_lowercase().contains(&says.to_lowercase()), "{words:?}: {errors}");
        assert_nothing_is_left(&home);
        assert!(files(home.data.path()).is_empty());
    }
}

#[test]
fn a_program_that_is_not_static_says_what_to_put_beside_it() {
    let _beside = beside();
    let beside = Path::new(PROGRAM).with_file_name("hostmark-x86_64-linux-musl");
    if program().is_none() {
        return;
    }
    let home = Home::new();
    let (code, _, errors) =
        ended(&mut home.hostmark(&["vm", "run", "--accel", "tcg", "--memory", "1M", "syscall.null"]));
    // A static one boots, or has too little memory for that.
    if code == 2 && errors.contains("not static") {
        assert!(errors.contains("put hostmark-x86_64-linux-musl beside it"), "{errors}");
    } else {
        assert!(beside.exists() || code != 0, "{errors}");
        skipped("this program is static, or one lies beside it");
    }
}

#[test]
fn a_guest_with_too_little_memory_says_so_and_leaves_nothing() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let home = Home::new();
    let (code, _, errors) = ended(&mut vm_run(&home, &program, &["--memory", "64M", "syscall.null"]));
    assert!(code == 5 && errors.contains("more memory by --memory") && errors.lines().count() == 1, "{code} {errors}");
    assert_nothing_is_left(&home);
    assert!(files(home.data.path()).is_empty());
}

/// Turns under way in which the guest has measured.
struct UnderWay {
    home: Home,
    child: Running,
}

impl UnderWay {
    fn start(program: &str) -> UnderWay {
        let home = Home::new();
        let mut command = vm_run(&home, program, &["syscall.null", "--runs", "200"]);
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let under_way = UnderWay { child: Running(command.spawn().unwrap()), home };
        let has_guest =
            || files(under_way.home.data.path()).iter().any(|file| file.to_string_lossy().contains("guest-"));
        assert!(within(Duration::from_secs(240), has_guest), "{:?}", files(under_way.home.data.path()));
        under_way
    }
}

#[test]
fn who_stops_or_kills_it_leaves_no_guest() {
    let _alone = alone();
    let Some(program) = program() else { return };
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut turns = UnderWay::start(&program);
        turns.child.signal(signal);
        assert!(within(SOON, || turns.child.try_wait().unwrap().is_some()), "the turns go on");
        assert_eq!(turns.child.wait().unwrap().code(), code);
        assert_nothing_is_left(&turns.home);
        assert!(runs(&turns.home).iter().all(|run| run.interrupted.is_none()));
    }
}

// Runs are timed: one at a time.

/// One of each kind of exit, and what needs neither KVM nor a hypervisor.
const FILTERS: [&str; 3] = ["virt.exit@cause=cpuid", "virt.exit@cause=port", "virt.timer"];

/// As a shell's words: what makes a /dev without KVM, in a namespace of mounts.
const BARE_DEV: &str = "mount -t tmpfs -o mode=755 hostmark-test /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5 \
     && mknod -m 666 /dev/urandom c 1 9 && mkdir -m 1777 /dev/shm";
/// What lets nobody but root open it there.
const KVM_OF_ROOT: &str = "mknod -m 600 /dev/kvm c 10 232";
const NULL_AS_KVM: &str = "mount --bind /dev/null /dev/kvm";

/// A run that ended well and left nothing.
fn measured(home: &Home, command: &mut Command) -> Run {
    let (json, _) = with_code(0, ended(command.args(["run", "--format", "json"]).args(FILTERS)));
    assert!(files(home.scratch.path()).is_empty(), "{:?}", files(home.scratch.path()));
    load_run(&json).unwrap()
}

fn exits(run: &Run) -> impl Iterator<Item = &CaseRecord> {
    run.cases.iter().filter(|case| case.probe == "virt.exit")
}

/// Why no exit was measured, which is told once.
fn reason(run: &Run) -> &str {
    let [exit] = exits(run).collect::<Vec<_>>()[..] else { panic!("{:?}", exits(run).collect::<Vec<_>>()) };
    assert!(run.cases.iter().any(|case| case.probe == "virt.timer" && case.measured().is_some()));
    match &exit.outcome {
        Outcome::Skipped { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// The program after `shell` in a namespace of mounts; none where that cannot be.
fn inside(home: &Home, shell: &str, user: &[&str]) -> Option<Command> {
    let start = || {
        let mut command = home.start("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &format!("{shell} && exec \"$@\""), "sh"]);
        command.args(user).arg(PROGRAM);
        command
    };
    start().arg("--version").output().is_ok_and(|output| output.status.success()).then(start)
}

#[test]
fn exits_are_measured_or_say_why_not() {
    let _alone = alone();
    let home = Home::new();
    let run = measured(&home, &mut home.hostmark(&[]));
    for exit in exits(&run) {
        match &exit.outcome {
            Outcome::Measured(measured) => {
                let [whole, overhead] = ["whole", "overhead"].map(|name| measured.also[name].estimate.typical);
                assert!(whole > overhead && overhead > 0.0, "{}: {whole} {overhead}", exit.id);
                let handled = if exit.id.ends_with("port") { "user space" } else { "kernel" };
                assert_eq!(measured.notes["handled_in"], handled);
            }
            Outcome::Skipped { reason } => {
                assert!(reason.contains("KVM") || reason.contains("kvm"), "{reason}");
                skipped(reason);
            }
            Outcome::Failed { reason } => panic!("{}: {reason}", exit.id),
        }
    }
}

#[test]
fn without_the_device_or_the_right_to_open_it_no_exit_is_measured() {
    let _alone = alone();
    let home = Home::new();
    let Some(mut command) = inside(&home, BARE_DEV, &[]) else {
        return skipped("no namespace of mounts, or no device file, can be made here");
    };
    assert!(reason(&measured(&home, &mut command)).starts_with("needs KVM, and there is no /dev/kvm: load kvm_intel"));
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let home = Home::new();
    for directory in [home.data.path(), home.scratch.path()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let Some(mut command) = inside(&home, &format!("{BARE_DEV} && {KVM_OF_ROOT}"), &user) else {
        return skipped("no other user is available here, or it cannot start the program");
    };
    assert!(reason(&measured(&home, &mut command)).starts_with("may not open /dev/kvm: run it as root"));
}

#[test]
fn what_is_no_kvm_is_reported_and_not_used() {
    let _alone = alone();
    if !Path::new("/dev/kvm").exists() {
        return skipped("there is no /dev/kvm to be hidden");
    }
    let home = Home::new();
    let Some(mut command) = inside(&home, NULL_AS_KVM, &[]) else {
        return skipped("no namespace of mounts can be made here");
    };
    let run = measured(&home, &mut command);
    for exit in exits(&run) {
        let Outcome::Skipped { reason } = &exit.outcome else { panic!("{:?}", exit.outcome) };
        assert!(
            reason.starts_with("KVM here cannot do ") && reason.contains("its interface is version -1"),
            "{reason}"
        );
    }
    assert_eq!(exits(&run).count(), 2);
}
