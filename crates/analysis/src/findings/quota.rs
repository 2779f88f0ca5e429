//! A CPU quota that is smaller than the number of CPUs that may be used.

use hostmark_model::{CaseRecord, Run, Text};

use super::evidence::lost;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::format::{number, percent};

/// The cases that are named.
const MOST_CASES: usize = 5;

pub(super) static RULE: Rule = Rule {
    id: "run.cpu_quota",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(Text {
        en: "Lift the quota (docker --cpus, systemd CPUQuota=, Kubernetes limits.cpu). Or run no more threads than it pays for (GOMAXPROCS, \
             OMP_NUM_THREADS, a cpuset): fewer threads that run through beat many that are stopped.",
        zh: "取消配额（docker --cpus、systemd CPUQuota=、Kubernetes \
             limits.cpu）。或让线程数不超过配额（GOMAXPROCS、OMP_NUM_THREADS、cpuset）：少量不停运行的线程好于许多被反复暂停的线程。",
    }),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let usable = run.host.usable_cpus().len();
    let Some(quota) = run.host.limits.cpu_quota.filter(|quota| *quota > 0.0 && *quota < usable as f64) else {
        return Vec::new();
    };
    let is_over = |case: &&CaseRecord| {
        let rounds = case.measured().map(|measured| measured.rounds.as_slice()).unwrap_or_default();
        rounds.iter().any(|round| round.cpus.len() as f64 > quota)
    };
    let cases = run.cases.iter().filter(is_over).take(MOST_CASES).map(|case| case.id.clone()).collect();
    let cost = lost(usable as f64, quota);
    let (share, quota) = (percent(cost), number(quota));
    let text = Text {
        en: format!(
            "A quota allows {quota} of the {usable} usable CPUs: what keeps more than {quota} CPU busy is stopped for the rest of each \
             period (100 ms as a rule). All CPUs at once lose {share} of their time, and requests wait out the pauses."
        ),
        zh: format!(
            "CPU 配额只允许使用 {usable} 个可用 CPU 中的 {quota} 个：繁忙的 CPU 超过 {quota} 个时，程序会在每个周期（通常 100 ms）的剩余时间里被暂停。\
             全部 CPU 同时工作会损失 {share} 的时间，请求也要等到暂停结束。"
        ),
    };
    let short = short(
        format!("CPU quota: {quota} of {usable} CPUs; all CPUs at once lose {share} of their time"),
        format!("CPU 配额：{usable} 个 CPU 只能用 {quota} 个，全部同时工作损失 {share} 的时间"),
    );
    vec![Conclusion { short, text, cases, cost }]
}
