//! `hostmark host` and the program on this machine, whatever it is: relations, exit codes, a real CPU quota, what packages carry beside
//! it, and where it cannot start itself.

use hostmark_model::HostReport;

use crate::prelude::*;
use crate::support;

fn report(command: &mut Command) -> (i32, HostReport) {
    let (code, out, errors) = ended(command);
    assert_eq!(errors, "");
    (code, serde_json::from_str(&out).unwrap())
}

#[test]
fn facts_and_what_follows_from_them_come_as_json() {
    let home = Home::new();
    let (code, found) = report(&mut home.hostmark(&["host", "--format", "json"]));
    assert_eq!((code, found.schema.as_str()), (0, HostReport::SCHEMA));
    assert!(!found.host.usable_cpus().is_empty() && found.host.memory.total_bytes > 0);
    assert!(found.disturbed.load.is_some() && found.host.activity.uptime_s.is_some_and(|seconds| seconds > 0.0));
    assert_eq!(found.host.storage.directories.len(), 2);
    let paths: Vec<&Path> = found.host.storage.directories.iter().map(|place| Path::new(&place.path)).collect();
    assert!(paths[0] == home.scratch.path() && paths[1].starts_with(home.data.path()), "{paths:?}");
    let weights: Vec<_> = found.findings.iter().map(|finding| finding.weight).collect();
    assert!(weights.is_sorted(), "worst first");
    assert!(files(home.data.path()).is_empty() && files(home.scratch.path()).is_empty(), "nothing is left");
}

#[test]
fn a_check_fails_exactly_when_something_disturbs() {
    let home = Home::new();
    let (code, found) = report(&mut home.hostmark(&["host", "--check", "--format", "json"]));
    assert_eq!(code, i32::from(found.is_disturbed()), "{:?}", found.findings);
    let one = rustix::thread::sched_getaffinity(None).map(|set| (0..1024).find(|cpu| set.is_set(*cpu)));
    let Ok(Some(one)) = one else { return skipped("no CPU below 1024 may be used") };
    let mut bound = home.start("taskset");
    bound.args(["-c", &one.to_string(), support::PROGRAM, "host", "--check"]);
    if bound.output().is_err() {
        return skipped("there is no taskset here");
    }
    let (code, page, _) = ended(&mut bound);
    assert!(code == 1 && page.contains("one usable CPU"), "{code}: {page}");
    let (code, ..) = home.says(&["host"]);
    assert_eq!(code, 0, "without --check it only tells");
}

const FILTER: [&str; 4] = ["run", "clock.loop", "--format", "json"];

#[test]
fn a_program_that_the_kernel_executes_measures_this_machine() {
    let out = succeeded(Home::new().says(&FILTER));
    let run = load_run(&out).unwrap();
    assert!(run.disturbances.iter().all(|text| !text.en.contains("executed this program")), "{:?}", run.disturbances);
}

/// The loader that the program names, which can also be started with a program's file.
fn loader() -> Option<&'static str> {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    loaders.into_iter().find(|loader| Path::new(loader).exists())
}

#[test]
fn a_program_whose_own_file_is_another_is_said_to_be_started_by_its_file() {
    let Some(loader) = loader().filter(|_| !cfg!(target_feature = "crt-static")) else {
        return skipped("there is no loader, or the program needs none");
    };
    let home = Home::new();
    let (code, out, errors) = ended(home.start(loader).arg(PROGRAM).args(FILTER));
    assert_eq!((code, out.as_str()), (5, ""), "{errors}");
    assert!(
        errors.contains("cannot be started for the workers (status 127); start hostmark by its own file"),
        "{errors}"
    );
    assert!(errors.lines().count() == 1 && files(home.data.path()).is_empty(), "{errors}");
}

/// `HOSTMARK_EMULATED` is the command that executes a program for another architecture, as
/// `qemu-aarch64-static -L /usr/aarch64-linux-gnu target/aarch64-unknown-linux-gnu/debug/hostmark`.
#[test]
fn a_program_under_an_emulator_says_that_it_cannot_start_itself_or_what_it_measured() {
    let Ok(command) = std::env::var("HOSTMARK_EMULATED") else {
        return skipped("HOSTMARK_EMULATED names no program for another architecture");
    };
    let mut words = command.split_whitespace();
    let emulator = words.next().unwrap_or_default();
    let home = Home::new();
    let mut emulated = home.start(emulator);
    emulated.args(words).args(FILTER);
    let (code, out, errors) = ended(&mut emulated);
    let name = emulator.rsplit('/').next().unwrap_or_default();
    if code == 0 {
        // The kernel knows the emulator, and starts it for the workers.
        let run = load_run(&out).unwrap();
        assert!(run.disturbances.iter().any(|text| text.en.starts_with(&format!("{name} executed this program"))));
        return;
    }
    let sentence = format!(
        "hostmark: {name} executes this program and cannot start it again for its workers (status 127); \
         run it natively, or register the emulator with binfmt_misc\n"
    );
    assert_eq!((code, out.as_str(), errors), (5, "", sentence));
    assert!(files(home.data.path()).is_empty() && files(home.scratch.path()).is_empty());
}
