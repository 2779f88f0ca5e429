//! A way that carries smaller packets than the interface it begins at.

use hostmark_model::{NetworkPath, Run};
use hostmark_say::say;

use super::super::short::{peer as short_name, short};
use super::super::{Conclusion, Demonstration, Doubt, NOTHING, Rule};
use crate::network::peers;
use crate::texts::findings::network::path_mtu as texts;
use crate::words;

pub(in super::super) static RULE: Rule = Rule {
    id: "run.path_mtu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[],
    cure: Some(texts::CURE),
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
        let direction = match is_back {
            false => words(say!("to {name}")),
            true => words(say!("from {name}")),
        };
        let text = texts::text!(direction, carries, interface, takes);
        let host = short_name(name);
        let direction = match is_back {
            false => words(say!("to {host}")),
            true => words(say!("from {host}")),
        };
        let short = short(texts::short!(direction, carries, interface, takes));
        Some(Conclusion { short, text, cases: Vec::new(), cost: 0.0 })
    };
    let both = |peer: &hostmark_model::Peer| {
        [of(&peer.name, peer.path.as_ref(), false), of(&peer.name, peer.path_back.as_ref(), true)]
    };
    peers(run).flat_map(both).flatten().collect()
}
