//! An interface as rtnetlink tells it: name, kind, largest packet, losses.

use hostmark_model::{InterfaceLosses, NetworkPath, QueueingDiscipline};
use hostmark_sys::netlink::{Answer, Scope, ask};

use super::attributes::{attribute, text, u32_at, u64_at};

/// RTM_GETLINK and RTM_NEWLINK of linux/rtnetlink.h.
pub(super) const GET_LINK: u16 = 18;
pub(super) const NEW_LINK: u16 = 16;
/// An ifinfomsg: family, type, number, flags, changes.
pub(super) const FIXED_BYTES: usize = 16;
const NUMBER_AT: usize = 4;
const FLAGS_AT: usize = 8;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_INFO_KIND: u16 = 1;

/// Of a message on an interface: its number and its flags (IFF_UP …).
pub(super) fn number_and_flags(answer: &Answer) -> Option<(u32, u32)> {
    Some((u32_at(&answer.body, NUMBER_AT)?, u32_at(&answer.body, FLAGS_AT)?))
}

/// Fills in what the kernel tells of the interface with this number.
pub(super) fn read(interface: u32, path: &mut NetworkPath) {
    let mut question = vec![0; FIXED_BYTES];
    question[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&interface.to_ne_bytes());
    let answers = ask(GET_LINK, Scope::One, &question).unwrap_or_default();
    if let Some(answer) = answers.iter().find(|answer| answer.kind == NEW_LINK) {
        fill(&answer.body, path);
    }
}

fn fill(body: &[u8], path: &mut NetworkPath) {
    let Some(attributes) = body.get(FIXED_BYTES..) else { return };
    path.interface = attribute(attributes, IFLA_IFNAME).and_then(text);
    path.mtu_bytes = attribute(attributes, IFLA_MTU).and_then(|value| u32_at(value, 0)).map(u64::from);
    path.driver = attribute(attributes, IFLA_LINKINFO).and_then(|info| attribute(info, IFLA_INFO_KIND)).and_then(text);
    let kind = attribute(attributes, IFLA_QDISC).and_then(text);
    path.queue = kind.map(|kind| QueueingDiscipline { kind, ..QueueingDiscipline::default() });
    path.losses = attribute(attributes, IFLA_STATS64).and_then(losses);
}

/// Of an rtnl_link_stats64: packets and bytes come first, received and sent.
fn losses(value: &[u8]) -> Option<InterfaceLosses> {
    let counter = |place: usize| u64_at(value, place * 8);
    Some(InterfaceLosses {
        receive_errors: counter(4)?,
        transmit_errors: counter(5)?,
        receive_dropped: counter(6)?,
        transmit_dropped: counter(7)?,
    })
}
