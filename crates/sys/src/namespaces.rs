//! Namespaces of a process' own, as unshare(1) and container runtimes make them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use hostmark_say::say;
use rustix::fd::AsFd;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::call::{Call, named};
use super::netlink;
use super::process::only_one_thread;

/// Flags of mounts as in every container: no devices, no programs, no set-user-ID.
const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// Gives this process, which must have one thread, namespaces of its own for mounts, IPC, host name and network; its next
/// child is the first process of a new process namespace. Unless it is root it gets a user namespace too, in which its user
/// and group keep their numbers. Mounts from now on reach nobody else.
///
/// A namespace of control groups is not among them: it would hide the limits of the groups above, which hold all the same,
/// and changes nothing but how the groups are named.
pub fn unshare() -> io::Result<()> {
    only_one_thread()?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let all =
        UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS | UnshareFlags::NEWNET | UnshareFlags::NEWPID;
    match user {
        0 => leave(all)?,
        _ => leave_as(all, user, group)?,
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).call("mount")
}

/// Gives this process, which must have one thread, a network of its own, whose interfaces it may make and change; where it has
/// no right to that, a user namespace too. It ends with the last process and socket in it, and all its interfaces with it.
pub fn unshare_network() -> io::Result<()> {
    only_one_thread()?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let before = network_number()?;
    match leave(UnshareFlags::NEWNET) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => leave_as(UnshareFlags::NEWNET, user, group),
        left => left,
    }?;
    // What the caller changes next must not be the network that it came from, whatever the call has answered.
    match network_number()? == before {
        true => Err(named("unshare", io::Error::other(say!("the network is still the one before")))),
        false => Ok(()),
    }
}

/// Returns the number that tells one network namespace from another (namespaces(7)).
fn network_number() -> io::Result<u64> {
    Ok(network()?.metadata().call("statx")?.ino())
}

/// The network namespace of this process, to come back to it.
pub fn network() -> io::Result<File> {
    File::open("/proc/self/ns/net").call("open /proc/self/ns/net")
}

/// Goes into a network namespace that this process made.
pub fn enter_network(network: &File) -> io::Result<()> {
    rustix::thread::move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network)).call("setns")
}

fn leave(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: only the table of open files must not be unshared behind the back of a thread; none of these concerns it.
    unsafe { rustix::thread::unshare_unsafe(namespaces).call("unshare") }
}

/// The same with a user namespace in which user and group keep their numbers.
fn leave_as(namespaces: UnshareFlags, user: u32, group: u32) -> io::Result<()> {
    leave(namespaces | UnshareFlags::NEWUSER)?;
    // The kernel lets an unprivileged process map its own user and group alone, and the group only then.
    fs::write("/proc/self/setgroups", "deny").call("write /proc/self/setgroups")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).call("write /proc/self/uid_map")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).call("write /proc/self/gid_map")
}

/// Sets up the first process of the new process namespace: mounts its own /proc and brings up the loopback interface.
pub fn settle() -> io::Result<()> {
    mount("proc", "/proc", "proc", HARMLESS, None).call("mount /proc")?;
    // Without it nothing listens at 127.0.0.1: a new network namespace has its loopback interface down.
    netlink::bring_up(netlink::LOOPBACK)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    use super::*;
    use crate::process::in_a_child;

    #[test]
    fn a_call_that_says_it_is_done_and_has_done_nothing_is_no_network_of_ones_own() {
        let here = std::env::consts::ARCH.try_into().unwrap();
        // A sandbox may answer so: no error, and nothing done.
        let rules = BTreeMap::from([(libc::SYS_unshare, vec![])]);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(0), here).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        in_a_child(|| {
            apply_filter(&program).map_err(io::Error::other)?;
            let refused = unshare_network().unwrap_err().to_string();
            assert!(refused.contains("the network is still the one before"), "{refused}");
            Ok(())
        });
    }
}
