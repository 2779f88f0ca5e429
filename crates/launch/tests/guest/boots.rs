//! A guest that is booted answers, again and again.

use hostmark_launch::guest::Booted;
use hostmark_model::{AgentAnswer, AgentRequest, Inputs, Outcome, Profile, RunRequest};

use crate::spot::{agent, spec};

#[test]
fn a_guest_answers_one_agent_after_the_other() {
    let Some((spec, programs)) = spec() else { return };
    let booted = Booted::boot(&spec, &programs, None, |_| {}).unwrap();
    for _ in 0..2 {
        let mut link = agent(&booted, &programs);
        link.ask(&AgentRequest::Facts).unwrap();
        let AgentAnswer::Facts(report) = link.hear().unwrap() else { panic!("no facts") };
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
    let mut link = agent(&booted, &programs);
    let request = RunRequest {
        filters: vec!["syscall.null".into()],
        profile: Profile::Quick,
        seed: Some(7),
        set: vec![],
        table: None,
        inputs: Inputs::default(),
        via: vec![],
        begun: None,
    };
    link.ask(&AgentRequest::Run(Box::new(request))).unwrap();
    let (mut rounds, mut run) = (0, None);
    while run.is_none() {
        match link.hear().unwrap() {
            AgentAnswer::Round(_) => rounds += 1,
            AgentAnswer::Run(whole) => run = Some(whole),
            _ => {}
        }
    }
    let run = run.unwrap();
    assert!(rounds >= 5 && !run.cases.is_empty(), "{rounds} rounds");
    assert!(run.cases.iter().all(|case| matches!(case.outcome, Outcome::Measured(_))), "{:?}", run.cases);
    assert!(run.host.virtualization.hypervisor.is_some());
}
