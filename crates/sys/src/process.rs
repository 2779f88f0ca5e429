//! Processes: dying with the parent, forking with one thread, what ended children leave, and a child for half of an exchange.

#[cfg(any(test, feature = "tests"))]
use std::io::{Read, Write};
use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io};

use hostmark_say::say;
use rustix::fd::{FromRawFd, OwnedFd, RawFd};
use rustix::process::{Signal, TimeStampCounterReadability};

use super::call::{Call, returned};
use super::child::{Address, Child, ChildId};
use super::{affinity, exit_message};

/// Asks the kernel to kill this process with its parent, then checks that it is still `parent`. False: this process should end.
pub fn die_with_parent(parent: u32) -> bool {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && has_parent(parent)
}

/// Tells whether the parent of this process is `parent`.
pub fn has_parent(parent: u32) -> bool {
    rustix::process::getppid().is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == parent)
}

/// Tells whether reading the time-stamp counter is forbidden to this process.
pub fn counter_forbidden() -> bool {
    rustix::process::time_stamp_counter_readability() == Ok(TimeStampCounterReadability::RaiseSIGSEGV)
}

/// Keeps huge pages from this process and from all that it starts, or no longer does: madvise(2) then gets base pages.
pub fn forbid_huge_pages(are_forbidden: bool) -> io::Result<()> {
    rustix::thread::disable_transparent_huge_pages(are_forbidden).call("prctl")
}

/// Tells whether huge pages are kept from this process, by [`forbid_huge_pages`] or by its starter.
pub fn huge_pages_forbidden() -> bool {
    rustix::thread::transparent_huge_pages_are_disabled().unwrap_or(false)
}

/// Attributes that prctl(2) tells: name, question, argument and bits of the answer, as linux/prctl.h has them.
const ATTRIBUTES: [(&str, libc::c_int, usize, u32); 4] =
    [("io_flusher", 58, 0, 1), ("l1d_flush", 52, 2, 2), ("mdwe", 66, 0, 3), ("memory_merge", 68, 0, 1)];

/// Attributes of this process by name, each `on` or `off`; those that the kernel does not know, or does not tell, are missing.
pub fn attributes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ATTRIBUTES.into_iter().filter_map(|(name, question, argument, bits)| {
        // SAFETY: these questions read their numbers alone, and answer by the result.
        let answer = unsafe { libc::prctl(question, argument, 0_usize, 0_usize, 0_usize) };
        Some((name, if u32::try_from(answer).ok()? & bits != 0 { "on" } else { "off" }))
    })
}

/// Returns this thread's I/O priority: class (0 none to 3 idle) and level. `None` where the kernel does not tell.
pub fn io_priority() -> Option<(usize, usize)> {
    // SAFETY: the kernel reads the numbers given: a process (IOPRIO_WHO_PROCESS), the calling thread.
    let both = unsafe { libc::syscall(libc::SYS_ioprio_get, 1, 0) };
    let both = usize::try_from(both).ok()?;
    Some((both >> 13, both & 7))
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
    let is_alone = retry_until(|| match threads() {
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

/// Lets signals do what they do by default where whoever started this process has settled it otherwise, which survives exec: a blocked
/// signal ends nothing, and of children that have ended while SIGCHLD is ignored the number is another one's before anybody has looked.
pub fn reset_signals() {
    // SAFETY: the default action of SIGCHLD runs no code of ours, and the set is filled before it is used. None of it can fail.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const all, std::ptr::null_mut());
    }
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

/// A forked child, bound to CPUs of its own. It dies with its parent, and is ended and reaped when dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
}

impl Peer {
    /// Starts a child bound to `cpus` that does `work` and ends; only its own error ends it before it is dropped. It has copies of all
    /// descriptors, and must close what it must not hold. Refuses in a process of several threads, whose locks would stay locked.
    pub fn spawn(cpus: &[usize], work: impl FnOnce() -> io::Result<()>) -> io::Result<Peer> {
        only_one_thread()?;
        exit_message::prepare()?;
        let parent = std::process::id();
        // SAFETY: one thread, as checked: the child's copy of every lock is free. It never returns to what called this, and
        // ends by exit_group.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        // SAFETY: what the call has just returned.
        if let Some(child) = unsafe { ChildId::forked("clone", child) }? {
            return Ok(Peer { child: Child::new(child) });
        }
        // A panic must not unwind into what the parent does.
        let worked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            if !die_with_parent(parent) {
                return Err(io::Error::other(say!("prctl: it cannot ask to die with its parent")));
            }
            affinity::bind(cpus)?;
            work()
        }));
        let worked = worked.unwrap_or_else(|_| Err(io::Error::other(say!("it panicked"))));
        let status = i32::from(worked.is_err());
        if let Err(error) = worked {
            // What another's end has brought about is no cause: that other is about to say it.
            if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) {
                exit_message::settle();
            }
            exit_message::say(error);
        }
        loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, status) };
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().number()
    }

    /// Kills it before it is dropped.
    #[cfg(any(test, feature = "tests"))]
    pub fn kill(&self) -> io::Result<()> {
        self.child.id().kill()
    }

    /// The child as somebody to send signals to.
    #[inline]
    pub fn address(&self) -> Address<'_> {
        self.child.id().address()
    }
}

const ADJUSTMENT: &str = "/proc/self/oom_score_adj";
/// The largest value: as if the process used all memory.
const KILLED_FIRST: &str = "1000";

/// The calls by which it is read and written.
const READ: &str = "open or read";
const WRITE: &str = "open or write";

/// The value that this process had from its user.
static USERS: OnceLock<String> = OnceLock::new();

/// Makes this process, and what it forks from now on, the first to be killed when memory runs out. That needs no
/// privilege. An error where the kernel does not take it: without /proc, or in a sandbox that makes it read-only.
pub fn be_killed_first() -> io::Result<()> {
    let value = fs::read_to_string(ADJUSTMENT).call(READ)?.trim().to_owned();
    USERS.get_or_init(|| value);
    fs::write(ADJUSTMENT, KILLED_FIRST).call(WRITE)
}

/// Gives this process, and what it starts from now on, its user's value back, for a program of the user's own. An error
/// where the kernel does not allow that: it is a privilege to go below what a privileged process has set.
pub fn be_killed_as_the_user_wants() -> io::Result<()> {
    match USERS.get() {
        Some(value) => fs::write(ADJUSTMENT, value).call(WRITE),
        None => Ok(()),
    }
}

/// The first number that is given to a copy: none of the standard streams'.
const LEAST_INHERITED: RawFd = 3;

/// A copy of an open descriptor, which no other program inherits. The one of that number stays as it is: it may have another owner.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved; a number that is not open is an error.
    let copy = returned("fcntl", unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, LEAST_INHERITED) })?;
    // SAFETY: the call has just made it, so that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Number of tries, and the pause between two.
const RETRY_TURNS: usize = 100;
const RETRY_TURN: Duration = Duration::from_millis(5);

/// Does it again and again until it says that it is done; whether it ever did.
pub fn retry_until(mut is_done: impl FnMut() -> bool) -> bool {
    (0..RETRY_TURNS).any(|turn| {
        if turn > 0 {
            crate::clock::sleep(RETRY_TURN);
        }
        is_done()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fd::AsRawFd;

    use super::*;
    use crate::process::in_a_child;

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

    /// Tells whether a process runs, or is a zombie.
    fn lives(pid: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    #[test]
    fn a_peer_answers_until_it_is_dropped() {
        in_a_child(|| {
            let (here, there) = rustix::pipe::pipe()?;
            let cpus = affinity::allowed()?;
            let peer = Peer::spawn(&cpus[..1], || {
                rustix::io::write(&there, b"x")?;
                loop {
                    std::thread::park();
                }
            })?;
            let mut byte = [0];
            assert_eq!((rustix::io::read(&here, &mut byte)?, byte), (1, *b"x"));
            let pid = peer.pid();
            assert!(lives(pid));
            drop(peer);
            assert!(!fs::exists(format!("/proc/{pid}"))?);
            Ok(())
        });
    }

    #[test]
    fn a_peer_that_panics_ends_there() {
        in_a_child(|| {
            let peer = Peer::spawn(&affinity::allowed()?, || std::panic::resume_unwind(Box::new(())))?;
            while lives(peer.pid()) {
                std::thread::yield_now();
            }
            Ok(())
        });
    }

    #[test]
    fn several_threads_have_no_peer() {
        let refused = std::thread::spawn(|| Peer::spawn(&[0], || Ok(())).map(drop)).join().unwrap().unwrap_err();
        assert!(refused.to_string().contains("several threads"));
    }

    #[test]
    fn a_process_offers_itself_and_takes_it_back() {
        in_a_child(|| {
            let now = || fs::read_to_string(ADJUSTMENT).map(|value| value.trim().to_owned());
            let before = now()?;
            be_killed_first()?;
            assert_eq!(now()?, KILLED_FIRST);
            // Twice, as a copy does that was started by a worker.
            be_killed_first()?;
            in_a_child(|| Ok(()));
            be_killed_as_the_user_wants()?;
            assert_eq!(now()?, before);
            Ok(())
        });
    }

    #[test]
    fn a_copy_is_another_one_and_what_is_not_open_is_an_error() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let copy = inherited(reader.as_raw_fd()).unwrap();
        assert!(copy.as_raw_fd() >= LEAST_INHERITED && copy.as_raw_fd() != reader.as_raw_fd());
        assert!(rustix::io::fcntl_getfd(&copy).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        rustix::io::write(&writer, b"x").unwrap();
        assert_eq!(rustix::io::read(&copy, &mut [0; 2]).unwrap(), 1);
        for number in [-1, RawFd::MAX] {
            assert!(inherited(number).unwrap_err().to_string().starts_with("fcntl: "));
        }
    }

    #[test]
    fn it_is_tried_until_it_is_done_and_not_for_ever() {
        for (done_at, wanted) in [(3, (true, 3)), (usize::MAX, (false, RETRY_TURNS))] {
            let mut turn = 0;
            let is_done = retry_until(|| {
                turn += 1;
                turn == done_at
            });
            assert_eq!((is_done, turn), wanted);
        }
    }
}
