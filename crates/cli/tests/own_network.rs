//! TCP as it is asked for: buffers and congestion control that are noted are those obtained, and networks of a probe's own are
//! a reason where they are refused.

use std::fs;

use hostmark_model::{CaseRecord, Outcome, Run, load_run};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::skip::skipped;
use crate::support::{Home, ended, files};

fn run(home: &Home, words: &[&str]) -> Run {
    let (_, json, errors) = ended(home.hostmark(&["run", "--format", "json", "--profile", "quick"]).args(words));
    assert!(files(home.scratch.path()).is_empty(), "nothing is left");
    load_run(&json).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

fn note<'a>(case: &'a CaseRecord, name: &str) -> &'a str {
    let Outcome::Measured(measured) = &case.outcome else { panic!("{}: {:?}", case.id, case.outcome) };
    measured.notes.get(name).map_or("", String::as_str)
}

fn limit(name: &str) -> u64 {
    fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap().trim().parse().unwrap()
}

#[test]
fn buffers_and_congestion_control_are_noted_as_obtained() {
    let _alone = alone();
    let home = Home::new();
    let words =
        ["net.tcp_bandwidth", "--set", "window=64k", "--set", "cpus=same_cpu", "--set", "congestion=default,reno"];
    let run = run(&home, &words);
    assert_eq!(run.cases.len(), 2);
    let mut measured = 0;
    for case in &run.cases {
        if let Outcome::Skipped { reason } = &case.outcome {
            assert!(reason.contains("reno is the system's own"), "{reason}");
            continue;
        }
        measured += 1;
        for (end, limit) in [("send_buffer_bytes", limit("wmem_max")), ("receive_buffer_bytes", limit("rmem_max"))] {
            assert_eq!(note(case, end), limit.min(64 << 10).to_string(), "{}", case.id);
        }
        let used = note(case, "congestion_control");
        assert!(used == "reno" || case.params.get("congestion") == Some("default"), "{used}");
        assert_eq!(note(case, "zero_copy"), "");
    }
    assert!(measured > 0);
}

#[test]
fn what_the_kernel_reports_about_zero_copy_is_noted() {
    let _alone = alone();
    let home = Home::new();
    let run = run(
        &home,
        &["net.tcp_bandwidth", "--set", "method=zero_copy", "--set", "cpus=same_cpu", "--set", "congestion=default"],
    );
    // Over loopback it is copied where it is received.
    assert_eq!(note(&run.cases[0], "zero_copy"), "copied");
}

#[test]
fn a_filter_that_refuses_namespaces_is_the_reason_why_a_network_of_ones_own_is_skipped() {
    let _alone = alone();
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    if !actions.contains("errno") {
        return skipped("this kernel cannot filter system calls");
    }
    let home = Home::new();
    let run = run(&home, &["net.tcp_offload", "--isolate", "seccomp"]);
    assert!(!run.cases.is_empty());
    for case in &run.cases {
        let Outcome::Skipped { reason } = &case.outcome else { panic!("{}: {:?}", case.id, case.outcome) };
        assert!(reason.starts_with("a network of its own cannot be set up so: unshare: "), "{reason}");
    }
}
