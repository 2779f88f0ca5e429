//! Why a pipeline of tools is slower than the TCP beneath it.

use hostmark_model::{Run, Text};

use super::{Conclusion, DISTURBED, Demonstration, Doubt, LOOPBACK, QUOTA_OF_ONE, Rule, YIELDS};
use crate::data_path::{PROBE, PathAnswer, answers};

pub(super) static RULE: Rule = Rule {
    id: "net.data_path",
    shown: Demonstration::Explain("net.data_path"),
    probes: &[PROBE],
    cure: Some(Text {
        en: "Leave out a process: nc < file instead of dd if=file | nc. Or a copy: splice and sendfile move bytes inside the kernel. `hostmark \
             run --table data-path` says what each gives here.",
        zh: "去掉一个进程：用 nc < file 代替 dd if=file | nc。或去掉一次复制：splice 与 sendfile 在内核中移动数据。`hostmark run --table \
             data-path` 给出每种做法在此机上的效果。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw,
};

/// One for each number of CPUs.
fn draw(run: &Run) -> Vec<Conclusion> {
    let mut seen: Vec<f64> = Vec::new();
    let mut all = answers(run);
    all.retain(|answer| {
        let is_first = !answer.cases.is_empty() && !seen.contains(&answer.cpus);
        seen.extend(is_first.then_some(answer.cpus));
        is_first
    });
    let conclusion = |PathAnswer { short, text, cases, cost, .. }| Conclusion { short, text, cases, cost };
    all.into_iter().map(conclusion).collect()
}
