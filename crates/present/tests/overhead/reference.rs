//! Runs of a file access as a published report has its cycles: native, and in a guest.

use hostmark_model::*;
use hostmark_present::RenderOptions;
use hostmark_present::export::overhead_over;

use crate::synthetic::{self, case, estimate, measured, probe};

const FILE: (&str, &str) = ("Files", "文件");
/// Operations of a batch, whose cycles the report prints, and its machine's cycles a nanosecond.
const BATCH: f64 = 10_000.0;
const CYCLES_PER_NS: f64 = 2.5;

/// A case whose batch took so many cycles.
pub fn cycles(id: &str, cycles: f64) -> CaseRecord {
    let ns = cycles / BATCH / CYCLES_PER_NS;
    let mut measured = measured(ns, 0.0);
    measured.estimate = estimate(ns, 0.0);
    measured.estimate.mean = ns;
    measured.estimate.stddev = ns * 0.0198;
    measured.also.insert("batch_cycles".into(), Also { estimate: estimate(cycles, 0.0) });
    case(id, Outcome::Measured(Box::new(measured)))
}

/// The four probes of a file access.
pub fn file_probes() -> Vec<ProbeInfo> {
    let kernel: &[_] = &[("bind", AxisKind::Choice, "none"), ("irq", AxisKind::Choice, "on")];
    let user: &[_] = &[("bind", AxisKind::Choice, "none"), ("through", AxisKind::Choice, "cache")];
    let sides = [
        ("file.overwrite", user),
        ("file.read_start", user),
        ("file.kernel_read", kernel),
        ("file.kernel_write", kernel),
    ];
    sides.map(|(id, axes)| probe(id, (id, id), Unit::Nanoseconds, FILE, axes)).into()
}

pub fn named(name: &str, probes: Vec<ProbeInfo>, cases: Vec<CaseRecord>) -> Run {
    Run { name: name.into(), probes, cases, ..synthetic::empty() }
}

/// Inside the kernel: not bound, bound. From user space: bound to the last CPU, to CPU 0, not bound.
fn file_run(name: &str, kernel: [[f64; 2]; 2], user: [[f64; 3]; 2]) -> Run {
    let mut cases = Vec::new();
    for (probe, values) in ["file.kernel_read", "file.kernel_write"].iter().zip(kernel) {
        let id = |at: &str| format!("{probe}@bind={at},irq=on");
        cases.extend(["none", "last"].iter().zip(values).map(|(at, value)| cycles(&id(at), value)));
    }
    for (probe, values) in ["file.read_start", "file.overwrite"].iter().zip(user) {
        let id = |at: &str| format!("{probe}@bind={at},through=cache");
        cases.extend(["last", "0", "none"].iter().zip(values).map(|(at, value)| cycles(&id(at), value)));
    }
    named(name, file_probes(), cases)
}

/// The cycle counts of the report: Ubuntu 18.04 on an i7-6500U, and the same in a guest of QEMU 2.11.
pub fn reference() -> [Run; 2] {
    let native = file_run(
        "native",
        [[7_010_696.0, 8_107_065.0], [23_594_149.0, 24_710_759.0]],
        [[22_085_129.6, 21_950_394.2, 21_326_624.6], [41_937_019.4, 41_857_672.2, 40_444_060.8]],
    );
    let mut guest = file_run(
        "guest",
        [[7_966_626.0, 8_451_120.8], [25_567_929.0, 26_936_275.6]],
        [[25_472_281.6, 25_027_264.2, 23_469_545.4], [49_939_502.8, 45_046_073.0, 44_842_156.0]],
    );
    guest.host.virtualization.hypervisor = Some("kvm".into());
    [native, guest]
}

pub fn view(runs: &[Run]) -> String {
    overhead_over(runs, None, &RenderOptions { width: 2000, ..RenderOptions::default() }).unwrap()
}

/// The lines of the table whose title begins so, without its title and head.
pub fn rows<'a>(view: &'a str, title: &str) -> Vec<&'a str> {
    let mut lines = view.lines().skip_while(|line| !line.starts_with(title));
    assert!(lines.next().is_some(), "no table {title} in\n{view}");
    lines.skip(1).take_while(|line| !line.is_empty()).collect()
}

/// The percentages of a line.
pub fn percentages(line: &str) -> Vec<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number =
        |pair: &[&str]| (pair[1] == "%").then(|| pair[0].trim_start_matches('±').replace('−', "-").parse().unwrap());
    words.windows(2).filter_map(number).collect()
}
