//! Network interfaces of the namespace that this process is in: made and changed. Only for a namespace of one's own.

use std::ffi::CStr;
use std::io;
use std::net::Ipv4Addr;

use hostmark_engine::prelude::say;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use hostmark_engine::prelude::ReasonCode;

use crate::workloads::call::{Call, fault, named, returned};

/// Offload of an interface for TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Sends packets of many segments: it splits them or hands them on whole.
    Tso,
    /// Joins what it receives to larger packets (GRO).
    Gro,
}

impl Feature {
    /// ETHTOOL_GTSO, ETHTOOL_STSO, ETHTOOL_GGRO and ETHTOOL_SGRO of linux/ethtool.h: to get and to set.
    fn commands(self) -> [u32; 2] {
        match self {
            Feature::Tso => [0x1e, 0x1f],
            Feature::Gro => [0x2b, 0x2c],
        }
    }
}

/// Size of the packets that TCP gives an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packets {
    Single,
    /// Packets of so many bytes of IPv4 at most: over 64 KiB it is BIG TCP.
    Large(u32),
}

const IFLA_IFNAME: u16 = libc::IFLA_IFNAME;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
// Of linux/if_link.h: some libraries lack the later ones.
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_GRO_MAX_SIZE: u16 = 58;
const IFLA_GSO_IPV4_MAX_SIZE: u16 = 63;
const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// Returns the argument of an ioctl on interfaces.
fn request(name: &CStr) -> libc::ifreq {
    // SAFETY: integers, arrays of integers and pointers, for which all bits 0 are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.to_bytes()) {
        *to = *from as libc::c_char;
    }
    request
}

fn control(call: &'static str, number: u64, request: &mut libc::ifreq) -> io::Result<()> {
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    let socket = socket.call("socket")?;
    // SAFETY: the request is whole, and what it points to is the caller's for the time of the call.
    returned(call, unsafe { libc::ioctl(socket.as_raw_fd(), number as _, std::ptr::from_mut(request)) }).map(drop)
}

pub fn bring_up(name: &CStr) -> io::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    control("SIOCSIFFLAGS", libc::SIOCSIFFLAGS, &mut request)
}

/// Sets the largest packet that goes over the wire.
pub fn set_mtu(name: &CStr, bytes: u32) -> io::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_mtu = libc::c_int::try_from(bytes).map_err(io::Error::other)?;
    control("SIOCSIFMTU", libc::SIOCSIFMTU, &mut request)
}

/// The largest packet that goes over the wire, bytes.
#[cfg(test)]
pub fn mtu(name: &CStr) -> io::Result<u32> {
    let mut request = request(name);
    control("SIOCGIFMTU", libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: this call has filled this member.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
}

/// Gives an interface its address; the network is that of the address' class.
pub fn set_address(name: &CStr, address: Ipv4Addr) -> io::Result<()> {
    let mut request = request(name);
    // SAFETY: integers, for which all bits 0 are a value.
    let mut to: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    to.sin_family = libc::AF_INET as libc::sa_family_t;
    to.sin_addr.s_addr = u32::from(address).to_be();
    // SAFETY: both are 16 bytes of plain integers.
    request.ifr_ifru.ifru_addr = unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(to) };
    control("SIOCSIFADDR", libc::SIOCSIFADDR, &mut request)
}

#[repr(C)]
struct Asked {
    command: u32,
    value: u32,
}

fn ask(name: &CStr, command: u32, value: u32) -> io::Result<u32> {
    let mut asked = Asked { command, value };
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut asked).cast();
    control("SIOCETHTOOL", libc::SIOCETHTOOL, &mut request)?;
    Ok(asked.value)
}

/// Tells whether an interface has this offload on.
pub fn has(name: &CStr, feature: Feature) -> io::Result<bool> {
    Ok(ask(name, feature.commands()[0], 0)? != 0)
}

/// Has an interface do this, or not. An error where it stays as it was.
pub fn set(name: &CStr, feature: Feature, on: bool) -> io::Result<()> {
    ask(name, feature.commands()[1], on.into())?;
    match has(name, feature)? == on {
        true => Ok(()),
        false => Err(named(
            "SIOCETHTOOL",
            fault(ReasonCode::Kernel, format!("{feature:?} stays {}", if on { "off" } else { "on" })),
        )),
    }
}

/// Has the kernel notice that an interface's peer is up, which takes it up to a second: until then it drops. Fails if it is not.
pub fn settle(name: &CStr) -> io::Result<()> {
    const ETHTOOL_GLINK: u32 = 0x0a;
    match ask(name, ETHTOOL_GLINK, 0)? {
        0 => Err(named("SIOCETHTOOL", fault(ReasonCode::Unreachable, say!("the interface is not connected")))),
        _ => Ok(()),
    }
}

/// Sets how large packets may be; an error where the kernel does not know of it.
pub fn set_packets(name: &CStr, packets: Packets) -> io::Result<()> {
    let mut message = NetlinkMessage::new(libc::RTM_NEWLINK, 0);
    message.attribute(IFLA_IFNAME, name.to_bytes_with_nul());
    match packets {
        Packets::Single => message.attribute(IFLA_GSO_MAX_SEGS, &1_u32.to_ne_bytes()),
        Packets::Large(bytes) => {
            for limit in [IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE] {
                message.attribute(limit, &bytes.to_ne_bytes());
            }
        }
    }
    message.send()?;
    match (packets, limit(name, IFLA_GSO_MAX_SEGS)?, limit(name, IFLA_GSO_IPV4_MAX_SIZE)?) {
        (Packets::Single, Some(1), _) => Ok(()),
        (Packets::Large(bytes), _, Some(set)) if set == bytes => Ok(()),
        (_, segments, bytes) => Err(fault(
            ReasonCode::Kernel,
            say!("the kernel keeps its packets of {segments:?} segments and {bytes:?} bytes"),
        )),
    }
}

/// The limits of an interface's packets as far as the kernel tells them: segments, and bytes of both ways and versions.
#[cfg(test)]
pub(super) fn limits(name: &CStr) -> io::Result<Vec<u32>> {
    let all = [IFLA_GSO_MAX_SEGS, IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE];
    Ok(all.iter().map(|one| limit(name, *one)).collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns one of the limits of an interface's packets; `None` where the kernel does not know it.
fn limit(name: &CStr, wanted: u16) -> io::Result<Option<u32>> {
    let mut message = NetlinkMessage::new(libc::RTM_GETLINK, 0);
    message.attribute(IFLA_IFNAME, name.to_bytes_with_nul());
    let answer = message.send()?;
    // Behind the two headers stand the attributes: length, kind, value, and what is left to the next 4 bytes.
    let mut rest = answer.get(HEADERS_BYTES..).unwrap_or_default();
    while let Some((&[length_low, length_high, kind_low, kind_high], _)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_ne_bytes([length_low, length_high]));
        let value = rest.get(4..length).unwrap_or_default();
        if u16::from_ne_bytes([kind_low, kind_high]) == wanted {
            return Ok(value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(None)
}

/// Makes two interfaces of which each receives what the other sends: `near` here, `far` in another namespace.
pub fn make_pair(near: &CStr, far: &CStr, other: &impl AsFd) -> io::Result<()> {
    let mut message = NetlinkMessage::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
    message.attribute(IFLA_IFNAME, near.to_bytes_with_nul());
    message.nested(IFLA_LINKINFO, |info| {
        info.attribute(IFLA_INFO_KIND, b"veth");
        info.nested(IFLA_INFO_DATA, |data| {
            data.nested(VETH_INFO_PEER, |peer| {
                peer.bytes.extend([0; IFINFO_BYTES]);
                peer.attribute(IFLA_IFNAME, far.to_bytes_with_nul());
                peer.attribute(IFLA_NET_NS_FD, &(other.as_fd().as_raw_fd() as u32).to_ne_bytes());
            });
        });
    });
    message.send().map(drop)
}

const IFINFO_BYTES: usize = 16;
const HEADERS_BYTES: usize = 16 + IFINFO_BYTES;
/// Room for more than a kernel says of an interface.
const ANSWER_BYTES: usize = 16 << 10;

/// A question to the kernel about interfaces, by rtnetlink(7).
struct NetlinkMessage {
    bytes: Vec<u8>,
}

impl NetlinkMessage {
    /// Starts a message that the kernel answers, if only by saying that it is done.
    fn new(kind: u16, flags: libc::c_int) -> NetlinkMessage {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.resize(HEADERS_BYTES, 0);
        NetlinkMessage { bytes }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |message| message.bytes.extend(value));
    }

    fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut NetlinkMessage)) {
        let begin = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let length = (self.bytes.len() - begin) as u16;
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Sends it, and returns the first answer; an error where the kernel refuses.
    fn send(mut self) -> io::Result<Vec<u8>> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        let family = AddressFamily::NETLINK;
        let socket: OwnedFd =
            rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None).call("socket")?;
        // Protocol 0 is NETLINK_ROUTE; without an address it goes to the kernel.
        rustix::net::send(&socket, &self.bytes, SendFlags::empty()).call("send")?;
        let mut answer = vec![0; ANSWER_BYTES];
        let (got, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty()).call("recv")?;
        answer.truncate(got);
        let is_error = answer.get(4..6) == Some(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        match answer.get(16..20).and_then(|bytes| bytes.first_chunk()).map(|bytes| i32::from_ne_bytes(*bytes)) {
            Some(error) if is_error && error != 0 => Err(named("rtnetlink", io::Error::from_raw_os_error(-error))),
            None => Err(named("rtnetlink", io::ErrorKind::UnexpectedEof.into())),
            Some(_) => Ok(answer),
        }
    }
}
