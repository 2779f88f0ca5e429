//! Binding of a case's thread, and the plan without the kernel module.

use super::*;
use crate::fixture::{PLAIN, host, request};
use crate::probe::Need;
use crate::probe::{Group, Probe};

static FREE: Probe = Probe { axes: &[Axis::bind()], ..PLAIN };
static ELSEWHERE: Probe = Probe {
    axes: &[Axis::threads("threads", Points::quick(&["1"])), Axis::copies(Profile::Thorough), Axis::bind_elsewhere()],
    ..PLAIN
};
static OF_MODULE: Probe = Probe { axes: &[Axis::bind()], needs: &[Need::Module], ..PLAIN };

static BOUND: Catalogue = &[&Group {
    name: "bound",
    shares_worker: true,
    probes: &[("free", &FREE), ("elsewhere", &ELSEWHERE), ("of_module", &OF_MODULE)],
}];

fn planned_on(host: &HostFacts, filter: &str, profile: Profile) -> Plan {
    plan(BOUND, host, request(&[filter], profile)).unwrap()
}

fn one(axes: &str) -> (Vec<usize>, Option<String>) {
    let case = planned_on(&host(), &format!("bound.{axes}"), Profile::Quick).cases.remove(0);
    (case.cpus, case.skip.map(|reason| reason.text))
}

#[test]
fn a_case_is_bound_to_the_cpu_that_its_axis_names_or_to_none() {
    let plan = planned_on(&host(), "bound.free", Profile::Quick);
    let bound: Vec<_> =
        plan.cases.iter().map(|case| (case.id.params.get("bind").unwrap(), case.cpus.clone())).collect();
    assert_eq!(bound, [("none", vec![0, 1, 2, 3]), ("0", vec![0]), ("last", vec![3])]);
    assert_eq!(one("free@bind=2"), (vec![2], None));
    assert_eq!(one("free@bind=9").1, Some("CPU 9 cannot be used here".into()));
    // By default where all cases are, so that it stays the same number.
    let plan = planned_on(&host(), "bound.elsewhere", Profile::Quick);
    assert_eq!((plan.cases.len(), &plan.cases[0].cpus), (1, &vec![plan.cpu]));
    assert_eq!(planned_on(&host(), "bound.elsewhere", Profile::Standard).cases.len(), 4);
}

#[test]
fn several_threads_or_copies_are_not_bound_to_one_cpu() {
    let reason = Some("several threads or copies have a CPU each".to_owned());
    assert_eq!(one("elsewhere@copies=2,bind=0").1, reason);
    assert_eq!(one("elsewhere@threads=2,bind=none").1, reason);
    assert_eq!(one("elsewhere@threads=2").1, None);
}

#[test]
fn what_is_no_cpu_is_refused_with_what_is() {
    for value in ["01", "-1", "1-2", "all", "1048576", "18446744073709551616"] {
        let request = request(&[&format!("bound.free@bind={value}")], Profile::Quick);
        let refused = plan(BOUND, &host(), request).err().unwrap().to_string();
        assert!(refused.ends_with("use none, 0, last, a CPU as 3"), "{value}: {refused}");
    }
}

#[test]
fn without_the_module_its_cases_are_skipped_as_one() {
    let mut host = host();
    let plan = planned_on(&host, "bound.of_module", Profile::Quick);
    assert_eq!(plan.cases.len(), 1);
    assert!(plan.cases[0].is_default && plan.cases[0].skip.as_ref().unwrap().contains("not loaded"));
    assert_eq!(planned_on(&host, "bound.of_module@bind=2", Profile::Quick).cases.len(), 1);
    host.kernel.module_version = Some("1".into());
    let plan = planned_on(&host, "bound.of_module", Profile::Quick);
    assert!(plan.cases.len() == 3 && plan.cases.iter().all(|case| case.skip.is_none()));
}
