//! A device on which a synced record takes too long for a consensus store, always or after a burst.

use hostmark_model::{Estimate, Lang, Measured, Run, Text, Unit};

use super::evidence::{case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::value;

const SYNC: &str = "disk.fsync";
/// The case of etcd's own record size, in a file that is made ready as etcd does it.
const BLOCK: (&str, &str) = ("block", "2300");
const SPACE: (&str, &str) = ("space", "preallocated");
/// What etcd's hardware guide asks the 99th percentile of fdatasync to stay under, ns.
const MOST_NS: f64 = 10e6;

pub(super) static RULE: Rule = Rule {
    id: "disk.slow_sync",
    shown: Demonstration::Run,
    probes: &[SYNC],
    cure: Some(Text {
        en: "Give the log a device of its own with power-loss protection. A flush is free there; keep other writers off it. In a cloud \
             choose a volume with reserved operations. --scratch measures any other directory.",
        zh: "给日志一块带掉电保护的专用设备。其上刷新不花时间；不让其他程序写它；云上请选有预留 IOPS 的卷。用 --scratch 可测量其他目录。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

/// A mean over this many medians, and over a millisecond: most operations do not show what the device sustains.
const BURSTS: f64 = 3.0;
const LEAST_MEAN_NS: f64 = 1e6;
/// The share of operations that p99 speaks of, where they are too few for a percentile, and the fewest slow ones that count.
const SLOW_SHARE: f64 = 0.01;
const LEAST_SLOW: u64 = 3;

fn draw(run: &Run) -> Vec<Conclusion> {
    let Some(case) = case_at(run, SYNC, &[BLOCK, SPACE]) else { return Vec::new() };
    let Some(measured) = case.measured() else { return Vec::new() };
    let too_slow = match measured.also.get("p99") {
        Some(p99) => by_percentile(&p99.estimate),
        None => by_count(measured),
    };
    let drawn = |(short, text, cost)| Conclusion { short, text, cases: vec![case.id.clone()], cost };
    too_slow.into_iter().chain(by_mean(measured)).map(drawn).collect()
}

/// In a line, in full, and what it costs.
type Costed = (Text<String>, Text<String>, f64);

/// What the verdict is, where it is proven and where it is not.
fn verdict(is_proven: bool) -> (&'static str, &'static str) {
    match is_proven {
        true => ("is too slow for", "达不到"),
        false => ("may be too slow for", "可能达不到"),
    }
}

/// Of operations that are enough for a 99th percentile.
fn by_percentile(p99: &Estimate) -> Option<Costed> {
    if p99.value() <= MOST_NS {
        return None;
    }
    let took = value(p99.value(), Unit::Nanoseconds, Lang::En);
    // An interval that reaches below the limit proves nothing.
    let is_proven = p99.interval().is_some_and(|(low, _)| low > MOST_NS);
    let (verdict, verdict_zh) = verdict(is_proven);
    let [may, may_zh] = if is_proven { [""; 2] } else { ["may ", "可能"] };
    let text = Text {
        en: format!(
            "This filesystem {verdict} etcd and other consensus stores: one append with fdatasync in a hundred takes {took} or \
             more, where they ask for less than 10 ms."
        ),
        zh: format!(
            "该文件系统{verdict_zh} etcd 等共识存储的要求：追加并 fdatasync 每一百次有一次达到 {took} 或更长，而它们要求低于 10 ms。"
        ),
    };
    let short = short(
        format!("1 % of appends with fdatasync {may}take {took} or more; etcd asks for less than 10 ms"),
        format!("1% 的追加并 fdatasync {may_zh}达到 {took} 或更长，而 etcd 要求低于 10 ms"),
    );
    Some((short, text, lost(p99.value(), MOST_NS)))
}

/// Of fewer: a device that makes requests wait serves too few of them for a percentile.
fn by_count(measured: &Measured) -> Option<Costed> {
    let histogram = measured.histogram.as_ref()?;
    let of_all = || histogram.values.iter().zip(&histogram.counts);
    let all = of_all().map(|(_, &count)| count).fold(0, u64::saturating_add);
    let slow = of_all().filter(|&(&ns, _)| ns as f64 > MOST_NS).map(|(_, &count)| count).fold(0, u64::saturating_add);
    let most = SLOW_SHARE * all as f64;
    if slow < LEAST_SLOW || slow as f64 <= most {
        return None;
    }
    // Two standard deviations of a count.
    let (verdict, verdict_zh) = verdict(slow as f64 - 2.0 * (slow as f64).sqrt() > most);
    let text = Text {
        en: format!(
            "This filesystem {verdict} etcd and other consensus stores: {slow} of {all} appends with fdatasync took over 10 ms, \
             where they ask for less than one in a hundred."
        ),
        zh: format!(
            "该文件系统{verdict_zh} etcd 等共识存储的要求：{all} 次追加并 fdatasync 中有 {slow} 次超过 10 ms，而它们要求少于百分之一。"
        ),
    };
    let short = short(
        format!("{slow} of {all} appends with fdatasync took over 10 ms; etcd asks for less than 1 %"),
        format!("{all} 次追加并 fdatasync 中有 {slow} 次超过 10 ms，而 etcd 要求少于 1%"),
    );
    Some((short, text, 1.0 - most / slow as f64))
}

/// The mean of all, which stalls after bursts are in.
fn by_mean(measured: &Measured) -> Option<Costed> {
    let sustained = measured.also.get("sustained")?.estimate.value();
    let (mean, median) = (1e9 / sustained, measured.estimate.typical);
    if mean < BURSTS * median || mean < LEAST_MEAN_NS {
        return None;
    }
    let ns = |ns: f64| value(ns, Unit::Nanoseconds, Lang::En);
    let (usual, on_average) = (ns(median), ns(mean));
    let text = Text {
        en: format!(
            "Appends with fdatasync stall: half of them take at most {usual}, but {on_average} on average, and the device sustains \
             {sustained:.0} a second. A limit on operations a second, other writers or busy CPUs make some wait."
        ),
        zh: format!(
            "追加并 fdatasync 会停顿：一半不超过 {usual}，平均却为 {on_average}，设备每秒只能持续 {sustained:.0} 次。原因是每秒操作数限额、其他写者或繁忙的 CPU。"
        ),
    };
    let short = short(
        format!("Appends with fdatasync stall: {usual} in the median, {on_average} on average"),
        format!("追加并 fdatasync 会停顿：中位数 {usual}，平均 {on_average}"),
    );
    Some((short, text, lost(mean, median)))
}
