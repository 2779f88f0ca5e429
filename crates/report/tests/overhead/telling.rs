//! What the view says beside its figures when there are many runs: each thing once.

use hostmark_model::*;

use super::guests::guest;
use super::reference::view;
use super::synthetic::{self, case};

/// Three native runs and two of an emulated guest, all of them disturbed, without the kernel's side.
fn disturbed() -> Vec<Run> {
    let kernel = |bind: &str| {
        let reason = "needs the kernel module hostmark, which is not loaded".to_owned();
        case(&format!("file.kernel_read@bind={bind},irq=on"), Outcome::Skipped { reason })
    };
    let told = |share: usize, pid: usize| Text {
        en: format!("others used {share} % of the time of CPU 0-1 (pid {pid})"),
        zh: format!("其他程序占用了 CPU 0-1 时间的 {share} %（pid {pid}）"),
    };
    let run = |name: &str, at: usize| {
        let mut run = Run { name: name.into(), started: format!("2026-11-23T12:0{at}:00Z"), ..synthetic::plausible() };
        run.cases.push(kernel("none"));
        run.disturbances = vec![told(40 + at, at)];
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
fn each_kind_of_remark_is_told_once_for_each_side_with_its_range() {
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
