//! What another tool was asked to do: two answers to different questions have no verdict.

use hostmark_analysis::compare::ReasonKind;
use hostmark_model::*;

use super::made::run;
use super::{about, compared, with};

/// Three imported runs with this engine, where one is told.
fn of_engine(engine: Option<&str>) -> [Run; 3] {
    let case = with(about("ipc.x@n=0", 100.0), |measured| {
        measured.notes.extend(engine.map(|engine| ("engine".to_owned(), engine.to_owned())));
    });
    ["1", "2", "3"].map(|name| {
        let imported = Some(Imported { format: "fio".into(), ..Imported::default() });
        Run { imported, ..run(&format!("{name}{engine:?}"), vec![case.clone()]) }
    })
}

#[test]
fn what_was_asked_differently_has_no_verdict_and_is_named() {
    let judged = |base, new| compared(&of_engine(base), &of_engine(new)).new.remove(0);
    let against = judged(Some("sync"), Some("libaio"));
    let reason = against.cases[0].reason.as_ref().unwrap();
    assert_eq!((reason.kind, reason.text.en.as_str()), (ReasonKind::Asked, "engine differs: sync, libaio"));
    assert!(against.differs.iter().any(|one| one.label.en == "engine" && one.new.as_deref() == Some("libaio")));
    // What one of them does not tell may have been anything.
    assert_eq!(
        judged(None, Some("libaio")).cases[0].reason.as_ref().unwrap().text.en,
        "engine differs: unknown, libaio"
    );
    let kind =
        |against: &hostmark_analysis::compare::Against| against.cases[0].reason.as_ref().map(|reason| reason.kind);
    assert_ne!(kind(&judged(Some("sync"), Some("sync"))), Some(ReasonKind::Asked));
    assert_ne!(kind(&judged(None, None)), Some(ReasonKind::Asked));
}

#[test]
fn where_trials_on_one_machine_chose_another_kernel_there_is_no_verdict() {
    let of = |kernel: &str, hostname: &str, axis: &str| {
        let case = with(about(&format!("memory.write@kernel={axis}"), 100.0), |measured| {
            measured.notes.insert("kernel".to_owned(), kernel.to_owned());
        });
        ["1", "2", "3"].map(|name| {
            let mut run = run(&format!("{name}{kernel}"), vec![case.clone()]);
            run.host.hostname = hostname.to_owned();
            run
        })
    };
    let judged = |base, new: (&str, &str), axis| {
        let against = compared(&of(base, "here", axis), &of(new.0, new.1, axis)).new.remove(0);
        against.cases[0].reason.clone().map(|reason| (reason.kind, reason.text.en))
    };
    let other = "trials chose another kernel: avx2, nt".to_owned();
    assert_eq!(judged("avx2", ("nt", "here"), "best"), Some((ReasonKind::OtherKernel, other)));
    // On another machine the best may be another one, and one that was named is.
    for (new, axis) in [(("nt", "there"), "best"), (("avx2", "here"), "best"), (("nt", "here"), "scalar")] {
        assert!(judged("avx2", new, axis).is_none_or(|(kind, _)| kind != ReasonKind::OtherKernel), "{new:?} {axis}");
    }
}

#[test]
fn main_memory_that_was_taken_at_another_size_is_said_to_be() {
    let at = |level: &str, size: &str| {
        let case = about(&format!("memory.hierarchy@level={level}"), 100.0);
        run(size, vec![with(case, |measured| drop(measured.notes.insert("at".into(), size.into())))])
    };
    let remarks = |level| compared(&[at(level, "256M")], &[at(level, "960M")]).new.remove(0).cases.remove(0).remarks;
    assert!(remarks("dram").iter().any(|remark| remark.en == "at differs: 256M → 960M"));
    // Within a cache any size that it holds is as good.
    assert!(remarks("l2").iter().all(|remark| !remark.en.contains("at differs")));
}
