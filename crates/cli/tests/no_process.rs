//! Hosts that refuse further processes: what cannot fork says so, and nobody else's process ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hostmark_model::{Outcome, Run, load_run};

// Limits of processes count a user's: one test at a time.
use crate::alone::alone;
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, files};

/// A process namespace in which an ordinary user runs hostmark beside a process that it may signal. Whatever goes wrong
/// goes wrong in there.
struct Apart {
    home: Home,
    /// What makes the namespace, and the user in it.
    words: Vec<String>,
}

/// Starts the bystander, runs hostmark under a limit, and tells how both fared. The shell is the same user's, and says
/// nothing when it is killed.
const INSIDE: &str = r#"
    sleep 1000 & bystander=$!
    prlimit --nproc="$1" -- "$0" run $2 2>"$TMPDIR/errors" >&2
    echo "code $?"
    kill -0 "$bystander" && echo "the bystander lives"
    kill "$bystander"
"#;

impl Apart {
    /// None where no namespace can be made.
    fn new() -> Option<Apart> {
        let home = Home::new();
        let program = home.data.path().join("program");
        // Where it is built another user may not look.
        fs::copy(PROGRAM, &program).unwrap();
        for path in [&*program, home.data.path(), home.scratch.path()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        // Nobody else's processes count against this one's limit.
        let user = 1_900_000_000 + std::process::id();
        let (reuid, regid) = (format!("--reuid={user}"), format!("--regid={user}"));
        let ways: [&[&str]; 2] = [
            &["unshare", "-pf", "--mount-proc", "setpriv", &reuid, &regid, "--clear-groups"],
            &["unshare", "-Urpf", "--mount-proc"],
        ];
        let words = ways.into_iter().find(|way| {
            let tried = home.start(way[0]).args(&way[1..]).arg("true").output();
            tried.is_ok_and(|output| output.status.success())
        })?;
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Some(Apart { home, words })
    }

    /// A run of `filters` with so many processes at most: why cases have no value, or why there is no run. Fails when the
    /// bystander is dead, anything is left, or the exit code is not the documented one.
    fn run(&self, processes: usize, filters: &[&str]) -> Vec<String> {
        let mut command = self.home.start(&self.words[0]);
        command.args(&self.words[1..]).args(["sh", "-c", INSIDE]).arg(self.home.data.path().join("program"));
        command.args([&processes.to_string(), &filters.join(" ")]).current_dir("/");
        let (_, output, complaints) = ended(&mut command);
        let file = self.home.scratch.path().join("errors");
        let errors = fs::read_to_string(&file).unwrap_or_default();
        assert!(output.contains("the bystander lives"), "{processes} processes: {output}{complaints}{errors}");
        assert_eq!(files(self.home.scratch.path()), [file]);
        let code: u8 = output.lines().find_map(|line| line.strip_prefix("code ")?.parse().ok()).unwrap();
        // A run without a value is not kept.
        if [4, 5].contains(&code) {
            return vec![errors];
        }
        let saved =
            errors.lines().find_map(|line| line.strip_prefix("saved as ")).unwrap_or_else(|| panic!("{errors}"));
        let run = load_run(&fs::read_to_string(saved).unwrap()).unwrap();
        let has_failed = run.cases.iter().any(|case| matches!(case.outcome, Outcome::Failed { .. }));
        assert_eq!(code, if has_failed { 3 } else { 0 }, "{processes} processes: {errors}");
        reasons(&run)
    }
}

/// Why cases have no value.
fn reasons(run: &Run) -> Vec<String> {
    run.cases.iter().filter_map(|case| Some(case.outcome.reason()?.text.clone())).collect()
}

#[test]
fn a_crowd_that_is_too_large_says_so_and_ends_nobody() {
    let _alone = alone();
    let Some(apart) = Apart::new() else { return skipped("no process namespace can be made here") };
    // Its ten groups are 400 processes.
    let reasons = apart.run(60, &["sched.messaging@groups=10"]);
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason.contains("clone: ")), "{reasons:?}");
}

#[test]
fn a_user_with_few_processes_learns_which_call_was_refused_and_loses_none() {
    let _alone = alone();
    let Some(apart) = Apart::new() else { return skipped("no process namespace can be made here") };
    // The shell, the bystander, the run, its janitor and a worker: where is the last one that the limit admits?
    let filters = [
        "ipc.round_trip@by=pipe,cpus=same_cpu",
        "process.fork_exit@way=syscall",
        "ipc.hand_over@by=sysv_semaphore,cpus=same_cpu",
    ];
    let refused: Vec<_> = (4..=7).flat_map(|processes| apart.run(processes, &filters)).collect();
    assert!(refused.iter().any(|reason| reason.contains("clone: ")), "{refused:?}");
}

#[test]
fn children_are_waited_for_also_where_whoever_starts_a_run_ignores_their_end() {
    let _alone = alone();
    let home = Home::new();
    let mut command = home.start("env");
    // Ignored, the kernel forgets children as they end, and gives their numbers away.
    command.args(["--ignore-signal=CHLD", PROGRAM, "run", "process.fork_exit@way=syscall"]);
    let (code, table, errors) = ended(&mut command);
    assert_eq!(code, 0, "{table}{errors}");
}
