//! Relations that hold on every machine: what must cost more is measured as more. The least disturbed rounds are compared,
//! since whoever shares the machine only adds.

use hostmark_model::{Measured, Run, load_run};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::quiet::Quiet;
use crate::skip::skipped;
use crate::support::{Home, ended, files};

/// A run of one probe at the points that are set.
fn run(probe: &str, sets: &[&str]) -> Run {
    let home = Home::new();
    let mut arguments = vec!["run", probe, "--format", "json"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let (code, json, errors) = ended(&mut home.hostmark(&arguments));
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(files(home.scratch.path()).is_empty());
    load_run(&json).unwrap()
}

/// The case at these points; none where this machine cannot measure it.
fn at<'a>(run: &'a Run, points: &[(&str, &str)]) -> Option<&'a Measured> {
    let is_at = |case: &&hostmark_model::CaseRecord| points.iter().all(|&(axis, at)| case.params.get(axis) == Some(at));
    run.cases.iter().find(is_at).expect("a case for each point that was set").measured()
}

fn best(measured: &Measured) -> f64 {
    measured.estimate.best_round
}

#[test]
fn a_fork_copies_page_tables_and_huge_pages_have_few() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run("process.fork_resident", &["resident=4M,256M", "page=base,pmd"]);
    let time = |resident, page| at(&run, &[("resident", resident), ("page", page)]);
    let (Some(small), Some(large)) = (time("4194304", "base"), time("268435456", "base")) else {
        return skipped("there is too little memory");
    };
    quiet.holds(best(large) > 3.0 * best(small), || format!("{} and {} ns", best(small), best(large)));
    if let Some(huge) = time("268435456", "pmd") {
        quiet.holds(best(huge) < 0.5 * best(large), || format!("{} and {} ns", best(huge), best(large)));
    }
}

#[test]
fn a_switch_on_one_cpu_is_none_between_two() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run("sched.context_switch", &["cpus=same_cpu,same_cache", "processes=2", "footprint=0"]);
    let one = at(&run, &[("cpus", "same_cpu")]).expect("every machine has one CPU");
    let Some(two) = at(&run, &[("cpus", "same_cache")]) else { return skipped("no two CPUs share a cache") };
    quiet.holds(best(two) > 1.3 * best(one), || format!("{} ns on one, {} ns between two", best(one), best(two)));
}

#[test]
fn a_switch_costs_more_the_deeper_its_control_groups_are() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run("sched.group_depth", &["depth=1,4,8", "groups=one,two"]);
    let depth = |depth, groups| at(&run, &[("depth", depth), ("groups", groups)]).map(best);
    let of = |groups| Some([depth("1", groups)?, depth("4", groups)?, depth("8", groups)?]);
    let (Some(one), Some(two)) = (of("one"), of("two")) else { return skipped("no control groups can be made here") };
    let says = || format!("in one group {one:?} ns, in two {two:?} ns");
    quiet.holds(one[2] > 1.02 * one[0], says);
    quiet.holds(two[1] > 1.1 * two[0] && two[2] > 1.1 * two[1] && two[2] > 1.2 * one[2], says);
}

#[test]
fn faults_cost_what_the_kernel_has_to_do_in_them() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let run = run("paging.fault", &["kind=anonymous,anonymous_pmd,file,file_major,first"]);
    let kind = |kind| at(&run, &[("kind", kind)]);
    let (Some(base), Some(file)) = (kind("anonymous"), kind("file")) else {
        return skipped("faults were not measured");
    };
    // Sixteen pages that are there already against one that has to be cleared.
    let per_page = file.also["per_page"].estimate.best_round;
    quiet.holds(1.5 * per_page < best(base), || format!("{per_page} ns a page of a file, {} ns a new one", best(base)));
    if let Some(pmd) = kind("anonymous_pmd") {
        // 512 times the bytes to clear. (How much cheaper a byte is depends on where the cleared memory lay before.)
        quiet.holds(best(pmd) > 10.0 * best(base), || {
            format!("{} ns a huge page, {} ns a base page", best(pmd), best(base))
        });
    }
    if let Some(major) = kind("file_major") {
        quiet.holds(best(major) > 5.0 * best(file), || {
            format!("{} ns from the device, {} ns from the cache", best(major), best(file))
        });
    }
    // The same fault, of new pages and of those just given back: neither is free, and what a host adds is on the first.
    let Some(first) = kind("first") else { return skipped("first faults were not measured") };
    let again = first.also["again"].estimate.best_round;
    quiet.holds(3.0 * best(first) > again, || format!("{} ns at first, {again} ns again", best(first)));
    let is_alike = 3.0 * again > best(base) && again < 10.0 * best(base);
    quiet.holds(is_alike, || format!("{again} ns again, {} ns of few pages", best(base)));
}
