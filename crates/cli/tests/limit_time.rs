//! The hard limit of a run's time, on a machine that has no time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hostmark_model::{Outcome, load_run};

use crate::alone::alone;
use crate::quiet::Quiet;
use crate::support::{Home, ended, files};

/// Threads that take time from each CPU.
const BUSY_A_CPU: usize = 4;
#[test]
fn the_quick_profile_ends_on_time_on_a_busy_machine_and_has_every_default_case() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let home = Home::new();
    let is_over = AtomicBool::new(false);
    let cpus = std::thread::available_parallelism().unwrap().get();
    let (took, said) = std::thread::scope(|scope| {
        for _ in 0..BUSY_A_CPU * cpus {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        #[expect(clippy::disallowed_methods, reason = "the limit is one of wall time")]
        let began = Instant::now();
        let said = std::panic::catch_unwind(|| ended(&mut home.hostmark(&["run", "--format", "json"])));
        let took = began.elapsed();
        is_over.store(true, Ordering::Relaxed);
        (took, said.unwrap())
    });
    let (code, json, errors) = said;
    if !quiet.holds(took < Duration::from_secs(60), || format!("{took:?}")) {
        return;
    }
    assert!(matches!(code, 0 | 3) && errors.is_empty(), "{code}: {errors}");
    let run = load_run(&json).unwrap();
    assert!(run.interrupted.is_none());
    let mut seen = HashSet::new();
    for case in &run.cases {
        let is_default = seen.insert(&case.probe);
        match &case.outcome {
            Outcome::Measured(_) => {}
            Outcome::Skipped { reason } => {
                assert!(!reason.is_empty(), "{}", case.id);
                // A default may lack what it needs; it never lacks time.
                quiet.holds(!is_default || &**reason != "time budget", || case.id.clone());
            }
            Outcome::Failed { reason } => {
                assert!(!reason.is_empty(), "{}", case.id);
                quiet.holds(!is_default, || format!("{}: {reason}", case.id));
            }
        }
    }
    assert_eq!(seen.len(), run.probes.len());
    assert!(files(home.scratch.path()).is_empty());
    assert_eq!(files(home.data.path()).len(), 1);
}
