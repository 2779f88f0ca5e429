//! `hostmark host` on this machine, whatever it is: relations, exit codes, and a real CPU quota.

use std::path::Path;
use std::process::Command;

use hostmark_model::HostReport;

use crate::control_group::ControlGroup;
use crate::skip::skipped;
use crate::support;
use crate::support::{Home, ended, files};

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
    let (code, ..) = ended(&mut home.hostmark(&["host"]));
    assert_eq!(code, 0, "without --check it only tells");
}

#[test]
fn the_page_comes_in_both_languages_without_colour_into_a_file() {
    let home = Home::new();
    for (language, words) in [("en", ["MEMORY", "DISTURB"]), ("zh", ["内存", "干扰"])] {
        let (code, page, errors) = ended(&mut home.hostmark(&["host", "--lang", language]));
        assert_eq!((code, errors.as_str()), (0, ""));
        assert!(words.iter().all(|word| page.contains(word)) && !page.contains('\u{1b}'), "{page}");
    }
    assert_eq!(ended(&mut home.hostmark(&["host", "--format", "csv"])).0, 2);
}

#[test]
fn a_real_quota_of_half_a_cpu_is_the_worst_that_is_reported() {
    let first: &[_] = &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")];
    let second: &[_] = &[("cpu.max", "50000 100000")];
    let places = [("/sys/fs/cgroup/cpu", first), ("/sys/fs/cgroup/cpu,cpuacct", first), ("/sys/fs/cgroup", second)];
    let Some(group) = ControlGroup::of("host", &places) else {
        return skipped("no CPU control group can be made here");
    };
    let home = Home::new();
    let mut inside = group.start(&home, &[support::PROGRAM, "host", "--check", "--format", "json"]);
    let (code, found) = report(&mut inside);
    assert_eq!((code, found.host.limits.cpu_quota), (1, Some(0.5)));
    assert_eq!(found.findings[0].id, "host.cpu_quota");
}
