//! A guest that is booted answers, again and again.

use hostmark_launch::guest::Booted;
use hostmark_model::{AgentAnswer, AgentRequest, Inputs, Outcome};

use super::spot::{agent, measured, spec};

#[test]
fn a_guest_answers_one_agent_after_the_other() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    for _ in 0..2 {
        let mut link = agent(&booted, &programs);
        link.ask(&AgentRequest::Facts).unwrap();
        let AgentAnswer::Facts(report) = link.receive().unwrap() else { panic!("no facts") };
        assert!(report.host.virtualization.hypervisor.is_some(), "{:?}", report.host.virtualization);
        assert!(link.finish());
    }
    let described = booted.described();
    assert!(described.vmm.starts_with("QEMU ") && described.machine.starts_with("pc-q35-"), "{described:?}");
    assert!(described.boot_ns > 0 && described.digests.len() == 2);
}

#[test]
fn a_case_is_measured_in_a_guest() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    let run = measured(&booted, &programs, "syscall.null", Inputs::default());
    assert!(!run.cases.is_empty());
    assert!(run.cases.iter().all(|case| matches!(case.outcome, Outcome::Measured(_))), "{:?}", run.cases);
    assert!(run.host.virtualization.hypervisor.is_some());
}
