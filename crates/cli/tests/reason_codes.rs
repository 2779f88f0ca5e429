//! Why a case has no value, for programs: the code of each lack of a host, in plans and in the formats that carry it.

use hostmark_engine::mock::{hello, line};
use hostmark_engine::plan::{Request, plan};
use hostmark_model::{Argument, CpuFact, Event, HostFacts, Inputs, Profile, ReasonCode};
use hostmark_probes::CATALOGUE;
use serde_json::{Value, json};

use crate::support::in_process::scripted;
use crate::support::{Home, ended};

/// A host of so many CPUs that has whatever probes need.
fn able(cpus: usize) -> HostFacts {
    let cpu = |id| CpuFact { id, online: true, allowed: true, core: Some(id), package: Some(0), ..CpuFact::default() };
    let mut host = HostFacts { cpus: (0..cpus).map(cpu).collect(), ..HostFacts::default() };
    host.limits.is_root = Some(true);
    host.kernel.release = "6.12.0".into();
    host.kernel.module_version = Some("1".into());
    host.memory.pmd_page_bytes = Some(2 << 20);
    host.memory.available_bytes = 8 << 30;
    host.virtualization.kvm_permitted = Some(true);
    host.virtualization.hypervisor = Some("kvm".into());
    host
}

#[test]
fn what_a_host_lacks_has_its_code() {
    type Change = fn(&mut HostFacts);
    let lacks: [(&str, Change, Option<ReasonCode>); 14] = [
        ("virt.port", |_| {}, None),
        ("virt.port", |host| host.limits.is_root = Some(false), Some(ReasonCode::Permission)),
        ("virt.port", |host| host.limits.is_root = None, Some(ReasonCode::Permission)),
        ("virt.port", |host| host.virtualization.hypervisor = None, Some(ReasonCode::Hardware)),
        ("cpu.kernel_sieve", |host| host.kernel.module_version = None, Some(ReasonCode::Kernel)),
        ("cpu.kernel_sieve", |host| host.kernel.module_version = Some("0".into()), Some(ReasonCode::Kernel)),
        ("virt.exit", |host| host.virtualization.kvm_permitted = None, Some(ReasonCode::MissingFile)),
        ("virt.exit", |host| host.virtualization.kvm_permitted = Some(false), Some(ReasonCode::Permission)),
        ("memory.effective_page", |host| host.memory.pmd_page_bytes = None, Some(ReasonCode::HugePages)),
        ("ipc.round_trip@by=pipe,cpus=smt_sibling", |_| {}, Some(ReasonCode::Topology)),
        ("sched.core_scheduling", |_| {}, Some(ReasonCode::Topology)),
        ("cpu.core_to_core@cpus=0-7", |_| {}, Some(ReasonCode::CpuUnavailable)),
        ("memory.read@threads=4", |_| {}, Some(ReasonCode::TooFewCpus)),
        ("net.tcp@cpus=two_hosts", |_| {}, Some(ReasonCode::NoPeer)),
    ];
    for (filter, change, code) in lacks {
        let mut host = able(2);
        change(&mut host);
        let filters = vec![filter.to_owned()];
        let request = Request { filters, profile: Profile::Quick, seed: 1, set: Vec::new(), inputs: Inputs::default() };
        let plan = plan(CATALOGUE, &host, request).unwrap_or_else(|error| panic!("{filter}: {error}"));
        let skip = plan.cases[0].skip.as_ref();
        assert_eq!(skip.map(|reason| reason.code), code.map(Some), "{filter}: {skip:?}");
        if let (Some(ReasonCode::TooFewCpus), Some(reason)) = (code, skip) {
            let has = |name: &str| reason.arguments.get(name);
            assert_eq!((has("needed"), has("available")), (Some(&Argument::Number(4)), Some(&Argument::Number(2))));
        }
    }
}

#[test]
fn the_code_of_a_refused_call_is_in_the_file_of_the_run_and_in_every_format() {
    let home = Home::new();
    let reason = || ReasonCode::Permission.because("futex is not available").with("errno", "EPERM");
    let name = home.data.path().join("run.json").display().to_string();
    let (code, file, errors) =
        scripted(&home.hostmark(&["run", "clock.loop", "--format", "json", "--out", &name]), move |_, _| {
            vec![hello(), line(&Event::Skipped { reason: reason() })]
        });
    assert_eq!((code, errors.as_str()), (4, "hostmark: nothing can be measured: futex is not available\n"));
    let file: Value = serde_json::from_str(&file).unwrap();
    let wanted = json!({ "reason": "futex is not available", "code": "permission", "arguments": { "errno": "EPERM" } });
    assert_eq!(file["cases"][0]["outcome"]["skipped"], wanted);
    let shown = |format: &str| ended(&mut home.hostmark(&["report", &name, "--format", format])).1;
    let text: Value = serde_json::from_str(&shown("jsonl")).unwrap();
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&text[key], value);
    }
    assert!(shown("csv").lines().nth(1).unwrap().trim_end_matches(',').ends_with(",permission"));
    let counted = r#"hostmark_run_unmeasured_cases{outcome="skipped",code="permission","#;
    assert!(shown("prometheus").lines().any(|line| line.starts_with(counted) && line.ends_with(" 1")));
}
