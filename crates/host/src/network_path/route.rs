//! The route to an address: which interface packets leave by, and where they go first.

use std::net::IpAddr;

use hostmark_sys::netlink::{Scope, ask};

use super::attributes::{attribute, u32_at};

/// RTM_GETROUTE and RTM_NEWROUTE of linux/rtnetlink.h.
const GET_ROUTE: u16 = 26;
const NEW_ROUTE: u16 = 24;
/// An rtmsg.
const FIXED_BYTES: usize = 12;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_VIA: u16 = 18;
/// AF_INET and AF_INET6 of linux/socket.h.
const FAMILIES: [u8; 2] = [2, 10];

/// A route as the kernel chooses it for one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// The interface's number.
    pub(super) interface: u32,
    /// The router that packets go to first.
    pub(super) next_hop: Option<IpAddr>,
    /// The address that they are sent from.
    pub(super) source: Option<IpAddr>,
}

/// The route to `to`; none where there is none.
pub(super) fn to(to: IpAddr) -> Option<Route> {
    let answers = ask(GET_ROUTE, Scope::One, &question(to)).ok()?;
    answers.iter().filter(|answer| answer.kind == NEW_ROUTE).find_map(|answer| route(&answer.body))
}

fn question(to: IpAddr) -> Vec<u8> {
    let (family, address) = match to {
        IpAddr::V4(address) => (FAMILIES[0], address.octets().to_vec()),
        IpAddr::V6(address) => (FAMILIES[1], address.octets().to_vec()),
    };
    let mut bytes = vec![0; FIXED_BYTES];
    // The family, and how many bits of the address count: all.
    (bytes[0], bytes[1]) = (family, address.len() as u8 * 8);
    bytes.extend((4 + address.len() as u16).to_ne_bytes());
    bytes.extend(RTA_DST.to_ne_bytes());
    bytes.extend(address);
    bytes
}

fn route(body: &[u8]) -> Option<Route> {
    let attributes = body.get(FIXED_BYTES..)?;
    let of = |kind| address(attribute(attributes, kind)?);
    // A router of the other family stands in an attribute of its own, behind the family's number.
    let via = || address(attribute(attributes, RTA_VIA)?.get(2..)?);
    Some(Route {
        interface: u32_at(attribute(attributes, RTA_OIF)?, 0)?,
        next_hop: of(RTA_GATEWAY).or_else(via),
        source: of(RTA_PREFSRC),
    })
}

/// An address of either family, by its length.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}
