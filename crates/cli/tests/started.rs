//! A run starts its own program again, for its workers; where that cannot be, it says so before anything is measured.

use hostmark_model::load_run;

use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, files};

const FILTER: [&str; 4] = ["run", "clock.loop", "--format", "json"];

#[test]
fn a_program_that_the_kernel_executes_measures_this_machine() {
    let (code, out, errors) = ended(&mut Home::new().hostmark(&FILTER));
    assert_eq!((code, errors.as_str()), (0, ""));
    let run = load_run(&out).unwrap();
    assert!(run.disturbances.iter().all(|text| !text.en.contains("executed this program")), "{:?}", run.disturbances);
}

/// The loader that the program names, which can also be started with a program's file.
fn loader() -> Option<&'static str> {
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    loaders.into_iter().find(|loader| std::path::Path::new(loader).exists())
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
