//! Network interfaces of a network that belongs to this process: brought up, and given an address.

use std::io;
use std::net::Ipv4Addr;

use hostmark_say::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::call::{Call, named, returned};

/// The interface by which a machine reaches itself.
pub const LOOPBACK: &str = "lo";

/// Brings an interface up.
pub fn bring_up(name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    ask(&socket()?, libc::SIOCSIFFLAGS as _, &mut request)
}

/// Whether an interface is up.
pub fn is_up(name: &str) -> io::Result<bool> {
    let mut request = request(name)?;
    ask(&socket()?, libc::SIOCGIFFLAGS as _, &mut request)?;
    // SAFETY: the kernel has just written them.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
}

/// Gives an interface an address of IPv4, of which the first `prefix` bits name its network.
pub fn give_address(name: &str, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
    let socket = socket()?;
    for (call, address) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, Ipv4Addr::from_bits(mask))] {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_addr = socket_address(address);
        ask(&socket, call as _, &mut request)?;
    }
    Ok(())
}

/// Sends what goes to no network of this machine's by this gateway.
pub fn route_by(gateway: Ipv4Addr) -> io::Result<()> {
    // SAFETY: integers, arrays of integers and a pointer, for which all bits 0 are a value.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    (route.rt_dst, route.rt_genmask) = (socket_address(Ipv4Addr::UNSPECIFIED), socket_address(Ipv4Addr::UNSPECIFIED));
    route.rt_gateway = socket_address(gateway);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    let socket = socket()?;
    // SAFETY: the kernel reads the route, which is whole, and keeps nothing of it.
    returned("ioctl", unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &raw const route) }).map(drop)
}

fn socket() -> io::Result<OwnedFd> {
    rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None).call("socket")
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: integers and arrays of integers, for which all bits 0 are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte ends the name.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(named("ioctl", io::Error::new(io::ErrorKind::InvalidInput, say!("no interface has such a name"))));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: integers and arrays of integers, for which all bits 0 are a value.
    let mut converted: libc::sockaddr = unsafe { std::mem::zeroed() };
    converted.sa_family = libc::AF_INET as libc::sa_family_t;
    // ip(7): the port, then the address, each in network order.
    for (to, from) in converted.sa_data[2..].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    converted
}

fn ask(socket: &OwnedFd, call: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the kernel reads the request, which is whole, or writes its answer into it, and keeps nothing of it.
    returned("ioctl", unsafe { libc::ioctl(socket.as_raw_fd(), call, &raw mut *request) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespaces;
    use crate::process::in_a_child;
    use crate::skip::skipped;

    #[test]
    fn an_interface_has_its_address_and_what_is_no_name_is_refused() {
        for name in ["", "an-interface-too-long", "a\0"] {
            assert!(bring_up(name).is_err(), "{name:?}");
        }
        assert!(bring_up("none").unwrap_err().to_string().starts_with("ioctl: "));
        in_a_child(|| {
            if let Err(error) = namespaces::unshare_network() {
                skipped(&format!("no network of its own ({error})"));
                return Ok(());
            }
            give_address(LOOPBACK, Ipv4Addr::new(10, 9, 8, 7), 24)?;
            bring_up(LOOPBACK)?;
            std::net::TcpListener::bind(("10.9.8.7", 0))?;
            route_by(Ipv4Addr::new(10, 9, 8, 1))?;
            let routes = std::fs::read_to_string("/proc/net/route")?;
            assert!(routes.lines().any(|line| line.starts_with("lo\t00000000\t0108090A")), "{routes}");
            Ok(())
        });
    }
}
