//! `hostmark vm run` with a guest that it makes, under emulation: turns, what is told of the guest, and that nothing is left of it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hostmark_launch::guest::kernel;
use hostmark_model::{Outcome, Run, load_run};
use rustix::process::{Pid, Signal, kill_process};

// Guests share the machine's CPUs: one at a time.
use crate::alone::{alone, beside};
use crate::control_groups::groups;
use crate::processes::{SOON, processes, within};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, files};

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
    let (code, shown, errors) = ended(&mut vm_run(&home, &program, &["syscall.null", "--runs", "2"]));
    assert_eq!(code, 0, "{shown}{errors}");
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
    child: Child,
}

impl UnderWay {
    fn start(program: &str) -> UnderWay {
        let home = Home::new();
        let mut command = vm_run(&home, program, &["syscall.null", "--runs", "200"]);
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let under_way = UnderWay { child: command.spawn().unwrap(), home };
        let has_guest =
            || files(under_way.home.data.path()).iter().any(|file| file.to_string_lossy().contains("guest-"));
        assert!(within(Duration::from_secs(240), has_guest), "{:?}", files(under_way.home.data.path()));
        under_way
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn who_stops_or_kills_it_leaves_no_guest() {
    let _alone = alone();
    let Some(program) = program() else { return };
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut turns = UnderWay::start(&program);
        kill_process(Pid::from_raw(turns.child.id() as i32).unwrap(), signal).unwrap();
        assert!(within(SOON, || turns.child.try_wait().unwrap().is_some()), "the turns go on");
        assert_eq!(turns.child.wait().unwrap().code(), code);
        assert_nothing_is_left(&turns.home);
        assert!(runs(&turns.home).iter().all(|run| run.interrupted.is_none()));
    }
}
