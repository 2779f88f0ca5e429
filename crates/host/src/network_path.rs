//! The way to another machine: route, interface, queue and limits, as the kernel tells them without a packet being sent.
//!
//! Interfaces are asked by netlink and ioctl rather than /sys/class/net, which shows the network namespace of who mounted it.

mod addresses;
mod attributes;
mod driver;
mod interface;
mod loopback;
mod packet_filter;
mod queue;
mod route;

use std::net::{IpAddr, UdpSocket};

use hostmark_model::NetworkPath;
use rustix::net::sockopt;

use crate::root::Root;

pub use addresses::{addresses, ssh_address};
pub(crate) use driver::interface;
pub(crate) use interface::{Link, links};
pub(crate) use loopback::loopback;

/// More than kernels have; a name is at most 16 bytes.
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
    if let Some(route) = route::to(to) {
        path.source = path.source.or(route.source);
        path.on_link = Some(route.next_hop.is_none());
        path.next_hop = route.next_hop;
        interface::read(route.interface, &mut path);
        path.queue = queue::all().and_then(|queues| queue::of(&queues, route.interface)).or(path.queue);
    }
    if let Some(name) = path.interface.clone() {
        driver::read(&name, &mut path);
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

/// What the kernel grants TCP and sockets.
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
}
