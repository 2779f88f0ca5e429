//! What is said of a KVM that interprets the kernel code of its guests.

use hostmark_analysis::findings::findings;
use hostmark_model::{Also, Finding, Flag, FlagKind, Outcome, Run};

use crate::synthetic;

/// Exits of two causes that the host's kernel handles and of one that it does not, around which the loop takes this long, ns.
fn run(around: f64, spread: f64) -> Run {
    let mut run = synthetic::empty();
    for (cause, handled) in [("cpuid", "kernel"), ("msr", "kernel"), ("port", "user space")] {
        let mut measured = synthetic::measured(500.0, 0.01);
        measured.also.insert("overhead".into(), Also { estimate: synthetic::estimate(around, spread) });
        measured.notes.insert("handled_in".into(), handled.into());
        let id = format!("virt.exit@cause={cause}");
        run.cases.push(synthetic::case(&id, Outcome::Measured(Box::new(measured))));
    }
    run
}

fn found(run: &Run) -> Option<Finding> {
    findings(run).into_iter().map(crate::short::sound).find(|finding| finding.id == "virt.interpreted")
}

#[test]
fn a_loop_that_takes_hundreds_of_nanoseconds_is_interpreted_and_its_exits_are_none() {
    let found = found(&run(740.0, 0.1)).unwrap();
    assert_eq!(found.cases, ["virt.exit@cause=cpuid", "virt.exit@cause=msr"]);
    assert!(found.text.en.contains("takes 740 ns") && found.text.en.contains("cpuid, msr are"), "{}", found.text.en);
    assert!(found.text.zh.contains("740 ns") && found.text.zh.contains("cpuid、msr"), "{}", found.text.zh);
    assert!(found.cure.is_some() && found.cost == 0.0);
}

#[test]
fn a_loop_of_a_cpu_and_one_of_which_that_is_not_sure_are_no_finding() {
    for (around, spread) in [(3.0, 0.1), (49.0, 0.01), (60.0, 0.3)] {
        assert_eq!(found(&run(around, spread)), None, "{around} ± {spread}");
    }
    let mut doubted = run(740.0, 0.1);
    for case in &mut doubted.cases {
        let Outcome::Measured(measured) = &mut case.outcome else { panic!() };
        measured.flags.push(Flag::new(FlagKind::Implausible, "x"));
    }
    assert_eq!(found(&doubted), None);
    assert_eq!(found(&synthetic::empty()), None);
}
