//! Others on the measured CPU: found with their share on every case that they disturbed, and avoided where there is a choice.

use hostmark_host::{CpuTimes, Root, read_here, single};

use crate::control_group::groups;
use crate::prelude::*;
use crate::under_way::{Neighbour, one_cpu};

// Each of these tests keeps a CPU busy or looks whether anybody does: one at a time.

/// Probes that wait for another party, whose usual delay is part of the operation, and one that never waits.
const FILTERS: [&str; 3] = ["sched.context_switch", "ipc.round_trip@by=pipe,cpus=same_cpu", "syscall.null"];

fn run(filters: &[&str], more: &[&str]) -> Run {
    let home = Home::new();
    let mut command = home.hostmark(&["run"]);
    let (json, _) = with_code(0, ended(command.args(filters).args(more).args(["--seed", "7", "--format", "json"])));
    assert!(files(home.scratch.path()).is_empty(), "left behind");
    load_run(&json).unwrap()
}

fn measured(run: &Run) -> impl Iterator<Item = (&CaseRecord, &Measured)> {
    run.cases.iter().filter_map(|case| Some((case, case.measured()?)))
}

fn is_marked(measured: &Measured) -> bool {
    measured.flags.iter().any(|flag| flag.kind == FlagKind::Contended)
}

/// The shares that were found in all rounds, of those that could be judged.
fn shares(run: &Run) -> Vec<f64> {
    measured(run).flat_map(|(_, measured)| &measured.rounds).filter_map(|round| Some(round.others?.share)).collect()
}

/// Who shares a CPU with one other has about half of it, and with more others less.
const LEAST_SHARE: f64 = 0.2;

/// Runs beside a neighbour that never rests.
fn assert_found(script: &str) {
    let Some(cpu) = one_cpu() else { return skipped("no CPU below 1024 may be used") };
    if CpuTimes::read(&Root::here()).is_none() {
        return skipped("the kernel does not tell who uses its CPUs");
    }
    let Some(neighbour) = Neighbour::on(cpu, script) else { return skipped("there is no taskset here") };
    let run = run(&FILTERS, &["--cpu", &cpu.to_string()]);
    let all = shares(&run);
    let found = all.iter().filter(|share| (LEAST_SHARE..=1.0).contains(*share)).count();
    assert!(!all.is_empty() && found * 10 >= all.len() * 9, "beside {}: {all:?}", neighbour.id());
    for (case, measured) in measured(&run) {
        assert!(is_marked(measured), "{}: {:?} {:?}", case.id, measured.rounds, measured.noise);
    }
    let told = format!("% of the time of CPU {cpu} during this run");
    assert!(run.disturbances.iter().any(|text| text.en.ends_with(&told)), "{:?}", run.disturbances);
    let finding = run.findings.iter().find(|finding| finding.id == "run.contention");
    assert!(finding.is_some_and(|finding| finding.cost >= LEAST_SHARE / 2.0), "{:?}", run.findings);
}

#[test]
fn a_busy_loop_and_short_lived_competitors_on_the_measured_cpu_are_found_on_every_case() {
    let _alone = alone();
    ["while :; do :; done", "while :; do /bin/true; done"].into_iter().for_each(assert_found);
}

/// How busy a CPU is for half a second.
fn busy(cpu: usize) -> Option<f64> {
    let before = CpuTimes::read(&Root::here())?;
    std::thread::sleep(Duration::from_millis(500));
    let after = CpuTimes::read(&Root::here())?;
    Some(before.used(&after, cpu)?.ns / before.elapsed_ns(&after) as f64)
}

#[test]
fn a_run_that_nobody_disturbs_has_no_mark() {
    const QUIET: f64 = 0.03;
    let _alone = alone();
    let Some(cpu) = one_cpu() else { return skipped("no CPU below 1024 may be used") };
    for _ in 0..3 {
        let before = busy(cpu);
        let run = run(&FILTERS, &["--cpu", &cpu.to_string()]);
        // What others do on this machine is seen from outside of the run.
        if [before, busy(cpu)].into_iter().all(|busy| busy.is_some_and(|busy| busy < QUIET)) {
            let marked: Vec<&str> =
                measured(&run).filter(|one| is_marked(one.1)).map(|one| one.0.id.as_str()).collect();
            assert!(marked.is_empty(), "{marked:?} {:?}", shares(&run));
            return;
        }
    }
    skipped("others keep this machine busy");
}

#[test]
fn a_run_that_may_choose_leaves_a_busy_cpu_alone_and_says_so() {
    let _alone = alone();
    let host = read_here();
    let Some(usual) = single(&host).filter(|_| host.usable_cpus().len() > 1) else {
        return skipped("there is no CPU to choose");
    };
    let Some(_neighbour) = Neighbour::on(usual, "while :; do :; done") else {
        return skipped("there is no taskset here");
    };
    let says = |run: &Run| run.disturbances.iter().any(|text| text.en.contains(&format!("because CPU {usual} was ")));
    let runs: Vec<Run> = (0..6).map(|_| run(&["clock.loop"], &[])).collect();
    for run in &runs {
        assert_eq!(says(run), run.settings.cpu != usual, "{:?} {:?}", run.settings, run.disturbances);
    }
    // Beside others that fill the other CPUs as well there is nothing to choose.
    let is_quiet_elsewhere = |run: &&Run| run.host.cpus.iter().any(|cpu| cpu.busy.is_some_and(|busy| busy < 0.3));
    let chosen = runs.iter().filter(|run| run.settings.cpu != usual).count();
    assert!(chosen >= runs.iter().filter(is_quiet_elsewhere).count() / 2, "{:?}", runs[0].host.cpus);
    // Who names a CPU gets it, and hears nothing of others.
    let named = run(&["clock.loop"], &["--cpu", &usual.to_string()]);
    assert!(named.settings.cpu == usual && !says(&named), "{:?}", named.disturbances);
}

/// How far a share may be off: two turns of the scheduler, of some ms each, in half a second.
const OFF: f64 = 0.015;

#[test]
fn weights_of_one_to_four_give_a_fifth_and_nice_0_and_5_what_the_kernel_says() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let (home, before) = (Home::new(), groups());
    for (by, due) in [("nice", 335.0 / (1024.0 + 335.0)), ("cgroup", 0.2)] {
        let mut command = home.hostmark(&["run", &format!("sched.fairness@by={by}"), "--format", "json"]);
        let (json, _) = with_code(0, ended(&mut command));
        let run = load_run(&json).unwrap();
        match &run.cases[0].outcome {
            Outcome::Measured(measured) => {
                let share = measured.estimate.value();
                quiet.holds((share - due).abs() <= OFF, || format!("{by}: {share}, due {due}"));
            }
            Outcome::Skipped { reason, .. } if by == "cgroup" => skipped(reason),
            other => panic!("{by}: {other:?}"),
        }
    }
    assert!(groups().is_subset(&before), "left behind: {:?}", groups());
}

#[test]
fn control_groups_of_a_run_that_is_killed_are_removed() {
    let _alone = alone();
    are_removed("sched.fairness@by=cgroup", 2);
    are_removed("sched.group_depth@depth=8,groups=two", 2);
    are_removed("paging.reclaim@kind=limit", 1);
}

fn are_removed(case: &str, count: usize) {
    let (home, before) = (Home::new(), groups());
    let mut run = home.hostmark(&["run", case, "--profile", "standard"]).spawn().unwrap();
    let new = || groups().difference(&before).count();
    let until = |holds: &mut dyn FnMut() -> bool| within(SOON, holds);
    let is_made = until(&mut || new() == count || run.try_wait().unwrap().is_some());
    let has_groups = new() > 0;
    run.kill().unwrap();
    run.wait().unwrap();
    if !(is_made && has_groups) {
        return skipped(&format!("no control groups can be made here for {case}"));
    }
    assert!(until(&mut || new() == 0), "left behind: {:?}", groups());
}
