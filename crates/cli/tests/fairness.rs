//! Truth: two processes get of a CPU what their weights ask for, and the control groups that a probe makes go with the run.

use std::collections::BTreeSet;

use hostmark_host::{Root, nurseries};
use hostmark_model::{Outcome, load_run};

use crate::alone::alone;
use crate::processes::{SOON, within};
use crate::quiet::Quiet;
use crate::skip::skipped;
use crate::support::{Home, ended};

/// How far a share may be off: two turns of the scheduler, of some ms each, in half a second.
const OFF: f64 = 0.015;

/// The control groups of this program's that are there.
fn groups() -> BTreeSet<String> {
    let bases = ["cpu", "memory"].into_iter().flat_map(|controller| nurseries(&Root::here(), controller));
    let entries = bases.filter_map(|base| std::fs::read_dir(base).ok()).flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("hostmark-")).collect()
}

#[test]
fn weights_of_one_to_four_give_a_fifth_and_nice_0_and_5_what_the_kernel_says() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let (home, before) = (Home::new(), groups());
    for (by, due) in [("nice", 335.0 / (1024.0 + 335.0)), ("cgroup", 0.2)] {
        let mut command = home.hostmark(&["run", &format!("sched.fairness@by={by}"), "--format", "json"]);
        let (code, json, errors) = ended(&mut command);
        assert_eq!(code, 0, "{errors}");
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
