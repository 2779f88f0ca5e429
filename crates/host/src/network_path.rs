//! The way to another machine: route, interface, queue and limits, as the kernel tells them without a packet being sent.
//!
//! Interfaces are asked by netlink and ioctl rather than /sys/class/net, which shows the network namespace of who mounted it.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};

use hostmark_model::{InterfaceLosses, NetworkInterface, NetworkPath, QueueingDiscipline};
use hostmark_sys::netlink::{NetlinkAnswer, Scope, ask};
use rustix::net::sockopt;

use crate::root::Root;

mod loopback;
mod queue;

pub(crate) use loopback::loopback;
pub(crate) use queue::interface;

/// Limit beyond what kernels have; a name is at most 16 bytes.
const MOST_CONGESTION_CONTROLS: usize = 32;

/// The way from here to `to`. Nothing is sent there, and what the kernel does not tell is absent.
pub fn network_path(to: IpAddr) -> NetworkPath {
    let mut path = NetworkPath { destination: Some(to), ..NetworkPath::default() };
    // Connecting a UDP socket sends nothing; the port is that of nobody (discard).
    let near = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    if let Ok(socket) = UdpSocket::bind(near)
        && socket.connect((to, 9)).is_ok()
    {
        path.source = socket.local_addr().ok().map(|address| address.ip());
        path.path_mtu_bytes = path_mtu(&socket, to).map(u64::from);
    }
    if let Some(route) = route_to(to) {
        path.source = path.source.or(route.source);
        path.on_link = Some(route.next_hop.is_none());
        path.next_hop = route.next_hop;
        path.settings = route.settings;
        read_interface(route.interface, &mut path);
        path.queue = queue::all().and_then(|queues| queue::of(&queues, route.interface)).or(path.queue);
    }
    if let Some(name) = path.interface.clone() {
        queue::read_driver(&name, &mut path);
        path.settings.extend(steering(&Root::here(), &name));
    }
    limits(&Root::here(), &mut path);
    path
}

/// The largest packet that the kernel does not cut on the way to where a socket is connected.
fn path_mtu(socket: &UdpSocket, to: IpAddr) -> Option<u32> {
    match to {
        IpAddr::V4(_) => {
            // What a socket that may cut is told is the same, but for routes on which the kernel has learnt of less.
            sockopt::set_ip_mtu_discover(socket, sockopt::Ipv4PathMtuDiscovery::DO).ok()?;
            sockopt::ip_mtu(socket).ok()
        }
        IpAddr::V6(_) => {
            sockopt::set_ipv6_mtu_discover(socket, sockopt::Ipv6PathMtuDiscovery::DO).ok()?;
            sockopt::ipv6_mtu(socket).ok()
        }
    }
}

/// Returns the CPUs to which packets of an interface's first queue are handed (receive packet steering), as a mask: `("rps_cpus", "3")`.
/// `None` where /sys shows the interfaces of another network namespace.
fn steering(root: &Root, interface: &str) -> Option<(String, String)> {
    let mut shown = root.names(NET_DIR);
    // Bonding has a file beside the interfaces.
    shown.retain(|name| root.exists(&format!("{NET_DIR}/{name}/ifindex")));
    let is_own = |links: &Vec<Link>| links.len() == shown.len() && links.iter().all(|link| shown.contains(&link.name));
    (!root.is_this_machine() || links().as_ref().is_some_and(is_own)).then_some(())?;
    let mask = root.text(&format!("{NET_DIR}/{interface}/queues/rx-0/rps_cpus"))?;
    let mask = mask.trim_start_matches(['0', ',']);
    Some(("rps_cpus".to_owned(), if mask.is_empty() { "0" } else { mask }.to_owned()))
}

/// Reads the kernel's limits for TCP and sockets.
fn limits(root: &Root, path: &mut NetworkPath) {
    path.congestion_control = root.text("/proc/sys/net/ipv4/tcp_congestion_control");
    let offered = root.text("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    path.congestion_controls = offered.split_whitespace().take(MOST_CONGESTION_CONTROLS).map(str::to_owned).collect();
    path.tcp_receive_buffers = three(root, "/proc/sys/net/ipv4/tcp_rmem");
    path.tcp_send_buffers = three(root, "/proc/sys/net/ipv4/tcp_wmem");
    path.receive_buffer_limit = root.number("/proc/sys/net/core/rmem_max");
    path.send_buffer_limit = root.number("/proc/sys/net/core/wmem_max");
}

fn three(root: &Root, path: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = root.text(path)?.split_whitespace().map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

const NET_DIR: &str = "/sys/class/net";
/// A host of containers has one interface for each; those with a device come first.
const MOST_INTERFACES: usize = 32;

/// Interfaces with a device, then those without one that are not down.
pub fn read_interfaces(root: &Root) -> Vec<NetworkInterface> {
    if root.is_this_machine() {
        // Who may not ask knows of none: the files may be those of another namespace.
        return chosen_links(links().unwrap_or_default()).into_iter().map(interface).collect();
    }
    let link = |name: String| {
        let dir = format!("{NET_DIR}/{name}");
        Link {
            has_device: root.exists(&format!("{dir}/device")),
            state: root.text(&format!("{dir}/operstate")),
            mtu_bytes: root.number(&format!("{dir}/mtu")),
            carrier_changes: None,
            name,
        }
    };
    let links = root.names(NET_DIR).into_iter().map(link).collect();
    chosen_links(links).into_iter().map(|link| interface_of_files(root, link)).collect()
}

fn chosen_links(mut links: Vec<Link>) -> Vec<Link> {
    links.sort_by(|one, other| (!one.has_device, &one.name).cmp(&(!other.has_device, &other.name)));
    links.retain(|link| link.has_device || link.state.as_deref().is_some_and(|state| state != "down"));
    links.truncate(MOST_INTERFACES);
    links
}

fn interface_of_files(root: &Root, link: Link) -> NetworkInterface {
    let Link { name, state, mtu_bytes, .. } = link;
    let dir = format!("{NET_DIR}/{name}");
    // The driver is asked for the speed, which a link that is down does not have; -1 is "unknown".
    let megabits = (state.as_deref() == Some("up")).then(|| root.number::<u64>(&format!("{dir}/speed"))).flatten();
    NetworkInterface {
        driver: root.link(&format!("{dir}/device/driver")).and_then(|link| link.rsplit('/').next().map(str::to_owned)),
        // Drivers without an answer write 2^32 - 1.
        bits_per_s: megabits.filter(|speed| *speed < u64::from(u32::MAX)).map(|speed| speed * 1_000_000),
        mtu_bytes,
        state,
        name,
    }
}

/// RTM_GETLINK and RTM_NEWLINK of linux/rtnetlink.h.
const GET_LINK: u16 = 18;
const NEW_LINK: u16 = 16;
/// An ifinfomsg: family, type, number, flags, changes.
const LINK_FIXED_BYTES: usize = 16;
const TYPE_AT: usize = 2;
const NUMBER_AT: usize = 4;
const LINK_FLAGS_AT: usize = 8;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_CARRIER_CHANGES: u16 = 35;
const IFLA_INFO_KIND: u16 = 1;
/// ARPHRD_LOOPBACK of linux/if_arp.h.
const LOOPBACK: u16 = 772;
/// The values of IFLA_OPERSTATE, in the words of sysfs.
const STATES: [&str; 7] = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"];

/// An interface as far as it decides whether it is told of.
pub(crate) struct Link {
    pub(crate) name: String,
    has_device: bool,
    pub(crate) state: Option<String>,
    pub(crate) mtu_bytes: Option<u64>,
    carrier_changes: Option<u32>,
}

/// Returns how often the link of each interface came or went since it is there, by its name.
pub fn carrier_changes() -> BTreeMap<String, u32> {
    let all = links().unwrap_or_default().into_iter();
    all.filter_map(|link| Some((link.name, link.carrier_changes?))).collect()
}

/// Parses a message on an interface: its number and its flags (IFF_UP …).
fn number_and_flags(answer: &NetlinkAnswer) -> Option<(u32, u32)> {
    Some((u32_at(&answer.body, NUMBER_AT)?, u32_at(&answer.body, LINK_FLAGS_AT)?))
}

/// Fills in what the kernel tells of the interface with this number.
fn read_interface(interface: u32, path: &mut NetworkPath) {
    let mut question = vec![0; LINK_FIXED_BYTES];
    question[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&interface.to_ne_bytes());
    let answers = ask(GET_LINK, Scope::One, &question).unwrap_or_default();
    if let Some(answer) = answers.iter().find(|answer| answer.kind == NEW_LINK) {
        fill_path(&answer.body, path);
    }
}

/// All interfaces of this process's network namespace; none where the kernel is not asked.
pub(crate) fn links() -> Option<Vec<Link>> {
    let answers = ask(GET_LINK, Scope::All, &[0; LINK_FIXED_BYTES]).ok()?;
    Some(answers.iter().filter(|answer| answer.kind == NEW_LINK).filter_map(|answer| link(&answer.body)).collect())
}

fn link(body: &[u8]) -> Option<Link> {
    let attributes = body.get(LINK_FIXED_BYTES..)?;
    let kind = link_kind(body)?;
    // What the kernel makes by itself has a kind, as a bridge has, but for loopback.
    let is_made = attribute(attributes, IFLA_LINKINFO).is_some_and(|info| attribute(info, IFLA_INFO_KIND).is_some());
    let state = attribute(attributes, IFLA_OPERSTATE).and_then(<[u8]>::first);
    Some(Link {
        name: attribute(attributes, IFLA_IFNAME).and_then(text)?,
        has_device: kind != LOOPBACK && !is_made,
        state: state.and_then(|&state| STATES.get(usize::from(state))).map(|&state| state.to_owned()),
        mtu_bytes: attribute(attributes, IFLA_MTU).and_then(|value| u32_at(value, 0)).map(u64::from),
        carrier_changes: attribute(attributes, IFLA_CARRIER_CHANGES).and_then(|value| u32_at(value, 0)),
    })
}

/// Returns its type in the kernel's numbers (ARPHRD_ETHER …).
fn link_kind(body: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(*body.get(TYPE_AT..)?.first_chunk()?))
}

fn fill_path(body: &[u8], path: &mut NetworkPath) {
    let Some(attributes) = body.get(LINK_FIXED_BYTES..) else { return };
    path.interface = attribute(attributes, IFLA_IFNAME).and_then(text);
    path.mtu_bytes = attribute(attributes, IFLA_MTU).and_then(|value| u32_at(value, 0)).map(u64::from);
    path.driver = attribute(attributes, IFLA_LINKINFO).and_then(|info| attribute(info, IFLA_INFO_KIND)).and_then(text);
    let kind = attribute(attributes, IFLA_QDISC).and_then(text);
    path.queue = kind.map(|kind| QueueingDiscipline { kind, ..QueueingDiscipline::default() });
    path.losses = attribute(attributes, IFLA_STATS64).and_then(losses);
}

/// Parses an rtnl_link_stats64: packets and bytes come first, received and sent.
fn losses(value: &[u8]) -> Option<InterfaceLosses> {
    let counter = |place: usize| u64_at(value, place * 8);
    Some(InterfaceLosses {
        receive_errors: counter(4)?,
        transmit_errors: counter(5)?,
        receive_dropped: counter(6)?,
        transmit_dropped: counter(7)?,
    })
}

/// RTM_GETROUTE and RTM_NEWROUTE of linux/rtnetlink.h.
const GET_ROUTE: u16 = 26;
const NEW_ROUTE: u16 = 24;
const ROUTE_FIXED_BYTES: usize = 12;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_VIA: u16 = 18;
/// AF_INET and AF_INET6 of linux/socket.h.
const FAMILIES: [u8; 2] = [2, 10];

/// A route as the kernel chooses it for one address.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Route {
    interface: u32,
    /// The router that packets go to first.
    next_hop: Option<IpAddr>,
    /// The address that they are sent from.
    source: Option<IpAddr>,
    /// Further settings, by the names of ip-route(8).
    settings: BTreeMap<String, String>,
}

const RTA_METRICS: u16 = 8;
/// Metrics of a route that shape TCP (RTAX_WINDOW …), by their names in ip-route(8). Round trips are learnt, and no setting.
const METRICS: [(u16, &str); 7] =
    [(3, "window"), (7, "cwnd"), (8, "advmss"), (11, "initcwnd"), (13, "rto_min"), (14, "initrwnd"), (15, "quickack")];
const RTAX_CONGESTION_CONTROL: u16 = 16;

/// The metrics of a route; `none` for one that is not set.
fn metrics(route: &[u8]) -> BTreeMap<String, String> {
    let all = attribute(route, RTA_METRICS).unwrap_or_default();
    let number = |kind| u32_at(attribute(all, kind)?, 0).filter(|number| *number > 0).map(|number| number.to_string());
    let numbers = METRICS.iter().map(|(kind, name)| (*name, number(*kind)));
    let congestion = attribute(all, RTAX_CONGESTION_CONTROL).and_then(text);
    let or_none =
        |(name, value): (_, Option<String>)| (format!("route.{name}"), value.unwrap_or_else(|| "none".into()));
    numbers.chain([("congctl", congestion)]).map(or_none).collect()
}

/// The route to `to`; none where there is none.
fn route_to(to: IpAddr) -> Option<Route> {
    let answers = ask(GET_ROUTE, Scope::One, &question(to)).ok()?;
    answers.iter().filter(|answer| answer.kind == NEW_ROUTE).find_map(|answer| route(&answer.body))
}

fn question(to: IpAddr) -> Vec<u8> {
    let (family, address) = match to {
        IpAddr::V4(address) => (FAMILIES[0], address.octets().to_vec()),
        IpAddr::V6(address) => (FAMILIES[1], address.octets().to_vec()),
    };
    let mut bytes = vec![0; ROUTE_FIXED_BYTES];
    // The family, and how many bits of the address count: all.
    (bytes[0], bytes[1]) = (family, address.len() as u8 * 8);
    bytes.extend((4 + address.len() as u16).to_ne_bytes());
    bytes.extend(RTA_DST.to_ne_bytes());
    bytes.extend(address);
    bytes
}

fn route(body: &[u8]) -> Option<Route> {
    let attributes = body.get(ROUTE_FIXED_BYTES..)?;
    let of = |kind| address(attribute(attributes, kind)?);
    // A router of the other family stands in an attribute of its own, behind the family's number.
    let via = || address(attribute(attributes, RTA_VIA)?.get(2..)?);
    Some(Route {
        interface: u32_at(attribute(attributes, RTA_OIF)?, 0)?,
        next_hop: of(RTA_GATEWAY).or_else(via),
        source: of(RTA_PREFSRC),
        settings: metrics(attributes),
    })
}

/// An address of either family, by its length.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

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

/// Returns this machine's own addresses that another one might reach: of interfaces that are up, without loopback and those of
/// one link alone. IPv4 comes first; each family is in the order of its interfaces. At most 32.
pub fn addresses() -> Vec<IpAddr> {
    let links = ask(GET_LINK, Scope::All, &[0; LINK_FIXED_BYTES]).unwrap_or_default();
    let answers = ask(GET_ADDRESS, Scope::All, &[0; ADDRESS_FIXED_BYTES]).unwrap_or_default();
    reachable(&links, &answers)
}

/// Names the interfaces of this network namespace that have an address for other hosts, and are down or without carrier.
pub fn without_carrier() -> Vec<String> {
    let links = ask(GET_LINK, Scope::All, &[0; LINK_FIXED_BYTES]).unwrap_or_default();
    let answers = ask(GET_ADDRESS, Scope::All, &[0; ADDRESS_FIXED_BYTES]).unwrap_or_default();
    let is_for_others = |answer: &&NetlinkAnswer| answer.body.get(SCOPE_AT).is_some_and(|&scope| scope < SCOPE_LINK);
    let has_address: Vec<u32> =
        answers.iter().filter(is_for_others).filter_map(|answer| u32_at(&answer.body, INTERFACE_AT)).collect();
    let is_down = |link: &Link| link.state.as_deref().is_some_and(|state| ["down", "lowerlayerdown"].contains(&state));
    let named = |answer: &NetlinkAnswer| {
        let (number, _) = number_and_flags(answer)?;
        link(&answer.body).filter(|link| has_address.contains(&number) && is_down(link)).map(|link| link.name)
    };
    links.iter().filter(|answer| answer.kind == NEW_LINK).filter_map(named).collect()
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

/// Mask that leaves out the bits of byte order and of nesting.
const KIND_MASK: u16 = 0x3fff;
const HEADER_BYTES: usize = 4;

/// The attributes of a message behind its fixed part, each kind and value. A length that cannot be ends them.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&[low, high, kind_low, kind_high], _) = rest.split_first_chunk::<HEADER_BYTES>()?;
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let value = rest.get(HEADER_BYTES..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([kind_low, kind_high]) & KIND_MASK, value))
    })
}

fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// A number of 4 bytes at a place of a value.
fn u32_at(value: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*value.get(place..)?.first_chunk()?))
}

/// A number of 8 bytes at a place of a value.
fn u64_at(value: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*value.get(place..)?.first_chunk()?))
}

/// Returns a text that ends with a byte of 0, or with the value; `None` where it is no name.
fn text(value: &[u8]) -> Option<String> {
    /// The kernel's names are shorter.
    const LONGEST: usize = 64;
    let text = value.split(|byte| *byte == 0).next()?;
    let is_name = !text.is_empty() && text.len() <= LONGEST && text.iter().all(|byte| (0x21..0x7f).contains(byte));
    is_name.then(|| String::from_utf8_lossy(text).into_owned())
}

/// An attribute as the kernel lays it.
#[cfg(test)]
fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_loopback_is_reported_whole() {
        let path = network_path([127, 0, 0, 1].into());
        assert_eq!(path.interface.as_deref(), Some("lo"));
        assert_eq!(path.source, Some([127, 0, 0, 1].into()));
        assert_eq!((path.on_link, path.next_hop), (Some(true), None));
        // A packet of IPv4 has at most 65535 bytes, which is one less than what loopback takes.
        let whole = path.mtu_bytes.map(|mtu| mtu.min(65535));
        assert!(whole.is_some() && path.path_mtu_bytes == whole, "{path:?}");
        assert_eq!(path.link_bits_per_s(), None, "there is no wire");
        assert!(path.congestion_control.is_some_and(|name| path.congestion_controls.contains(&name)));
        assert!(path.tcp_receive_buffers.is_some_and(|[least, first, most]| least <= first && first <= most));
    }

    #[test]
    fn files_that_say_something_else_are_no_facts() {
        let dir = tempfile::tempdir().unwrap();
        let tcp = dir.path().join("proc/sys/net/ipv4");
        std::fs::create_dir_all(&tcp).unwrap();
        for (name, text) in [
            ("tcp_rmem", "4096 131072"),
            ("tcp_wmem", "4096\t16384\t4194304\n"),
            ("tcp_available_congestion_control", &"x ".repeat(1000)),
        ] {
            std::fs::write(tcp.join(name), text).unwrap();
        }
        let mut path = NetworkPath::default();
        limits(&Root::at(dir.path()), &mut path);
        assert_eq!((path.tcp_receive_buffers, path.tcp_send_buffers), (None, Some([4096, 16384, 4_194_304])));
        assert_eq!((path.congestion_control, path.congestion_controls.len()), (None, MOST_CONGESTION_CONTROLS));
    }

    fn message(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![0; LINK_FIXED_BYTES];
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

    #[test]
    fn a_metric_that_a_route_does_not_set_is_none_and_not_unknown() {
        let set = attribute_of(RTA_METRICS, &attribute_of(11, &2u32.to_ne_bytes()));
        let own = |route: &[u8]| {
            ["initcwnd", "window", "congctl"].map(|name| metrics(route)[&format!("route.{name}")].clone())
        };
        assert_eq!([own(&set), own(&[])], [["2", "none", "none"], ["none"; 3]]);
    }

    fn link_answer(number: u32, flags: u32) -> NetlinkAnswer {
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
        let links =
            [link_answer(1, IFF_UP | IFF_LOOPBACK), link_answer(2, IFF_UP), link_answer(3, 0), link_answer(7, IFF_UP)];
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

    #[test]
    fn attributes_end_where_a_length_cannot_be() {
        let two = [5, 0, 1, 0, 9, 0, 0, 0, 8, 0, 2, 0x80, 1, 0, 0, 0];
        assert_eq!(attributes(&two).collect::<Vec<_>>(), [(1, &[9][..]), (2, &[1, 0, 0, 0][..])]);
        for length in [0, 3, 17, 255] {
            let mut broken = two;
            broken[8] = length;
            assert_eq!(attributes(&broken).count(), 1, "{length}");
        }
        assert_eq!(attributes(&two[..11]).count(), 1);
    }

    #[test]
    fn a_name_is_short_and_printable() {
        assert_eq!(text(b"eth0\0rest").as_deref(), Some("eth0"));
        assert_eq!(text(b"tbf").as_deref(), Some("tbf"));
        for hostile in [&b"\0"[..], b"", b"a\x1b[2J\0", b"a b\0", &[b'a'; 65]] {
            assert_eq!(text(hostile), None);
        }
    }
}
