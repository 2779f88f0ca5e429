//! The cheapest child there is, as an operation to be measured: forked, ended at once, waited for.

use std::io;

use crate::workloads::child::ChildId;
use crate::workloads::{checked, machine::arch};

/// What a forked process takes at least, for its page tables, its stacks and what it writes to: about, bytes.
pub const LEAST_BYTES: u64 = 256 << 10;

/// Forks by clone(2) with nothing shared; the child ends at once with status 0; the parent waits for it.
/// An error when the kernel refuses, or when the child ended in any other way.
#[inline]
pub fn fork_exit() -> io::Result<()> {
    forked()?.wait()
}

/// The first half of [`fork_exit`]: comes back when the child is made, which is as long as the parent stands still. It has to
/// be waited for.
#[inline]
pub fn forked() -> io::Result<ChildId> {
    // SAFETY: without CLONE_VM and with no new stack the child goes on on its copy of this one, as after fork(2). It does
    // nothing but exit_group, which is safe whatever other threads held when it was made.
    let child = unsafe { arch::call(libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0, 0]) };
    if child == 0 {
        leave();
    }
    // SAFETY: what the call has just returned.
    unsafe { ChildId::started("clone", checked("clone", child)? as i64) }
}

/// Ends the child where it is: each page of code that it reads, as of a library, is given to it by a page fault.
#[inline(always)]
fn leave() -> ! {
    loop {
        // SAFETY: ends this process, a child that has done nothing.
        unsafe { arch::call(libc::SYS_exit_group, [0; 6]) };
    }
}

/// The same through the C library, as programs do it: fork(3), and exit(3) in the child, which runs what was registered
/// for the end. Only for a process with one thread, see [`crate::workloads::process::only_one_thread`].
#[inline]
pub fn fork_exit_by_libc() -> io::Result<()> {
    // SAFETY: the caller has made sure of one thread, so that no lock is held by another; the child goes straight to its end.
    match unsafe { ChildId::forked("fork", libc::fork()) }? {
        Some(child) => child.wait(),
        // SAFETY: ends the child; the handlers registered are those of a worker, which hold nothing of its parent's.
        None => unsafe { libc::exit(0) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use crate::workloads::clock::monotonic_ns;
    use crate::workloads::memory::{Buffer, Pages};
    use crate::workloads::process::{in_a_child, resident_bytes};

    #[test]
    fn a_child_that_ends_well_is_reaped() {
        // In a process of its own: here other tests have children too.
        in_a_child(|| {
            fork_exit()?;
            // Nothing is left to wait for.
            // SAFETY: no pointer is given.
            let left = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
            assert!(left <= 0);
            Ok(())
        });
    }

    #[test]
    fn a_fork_copies_the_page_tables_of_what_is_resident() {
        in_a_child(|| {
            let fastest_ns = || -> io::Result<u64> {
                let one = || {
                    let start = monotonic_ns();
                    fork_exit().map(|()| monotonic_ns() - start)
                };
                (0..20).map(|_| one()).try_fold(u64::MAX, |least, ns| Ok(least.min(ns?)))
            };
            // What other tests held when this child was forked is in both.
            let others = resident_bytes().unwrap_or(u64::MAX) >> 20;
            if others > 128 {
                skipped(&format!("other tests hold {others} MiB"));
                return Ok(());
            }
            let without = fastest_ns()?;
            // 65 536 pages of 4 KiB, each an entry to be copied and taken away again.
            let buffer = Buffer::map(256 << 20, Pages::Base, None)?;
            let with = fastest_ns()?;
            drop(buffer);
            assert!(2 * with > 3 * without, "{without} ns, with 256 MiB {with} ns");
            Ok(())
        });
    }
}
