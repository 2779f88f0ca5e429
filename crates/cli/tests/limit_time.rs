//! The hard limit of a run's time, on a machine that has no time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hostmark_model::{Outcome, load_run};

use crate::alone::alone;
use crate::skip::skipped;
use crate::support::{Home, ended, files};

/// Threads that take time from each CPU.
const BUSY_A_CPU: usize = 4;
/// Of the CPUs' time: where less of it was this test's, the machine was busier than the test makes it.
const OURS: f64 = 0.85;

/// The CPU time of this process and of the children that it has waited for, in seconds.
fn own_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let numbers = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(4);
    numbers.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn the_quick_profile_ends_on_time_on_a_busy_machine_and_has_every_default_case() {
    let _alone = alone();
    let home = Home::new();
    let is_over = AtomicBool::new(false);
    let cpus = std::thread::available_parallelism().unwrap().get();
    let before = own_time();
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
    let ours = (own_time() - before) / (took.as_secs_f64() * cpus as f64);
    if took >= Duration::from_secs(60) && ours < OURS {
        return skipped(&format!("other processes had {:.0} % of the CPUs", 100.0 * (1.0 - ours)));
    }
    assert!(took < Duration::from_secs(60), "{took:?}");
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
                assert!(!is_default || reason != "time budget", "{}", case.id);
            }
            Outcome::Failed { reason } => assert!(!is_default && !reason.is_empty(), "{}: {reason}", case.id),
        }
    }
    assert_eq!(seen.len(), run.probes.len());
    assert!(files(home.scratch.path()).is_empty());
    assert_eq!(files(home.data.path()).len(), 1);
}
