//! A cache whose line or ways measure other than the host says.

use hostmark_model::{CacheFact, Estimate, Lang, Run, Text, Unit};

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::value;
use crate::levels::{HIERARCHY, LEVELS, Level};

pub(super) static RULE: Rule = Rule {
    id: "memory.cache_structure_differs",
    shown: Demonstration::Run,
    probes: &[HIERARCHY],
    cure: Some(Text {
        en: "Pad and place data by the measured figures. Fewer ways than reported: measure again with the core's other thread \
             idle. On your own hypervisor, pass the processor's cache description on (QEMU: -cpu host).",
        zh: "请按实测数值填充和放置数据。若路数少于标称，请在同一核心的另一线程空闲时再测一次。若宿主机由您管理，请把处理器的缓存描述透传给\
             虚拟机（QEMU：-cpu host）。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    LEVELS.iter().flat_map(|level| conclusions(run, level)).collect()
}

fn conclusions(run: &Run, level: &Level) -> Vec<Conclusion> {
    let Some(reported) = level.reported(run) else { return Vec::new() };
    let cases: Vec<String> = level.case(run).map(|case| case.id.clone()).into_iter().collect();
    let texts = [line(run, level, reported), ways(run, level, reported)];
    texts
        .into_iter()
        .flatten()
        .map(|(short, text)| Conclusion { short, text, cases: cases.clone(), cost: 0.0 })
        .collect()
}

/// In a line, and in full.
type Sentences = (Text<String>, Text<String>);

fn line(run: &Run, level: &Level, reported: &CacheFact) -> Option<Sentences> {
    let (measured, says) = (level.also(run, "line")?, reported.line_bytes?);
    differs(measured, says as f64).then(|| {
        let (name, measured) = (level.name, value(measured.value(), Unit::Count, Lang::En));
        let short = short(
            format!("{name} line: {says} bytes reported, {measured} bytes measured"),
            format!("{name} 缓存行：标称 {says} 字节，实测 {measured} 字节"),
        );
        let text = Text {
            en: format!(
                "The line of {name} is reported as {says} bytes, but misses come in units of {measured} bytes."
            ),
            zh: format!("{name} 的缓存行标称 {says} 字节，但未命中以 {measured} 字节为单位。"),
        };
        (short, text)
    })
}

fn ways(run: &Run, level: &Level, reported: &CacheFact) -> Option<Sentences> {
    let (measured, says) = (level.also(run, "ways")?, reported.ways?);
    differs(measured, f64::from(says)).then(|| {
        let (name, measured) = (level.name, value(measured.value(), Unit::Count, Lang::En));
        let short = short(
            format!("{name} ways: {says} reported, {measured} measured"),
            format!("{name} 路数：标称 {says}，实测 {measured}"),
        );
        let text = Text {
            en: format!("{name} is reported with {says} ways, but {measured} lines fill a set."),
            zh: format!("{name} 标称 {says} 路，但 {measured} 行就占满一组。"),
        };
        (short, text)
    })
}

/// The share of rounds that must agree before the host is contradicted: a neighbour disturbs some of them.
const SURE: f64 = 0.75;

/// Whether the rounds agree on another value. A value that was not voted on proves nothing: a median of rounds may be one that
/// no cache has.
fn differs(measured: &Estimate, reported: f64) -> bool {
    reported > 0.0 && measured.value() != reported && measured.agreement.is_some_and(|share| share >= SURE)
}
