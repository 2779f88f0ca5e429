//! What bounds TCP over loopback: what one CPU gives both ends, and what pacing, CPUs, windows, copies and packets make of it.

use std::cmp::Ordering::Equal;

use hostmark_model::{CaseRecord, Lang, Run, Text, Unit};

use super::evidence::{Proven, believed, case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, LOOPBACK, QUOTA_OF_ONE, Rule, YIELDS};
use crate::bilingual::{SEMICOLON, joined};
use crate::format::{low_high, number, value};
use crate::texts::findings::tcp_loopback as texts;

const TCP: &str = "net.tcp_bandwidth";
const OFFLOAD: &str = "net.tcp_offload";
/// By what factor one must be faster than the other to be worth a word.
const NOTABLE: f64 = 1.1;
/// Congestion controls that pace: they send by a clock, also where nothing is in the way.
const PACING: [&str; 3] = ["bbr", "bbr2", "bbr3"];
/// Axes, other than that of an alternative, at which cases are compared.
const BASE: [(&str, &str); 8] = [
    ("message", "65536"),
    ("direction", "receive"),
    ("method", "write"),
    ("cpus", "same_cpu"),
    ("streams", "1"),
    ("window", "default"),
    ("congestion", "default"),
    ("block", "65536"),
];
const OFFLOAD_BASE: [(&str, &str); 4] = [("device", "lo"), ("offload", "all"), ("mtu", "1500"), ("cpus", "same_cpu")];

pub(super) static RULE: Rule = Rule {
    id: "net.tcp_loopback",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP, OFFLOAD],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

/// What is said, the cases that prove it, and what the base loses against what can be chosen in its place.
struct LoopbackFinding {
    pub text: Text<String>,
    cases: Vec<String>,
    cost: f64,
    /// What changes most, by what factor: what is faster before what is slower.
    most: Option<(f64, Text<String>)>,
}

impl LoopbackFinding {
    fn add(&mut self, en: String, zh: String, case: &CaseRecord) {
        self.text.en += &en;
        self.text.zh += &zh;
        self.cases.push(case.id.clone());
    }

    /// Something that makes `by` times the rate.
    fn compare(&mut self, by: f64, en: String, zh: String) {
        let rank = |by: f64| (by > 1.0, by.ln().abs());
        if self.most.as_ref().is_none_or(|(most, _)| rank(by) > rank(*most)) {
            self.most = Some((by, Text { en, zh }));
        }
    }
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let base = at(run, TCP, &BASE, &[])?;
    let on_one_cpu = rate(base)?;
    let ends = ["sender_cpus", "receiver_cpus"].map(|name| Some(believed(base)?.also.get(name)?.estimate.value()));
    let (ends_en, ends_zh) = match ends {
        [Some(sends), Some(receives)] => {
            let [sends, receives] = [sends, receives].map(number);
            (
                format!(", which both ends share: sending keeps {sends} of it busy, receiving {receives}"),
                format!("，由两端共用：发送占用 {sends}，接收占用 {receives}"),
            )
        }
        _ => (", which both ends share".to_owned(), "，由两端共用".to_owned()),
    };
    let text = texts::text!(on_one_cpu, ends = Text { en: ends_en, zh: ends_zh });
    let mut finding = LoopbackFinding { text, cases: vec![base.id.clone()], cost: 0.0, most: None };
    congestion(run, base, &mut finding);
    windows(run, &mut finding);
    placements(run, base, &mut finding);
    methods(run, base, &mut finding);
    packets(run, &mut finding);
    // A value alone is no finding: something must be proven to change it.
    let (by, Text { en, zh }) = finding.most?;
    let (gives, change) = (value(Proven::of_case(base)?.value, Unit::BytesPerSecond, Lang::En), shown(by));
    let short = short(texts::short!(gives, choice = Text { en, zh }, change));
    Some(Conclusion { short, text: finding.text, cases: finding.cases, cost: finding.cost })
}

/// The case at a base's values, but for some.
fn at<'a>(run: &'a Run, probe: &str, base: &[(&str, &str)], but: &[(&str, &str)]) -> Option<&'a CaseRecord> {
    let value_of = |axis| but.iter().find(|(name, _)| *name == axis);
    let all: Vec<_> = base.iter().map(|&(axis, value)| *value_of(axis).unwrap_or(&(axis, value))).collect();
    case_at(run, probe, &all)
}

/// A case's rate with its interval.
fn rate(case: &CaseRecord) -> Option<String> {
    let estimate = &believed(case)?.estimate;
    Proven::of(estimate)?;
    let rate = value(estimate.value(), Unit::BytesPerSecond, Lang::En);
    Some(match low_high(estimate, Unit::BytesPerSecond, Lang::En) {
        Some(interval) => format!("{rate} ({interval})"),
        None => rate,
    })
}

/// By what factor one case is above another, where their intervals prove it and it is worth a word.
fn factor(above: &CaseRecord, below: &CaseRecord) -> Option<f64> {
    let (above, below) = (Proven::of_case(above)?, Proven::of_case(below)?);
    let by = above.value / below.value;
    (above.low > below.high && by > NOTABLE).then_some(by)
}

/// What `other` is of `base`, where that is proven.
fn change(other: &CaseRecord, base: &CaseRecord) -> Option<f64> {
    factor(other, base).or_else(|| factor(base, other).map(|by| 1.0 / by))
}

/// `×2.1` or `÷2.1`.
fn shown(by: f64) -> String {
    if by > 1.0 { format!("×{}", number(by)) } else { format!("÷{}", number(1.0 / by)) }
}

fn note<'a>(case: &'a CaseRecord, name: &str) -> Option<&'a str> {
    case.measured()?.notes.get(name).map(String::as_str)
}

/// The fastest of some cases.
fn fastest<'a>(cases: impl Iterator<Item = &'a CaseRecord>) -> Option<&'a CaseRecord> {
    let proven = cases.filter_map(|case| Some((case, Proven::of_case(case)?.value)));
    proven.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(case, _)| case)
}

fn congestion(run: &Run, base: &CaseRecord, finding: &mut LoopbackFinding) {
    let others = ["reno", "cubic"].iter().filter_map(|name| at(run, TCP, &BASE, &[("congestion", name)]));
    let Some(best) = fastest(others) else { return };
    let (Some(system), Some(name)) = (note(base, "congestion_control"), best.params.get("congestion")) else { return };
    let (Some(by), Some(gives)) = (factor(best, base), rate(best)) else { return };
    let (why_en, why_zh) = match PACING.contains(&system) {
        true => (
            ", which paces: it lets data go by a clock, also where no network is in the way",
            "，它会限速发送（pacing）：即使中间没有网络，也按时钟放行数据",
        ),
        false => ("", ""),
    };
    finding.compare(by, format!("with {name}"), format!("改用 {name} "));
    let by = number(by);
    finding.add(
        format!(" The system's congestion control is {system}{why_en}; with {name} it is {gives}, ×{by}."),
        format!("系统的拥塞控制是 {system}{why_zh}；改用 {name} 为 {gives}，×{by}。"),
        best,
    );
    finding.cost = finding.cost.max(loss(best, base));
}

/// The share of its time that `base` loses against `best`.
fn loss(best: &CaseRecord, base: &CaseRecord) -> f64 {
    let median = |case| Proven::of_case(case).map(|proven| proven.value);
    median(best).zip(median(base)).map_or(0.0, |(best, base)| lost(best, base))
}

/// The best of the fixed windows, on one CPU and on two, where it is above the system's tuning; else the worst where it is below.
fn windows(run: &Run, finding: &mut LoopbackFinding) {
    let mut places: Vec<&str> = Vec::new();
    for place in run.cases.iter().filter(|case| case.probe == TCP).filter_map(|case| case.params.get("cpus")) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        let Some(tuned) = at(run, TCP, &BASE, &[("cpus", place)]) else { continue };
        let is_fixed = |case: &&CaseRecord| {
            let window = case.params.get("window").filter(|window| *window != "default");
            let same = window.and_then(|window| at(run, TCP, &BASE, &[("cpus", place), ("window", window)]));
            case.probe == TCP && same.is_some_and(|same| same.id == case.id)
        };
        let fixed: Vec<&CaseRecord> = run.cases.iter().filter(is_fixed).collect();
        let best = fastest(fixed.iter().copied()).filter(|best| factor(best, tuned).is_some());
        let slow = fixed.iter().copied().filter(|case| factor(tuned, case).is_some());
        let slowest = slow.max_by(|one, other| factor(tuned, one).partial_cmp(&factor(tuned, other)).unwrap_or(Equal));
        let Some(case) = best.or(slowest) else { continue };
        let (Some(change), Some(gives), Some(window)) = (change(case, tuned), rate(case), case.params.get("window"))
        else {
            continue;
        };
        let window = size(window);
        finding.compare(change, format!("fixed window of {window} ({place})"), format!("固定窗口 {window}（{place}）"));
        let change = shown(change);
        finding.add(
            format!(" A fixed window of {window} gives {gives} (cpus={place}), {change} against the system's tuning."),
            format!("固定窗口 {window} 时为 {gives}（cpus={place}），相对于系统自动调节为 {change}。"),
            case,
        );
        finding.cost = finding.cost.max(best.map_or(0.0, |best| loss(best, tuned)));
    }
}

/// A window's name as people write it.
fn size(name: &str) -> String {
    let (number, unit) = name.split_at(name.len().saturating_sub(1));
    match unit {
        "k" => format!("{number} KiB"),
        "m" => format!("{number} MiB"),
        _ => name.to_owned(),
    }
}

fn placements(run: &Run, base: &CaseRecord, finding: &mut LoopbackFinding) {
    for place in ["smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node"] {
        let Some(case) = at(run, TCP, &BASE, &[("cpus", place)]) else { continue };
        let (Some(change), Some(gives)) = (change(case, base), rate(case)) else { continue };
        finding.compare(change, format!("on two ({place})"), format!("在两个 CPU 上（{place}）"));
        // Why it may be slower: each end that sleeps is woken from the other CPU.
        let woken = [case, base].map(|case| Some(believed(case)?.also.get("wake_ups")?.estimate.value()));
        let (why_en, why_zh) = match woken {
            [Some(two), Some(one)] if two > one * NOTABLE && change < 1.0 => {
                let [two, one] = [two, one].map(number);
                (
                    format!(": {two} wake-ups per MiB, of another CPU, after {one} on one"),
                    format!("：每 MiB 唤醒另一个 CPU {two} 次，同一 CPU 上为 {one} 次"),
                )
            }
            _ => Default::default(),
        };
        let change = shown(change);
        finding.add(
            format!(" On two CPUs (cpus={place}) it is {gives}, {change}{why_en}."),
            format!("在两个 CPU 上（cpus={place}）为 {gives}，{change}{why_zh}。"),
            case,
        );
    }
}

fn methods(run: &Run, base: &CaseRecord, finding: &mut LoopbackFinding) {
    for (method, name) in [("zero_copy", "MSG_ZEROCOPY"), ("sendfile", "sendfile"), ("splice", "splice")] {
        let Some(case) = at(run, TCP, &BASE, &[("method", method)]) else { continue };
        let (Some(change), Some(gives)) = (change(case, base), rate(case)) else { continue };
        finding.compare(change, format!("by {name}"), format!("用 {name} "));
        let change = shown(change);
        let (why_en, why_zh) = match note(case, "zero_copy") {
            Some("copied") => (", and the kernel tells that it copied after all", "，而且内核报告它最终还是复制了"),
            Some(_) => (", and the kernel tells that it did not copy", "，内核报告没有复制"),
            None => ("", ""),
        };
        finding.add(
            format!(" {name} gives {gives}, {change}{why_en}."),
            format!("{name} 为 {gives}，{change}{why_zh}。"),
            case,
        );
    }
}

/// What it is worth that packets pass whole, in namespaces of the probe's own.
fn packets(run: &Run, finding: &mut LoopbackFinding) {
    for (device, name) in [("lo", "lo"), ("veth", "veth")] {
        let of = |offload| at(run, OFFLOAD, &OFFLOAD_BASE, &[("device", device), ("offload", offload)]);
        let Some(whole) = of("all") else { continue };
        let Some(gives) = rate(whole) else { continue };
        let mut parts: Vec<(Text<String>, &CaseRecord)> = Vec::new();
        for (offload, in_short, en, zh) in [
            ("big", ["with BIG TCP", "使用 BIG TCP "], "packets of 512 KiB (BIG TCP)", "512 KiB 的包（BIG TCP）"),
            (
                "no_tso",
                ["without TSO", "关闭 TSO "],
                "split at the interface and joined again (GRO)",
                "在接口处切分、接收方合并（GRO）",
            ),
            ("no_gro", ["without GRO", "关闭 GRO "], "split at the interface and not joined", "在接口处切分、不合并"),
            ("none", ["without offloads", "关闭全部卸载"], "made one by one and not joined", "由 TCP 逐个生成、不合并"),
        ] {
            let Some(case) = of(offload) else { continue };
            let (Some(change), Some(rate)) = (change(case, whole), rate(case)) else { continue };
            let [short_en, short_zh] = in_short;
            finding.compare(change, format!("over {name} {short_en}"), format!("{name} 上{short_zh}"));
            let change = shown(change);
            parts.push((Text { en: format!("{en} {rate}, {change}"), zh: format!("{zh}为 {rate}，{change}") }, case));
        }
        if parts.is_empty() {
            continue;
        }
        let (parts, others): (Vec<Text<String>>, Vec<&CaseRecord>) = parts.into_iter().unzip();
        let Text { en, zh } = joined(&parts, SEMICOLON);
        finding.text.en += &format!(
            " Over {name} with an MTU of 1500, without pacing, packets of 64 KiB that pass whole give {gives}; {en}."
        );
        finding.text.zh += &format!("在 MTU 为 1500 的 {name} 上、不限速时，64 KiB 的包整个通过为 {gives}；{zh}。");
        finding.cases.push(whole.id.clone());
        finding.cases.extend(others.iter().map(|case| case.id.clone()));
    }
}
