//! A cache that is proven to be smaller or larger than the host says it is.

use hostmark_model::{Lang, Run, Text, Unit};

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::value;
use crate::levels::{HIERARCHY, LEVELS, Level};

pub(super) static RULE: Rule = Rule {
    id: "memory.cache_size_differs",
    shown: Demonstration::Explain("memory.latency"),
    probes: &[HIERARCHY],
    cure: Some(Text {
        en: "Reason with the measured size. Measure again at a quiet hour: a size that grows then was shared. On your own \
             hypervisor, pass the host's cache topology on (QEMU: -cpu host,host-cache-info=on).",
        zh: "请以实测容量为准。在空闲时段再测一次：若容量变大，则说明缓存此前被共享。若宿主机由您管理，请把缓存拓扑透传给虚拟机\
             （QEMU：-cpu host,host-cache-info=on）。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    LEVELS.iter().filter_map(|level| conclusion(run, *level)).collect()
}

fn conclusion(run: &Run, level: Level) -> Option<Conclusion> {
    let bracket = level.bracket(run)?;
    let reported = level.reported(run)?.size_bytes as f64;
    let name = level.name;
    let size = |bytes: f64| value(bytes, Unit::Bytes, Lang::En);
    let says = size(reported);
    let (short, text) = if bracket.is_under(reported) {
        let leaves = size(bracket.leaves?);
        let short = short(
            format!("{name} is reported as {says}, but a working set of {leaves} no longer fits"),
            format!("{name} 标称 {says}，但 {leaves} 的工作集已装不下"),
        );
        let text = Text {
            en: format!(
                "{name} is reported as {says}, but a working set of {leaves} no longer fits: the rest is probably used by \
                 neighbours, or not given to this machine."
            ),
            zh: format!("{name} 标称 {says}，但 {leaves} 的工作集已装不下：其余部分可能被邻居占用，或未分配给本机。"),
        };
        (short, text)
    } else if bracket.is_over(reported) {
        let fits = size(bracket.fits?);
        let short = short(
            format!("{name} is reported as {says}, but a working set of {fits} still fits"),
            format!("{name} 标称 {says}，但 {fits} 的工作集仍装得下"),
        );
        let text = Text {
            en: format!(
                "{name} is reported as {says}, but a working set of {fits} still fits: the hypervisor describes another \
                 cache than the hardware has."
            ),
            zh: format!("{name} 标称 {says}，但 {fits} 的工作集仍装得下：虚拟机监控程序所描述的缓存与实际硬件不符。"),
        };
        (short, text)
    } else {
        return None;
    };
    Some(Conclusion {
        short,
        text,
        cases: level.case(run).map(|case| case.id.clone()).into_iter().collect(),
        cost: 0.0,
    })
}
