//! Runs from which something is taken while they go on.

use std::cell::{Cell, RefCell};

use hostmark_host::CpuTimes;

use super::*;
use crate::mock::{Unmetered, perform_on};
use crate::record::contention::Meters;

/// A kernel that tells which CPUs there are, and nothing else.
struct Shrinking(RefCell<Vec<usize>>);

impl Meters for Shrinking {
    fn cpus(&self) -> Option<CpuTimes> {
        None
    }

    fn own_ns(&self) -> Option<u64> {
        None
    }

    fn allowed_cpus(&self) -> Option<Vec<usize>> {
        Some(self.0.borrow().clone())
    }
}

/// A kernel that tells how hot it is, each time another.
struct Heating(Cell<f64>);

impl Meters for Heating {
    fn cpus(&self) -> Option<CpuTimes> {
        None
    }

    fn own_ns(&self) -> Option<u64> {
        None
    }

    fn hottest_celsius(&self) -> Option<f64> {
        let celsius = self.0.get();
        self.0.set(120.0 - celsius);
        Some(celsius)
    }
}

#[test]
fn a_run_keeps_the_hottest_of_its_temperatures() {
    let plan = planned(CATALOGUE, &["net.tcp"], Profile::Quick);
    assert_eq!(perform_on(&Heating(Cell::new(71.0)), &plan, &host(), usual).results.hottest_celsius, Some(71.0));
    assert_eq!(perform_on(&Unmetered, &plan, &host(), usual).results.hottest_celsius, None);
}

/// A run from which `cpu` is taken when so many rounds have begun.
fn without(cpu: usize, after: usize, plan: &Plan) -> Seen {
    let (meters, rounds) = (Shrinking(RefCell::new(vec![0, 1, 2, 3])), Cell::new(0));
    perform_on(&meters, plan, &host(), |job| {
        rounds.set(rounds.get() + usize::from(!job.cases.is_empty()));
        if rounds.get() > after {
            meters.0.borrow_mut().retain(|&other| other != cpu);
        }
        usual(job)
    })
}

fn flags(outcome: &Outcome) -> Vec<FlagKind> {
    let Outcome::Measured(measured) = outcome else { panic!("{}", reason(outcome)) };
    measured.flags.iter().map(|flag| flag.kind).collect()
}

#[test]
fn another_cpu_stands_in_for_one_that_was_taken() {
    let plan = planned(CATALOGUE, &["net.tcp"], Profile::Quick);
    let seen = without(plan.cpu, 3, &plan);
    assert_eq!(seen.results.taken.iter().map(|taken| taken.what).collect::<Vec<_>>(), [Resource::Cpu(plan.cpu)]);
    // Those before stay; the one that was under way is measured again, as far as there is time.
    let used: Vec<usize> = seen.jobs.iter().filter(|job| !job.cases.is_empty()).map(|job| job.cpus[0]).collect();
    assert!(used[..4].iter().all(|&cpu| cpu == plan.cpu) && used[4..].iter().all(|&cpu| cpu != plan.cpu), "{used:?}");
    assert!(used.len() >= QUICK_ROUNDS as usize, "{used:?}");
    assert!(is_measured(seen.outcome("net.tcp")));
    let cpus = |of: &[Round]| of.iter().map(|round| round.cpus.clone()).collect::<Vec<_>>();
    let kept = cpus(&seen.results.record.cases.iter().find(|case| case.id.probe == "net.tcp").unwrap().rounds);
    assert!(kept[..3].iter().all(|cpus| cpus[..] == [plan.cpu]) && kept[3..].iter().all(|cpus| cpus[..] != [plan.cpu]));
}

#[test]
fn a_case_that_needs_what_was_taken_keeps_what_it_has_and_others_go_on() {
    let plan = planned(CATALOGUE, &["ipc.pipe", "net.tcp"], Profile::Quick);
    let two = plan.cases.iter().find(|case| case.cpus.iter().any(|&cpu| cpu != plan.cpu)).unwrap();
    let (id, other) = (two.id.to_string(), *two.cpus.iter().find(|&&cpu| cpu != plan.cpu).unwrap());
    let late = without(other, plan.cases.len() * 2, &plan);
    assert!(flags(late.outcome(&id)).contains(&FlagKind::RoundsLost));
    assert_eq!(flags(late.outcome("net.tcp")), []);
    // From the start, it has no value, and says why.
    let early = without(other, 0, &plan);
    let message = reason(early.outcome(&id));
    assert!(message.starts_with(&format!("CPU {other} was taken from this run after ")), "{message}");
    assert!(early.rounds().iter().filter(|(case, _)| *case == id).count() <= 1);
    assert_eq!(flags(early.outcome("net.tcp")), []);
}
