//! A link that carries all it can while the CPUs of both ends have time left.

use hostmark_model::{Run, Text};

use super::super::short::short;
use super::super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use super::{TCP, also, cases, proven, rate, reaches, way, way_in_short};
use crate::format::number;
use crate::network::{CapacityCause, LinkDirection, bits, flows};

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_full",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(Text {
        en: "Only a faster or a second link, or fewer bytes, moves more. A second one needs bonding or several paths; compression means \
             fewer bytes. The CPUs have time to compress.",
        zh: "只有更快的链路、第二条链路或更少的字节才能搬运更多。第二条链路需要 bonding 或多路径；压缩可减少字节。CPU 有余力做压缩。",
    }),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw,
};

/// CPUs that an end keeps busy, below which it has as much time left as it uses.
const IDLE: f64 = 0.5;

fn draw(run: &Run) -> Vec<Conclusion> {
    flows(run).iter().filter_map(conclusion).collect()
}

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let link = flow.capacity().filter(|capacity| capacity.cause == CapacityCause::Link)?;
    let measured = proven(flow).filter(|rate| reaches(*rate, link.bytes_per_s))?;
    let (sends, receives) = (also(flow, "sender_cpus")?, also(flow, "receiver_cpus")?);
    if sends.high >= IDLE || receives.high >= IDLE {
        return None;
    }
    let way = way(flow);
    let (measured, possible, speed) = (rate(measured.value), rate(link.bytes_per_s), bits(link.bits_per_s));
    let (sends, receives) = (number(sends.value), number(receives.value));
    let text = Text {
        en: format!(
            "The link is full, the CPUs are not: {} gives {measured} of the {possible} that {speed} can carry, while sending keeps \
             {sends} CPUs busy and receiving {receives}.",
            way.en
        ),
        zh: format!(
            "链路已满，CPU 未满：{}为 {measured}，{speed} 最多承载 {possible}；此时发送占用 {sends} 个 CPU，接收占用 {receives} 个。",
            way.zh
        ),
    };
    let way = way_in_short(flow);
    let short = short(
        format!("{} {measured} of {possible}: the link is full, the CPUs are not", way.en),
        format!("{} {measured}（上限 {possible}）：链路已满，CPU 未满", way.zh),
    );
    Some(Conclusion { short, text, cases: cases(flow), cost: 0.0 })
}
