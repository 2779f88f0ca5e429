//! Processes: dying with the parent, forking with one thread, and what stays of children that have ended.

use std::io;
#[cfg(any(test, feature = "tests"))]
use std::io::{Read, Write};

use hostmark_say::say;
use rustix::process::Signal;

use super::call::Call;
use super::child::ChildId;
use super::retry;

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

/// Keeps huge pages from this process and from all that it starts from now on, or no longer does: whoever asks for them by
/// madvise(2) gets base pages.
pub fn forbid_huge_pages(are_forbidden: bool) -> io::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: PR_SET_THP_DISABLE takes numbers; memory that is mapped keeps its contents.
    let result = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(are_forbidden), none, none, none) };
    super::call::returned("prctl", result).map(drop)
}

/// Whether huge pages are kept from this process, by [`forbid_huge_pages`] or by whoever started it.
pub fn huge_pages_forbidden() -> bool {
    let none: libc::c_ulong = 0;
    // SAFETY: PR_GET_THP_DISABLE takes zeros, and returns a number.
    let result = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, none, none, none, none) };
    result > 0
}

/// Lets the calling thread run only where no other one wants to (SCHED_IDLE).
pub fn yield_to_all() -> io::Result<()> {
    // All that the kernel's struct sched_param has; musl's has more.
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads the number given; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority) };
    super::call::returned("sched_setscheduler", result).map(drop)
}

/// An error unless this process has one thread: in a forked child the locks of the others would stay locked. One that was
/// joined is listed for a moment longer: it is looked at again.
pub fn only_one_thread() -> io::Result<()> {
    let threads = || -> io::Result<usize> {
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Ok(1) };
        Ok(tasks.map(|task| task.call("getdents64")).collect::<io::Result<Vec<_>>>()?.len())
    };
    let mut error = None;
    let is_alone = retry::until(|| match threads() {
        Ok(threads) => threads <= 1,
        Err(why) => error.replace(why).is_none(),
    });
    match error {
        Some(error) => Err(error),
        None if is_alone => Ok(()),
        None => Err(io::Error::other(say!("a process with several threads cannot fork"))),
    }
}

/// Forks this process, which must have one thread, and which goes on in both: none in the child.
pub fn fork() -> io::Result<Option<ChildId>> {
    only_one_thread()?;
    // SAFETY: no other thread holds a lock that would stay locked in the child.
    unsafe { ChildId::forked("fork", libc::fork()) }
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

/// Runs a test in a forked process of one thread, as tests themselves have several; it fails when the test fails there, and with its words.
#[cfg(any(test, feature = "tests"))]
pub fn in_a_child(test: impl FnOnce() -> io::Result<()>) {
    let (words, mut said) = std::io::pipe().unwrap();
    // SAFETY: the child runs only the test and ends by exit_group; the allocator's locks are made usable by fork(3).
    let Some(child) = unsafe { ChildId::forked("fork", libc::fork()) }.unwrap() else {
        let failed = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(test)) {
            Ok(passed) => passed.err().map(|error| error.to_string()),
            Err(panic) => Some(match panic.downcast::<String>() {
                Ok(words) => *words,
                Err(panic) => panic.downcast_ref::<&str>().unwrap_or(&"a panic").to_string(),
            }),
        };
        // A pipe takes a page at once.
        let _ = failed.as_ref().map(|words| said.write_all(&words.as_bytes()[..words.len().min(4096)]));
        // SAFETY: ends the child.
        unsafe { libc::_exit(failed.is_some().into()) };
    };
    drop(said);
    let ended = child.wait();
    // Another process of the test's may hold the other end.
    rustix::io::ioctl_fionbio(&words, true).unwrap();
    let mut message = [0; 4096];
    let length = (&words).read(&mut message).unwrap_or(0);
    assert!(ended.is_ok() && length == 0, "{ended:?}: {}", String::from_utf8_lossy(&message[..length]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_forbidden_and_allowed_again() {
        in_a_child(|| {
            let is_forbidden = || -> bool {
                let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
                status.lines().any(|line| line.starts_with("THP_enabled:") && line.ends_with('0'))
            };
            forbid_huge_pages(true)?;
            assert!(is_forbidden());
            forbid_huge_pages(false)?;
            assert!(!is_forbidden());
            Ok(())
        });
    }

    #[test]
    #[should_panic(expected = "1 is no 2")]
    fn a_test_that_fails_in_a_child_says_why() {
        in_a_child(|| panic!("{} is no 2", 1));
    }

    #[test]
    fn a_thread_yields_to_all_others() {
        std::thread::spawn(|| {
            yield_to_all().unwrap();
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            // The 41st field is the policy, 5 is SCHED_IDLE.
            assert_eq!(stat.rsplit(')').next().unwrap().split_whitespace().nth(38), Some("5"));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn another_parent_is_noticed() {
        assert!(!die_with_parent(u32::MAX));
    }
}
