//! Loopback path of a packet that this machine sends to itself: the interface, its queue, packet filters and BPF programs.

use std::collections::HashSet;
use std::io;
use std::net::Ipv4Addr;

use hostmark_model::{LoopbackFacts, NetworkPath};
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask, read_filter};
use hostmark_sys::{call, netlink};
use rustix::fd::AsFd;
use rustix::io::Errno;

use super::{GET_LINK, LINK_FIXED_BYTES, NEW_LINK, attribute, number_and_flags, queue};
use crate::cgroups::{Groups, Version};
use crate::network_path;
use crate::root::Root;

const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;

/// The loopback interface of this process's network namespace, or the little that a captured tree tells of its own.
pub(crate) fn loopback(root: &Root) -> LoopbackFacts {
    let mut sysctls = root.sysctls("loopback");
    let own_route = || network_path::route_to(Ipv4Addr::LOCALHOST.into()).map(|route| route.settings);
    sysctls.extend(network_path::steering(root, NAME));
    sysctls.extend(root.is_this_machine().then(own_route).flatten().unwrap_or_default());
    LoopbackFacts { sysctls, ..interface(root) }
}

/// The name of the interface, which no namespace changes.
const NAME: &str = "lo";

fn interface(root: &Root) -> LoopbackFacts {
    if !root.is_this_machine() {
        return LoopbackFacts { mtu_bytes: root.number("/sys/class/net/lo/mtu"), ..LoopbackFacts::default() };
    }
    let links = ask(GET_LINK, Scope::All, &[0; LINK_FIXED_BYTES]).unwrap_or_default();
    let is_loopback = |body: &[u8]| network_path::link_kind(body) == Some(network_path::LOOPBACK);
    let Some(link) = links.iter().find(|answer| answer.kind == NEW_LINK && is_loopback(&answer.body)) else {
        return LoopbackFacts::default();
    };
    let mut path = NetworkPath::default();
    network_path::fill_path(&link.body, &mut path);
    let number = number_and_flags(link).map(|(number, _)| number);
    let queues = queue::all();
    let classifiers = number.zip(queues.as_deref()).map(|(number, queues)| queue::classifiers(queues, number));
    let xdp = has_xdp(&link.body).map(|is_there| is_there.then(|| "xdp".to_owned()));
    let tcx = number.and_then(|number| netlink::bpf_of_interface(number).ok()).map(|count| several("tcx", count));
    let of_group = of_group(root).map(|count| several("cgroup bpf", count));
    let is_all_seen = classifiers.is_some() && xdp.is_some() && tcx.is_some() && of_group.is_some();
    let found = [xdp, tcx, of_group].into_iter().flatten().flatten().chain(classifiers.into_iter().flatten());
    let programs = Some(found.collect::<Vec<_>>()).filter(|found| is_all_seen || !found.is_empty());
    LoopbackFacts {
        mtu_bytes: path.mtu_bytes,
        queue: number.zip(queues).and_then(|(number, queues)| queue::of(&queues, number)).or(path.queue),
        filter_rules: filter_rules(root),
        programs,
        ..LoopbackFacts::default()
    }
}

/// Programs of this kind, where there are some.
fn several(kind: &str, count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some(kind.to_owned()),
        count => Some(format!("{count} {kind}")),
    }
}

/// BPF programs of this process's control group and those above it; none where they cannot be asked for.
fn of_group(root: &Root) -> Option<u32> {
    let (_, directory) = Groups::read(root).chain("").find(|(version, _)| *version == Version::V2)?;
    netlink::bpf_of_group(std::fs::File::open(directory).ok()?.as_fd()).ok()
}

/// Tells whether a program of XDP is attached; `None` where the kernel does not tell.
fn has_xdp(body: &[u8]) -> Option<bool> {
    let xdp = attribute(body.get(LINK_FIXED_BYTES..)?, IFLA_XDP)?;
    Some(*attribute(xdp, IFLA_XDP_ATTACHED)?.first()? != 0)
}

/// NFT_MSG_GETCHAIN and NFT_MSG_GETRULE of linux/netfilter/nf_tables.h.
const GET_CHAINS: u8 = 4;
const GET_RULES: u8 = 7;
/// An nfgenmsg: family, version, resource.
const FILTER_FIXED_BYTES: usize = 4;
/// Attributes of a chain: its table, its name, its hook; of a rule: its table and its chain.
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const HOOK_NUMBER: u16 = 1;
const HOOK_DEVICE: u16 = 3;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
/// Families NFPROTO_INET, _IPV4, _IPV6 and _NETDEV. Bridges and ARP see no packet of loopback.
const INET: u8 = 1;
const IPV4: u8 = 2;
const NETDEV: u8 = 5;
const IPV6: u8 = 10;
/// NF_INET_FORWARD: what is sent on to other machines.
const FORWARD: [u8; 4] = [0, 0, 0, 2];

/// A table's or a chain's family, table and name.
type Chain = (u8, Vec<u8>, Vec<u8>);

/// The rules of all filters together; none where one of them cannot be asked.
fn filter_rules(root: &Root) -> Option<u64> {
    let older = |is_ipv6, names: &str| -> Option<u64> {
        // A kernel without this filter has no such file; where nothing is there, nothing is known.
        if !root.exists(names) {
            return root.exists("/proc/net/dev").then_some(0);
        }
        root.raw(names)?.split_whitespace().map(|table| netlink::old_filter_rules(is_ipv6, table).ok()).sum()
    };
    let [four, six] = [(false, "/proc/net/ip_tables_names"), (true, "/proc/net/ip6_tables_names")]
        .map(|(is_ipv6, names)| older(is_ipv6, names));
    Some(four?.saturating_add(six?).saturating_add(nftables_rules()?))
}

/// Counts the rules of nftables, which also keeps what its iptables(8) is given.
fn nftables_rules() -> Option<u64> {
    let mut off_path: HashSet<Chain> = HashSet::new();
    let mut chains = |answer: NetlinkAnswer| off_path.extend(chain_off_path(&answer.body));
    if let Err(error) = read_filter(GET_CHAINS, &mut chains) {
        return is_missing(&error).then_some(0);
    }
    let mut count = 0;
    let mut rules = |answer: NetlinkAnswer| {
        count += u64::from(chain(&answer.body, RULE_TABLE, RULE_CHAIN).is_some_and(|at| !off_path.contains(&at)));
    };
    read_filter(GET_RULES, &mut rules).ok()?;
    Some(count)
}

/// Tells whether this kernel has no nftables at all.
fn is_missing(error: &io::Error) -> bool {
    let without = [Errno::PROTONOSUPPORT, Errno::INVAL, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    call::errno(error).is_some_and(|errno| without.contains(&errno))
}

/// The chain that a message is about, where its family can see loopback.
fn chain(body: &[u8], table: u16, name: u16) -> Option<Chain> {
    let (family, attributes) = (*body.first()?, body.get(FILTER_FIXED_BYTES..)?);
    let part = |kind| attribute(attributes, kind).map(<[u8]>::to_vec);
    [INET, IPV4, IPV6, NETDEV].contains(&family).then_some((family, part(table)?, part(name)?))
}

/// The chain, where it hangs where no packet of loopback comes by.
fn chain_off_path(body: &[u8]) -> Option<Chain> {
    let chain = chain(body, CHAIN_TABLE, CHAIN_NAME)?;
    let hook = attribute(body.get(FILTER_FIXED_BYTES..)?, CHAIN_HOOK)?;
    let is_off = match chain.0 {
        NETDEV => attribute(hook, HOOK_DEVICE).is_some_and(|device| device != b"lo\0"),
        _ => attribute(hook, HOOK_NUMBER) == Some(&FORWARD[..]),
    };
    is_off.then_some(chain)
}

#[cfg(test)]
mod tests {
    use super::super::attribute_of;
    use super::*;

    fn chain_message(family: u8, hook: Option<Vec<u8>>) -> Vec<u8> {
        let hook = hook.map(|hook| attribute_of(CHAIN_HOOK, &hook)).unwrap_or_default();
        [vec![family, 0, 0, 0], attribute_of(CHAIN_TABLE, b"t\0"), attribute_of(CHAIN_NAME, b"c\0"), hook].concat()
    }

    #[test]
    fn chains_that_no_packet_of_loopback_meets_are_left_out() {
        let hooked = |number: u8| Some(attribute_of(HOOK_NUMBER, &[0, 0, 0, number]));
        let is_off = |family, hook| chain_off_path(&chain_message(family, hook)).is_some();
        assert!(is_off(IPV4, hooked(2)) && is_off(INET, hooked(2)));
        for on_path in [hooked(0), hooked(1), hooked(3), hooked(4), None] {
            assert!(!is_off(IPV6, on_path));
        }
        assert!(is_off(NETDEV, Some(attribute_of(HOOK_DEVICE, b"eth0\0"))));
        assert!(!is_off(NETDEV, Some(attribute_of(HOOK_DEVICE, b"lo\0"))));
        for (family, is_seen) in [(IPV4, true), (NETDEV, true), (7, false), (3, false)] {
            assert_eq!(chain(&chain_message(family, None), CHAIN_TABLE, CHAIN_NAME).is_some(), is_seen, "{family}");
        }
    }

    #[test]
    fn tables_that_cannot_be_read_are_unknown_and_a_kernel_without_the_filter_has_none() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(filter_rules(&Root::at(dir.path())), None, "nothing is there");
        for (errno, is_none) in [(Errno::PROTONOSUPPORT, true), (Errno::INVAL, true), (Errno::PERM, false)] {
            assert_eq!(is_missing(&errno.into()), is_none);
        }
    }
}
