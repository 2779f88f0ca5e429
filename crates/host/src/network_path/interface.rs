//! An interface as rtnetlink tells it: name, kind, largest packet, losses.

use hostmark_model::{InterfaceLosses, NetworkPath, QueueingDiscipline};
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask};

use super::attributes::{attribute, text, u32_at, u64_at};

/// RTM_GETLINK and RTM_NEWLINK of linux/rtnetlink.h.
pub(super) const GET_LINK: u16 = 18;
pub(super) const NEW_LINK: u16 = 16;
/// An ifinfomsg: family, type, number, flags, changes.
pub(super) const FIXED_BYTES: usize = 16;
const TYPE_AT: usize = 2;
const NUMBER_AT: usize = 4;
const FLAGS_AT: usize = 8;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_INFO_KIND: u16 = 1;
/// ARPHRD_LOOPBACK of linux/if_arp.h.
pub(super) const LOOPBACK: u16 = 772;
/// The values of IFLA_OPERSTATE, in the words of sysfs.
const STATES: [&str; 7] = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"];

/// An interface as far as it decides whether it is told of.
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) has_device: bool,
    pub(crate) state: Option<String>,
    pub(crate) mtu_bytes: Option<u64>,
}

/// Of a message on an interface: its number and its flags (IFF_UP …).
pub(super) fn number_and_flags(answer: &NetlinkAnswer) -> Option<(u32, u32)> {
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

/// All interfaces of this process's network namespace; none where the kernel is not asked.
pub(crate) fn links() -> Option<Vec<Link>> {
    let answers = ask(GET_LINK, Scope::All, &[0; FIXED_BYTES]).ok()?;
    Some(answers.iter().filter(|answer| answer.kind == NEW_LINK).filter_map(|answer| link(&answer.body)).collect())
}

fn link(body: &[u8]) -> Option<Link> {
    let attributes = body.get(FIXED_BYTES..)?;
    let kind = kind(body)?;
    // What the kernel makes by itself has a kind, as a bridge has, but for loopback.
    let is_made = attribute(attributes, IFLA_LINKINFO).is_some_and(|info| attribute(info, IFLA_INFO_KIND).is_some());
    let state = attribute(attributes, IFLA_OPERSTATE).and_then(<[u8]>::first);
    Some(Link {
        name: attribute(attributes, IFLA_IFNAME).and_then(text)?,
        has_device: kind != LOOPBACK && !is_made,
        state: state.and_then(|&state| STATES.get(usize::from(state))).map(|&state| state.to_owned()),
        mtu_bytes: attribute(attributes, IFLA_MTU).and_then(|value| u32_at(value, 0)).map(u64::from),
    })
}

/// Its type in the kernel's numbers (ARPHRD_ETHER …).
pub(super) fn kind(body: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(*body.get(TYPE_AT..)?.first_chunk()?))
}

pub(super) fn fill(body: &[u8], path: &mut NetworkPath) {
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

#[cfg(test)]
mod tests {
    use super::super::attributes::attribute_of;
    use super::*;

    fn message(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![0; FIXED_BYTES];
        body[TYPE_AT..TYPE_AT + 2].copy_from_slice(&kind.to_ne_bytes());
        body.extend(attributes.concat());
        body
    }

    #[test]
    fn what_the_kernel_made_by_itself_has_no_device() {
        let name = attribute_of(IFLA_IFNAME, b"any0\0");
        let bridge = attribute_of(IFLA_LINKINFO, &attribute_of(IFLA_INFO_KIND, b"bridge\0"));
        let is_device = |kind, attributes: &[Vec<u8>]| link(&message(kind, attributes)).map(|link| link.has_device);
        assert_eq!(is_device(1, std::slice::from_ref(&name)), Some(true));
        assert_eq!(is_device(1, &[name.clone(), bridge]), Some(false));
        assert_eq!(is_device(LOOPBACK, &[name]), Some(false));
        assert_eq!(is_device(1, &[]), None);
    }

    #[test]
    fn states_are_reported_as_files_report_them() {
        let state = |number| {
            let attributes = [attribute_of(IFLA_IFNAME, b"any0\0"), attribute_of(IFLA_OPERSTATE, &[number])];
            link(&message(1, &attributes)).unwrap().state
        };
        assert_eq!([0, 2, 6].map(state).map(Option::unwrap), ["unknown", "down", "up"]);
        assert_eq!(state(200), None);
    }
}
