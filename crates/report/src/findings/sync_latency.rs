//! A device on which a synced record takes too long for a consensus store.

use hostmark_model::{Lang, Run, Text, Unit};

use super::evidence::lost;
use super::{Conclusion, Rule};
use crate::format::value;

const SYNC: &str = "disk.fsync";
/// The case of etcd's own record size, in a file that is made ready as etcd does it.
const BLOCK: (&str, &str) = ("block", "2300");
const SPACE: (&str, &str) = ("space", "preallocated");
/// What etcd's hardware guide asks the 99th percentile of fdatasync to stay under, ns.
const MOST_NS: f64 = 10e6;

pub(super) static RULE: Rule = Rule {
    id: "disk.slow_sync",
    probes: &[SYNC],
    cure: Some(Text {
        en: "Give the log a device of its own with power-loss protection, on which a flush is free; keep other writers off it. \
             In a cloud choose a volume with reserved operations. --scratch measures any other directory.",
        zh: "给日志一块带掉电保护、刷新不花时间的专用设备，不让其他程序写它；云上请选有预留 IOPS 的卷。用 --scratch 可测量其他目录。",
    }),
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let is_asked = |case: &&hostmark_model::CaseRecord| {
        let is_at = |(axis, value): (&str, &str)| case.params.get(axis) == Some(value);
        case.probe == SYNC && is_at(BLOCK) && is_at(SPACE)
    };
    let Some(case) = run.cases.iter().find(is_asked) else { return Vec::new() };
    let Some(p99) = case.measured().and_then(|measured| measured.also.get("p99")) else { return Vec::new() };
    let estimate = &p99.estimate;
    if estimate.median <= MOST_NS {
        return Vec::new();
    }
    let took = value(estimate.median, Unit::Nanoseconds, Lang::En);
    // An interval that reaches below the limit proves nothing.
    let is_proven = estimate.ci_low.is_some_and(|low| low > MOST_NS);
    let (verdict, verdict_zh) = match is_proven {
        true => ("is too slow for", "达不到"),
        false => ("may be too slow for", "可能达不到"),
    };
    let text = Text {
        en: format!(
            "This filesystem {verdict} etcd and other consensus stores: one append with fdatasync in a hundred takes {took} or \
             more, where they ask for less than 10 ms."
        ),
        zh: format!(
            "该文件系统{verdict_zh} etcd 等共识存储的要求：追加并 fdatasync 每一百次有一次达到 {took} 或更长，而它们要求低于 10 ms。"
        ),
    };
    let cost = lost(estimate.median, MOST_NS);
    vec![Conclusion { text, cases: vec![case.id.clone()], cost }]
}
