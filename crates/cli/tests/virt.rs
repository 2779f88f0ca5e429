//! Exits of a guest: measured where KVM is, and elsewhere with the reason why not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use hostmark_model::{CaseRecord, Outcome, Run, load_run};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, files};

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
    let (code, json, errors) = ended(command.args(["run", "--format", "json"]).args(FILTERS));
    assert_eq!(code, 0, "{errors}");
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
