//! How many BPF programs are attached somewhere: bpf(2).

use std::io;

use rustix::fd::{AsRawFd, BorrowedFd};

use super::call::{errno, returned};

/// BPF_PROG_QUERY, and BPF_F_QUERY_EFFECTIVE: also those that are attached to the groups above.
const PROG_QUERY: libc::c_int = 16;
const EFFECTIVE: u32 = 1;
/// BPF_CGROUP_INET_INGRESS and _EGRESS, BPF_TCX_INGRESS and _EGRESS of linux/bpf.h.
const OF_GROUP: [u32; 2] = [0, 1];
const OF_INTERFACE: [u32; 2] = [46, 47];

/// What of bpf_attr a query has.
#[repr(C)]
#[derive(Default)]
struct Query {
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
pub fn of_interface(number: u32) -> io::Result<u32> {
    let [incoming, outgoing] = OF_INTERFACE.map(|attach_type| count(number, attach_type, 0));
    Ok(incoming? + outgoing?)
}

/// Programs that packets of sockets of a control group (version 2) meet, in and out. Needs CAP_NET_ADMIN.
pub fn of_group(directory: BorrowedFd<'_>) -> io::Result<u32> {
    let [incoming, outgoing] =
        OF_GROUP.map(|attach_type| count(directory.as_raw_fd().unsigned_abs(), attach_type, EFFECTIVE));
    Ok(incoming? + outgoing?)
}

fn count(target: u32, attach_type: u32, query_flags: u32) -> io::Result<u32> {
    let mut query = Query { target, attach_type, query_flags, ..Query::default() };
    // SAFETY: the kernel reads and writes a structure of the size given, of integers alone, and no list of ids is asked for.
    let result = unsafe { libc::syscall(libc::SYS_bpf, PROG_QUERY, &raw mut query, size_of::<Query>()) };
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

    #[test]
    fn a_query_has_the_kernels_layout_and_a_strange_kind_is_none() {
        assert_eq!((size_of::<Query>(), std::mem::offset_of!(Query, count)), (64, 24));
        // Who may not ask is told so, and so is everybody by a kernel without BPF.
        match count(1, 1 << 20, 0) {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => assert!([Some(libc::EPERM), Some(libc::ENOSYS)].contains(&errno(&error)), "{error}"),
        }
    }
}
