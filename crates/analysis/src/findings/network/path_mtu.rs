//! A way that carries smaller packets than the interface it begins at.

use hostmark_model::{NetworkPath, Run, Text};

use super::super::short::{peer as short_name, short};
use super::super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::network::peers;

pub(in super::super) static RULE: Rule = Rule {
    id: "run.path_mtu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[],
    cure: Some(Text {
        en: "Find the hop that takes less: tracepath. A tunnel, a VPN or an overlay adds headers. Set the interface's MTU to what the path \
             takes, or raise the path's.",
        zh: "用 tracepath 找出允许值更小的一跳。隧道、VPN 或叠加网络会增加头部。把接口 MTU 设为路径允许的值，或提高路径的 MTU。",
    }),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw,
};

/// The length of a packet is a number of 16 bits, whatever the interface takes.
const LARGEST_PACKET: u64 = 65_535;

fn draw(run: &Run) -> Vec<Conclusion> {
    let of = |name: &str, path: Option<&NetworkPath>, is_back| {
        let path = path?;
        let (takes, carries) = (path.mtu_bytes?.min(LARGEST_PACKET), path.path_mtu_bytes?);
        if carries >= takes {
            return None;
        }
        let interface = path.interface.as_deref().unwrap_or("?");
        let (en, zh) = match is_back {
            false => (format!("to {name}"), format!("到 {name}")),
            true => (format!("from {name}"), format!("从 {name} 来")),
        };
        let text = Text {
            en: format!("The path {en} carries packets of {carries} bytes, {interface} takes {takes}."),
            zh: format!("{zh}的路径只承载 {carries} 字节的包，而 {interface} 允许 {takes}。"),
        };
        let host = short_name(name);
        let (en, zh) = match is_back {
            false => (format!("to {}", host.en), format!("到{}", host.zh)),
            true => (format!("from {}", host.en), format!("从{}来", host.zh)),
        };
        let short = short(
            format!("Path {en}: packets of {carries} bytes; {interface} takes {takes}"),
            format!("{zh}的路径：包最大 {carries} 字节，而 {interface} 允许 {takes}"),
        );
        Some(Conclusion { short, text, cases: Vec::new(), cost: 0.0 })
    };
    let both = |peer: &hostmark_model::Peer| {
        [of(&peer.name, peer.path.as_ref(), false), of(&peer.name, peer.path_back.as_ref(), true)]
    };
    peers(run).flat_map(both).flatten().collect()
}
