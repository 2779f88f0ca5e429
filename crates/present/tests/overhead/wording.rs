//! What the view says beside its figures when there are many runs: each thing once.

use hostmark_model::*;
use hostmark_present::RenderOptions;
use hostmark_present::export::format_named;

use super::guests::guest;
use super::reference::{rows, view};
use crate::synthetic::{self, case};

/// Three native runs and two of an emulated guest, all of them disturbed, without the kernel's side.
fn disturbed() -> Vec<Run> {
    let kernel = |bind: &str| {
        let reason = ReasonCode::Kernel.because("needs the kernel module hostmark, which is not loaded");
        case(&format!("file.kernel_read@bind={bind},irq=on"), Outcome::Skipped { reason })
    };
    let conclusion = |share: usize, pid: usize| Text {
        en: format!("others used {share} % of the time of CPU 0-1 (pid {pid})"),
        zh: format!("其他程序占用了 CPU 0-1 时间的 {share}%（pid {pid}）"),
    };
    let run = |name: &str, at: usize| {
        let mut run = Run { name: name.into(), started: format!("2026-11-23T12:0{at}:00Z"), ..synthetic::plausible() };
        run.cases.push(kernel("none"));
        run.disturbances = vec![conclusion(40 + at, at)];
        run
    };
    let mut runs: Vec<Run> = (0..3).map(|at| run("native", at)).collect();
    runs.extend((3..5).map(|at| {
        let mut run = run("guest", at);
        run.guest = Some(Box::new(guest("tcg")));
        run.disturbances.push(IN_SOFTWARE.to_owned_text());
        run
    }));
    runs
}

#[test]
fn each_kind_of_remark_is_reported_once_for_each_side_with_its_range() {
    let text = view(&disturbed());
    let remarks: Vec<&str> = text.lines().filter(|line| line.starts_with("! ")).collect();
    let all = [
        "! guest was measured under QEMU's software emulation: the figures tell nothing about KVM",
        "! native: others used 40 to 42 % of the time of CPU 0-1 (pid 0; pid 1; pid 2) (3 of 3 runs)",
        "! guest: others used 43 to 44 % of the time of CPU 0-1 (pid 3; pid 4) (2 of 2 runs)",
    ];
    assert_eq!(remarks[..3], all, "{text}");
    let kernel = "! native, guest: nothing was measured inside the kernel (skipped: needs the kernel module";
    assert_eq!(remarks.iter().filter(|remark| remark.starts_with(kernel)).count(), 1, "{text}");
    assert_eq!(text.matches("nothing was measured inside").count(), 1, "{text}");
}

/// A run in which cases of two groups take this many times as long, and one was skipped.
fn grouped(name: &str, [calls, files]: [f64; 2], skipped: Option<&str>) -> Run {
    let mut run = Run { name: name.into(), ..synthetic::empty() };
    let cases = [("syscall.null", 100.0 * calls), ("file.create", 2000.0 * files), ("syscall.getpid", 90.0 * calls)];
    for (id, value) in cases {
        run.probes.push(synthetic::probe(id, ("x", "x"), Unit::Nanoseconds, ("X", "X"), &[]));
        run.cases.push(case(id, Outcome::Measured(Box::new(synthetic::measured(value, 0.002)))));
    }
    for id in ["syscall.stat", "syscall.open"] {
        let measured = || Outcome::Measured(Box::new(synthetic::measured(500.0, 0.002)));
        let outcome = skipped
            .map_or_else(measured, |reason| Outcome::Skipped { reason: ReasonCode::NotApplicable.because(reason) });
        run.cases.push(case(id, outcome));
    }
    run
}

#[test]
fn the_group_that_pays_most_comes_first_under_a_head_with_its_median() {
    let text = view(&[grouped("native", [1.0, 1.0], None), grouped("guest", [1.2, 3.0], Some("time budget"))]);
    let all = rows(&text, "Every case that was measured in several environments");
    let starts: Vec<&str> = all.iter().map(|row| row.split("  ").find(|part| !part.is_empty()).unwrap()).collect();
    let file = "file: median of its cases, in time: guest +200.00 %";
    let calls = "syscall: median of its cases, in time: guest +20.00 %";
    assert_eq!(starts, [file, "file.create", calls, "syscall.null", "syscall.getpid"], "{text}");
    // Heads are lines of their own, and values stand in one column below each other.
    let ends: Vec<usize> = all
        .iter()
        .filter(|row| row.starts_with(' '))
        .map(|row| row.chars().position(|one| one == '%').unwrap())
        .collect();
    assert!(ends.len() == 3 && ends.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
}

#[test]
fn a_reason_stands_once_below_its_table_with_its_cases_and_makes_no_column_wide() {
    let reason = "the program cannot be executed here: execve: No such file or directory (os error 2)";
    let runs = [
        grouped("native", [1.0, 1.0], None),
        grouped("guest", [1.2, 3.0], Some(reason)),
        grouped("other", [1.0, 1.0], None),
    ];
    let text = view(&runs);
    let all = rows(&text, "Every case that was measured in several environments");
    let row = all.iter().find(|row| row.trim_start().starts_with("syscall.stat")).unwrap();
    assert!(row.contains(" skipped  ") && row.chars().count() < 100, "{row}");
    assert_eq!(all.last(), Some(&format!("guest, skipped: {reason} (syscall.stat, syscall.open)").as_str()), "{text}");
    assert_eq!(text.matches(reason).count(), 1, "{text}");
    for name in ["markdown", "html"] {
        let shown = format_named(name).unwrap().render(&runs, &RenderOptions::default()).unwrap();
        assert!(shown.contains("guest, skipped: the program cannot be executed here"), "{name}: {shown}");
        assert!(shown.contains("median of its cases, in time: guest"), "{name}");
    }
}
