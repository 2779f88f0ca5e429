//! How many entries a table of the older packet filter has (iptables-legacy, ip6tables-legacy). Asking for a table that is not there
//! makes it, so only those may be asked for that /proc/net/ip_tables_names tells.

use std::io;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};

use super::call::{Call, named, returned};

/// IPT_SO_GET_INFO and IP6T_SO_GET_INFO of linux/netfilter_ipv4/ip_tables.h and its sibling.
const GET_INFO: libc::c_int = 64;
/// XT_TABLE_MAXNAMELEN.
const NAME_BYTES: usize = 32;
const HOOKS: usize = 5;

/// An ipt_getinfo, which an ip6t_getinfo equals.
#[repr(C)]
#[derive(Debug, Default)]
struct Info {
    name: [u8; NAME_BYTES],
    valid_hooks: u32,
    hook_entry: [u32; HOOKS],
    underflow: [u32; HOOKS],
    entries: u32,
    size: u32,
}

/// The rules of a table that is there, of IPv6 or of IPv4: its entries without the policies of its hooks and the mark of its end. A chain
/// of one's own adds two. Needs CAP_NET_ADMIN in the network namespace.
pub fn rules(is_ipv6: bool, table: &str) -> io::Result<u64> {
    let (family, level) = match is_ipv6 {
        false => (AddressFamily::INET, libc::SOL_IP),
        true => (AddressFamily::INET6, libc::SOL_IPV6),
    };
    let socket = rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(ipproto::RAW));
    let socket: OwnedFd = socket.call("socket")?;
    let mut info = Info::default();
    // The last byte ends the name.
    if table.is_empty() || table.len() >= NAME_BYTES {
        return Err(named("getsockopt", io::ErrorKind::InvalidInput.into()));
    }
    info.name[..table.len()].copy_from_slice(table.as_bytes());
    let mut length = size_of::<Info>() as libc::socklen_t;
    // SAFETY: the kernel reads the name and writes at most `length` bytes, which `info` has and of which all are numbers.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, GET_INFO, (&raw mut info).cast(), &raw mut length) };
    returned("getsockopt", result)?;
    Ok(u64::from(info.entries.saturating_sub(info.valid_hooks.count_ones() + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_kernels_size_and_what_is_no_name_is_refused() {
        assert_eq!(size_of::<Info>(), 84);
        for name in ["", "a-name-that-no-table-of-the-kernel-can-have"] {
            assert!(rules(false, name).is_err(), "{name:?}");
        }
    }
}
