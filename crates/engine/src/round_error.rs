//! Errors of a round: the reason that it has no value, a failed operation, and what a host lacks when it refuses a system call.

use std::any::Any;
use std::io;
use std::num::{ParseFloatError, ParseIntError, TryFromIntError};

use hostmark_model::{Event, Message, Reason, ReasonCode, displays_its_message, errno_name};
use hostmark_say::say;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::sys::{call, exit_message, netlink};

/// Reason why a round ends without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundError {
    /// Case that cannot be measured here.
    Skipped(Reason),
    /// Case that should have worked and did not.
    Failed(Reason),
}

impl RoundError {
    pub fn skipped(code: ReasonCode, text: impl Into<Message>) -> RoundError {
        RoundError::Skipped(code.because(text))
    }

    /// Returns a Skipped error, since the measurement needs something that is not available; with advice, where the error tells.
    pub fn lacking(what: impl Into<Message>, error: &io::Error) -> RoundError {
        exit_message::settle();
        let what = what.into();
        match remedy(error) {
            Some(remedy) => RoundError::Skipped(reason_of(error, say!("{what}: {error}: {remedy}"))),
            None => RoundError::Skipped(reason_of(error, say!("{what}: {error}"))),
        }
    }

    /// Returns a Skipped error, since `what` cannot do this; if the error names something else that the host lacks, that is the reason.
    pub fn unable(code: ReasonCode, what: impl Into<Message>, error: io::Error) -> RoundError {
        if remedy(&error).is_some() {
            return RoundError::from(error);
        }
        let error = RoundError::lacking(what, &error);
        // A kernel that knows no such call and one that knows it not of this are the same to who asks.
        error.map(|reason| match reason.code {
            Some(ReasonCode::Kernel | ReasonCode::SystemCall) => reason.of_kind(code),
            _ => reason,
        })
    }

    pub(crate) fn within(self, step: impl Into<Message>) -> RoundError {
        let step = step.into();
        self.map(|reason| {
            let text = say!("{step}: {reason}");
            reason.with_text(text)
        })
    }

    pub(crate) fn map(self, to: impl FnOnce(Reason) -> Reason) -> RoundError {
        match self {
            RoundError::Skipped(reason) => RoundError::Skipped(to(reason)),
            RoundError::Failed(reason) => RoundError::Failed(to(reason)),
        }
    }

    pub fn failed(code: ReasonCode, text: impl Into<Message>) -> RoundError {
        RoundError::Failed(code.because(text))
    }

    /// Returns a Failed error, since an operation did not do what was asked.
    pub fn wrong(text: impl Into<Message>) -> RoundError {
        RoundError::failed(ReasonCode::CheckFailed, text)
    }

    /// Returns a Failed error, since this program is at fault.
    pub fn internal(text: impl Into<Message>) -> RoundError {
        RoundError::failed(ReasonCode::Internal, text)
    }

    /// Returns a Skipped error, since the values of the axes exclude each other, or say nothing here.
    pub fn not_applicable(text: impl Into<Message>) -> RoundError {
        RoundError::skipped(ReasonCode::NotApplicable, text)
    }

    pub fn into_reason(self) -> Reason {
        let (RoundError::Skipped(reason) | RoundError::Failed(reason)) = self;
        reason
    }
}

impl std::error::Error for RoundError {}

impl From<&RoundError> for Message {
    fn from(error: &RoundError) -> Message {
        let (RoundError::Skipped(reason) | RoundError::Failed(reason)) = error;
        reason.into()
    }
}

displays_its_message!(RoundError);

impl From<RoundError> for Event {
    fn from(error: RoundError) -> Event {
        match error {
            RoundError::Skipped(reason) => Event::Skipped { reason },
            RoundError::Failed(reason) => Event::Failed { reason },
        }
    }
}

impl From<io::Error> for RoundError {
    fn from(error: io::Error) -> RoundError {
        exit_message::settle();
        match (remedy(&error), hint(&error)) {
            (Some(remedy), _) => RoundError::Skipped(reason_of(&error, say!("{error}: {remedy}"))),
            (None, Some(hint)) => RoundError::Failed(reason_of(&error, say!("{error}: {hint}"))),
            (None, None) => RoundError::Failed(reason_of(&error, &error)),
        }
    }
}

impl From<TryFromIntError> for RoundError {
    /// Converts the error of more bytes than this machine has addresses.
    fn from(error: TryFromIntError) -> RoundError {
        RoundError::skipped(ReasonCode::TooLittleMemory, error)
    }
}

impl From<ParseIntError> for RoundError {
    fn from(error: ParseIntError) -> RoundError {
        RoundError::internal(error)
    }
}

impl From<ParseFloatError> for RoundError {
    fn from(error: ParseFloatError) -> RoundError {
        RoundError::internal(error)
    }
}

/// Result of a probe's function.
pub type Result<T, E = RoundError> = std::result::Result<T, E>;

/// Results of operations for which the host may lack something.
pub trait OrSkipped<T> {
    /// As [`RoundError::lacking`], where it failed.
    fn or_lacking<M: Into<Message>>(self, what: impl FnOnce() -> M) -> Result<T>;

    /// As [`RoundError::unable`], where it failed.
    fn or_unable<M: Into<Message>>(self, code: ReasonCode, what: impl FnOnce() -> M) -> Result<T>;
}

impl<T> OrSkipped<T> for io::Result<T> {
    fn or_lacking<M: Into<Message>>(self, what: impl FnOnce() -> M) -> Result<T> {
        self.map_err(|error| RoundError::lacking(what(), &error))
    }

    fn or_unable<M: Into<Message>>(self, code: ReasonCode, what: impl FnOnce() -> M) -> Result<T> {
        self.map_err(|error| RoundError::unable(code, what(), error))
    }
}

/// Return value of a timed operation: a value that only has to be computed, or a result that is checked.
pub trait Checked {
    /// The error, when the operation failed.
    fn check(self) -> Result<()>;
}

macro_rules! always_fine {
    ($($value:ty)*) => {$(
        impl Checked for $value {
            #[inline(always)]
            fn check(self) -> Result<()> {
                Ok(())
            }
        }
    )*};
}

always_fine!(() u8 u32 u64 usize i32 i64);

impl<T, E: Into<RoundError>> Checked for std::result::Result<T, E> {
    #[inline(always)]
    fn check(self) -> Result<()> {
        self.map(drop).map_err(Into::into)
    }
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Reason {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ReasonCode::Internal
        .because(say!("panicked: {text}", text = text.map_or_else(|| say!("without a word"), Message::from)))
}

/// Open files that Linux usually allows. No measurement needs more without asking: whoever meets this limit loses descriptors.
const USUAL_OPEN_FILES: u64 = 1024;

/// Calls that make processes and threads.
const FORKS: [&str; 5] = ["clone", "clone3", "fork", "pthread_create", "vfork"];
/// Calls that also say that there is no memory where they are told of an address at which nothing is mapped.
const AT_ADDRESSES: [&str; 8] = ["madvise", "mincore", "mlock", "mprotect", "mremap", "msync", "munlock", "munmap"];
/// Calls that keep memory from being paged out.
const LOCKS: [&str; 3] = ["mlock", "mlock2", "mlockall"];
/// Calls that make an object of which the system has only so many.
const OBJECTS: [&str; 4] = ["mq_open", "msgget", "semget", "shmget"];

/// Returns advice where the error can only mean that the host, or this user's limit, has no more of something; else `None`.
fn remedy(error: &io::Error) -> Option<Message> {
    let raw = call::errno(error)?;
    let is_one_of = |calls: &[&str]| call::failed(error).is_some_and(|call| calls.contains(&call));
    let limit = |resource| getrlimit(resource).current;
    match Errno::from_raw_os_error(raw) {
        Errno::FBIG => {
            limit(Resource::Fsize).map(|bytes| say!("files are limited to {bytes} bytes here; raise ulimit -f"))
        }
        Errno::MFILE if is_one_of(&["mq_open"]) => {
            limit(Resource::Msgqueue).map(|bytes| say!("message queues may take {bytes} bytes here; raise ulimit -q"))
        }
        Errno::NOSPC if is_one_of(&["mq_open"]) => {
            Some(say!("the system has no more queues; raise fs.mqueue.queues_max"))
        }
        Errno::AGAIN if is_one_of(&["timer_create", "sigqueue"]) => limit(Resource::Sigpending)
            .map(|signals| say!("{signals} signals and timers may be pending here; raise ulimit -i")),
        Errno::NOMEM | Errno::AGAIN | Errno::PERM if is_one_of(&LOCKS) => {
            limit(Resource::Memlock).map(|bytes| say!("{bytes} bytes may be locked in memory here; raise ulimit -l"))
        }
        Errno::MFILE => limit(Resource::Nofile)
            .filter(|&files| files < USUAL_OPEN_FILES)
            .map(|files| say!("{files} files may be open here; raise ulimit -n")),
        Errno::NFILE => Some(say!("the machine may open no further files; raise fs.file-max")),
        // A read that waited in vain says the same.
        Errno::AGAIN if is_one_of(&FORKS) => {
            Some(say!("no further process may be started here; raise ulimit -u, or pids.max of the control group"))
        }
        Errno::NOMEM if is_one_of(&FORKS) || is_one_of(&[call::SPAWNED_IN_MEMORY]) => Some(say!(
            "free memory, or raise the limit of the control group; a PID namespace whose first process has ended starts no other (unshare --fork)"
        )),
        Errno::NOMEM if !is_one_of(&AT_ADDRESSES) => Some(match limit(Resource::As) {
            Some(bytes) => {
                say!("a process may have {bytes} MiB of addresses here; raise ulimit -v", bytes = bytes >> 20)
            }
            None => say!("free memory, or raise the limit of the control group"),
        }),
        Errno::NOSPC if is_one_of(&OBJECTS) => Some(say!("the system has no more of them; look at ipcs -l")),
        Errno::NOSPC => Some(say!("the file system is full; make room, or name another directory by --scratch")),
        Errno::DQUOT => Some(say!("the quota is used up; make room, or name another directory by --scratch")),
        // It may be up without an address, and far ends of a peer lie beyond another interface.
        Errno::NETUNREACH | Errno::NETDOWN if netlink::is_up(netlink::LOOPBACK).is_ok_and(|is_up| is_up) => {
            Some(no_address())
        }
        Errno::ADDRNOTAVAIL if is_one_of(&["bind"]) => Some(no_address()),
        Errno::NETUNREACH | Errno::NETDOWN => {
            Some(say!("the loopback interface is down; bring it up by: ip link set lo up"))
        }
        _ => None,
    }
}

fn no_address() -> Message {
    say!("no interface that is up leads there; for loopback: ip addr add 127.0.0.1/8 dev lo")
}

/// A reason that this error is the cause of: its code follows from the error, and the error's name is an argument.
pub fn reason_of(error: &io::Error, message: impl Into<Message>) -> Reason {
    match call::errno(error).and_then(errno_name) {
        Some(name) => code_of_errno(error, name).because(message).with("errno", name),
        None => code_without_errno(error).because(message),
    }
}

fn code_of_errno(error: &io::Error, name: &str) -> ReasonCode {
    let call = call::failed(error).unwrap_or_default();
    match name {
        "EAGAIN" if FORKS.contains(&call) => ReasonCode::ResourceLimit,
        "ENOMEM" if AT_ADDRESSES.contains(&call) => ReasonCode::SystemCall,
        "ENOMEM" | "EAGAIN" | "EPERM" if LOCKS.contains(&call) => ReasonCode::ResourceLimit,
        "EAGAIN" if call == "timer_create" => ReasonCode::ResourceLimit,
        "ENOSPC" if OBJECTS.contains(&call) => ReasonCode::ResourceLimit,
        "ENOENT" | "ENOEXEC" if call == "execve" => ReasonCode::MissingProgram,
        _ => ReasonCode::of_errno(name),
    }
}

fn code_without_errno(error: &io::Error) -> ReasonCode {
    call::cause(error).unwrap_or(match error.kind() {
        io::ErrorKind::NotFound => ReasonCode::MissingFile,
        io::ErrorKind::PermissionDenied => ReasonCode::Permission,
        io::ErrorKind::OutOfMemory => ReasonCode::TooLittleMemory,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ReasonCode::TimedOut,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => ReasonCode::ConnectionLost,
        io::ErrorKind::Interrupted => ReasonCode::Disturbed,
        _ => ReasonCode::CheckFailed,
    })
}

/// Reason to skip a case in huge pages in a process that may have none.
pub(crate) fn huge_pages_forbidden() -> Message {
    say!("huge pages are forbidden for this process by prctl (PR_SET_THP_DISABLE)")
}

/// Explains the usual cause of a system error, and what to look at; `None` for an error without a number of the system's.
pub(crate) fn hint(error: &io::Error) -> Option<Message> {
    Some(match Errno::from_raw_os_error(call::errno(error)?) {
        Errno::TIMEDOUT | Errno::AGAIN => {
            say!("nobody answered in time; look for a packet filter, a full queue or a machine that stands still")
        }
        Errno::CONNREFUSED | Errno::CONNRESET | Errno::CONNABORTED | Errno::PIPE | Errno::NOTCONN => {
            say!("the other end is gone; look for who ends processes, and for a packet filter")
        }
        Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::ADDRNOTAVAIL => {
            say!("the address cannot be reached; look at the addresses and routes of this network namespace")
        }
        Errno::PERM | Errno::ACCESS => {
            say!("this process may not; look at its user, capabilities and system call filter")
        }
        Errno::NOSYS | Errno::OPNOTSUPP => {
            say!("this kernel or filesystem cannot; look at its version and configuration")
        }
        Errno::IO | Errno::ROFS | Errno::STALE => say!("the device or filesystem fails; look at dmesg"),
        Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::NOTDIR => {
            say!("a file or device is missing; look for who removes or unmounts it")
        }
        _ => say!("not expected here; measure the case alone, and look at dmesg"),
    })
}

#[cfg(test)]
mod tests {
    use rustix::process::{Rlimit, setrlimit};

    use super::*;
    use crate::round_error::RoundError;
    use crate::sys::process::in_a_child;

    fn of(call: Option<&'static str>, errno: Errno) -> io::Error {
        let error = io::Error::from_raw_os_error(errno.raw_os_error());
        match call {
            Some(call) => call::named(call, error),
            None => error,
        }
    }

    #[test]
    fn a_limit_is_reported_where_there_is_one_and_is_at_fault() {
        let under = |resource, current, errno| {
            in_a_child(|| {
                setrlimit(resource, Rlimit { current, maximum: getrlimit(resource).maximum })?;
                let remedy = remedy(&of(Some("open"), errno));
                match remedy.is_some() == current.is_some_and(|limit| limit != USUAL_OPEN_FILES) {
                    true => Ok(()),
                    false => Err(io::Error::other(format!("{current:?}: {remedy:?}"))),
                }
            });
        };
        under(Resource::Nofile, Some(24), Errno::MFILE);
        under(Resource::Nofile, Some(USUAL_OPEN_FILES), Errno::MFILE);
        under(Resource::Fsize, Some(4096), Errno::FBIG);
        under(Resource::Fsize, None, Errno::FBIG);
    }

    #[test]
    fn what_cannot_be_had_is_skipped_whatever_the_error_and_says_what_helps() {
        let reason = |errno| RoundError::lacking("no ring", &of(Some("clone"), errno)).to_string();
        assert!(reason(Errno::AGAIN).ends_with("pids.max of the control group"));
        assert_eq!(
            RoundError::lacking("no ring", &of(None, Errno::PERM)),
            RoundError::Skipped(
                ReasonCode::Permission.because(format!("no ring: {}", of(None, Errno::PERM))).with("errno", "EPERM")
            )
        );
    }

    #[test]
    fn what_the_host_lacks_is_skipped_and_a_fault_fails_with_the_code_of_its_number_and_its_call() {
        use ReasonCode::*;
        // The call, the error, whether it is what the host lacks, the code and what the run file calls the error.
        for (call, errno, is_lack, code, name) in [
            (Some("openat"), Errno::ACCESS, false, Permission, "EACCES"),
            (Some("io_uring_setup"), Errno::NOSYS, false, Kernel, "ENOSYS"),
            (Some("clone"), Errno::AGAIN, true, ResourceLimit, "EAGAIN"),
            (Some("open"), Errno::NFILE, true, ResourceLimit, "ENFILE"),
            (None, Errno::NOMEM, true, TooLittleMemory, "ENOMEM"),
            (Some("mmap"), Errno::NOMEM, true, TooLittleMemory, "ENOMEM"),
            (None, Errno::NOSPC, true, TooLittleSpace, "ENOSPC"),
            (Some("write"), Errno::NOSPC, true, TooLittleSpace, "ENOSPC"),
            (Some("write"), Errno::DQUOT, true, TooLittleSpace, "EDQUOT"),
            (Some("semget"), Errno::NOSPC, true, ResourceLimit, "ENOSPC"),
            (Some("connect"), Errno::NETUNREACH, true, Unreachable, "ENETUNREACH"),
            // Nobody answered in time.
            (None, Errno::AGAIN, false, TimedOut, "EAGAIN"),
            (Some("recvfrom"), Errno::AGAIN, false, TimedOut, "EAGAIN"),
            // Nothing is mapped there.
            (Some("munmap"), Errno::NOMEM, false, SystemCall, "ENOMEM"),
            (Some("mprotect"), Errno::NOMEM, false, SystemCall, "ENOMEM"),
            (Some("read"), Errno::IO, false, DeviceError, "EIO"),
            (Some("write"), Errno::BADF, false, SystemCall, "EBADF"),
            (Some("connect"), Errno::CONNREFUSED, false, ConnectionLost, "ECONNREFUSED"),
            // No port is left: whoever connects has not let go.
            (Some("connect"), Errno::ADDRNOTAVAIL, false, Unreachable, "EADDRNOTAVAIL"),
            (Some("recvfrom"), Errno::INTR, false, Disturbed, "EINTR"),
            (Some("execve"), Errno::NOENT, false, MissingProgram, "ENOENT"),
            (Some("openat"), Errno::NOENT, false, MissingFile, "ENOENT"),
        ] {
            let message = of(call, errno).to_string();
            let error = RoundError::from(of(call, errno));
            assert_eq!(matches!(error, RoundError::Skipped(_)), is_lack, "{message}");
            let reason = error.into_reason();
            // A skip advises; a fault names its usual cause.
            assert!(reason.strip_prefix(&message).is_some_and(|rest| rest.len() > 20), "{reason}");
            assert!(!is_lack || reason.starts_with(&format!("{message}: ")), "{reason}");
            assert_eq!((reason.code, reason.arguments.get("errno")), (Some(code), Some(&name.into())), "{message}");
        }
        for errno in [Errno::NETUNREACH, Errno::NETDOWN] {
            let remedy = remedy(&of(Some("connect"), errno)).unwrap().to_string();
            let is_down = netlink::is_up(netlink::LOOPBACK).is_ok_and(|is_up| !is_up);
            assert!(is_down || remedy.starts_with("no interface that is up leads there"), "{remedy}");
        }
        let fault = call::fault(MissingProgram, "gone");
        for (error, code) in [
            (io::ErrorKind::Interrupted.into(), Disturbed),
            (call::named("execve", fault), MissingProgram),
            (io::ErrorKind::UnexpectedEof.into(), ConnectionLost),
            (io::Error::other("wrong answer"), CheckFailed),
        ] {
            let reason = reason_of(&error, &error);
            assert_eq!((reason.code, reason.arguments.get("errno")), (Some(code), None), "{error}");
        }
        assert!(matches!(RoundError::from(io::Error::other("wrong answer")), RoundError::Failed(_)));
        let of_filesystem = |errno| RoundError::unable(Filesystem, "it cannot", of(Some("fallocate"), errno));
        assert_eq!(of_filesystem(Errno::OPNOTSUPP).into_reason().code, Some(Filesystem));
        assert_eq!(of_filesystem(Errno::PERM).into_reason().code, Some(Permission));
        assert_eq!(of_filesystem(Errno::NOSPC).into_reason().code, Some(TooLittleSpace));
    }

    #[test]
    fn nobody_is_blamed_for_what_the_host_lacks() {
        let reason = |errno| {
            RoundError::unable(ReasonCode::Filesystem, "this filesystem cannot", of(Some("fallocate"), errno))
                .to_string()
        };
        assert_eq!(
            reason(Errno::OPNOTSUPP),
            format!("this filesystem cannot: {}", of(Some("fallocate"), Errno::OPNOTSUPP))
        );
        assert!(reason(Errno::NOSPC).starts_with("fallocate: ") && reason(Errno::NOSPC).contains("make room"));
        in_a_child(|| {
            setrlimit(Resource::Fsize, Rlimit { current: Some(4096), maximum: getrlimit(Resource::Fsize).maximum })?;
            let message = reason(Errno::FBIG);
            match message.starts_with("fallocate: ") && message.ends_with("4096 bytes here; raise ulimit -f") {
                true => Ok(()),
                false => Err(io::Error::other(message)),
            }
        });
    }
}
