//! Children of this process: only what a call that forks has returned can be signalled or waited for.

use std::io;
use std::marker::PhantomData;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use hostmark_model::ReasonCode;
use hostmark_say::say;
use rustix::fd::AsFd;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::call::{Call, fault, named};

/// A look at a child that leaves it as it is.
pub(super) const LOOK: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);

/// A child of this process that nobody has waited for, so that its number is free for no other process. Made of a positive return of fork,
/// clone, clone3 or posix_spawn, or of the kernel's word; given up by waiting.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a child that nobody waits for stays until this process ends"]
pub struct ChildId(Pid);

impl ChildId {
    /// Converts the result of the call `name`, with errno as it left it: the child's side (`None`), or the parent's. An
    /// error when it failed, and also for 1: no process has the first one of its namespace as its child, and a group of
    /// that number would be every process there is.
    ///
    /// # Safety
    /// The result is what that call has just returned, so that a positive one is a child that nobody has waited for.
    #[inline(always)]
    pub unsafe fn forked(name: &'static str, result: impl Into<i64>) -> io::Result<Option<ChildId>> {
        match result.into() {
            0 => Ok(None),
            child @ 2.. => match i32::try_from(child).ok().and_then(Pid::from_raw) {
                Some(child) => Ok(Some(ChildId(child))),
                None => Err(unusable(name, child)),
            },
            1 => Err(unusable(name, 1)),
            _ => Err(named(name, io::Error::last_os_error())),
        }
    }

    /// The same of a call that comes back in the parent alone, or whose child has gone its way before this.
    ///
    /// # Safety
    /// As of [`ChildId::forked`].
    #[inline(always)]
    pub unsafe fn started(name: &'static str, result: impl Into<i64>) -> io::Result<ChildId> {
        // SAFETY: as the caller says.
        unsafe { ChildId::forked(name, result) }?.ok_or_else(|| unusable(name, 0))
    }

    /// A child that another process has started and whose parents have ended, or one of this process: none when the kernel
    /// says that it is no child of this process. Only for who is waited for by this thread alone.
    pub(super) fn adopted(number: u32) -> Option<ChildId> {
        let id = i32::try_from(number).ok().filter(|&number| number > 1).and_then(Pid::from_raw)?;
        rustix::process::waitid(WaitId::Pid(id), LOOK).ok().map(|_| ChildId(id))
    }

    /// Reaps it if it has ended, in whatever way; else it is given back.
    pub(super) fn reap(self) -> io::Result<Option<ChildId>> {
        match rustix::process::waitid(WaitId::Pid(self.0), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
            .call("waitid")?
        {
            Some(_) => Ok(None),
            None => Ok(Some(self)),
        }
    }

    pub fn number(&self) -> u32 {
        self.0.as_raw_nonzero().get().unsigned_abs()
    }

    /// Returns its address for signals by kill(2).
    #[inline]
    pub fn address(&self) -> Address<'_> {
        Address { process: self.0, _held: PhantomData }
    }

    /// Waits for its end by wait4(2); an error when it ended in any way but with status 0.
    #[inline]
    pub fn wait(self) -> io::Result<()> {
        self.wait_once()
    }

    /// Waits for its end by wait4(2): how it ended.
    #[inline]
    pub fn wait_status(self) -> io::Result<ExitStatus> {
        self.status_once()
    }

    /// Waits like [`ChildId::wait`]; the caller gives the value up.
    #[inline(always)]
    fn wait_once(&self) -> io::Result<()> {
        let status = self.status_once()?;
        if status.success() { Ok(()) } else { Err(fault(ReasonCode::ProcessDied, say!("the child ended by {status}"))) }
    }

    #[inline(always)]
    fn status_once(&self) -> io::Result<ExitStatus> {
        let mut status: libc::c_int = 0;
        loop {
            // SAFETY: wait4 writes one int through the pointer given and nothing through the null one.
            let waited = unsafe { libc::wait4(self.0.as_raw_pid(), &raw mut status, 0, std::ptr::null_mut()) };
            if waited == self.0.as_raw_pid() {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(named("wait4", error));
            }
        }
        Ok(ExitStatus::from_raw(status))
    }

    /// Kills it, unless the kernel says that it is no child of this process: a forked process has a copy of this value, and
    /// its brother is not its child. One that has ended by itself takes no harm.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Sends it a signal, as [`ChildId::kill`] does.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        // The descriptor is asked whose child it is, so that what is signalled is what was looked at.
        if let Ok(descriptor) = rustix::process::pidfd_open(self.0, PidfdFlags::empty())
            && rustix::process::waitid(WaitId::PidFd(descriptor.as_fd()), LOOK).is_ok()
            && rustix::process::pidfd_send_signal(&descriptor, signal).is_ok()
        {
            return Ok(());
        }
        // A kernel without such descriptors, a filter, or none left to open.
        rustix::process::waitid(WaitId::Pid(self.0), LOOK).call("waitid")?;
        rustix::process::kill_process(self.0, signal).call("kill")
    }
}

/// A child that is killed and waited for when dropped.
#[derive(Debug)]
pub struct Child(ChildId);

impl Child {
    pub fn new(child: ChildId) -> Child {
        Child(child)
    }

    #[inline]
    pub fn id(&self) -> &ChildId {
        &self.0
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // One that cannot be killed from here is no child of this process, and is not waited for for ever.
        if self.0.kill().is_ok() {
            let _ = self.0.wait_once();
        }
    }
}

#[cold]
fn unusable(name: &'static str, number: i64) -> io::Error {
    named(name, io::Error::other(say!("{number} is no child's number")))
}

/// A process near this one: a child that nobody has waited for, or the parent.
#[derive(Debug, Clone, Copy)]
pub struct Address<'a> {
    process: Pid,
    _held: PhantomData<&'a ChildId>,
}

impl Address<'static> {
    /// The parent, if it is still `parent`. This process dies with it, so that it never sends to a later owner of the number.
    pub fn parent(parent: u32) -> io::Result<Address<'static>> {
        let found = rustix::process::getppid().filter(|found| found.as_raw_pid() > 1);
        match found {
            Some(process) if process.as_raw_nonzero().get().unsigned_abs() == parent => {
                Ok(Address { process, _held: PhantomData })
            }
            _ => Err(fault(ReasonCode::ProcessDied, say!("the parent is gone"))),
        }
    }
}

impl Address<'_> {
    /// The number, always over 1: none of those by which kill(2) means groups.
    #[inline(always)]
    pub fn number(self) -> usize {
        self.process.as_raw_nonzero().get().unsigned_abs() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::errno;
    use crate::process::in_a_child;

    /// A child that sleeps until it is killed.
    fn sleeper() -> ChildId {
        // SAFETY: the child does nothing but sleep.
        match unsafe { ChildId::forked("fork", libc::fork()) }.unwrap() {
            Some(child) => child,
            None => loop {
                // SAFETY: no memory is involved.
                unsafe { libc::pause() };
            },
        }
    }

    #[test]
    fn no_child_is_made_of_what_is_not_one() {
        // SAFETY: 0 is no address to which a directory's name could be written: the call fails.
        assert_eq!(unsafe { libc::chdir(std::ptr::null()) }, -1);
        // SAFETY: no number that could be a child's.
        let made_of = |number: i64| unsafe { ChildId::forked("clone", number) };
        let refused = made_of(-1).unwrap_err();
        assert!(refused.to_string().starts_with("clone: "), "{refused}");
        assert_eq!(errno(&refused), Some(libc::EFAULT));
        assert_eq!(made_of(0).unwrap(), None);
        for number in [1, -2, i64::MIN, i64::from(i32::MAX) + 1, (1 << 32) - 1, i64::MAX] {
            assert!(made_of(number).is_err(), "{number}");
        }
        // SAFETY: as above.
        assert!(unsafe { ChildId::started("clone", 0) }.is_err());
    }

    #[test]
    fn a_child_is_killed_once_and_what_is_no_child_never() {
        in_a_child(|| {
            let child = sleeper();
            let same = ChildId(child.0);
            child.kill()?;
            child.wait().unwrap_err();
            // Its number may be anybody's now.
            assert_eq!(errno(&same.kill().unwrap_err()), Some(libc::ECHILD));
            // Nor is the parent a child.
            let parent = rustix::process::getppid().unwrap();
            assert_eq!(errno(&ChildId(parent).kill().unwrap_err()), Some(libc::ECHILD));
            Ok(())
        });
    }

    #[test]
    fn a_copy_of_the_value_in_a_brother_harms_nobody() {
        in_a_child(|| {
            let child = sleeper();
            let copy = ChildId(child.0);
            in_a_child(move || {
                drop(Child::new(copy));
                Ok(())
            });
            assert!(rustix::process::waitid(WaitId::Pid(child.0), LOOK)?.is_none());
            drop(Child::new(child));
            Ok(())
        });
    }

    #[test]
    fn only_the_parent_is_taken_for_it() {
        let parent = std::process::id();
        in_a_child(move || {
            assert_eq!(Address::parent(parent)?.number(), parent as usize);
            for number in [0, 1, u32::MAX, std::process::id()] {
                assert!(Address::parent(number).is_err(), "{number}");
            }
            Ok(())
        });
    }
}
