//! The kernel's network and audit: questions and answers of rtnetlink(7), nfnetlink and audit, the ioctls of an interface, and how many
//! entries packet filters and BPF programs have. Only an interface of a network of this process' own is changed.

use std::ffi::CStr;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use hostmark_say::say;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, netlink};

use super::call::{Call, errno, named, returned};

/// The header of a message: length, kind, flags, number of the question, sender.
const HEADER_BYTES: usize = 16;
/// The kernel fills at most 32 KiB at once.
const DATAGRAM_BYTES: usize = 64 << 10;
/// A host of containers has some thousand interfaces, and tells some hundred bytes of each.
const MOST_BYTES: usize = 16 << 20;
/// Limit on the packet filter's objects, bytes: each has some hundred, and a host of many services a hundred thousand rules; none is kept.
const MOST_FILTER_BYTES: usize = 256 << 20;
/// The kernel answers at once; this ends a wait for an answer that never comes.
const PATIENCE: Duration = Duration::from_secs(1);
/// The number of the one question that a socket here asks.
const QUESTION: u32 = 1;

/// A message of the kernel, without its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetlinkAnswer {
    /// RTM_NEWLINK, RTM_NEWROUTE …
    pub kind: u16,
    /// The fixed part of its kind, then attributes.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The one that the question describes.
    One,
    All,
    /// The one answer that there is, of which the kernel says nothing before or after it.
    Lone,
}

/// Asks the kernel about its network: a question of kind RTM_GETLINK and the like, with its fixed part and attributes.
pub fn ask(kind: u16, scope: Scope, body: &[u8]) -> io::Result<Vec<NetlinkAnswer>> {
    let mut answers = Vec::new();
    exchange(None, kind, scope, body, MOST_BYTES, &mut |answer| answers.push(answer))?;
    Ok(answers)
}

/// Hears all objects of a kind (NFT_MSG_GETRULE and the like) that nftables(8) has in this network namespace; needs CAP_NET_ADMIN there.
pub fn read_filter(kind: u8, visit: &mut dyn FnMut(NetlinkAnswer)) -> io::Result<()> {
    /// NFNL_SUBSYS_NFTABLES of linux/netfilter/nfnetlink.h.
    const NFTABLES: u16 = 10;
    // An nfgenmsg: of all families, version 0.
    exchange(Some(netlink::NETFILTER), NFTABLES << 8 | u16::from(kind), Scope::All, &[0; 4], MOST_FILTER_BYTES, visit)
}

/// Hears the answer to a question of kind AUDIT_GET and the like; needs CAP_AUDIT_CONTROL in the machine's first namespaces.
pub fn ask_audit(kind: u16, scope: Scope, visit: &mut dyn FnMut(NetlinkAnswer)) -> io::Result<()> {
    exchange(Some(netlink::AUDIT), kind, scope, &[], MOST_BYTES, visit)
}

/// Exchanges messages with the kernel; without a protocol it is NETLINK_ROUTE.
fn exchange(
    protocol: Option<Protocol>,
    kind: u16,
    scope: Scope,
    body: &[u8],
    most_bytes: usize,
    visit: &mut dyn FnMut(NetlinkAnswer),
) -> io::Result<()> {
    let more = match scope {
        Scope::One => libc::NLM_F_ACK,
        Scope::All => libc::NLM_F_DUMP,
        Scope::Lone => 0,
    };
    let mut question = Vec::with_capacity(HEADER_BYTES + body.len());
    question.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    question.extend(kind.to_ne_bytes());
    question.extend(((libc::NLM_F_REQUEST | more) as u16).to_ne_bytes());
    question.extend(QUESTION.to_ne_bytes());
    question.extend(0_u32.to_ne_bytes());
    question.extend(body);
    // Without an address it goes to the kernel.
    let socket: OwnedFd =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
            .call("socket")?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).call("setsockopt")?;
    rustix::net::send(&socket, &question, SendFlags::empty()).call("send")?;
    let (mut answers, mut datagram, mut received) = (Vec::new(), vec![0; DATAGRAM_BYTES], 0_usize);
    while received < most_bytes {
        let (got, _) = rustix::net::recv(&socket, &mut datagram[..], RecvFlags::empty()).call("recv")?;
        received = received.saturating_add(got.max(1));
        let is_last = is_last(&datagram[..got], &mut answers)? || (scope == Scope::Lone && !answers.is_empty());
        answers.drain(..).for_each(&mut *visit);
        if is_last {
            return Ok(());
        }
    }
    Err(named("rtnetlink", io::Error::other(say!("the answer has no end"))))
}

/// Takes the answers out of a datagram, and says whether the kernel has told all.
fn is_last(datagram: &[u8], answers: &mut Vec<NetlinkAnswer>) -> io::Result<bool> {
    let mut rest = datagram;
    while let Some((header, _)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let number = |from: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| header[from + byte]));
        let (length, kind) = (number(0) as usize, u16::from_ne_bytes([header[4], header[5]]));
        let Some(body) = rest.get(HEADER_BYTES..length) else {
            return Err(named("rtnetlink", io::ErrorKind::InvalidData.into()));
        };
        if number(8) == QUESTION {
            match libc::c_int::from(kind) {
                libc::NLMSG_DONE => return Ok(true),
                libc::NLMSG_ERROR => {
                    let error = body.first_chunk().map_or(-libc::EINVAL, |bytes| i32::from_ne_bytes(*bytes));
                    return match error {
                        0 => Ok(true),
                        _ => Err(named("rtnetlink", io::Error::from_raw_os_error(error.saturating_neg()))),
                    };
                }
                libc::NLMSG_NOOP => {}
                _ => answers.push(NetlinkAnswer { kind, body: body.to_vec() }),
            }
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Question to an interface's driver (linux/ethtool.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// ETHTOOL_GDRVINFO.
    Driver,
    /// ETHTOOL_GCOALESCE.
    Moderation,
    /// ETHTOOL_GRINGPARAM.
    Rings,
    /// ETHTOOL_GRXCSUM.
    ReceiveChecksum,
    /// ETHTOOL_GTXCSUM.
    TransmitChecksum,
    /// ETHTOOL_GSG.
    ScatterGather,
    /// ETHTOOL_GTSO.
    Tso,
    /// ETHTOOL_GGSO.
    Gso,
    /// ETHTOOL_GFLAGS.
    Flags,
    /// ETHTOOL_GGRO.
    Gro,
    /// ETHTOOL_GCHANNELS.
    Channels,
    /// ETHTOOL_GLINKSETTINGS.
    Link,
}

impl Question {
    fn command(self) -> u32 {
        match self {
            Question::Driver => 0x03,
            Question::Moderation => 0x0e,
            Question::Rings => 0x10,
            Question::ReceiveChecksum => 0x14,
            Question::TransmitChecksum => 0x16,
            Question::ScatterGather => 0x18,
            Question::Tso => 0x1e,
            Question::Gso => 0x23,
            Question::Flags => 0x25,
            Question::Gro => 0x2b,
            Question::Channels => 0x3c,
            Question::Link => 0x4c,
        }
    }
}

/// Words of the longest answer: of a link's settings, whose three masks have at most 127 words each.
const ANSWER_WORDS: usize = 512;
/// The word of a link's settings whose last byte says how long the masks are.
const MASKS_WORD: usize = 3;

/// Asks an interface's driver; the answer is in 4-byte words, of which the first is the question's number. Words behind it are 0.
pub fn ask_driver(interface: &CStr, question: Question) -> io::Result<Vec<u32>> {
    let mut words = vec![0_u32; ANSWER_WORDS];
    words[0] = question.command();
    drive(interface, &mut words)?;
    if question == Question::Link {
        // The first answer is how long the masks are, below zero; the second question repeats that above zero.
        let mut bytes = words[MASKS_WORD].to_ne_bytes();
        bytes[3] = (bytes[3] as i8).saturating_neg().max(0) as u8;
        words.fill(0);
        (words[0], words[MASKS_WORD]) = (question.command(), u32::from_ne_bytes([0, 0, 0, bytes[3]]));
        drive(interface, &mut words)?;
    }
    Ok(words)
}

fn drive(interface: &CStr, words: &mut [u32]) -> io::Result<()> {
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    let socket = socket.call("socket")?;
    // SAFETY: integers, arrays of integers and pointers, for which all bits 0 are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = interface.to_bytes();
    if name.len() >= request.ifr_name.len() || words.len() < ANSWER_WORDS {
        return Err(named("SIOCETHTOOL", io::ErrorKind::InvalidInput.into()));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the request is whole; of the questions above none has an answer of more bytes than `words`, which live on.
    returned("SIOCETHTOOL", unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, std::ptr::from_mut(&mut request))
    })
    .map(drop)
}

/// The interface by which a machine reaches itself.
pub const LOOPBACK: &str = "lo";

pub fn bring_up(name: &str) -> io::Result<()> {
    let mut request = ioctl_request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    ask_ioctl(&ioctl_socket()?, libc::SIOCSIFFLAGS as _, &mut request)
}

/// Tells whether an interface is up.
pub fn is_up(name: &str) -> io::Result<bool> {
    let mut request = ioctl_request(name)?;
    ask_ioctl(&ioctl_socket()?, libc::SIOCGIFFLAGS as _, &mut request)?;
    // SAFETY: the kernel has just written them.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
}

/// Gives an interface an address of IPv4, of which the first `prefix` bits name its network.
pub fn give_address(name: &str, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
    let socket = ioctl_socket()?;
    for (call, address) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, Ipv4Addr::from_bits(mask))] {
        let mut request = ioctl_request(name)?;
        request.ifr_ifru.ifru_addr = socket_address(address);
        ask_ioctl(&socket, call as _, &mut request)?;
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
    let socket = ioctl_socket()?;
    // SAFETY: the kernel reads the route, which is whole, and keeps nothing of it.
    returned("ioctl", unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &raw const route) }).map(drop)
}

fn ioctl_socket() -> io::Result<OwnedFd> {
    rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None).call("socket")
}

fn ioctl_request(name: &str) -> io::Result<libc::ifreq> {
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

fn ask_ioctl(socket: &OwnedFd, call: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the kernel reads the request, which is whole, or writes its answer into it, and keeps nothing of it.
    returned("ioctl", unsafe { libc::ioctl(socket.as_raw_fd(), call, &raw mut *request) }).map(drop)
}

/// IPT_SO_GET_INFO and IP6T_SO_GET_INFO of linux/netfilter_ipv4/ip_tables.h and its sibling.
const GET_INFO: libc::c_int = 64;
/// XT_TABLE_MAXNAMELEN.
const NAME_BYTES: usize = 32;
const HOOKS: usize = 5;

/// An ipt_getinfo, which an ip6t_getinfo equals.
#[repr(C)]
#[derive(Debug, Default)]
struct OldFilter {
    name: [u8; NAME_BYTES],
    valid_hooks: u32,
    hook_entry: [u32; HOOKS],
    underflow: [u32; HOOKS],
    entries: u32,
    size: u32,
}

/// The rules of a table that is there, of IPv6 or of IPv4: its entries without the policies of its hooks and the mark of its end. A chain
/// of one's own adds two. Needs CAP_NET_ADMIN in the network namespace.
pub fn old_filter_rules(is_ipv6: bool, table: &str) -> io::Result<u64> {
    let (family, level) = match is_ipv6 {
        false => (AddressFamily::INET, libc::SOL_IP),
        true => (AddressFamily::INET6, libc::SOL_IPV6),
    };
    let socket = rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(ipproto::RAW));
    let socket: OwnedFd = socket.call("socket")?;
    let mut info = OldFilter::default();
    // The last byte ends the name.
    if table.is_empty() || table.len() >= NAME_BYTES {
        return Err(named("getsockopt", io::ErrorKind::InvalidInput.into()));
    }
    info.name[..table.len()].copy_from_slice(table.as_bytes());
    let mut length = size_of::<OldFilter>() as libc::socklen_t;
    // SAFETY: the kernel reads the name and writes at most `length` bytes, which `info` has and of which all are numbers.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, GET_INFO, (&raw mut info).cast(), &raw mut length) };
    returned("getsockopt", result)?;
    Ok(u64::from(info.entries.saturating_sub(info.valid_hooks.count_ones() + 1)))
}

/// BPF_PROG_QUERY, and BPF_F_QUERY_EFFECTIVE: also those that are attached to the groups above.
const PROG_QUERY: libc::c_int = 16;
const EFFECTIVE: u32 = 1;
/// BPF_CGROUP_INET_INGRESS and _EGRESS, BPF_TCX_INGRESS and _EGRESS of linux/bpf.h.
const OF_GROUP: [u32; 2] = [0, 1];
const OF_INTERFACE: [u32; 2] = [46, 47];

/// Part of bpf_attr that a query has.
#[repr(C)]
#[derive(Default)]
struct BpfQuery {
    target: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    ids: u64,
    count: u32,
    reserved: u32,
    more: [u64; 4],
}

/// Programs (tcx) that packets of an interface meet, in and out. Needs CAP_NET_ADMIN.
pub fn bpf_of_interface(number: u32) -> io::Result<u32> {
    let [incoming, outgoing] = OF_INTERFACE.map(|attach_type| bpf_count(number, attach_type, 0));
    Ok(incoming? + outgoing?)
}

/// Programs that packets of sockets of a control group (version 2) meet, in and out. Needs CAP_NET_ADMIN.
pub fn bpf_of_group(directory: BorrowedFd<'_>) -> io::Result<u32> {
    let [incoming, outgoing] =
        OF_GROUP.map(|attach_type| bpf_count(directory.as_raw_fd().unsigned_abs(), attach_type, EFFECTIVE));
    Ok(incoming? + outgoing?)
}

fn bpf_count(target: u32, attach_type: u32, query_flags: u32) -> io::Result<u32> {
    let mut query = BpfQuery { target, attach_type, query_flags, ..BpfQuery::default() };
    // SAFETY: the kernel reads and writes a structure of the size given, of integers alone, and no list of ids is asked for.
    let result = unsafe { libc::syscall(libc::SYS_bpf, PROG_QUERY, &raw mut query, size_of::<BpfQuery>()) };
    match returned("bpf", result) {
        Ok(_) => Ok(query.count),
        // A kernel that does not know this kind has none of it.
        Err(error) if errno(&error) == Some(libc::EINVAL) => Ok(0),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespaces;
    use crate::process::in_a_child;
    use crate::skip::skipped;

    fn message(kind: u16, question: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend(question.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn answers_to_another_question_are_not_received() {
        let mut answers = Vec::new();
        let datagram = [message(16, 7, &[1; 4]), message(16, QUESTION, &[2; 6]), message(24, QUESTION, &[])].concat();
        assert!(!is_last(&datagram, &mut answers).unwrap());
        let visit: Vec<_> = answers.iter().map(|answer| (answer.kind, answer.body.as_slice())).collect();
        assert_eq!(visit, [(16, &[2; 6][..]), (24, &[][..])]);
    }

    #[test]
    fn the_end_and_a_refusal_end_an_answer() {
        let done = message(libc::NLMSG_DONE as u16, QUESTION, &[0; 4]);
        assert!(is_last(&done, &mut Vec::new()).unwrap());
        assert!(is_last(&message(libc::NLMSG_ERROR as u16, QUESTION, &[0; 20]), &mut Vec::new()).unwrap());
        for (number, refused) in [(-libc::EPERM, libc::EPERM), (i32::MIN, i32::MAX)] {
            let refusal = message(libc::NLMSG_ERROR as u16, QUESTION, &number.to_ne_bytes());
            let error = is_last(&refusal, &mut Vec::new()).unwrap_err();
            assert_eq!(crate::call::errno(&error), Some(refused));
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused_or_end_the_datagram() {
        for length in [0_u32, 3, 15, 17, u32::MAX] {
            let mut bytes = message(16, QUESTION, &[]);
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            assert!(is_last(&bytes, &mut Vec::new()).is_err(), "{length}");
        }
        assert!(!is_last(&[1, 2, 3], &mut Vec::new()).unwrap());
    }

    #[test]
    fn the_kernel_reports_loopback() {
        let all = ask(libc::RTM_GETLINK, Scope::All, &[0; 16]).unwrap();
        assert!(all.iter().any(|answer| answer.body.windows(3).any(|name| name == b"lo\0")), "{}", all.len());
        assert!(ask(libc::RTM_GETLINK, Scope::One, &[0; 16]).is_err());
        assert!(ask_driver(c"lo", Question::Tso).unwrap()[1] <= 1);
        assert!(ask_driver(c"a-name-that-is-too-long", Question::Tso).is_err());
        assert!(ask_driver(c"none such", Question::Link).is_err());
    }

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

    #[test]
    fn an_answer_has_the_kernels_size_and_what_is_no_name_is_refused() {
        assert_eq!(size_of::<OldFilter>(), 84);
        for name in ["", "a-name-that-no-table-of-the-kernel-can-have"] {
            assert!(old_filter_rules(false, name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_query_has_the_kernels_layout_and_a_strange_kind_is_none() {
        assert_eq!((size_of::<BpfQuery>(), std::mem::offset_of!(BpfQuery, count)), (64, 24));
        // Who may not ask is told so, and so is everybody by a kernel without BPF.
        match bpf_count(1, 1 << 20, 0) {
            Ok(bpf_count) => assert_eq!(bpf_count, 0),
            Err(error) => assert!([Some(libc::EPERM), Some(libc::ENOSYS)].contains(&errno(&error)), "{error}"),
        }
    }
}
