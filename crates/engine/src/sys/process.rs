//! Processes: dying with the parent, and the cheapest child there is.

use std::io;

use rustix::process::Signal;

use super::call::Call;
use super::child::ChildId;

/// What a forked process takes at least, for its page tables, its stacks and what it writes to: about, bytes.
pub const LEAST_BYTES: u64 = 256 << 10;

/// Asks the kernel to kill this process when its parent dies, then checks that the parent is still `parent`.
/// False means that it is not, and that the process should end.
pub fn die_with_parent(parent: u32) -> bool {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && has_parent(parent)
}

/// Whether the parent of this process is `parent`.
pub fn has_parent(parent: u32) -> bool {
    rustix::process::getppid().is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == parent)
}

/// Whether reading the time-stamp counter is forbidden to this process.
pub fn counter_forbidden() -> bool {
    let mut mode: libc::c_int = 0;
    // SAFETY: PR_GET_TSC writes one int through the pointer given.
    let result = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
    result == 0 && mode == libc::PR_TSC_SIGSEGV
}

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
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    match ChildId::forked("clone", child)? {
        Some(child) => Ok(child),
        None => loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, 0) };
        },
    }
}

/// An error unless this process has one thread: in a forked child the locks of the others would stay locked.
pub fn only_one_thread() -> io::Result<()> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Ok(()) };
    let threads = tasks.map(|task| task.call("getdents64")).collect::<io::Result<Vec<_>>>()?.len();
    if threads > 1 { Err(io::Error::other("a process with several threads cannot fork")) } else { Ok(()) }
}

/// The same through the C library, as programs do it: fork(3), and exit(3) in the child, which runs what was registered
/// for the end. Only for a process with one thread, see [`only_one_thread`].
#[inline]
pub fn fork_exit_by_libc() -> io::Result<()> {
    // SAFETY: the caller has made sure of one thread, so that no lock is held by another; the child goes straight to its end.
    match ChildId::forked("fork", unsafe { libc::fork() })? {
        Some(child) => child.wait(),
        // SAFETY: ends the child; the handlers registered are those of a worker, which hold nothing of its parent's.
        None => unsafe { libc::exit(0) },
    }
}

/// Memory of this process that is resident, bytes; none without /proc.
pub fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Has the kernel keep children that have ended until they are waited for, as it does by itself unless who started this
/// process ignores SIGCHLD, which survives exec: then a child's number is another one's before anybody has looked.
pub fn keep_ended_children() {
    // SAFETY: the default action of SIGCHLD runs no code of ours. It cannot fail for a signal that exists.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Runs a test in a forked process of one thread, as tests themselves have several; it fails when the test fails there.
#[cfg(test)]
pub(crate) fn in_a_child(test: impl FnOnce() -> io::Result<()>) {
    // SAFETY: the child runs only the test and ends by exit_group; the allocator's locks are made usable by fork(3).
    let Some(child) = ChildId::forked("fork", unsafe { libc::fork() }).unwrap() else {
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        let status = i32::from(!matches!(passed, Ok(Ok(()))));
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    };
    child.wait().unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    let start = crate::clock::monotonic_ns();
                    fork_exit().map(|()| crate::clock::monotonic_ns() - start)
                };
                (0..20).map(|_| one()).try_fold(u64::MAX, |least, ns| Ok(least.min(ns?)))
            };
            let without = fastest_ns()?;
            // 65 536 pages of 4 KiB, each an entry to be copied and taken away again; other tests' memory is in both.
            let buffer = crate::sys::memory::Buffer::map(256 << 20, crate::sys::memory::Pages::Base, None)?;
            let with = fastest_ns()?;
            drop(buffer);
            assert!(2 * with > 3 * without, "{without} ns, with 256 MiB {with} ns");
            Ok(())
        });
    }

    #[test]
    fn another_parent_is_noticed() {
        assert!(!die_with_parent(u32::MAX));
    }
}
