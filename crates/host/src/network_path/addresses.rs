//! The addresses at which another machine might reach this one.

use std::net::IpAddr;

use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask};

use super::attributes::{attribute, u32_at};
use super::interface::{FIXED_BYTES, GET_LINK, NEW_LINK, number_and_flags};
use super::route::address;

/// RTM_GETADDR and RTM_NEWADDR of linux/rtnetlink.h.
const GET_ADDRESS: u16 = 22;
const NEW_ADDRESS: u16 = 20;
/// An ifaddrmsg: family, bits of the network, flags, scope, interface.
const ADDRESS_FIXED_BYTES: usize = 8;
const FLAGS_AT: usize = 2;
const SCOPE_AT: usize = 3;
const INTERFACE_AT: usize = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// IFA_F_DADFAILED and IFA_F_TENTATIVE: another machine has it, or may have it.
const UNSURE: u8 = 0x08 | 0x40;
/// RT_SCOPE_LINK: from there on addresses mean something on one link alone.
const SCOPE_LINK: u8 = 253;
const IFF_UP: u32 = 1;
const IFF_LOOPBACK: u32 = 8;
/// A host of containers has an address for each of their networks.
const MOST_ADDRESSES: usize = 32;

/// This machine's own addresses that another one might reach: of interfaces that are up, without loopback and those of one link
/// alone. Those of IPv4 come first; each family is in the order of its interfaces. At most 32.
pub fn addresses() -> Vec<IpAddr> {
    let links = ask(GET_LINK, Scope::All, &[0; FIXED_BYTES]).unwrap_or_default();
    let answers = ask(GET_ADDRESS, Scope::All, &[0; ADDRESS_FIXED_BYTES]).unwrap_or_default();
    reachable(&links, &answers)
}

fn reachable(links: &[NetlinkAnswer], answers: &[NetlinkAnswer]) -> Vec<IpAddr> {
    let links = links.iter().filter(|answer| answer.kind == NEW_LINK).filter_map(number_and_flags);
    let is_usable = |flags: u32| flags & IFF_UP != 0 && flags & IFF_LOOPBACK == 0;
    let usable: Vec<u32> = links.filter(|(_, flags)| is_usable(*flags)).map(|(number, _)| number).collect();
    let own = |answer: &NetlinkAnswer| {
        let body = &answer.body;
        let interface = u32_at(body, INTERFACE_AT).filter(|number| usable.contains(number))?;
        if body[SCOPE_AT] >= SCOPE_LINK || body[FLAGS_AT] & UNSURE != 0 {
            return None;
        }
        let attributes = body.get(ADDRESS_FIXED_BYTES..)?;
        // On a line between two machines the first is the other's.
        let own = attribute(attributes, IFA_LOCAL).or_else(|| attribute(attributes, IFA_ADDRESS));
        let own = own.and_then(address).filter(|own| !own.is_loopback() && !own.is_unspecified())?;
        Some((own.is_ipv6(), interface, own))
    };
    let mut found: Vec<_> = answers.iter().filter(|answer| answer.kind == NEW_ADDRESS).filter_map(own).collect();
    // Stable: several addresses of an interface stay as the kernel has them, its own choice first.
    found.sort_by_key(|(is_v6, interface, _)| (*is_v6, *interface));
    found.truncate(MOST_ADDRESSES);
    found.into_iter().map(|(.., own)| own).collect()
}

/// The address of this machine to which an ssh connection was made that this process belongs to.
pub fn ssh_address() -> Option<IpAddr> {
    server_of(&std::env::var("SSH_CONNECTION").ok()?)
}

/// The third word: client, its port, server, its port.
fn server_of(connection: &str) -> Option<IpAddr> {
    let mut words = connection.split_ascii_whitespace();
    let server: IpAddr = words.nth(2)?.parse().ok()?;
    words.next()?.parse::<u16>().ok()?;
    Some(server.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(number: u32, flags: u32) -> NetlinkAnswer {
        let body = [[0; 4], number.to_ne_bytes(), flags.to_ne_bytes(), [0; 4]].concat();
        NetlinkAnswer { kind: NEW_LINK, body }
    }

    fn address_answer(interface: u32, flags: u8, scope: u8, address: IpAddr) -> NetlinkAnswer {
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let mut body = vec![0, 24, flags, scope];
        body.extend(interface.to_ne_bytes());
        body.extend((4 + octets.len() as u16).to_ne_bytes());
        body.extend(IFA_ADDRESS.to_ne_bytes());
        body.extend(octets);
        NetlinkAnswer { kind: NEW_ADDRESS, body }
    }

    #[test]
    fn addresses_of_this_machine_that_others_may_reach_come_in_a_stable_order() {
        let links = [link(1, IFF_UP | IFF_LOOPBACK), link(2, IFF_UP), link(3, 0), link(7, IFF_UP)];
        let [lo, late, early, down, local, unsure, wide]: [IpAddr; 7] =
            ["127.0.0.1", "10.0.0.7", "10.0.0.2", "10.0.0.3", "fe80::1", "fd00::9", "fd00::2"]
                .map(|text| text.parse().unwrap());
        let all = [
            address_answer(1, 0, 254, lo),
            address_answer(7, 0, 0, late),
            address_answer(2, 0, 0, wide),
            address_answer(2, 0, 0, early),
            address_answer(3, 0, 0, down),
            address_answer(2, 0, SCOPE_LINK, local),
            address_answer(2, 0x40, 0, unsure),
            NetlinkAnswer { kind: NEW_ADDRESS, body: vec![0; 5] },
        ];
        assert_eq!(reachable(&links, &all), [early, late, wide]);
        let many: Vec<NetlinkAnswer> = (0..100).map(|last| address_answer(2, 0, 0, [10, 0, 1, last].into())).collect();
        assert_eq!(reachable(&links, &many).len(), MOST_ADDRESSES);
    }

    #[test]
    fn nothing_that_only_this_machine_reaches_is_among_its_own() {
        assert!(addresses().iter().all(|own| !own.is_loopback() && !own.is_unspecified()));
    }

    #[test]
    fn the_server_of_an_ssh_connection_is_its_third_word() {
        assert_eq!(server_of("192.0.2.7 50022 192.0.2.1 22"), Some([192, 0, 2, 1].into()));
        assert_eq!(server_of("::ffff:10.0.0.1 1 ::ffff:10.0.0.2 22"), Some([10, 0, 0, 2].into()));
        for other in ["", "192.0.2.7 50022 192.0.2.1", "a b c d", "fe80::1%eth0 1 fe80::2%eth0 22", "1 2 3 4"] {
            assert_eq!(server_of(other), None, "{other}");
        }
    }
}
