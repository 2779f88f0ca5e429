//! Errors of system calls: the error says which call it was.

use std::io;

use hostmark_model::{Message, ReasonCode};

/// A call that failed, and how.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {error}")]
struct NamedError {
    call: &'static str,
    #[source]
    error: io::Error,
}

/// Error where no call failed, or none says enough.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Fault {
    code: ReasonCode,
    #[source]
    text: Message,
}

#[cold]
pub fn fault(code: ReasonCode, text: impl Into<Message>) -> io::Error {
    io::Error::other(Fault { code, text: text.into() })
}

/// The cause of an error that [`fault`] made.
pub fn cause(error: &io::Error) -> Option<ReasonCode> {
    let inner = error.get_ref()?;
    match inner.downcast_ref::<NamedError>() {
        Some(named) => cause(&named.error),
        None => Some(inner.downcast_ref::<Fault>()?.code),
    }
}

/// An error with the name of the call that failed; its kind stays what it was.
#[cold]
pub fn named(call: &'static str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NamedError { call, error })
}

/// The system's number of an error, also of one that has a name.
pub fn errno(error: &io::Error) -> Option<i32> {
    let named = || error.get_ref()?.downcast_ref::<NamedError>();
    error.raw_os_error().or_else(|| named()?.error.raw_os_error())
}

/// The call that failed, where the error says it.
pub fn failed(error: &io::Error) -> Option<&'static str> {
    Some(error.get_ref()?.downcast_ref::<NamedError>()?.call)
}

/// The calls that say that no memory is left to start a program.
pub const SPAWNED_IN_MEMORY: &str = "mmap, clone or execve";

/// An error of the library's way to start a program, named by its calls that fail so. One that has a name keeps it.
#[cold]
pub fn spawned(error: io::Error) -> io::Error {
    let calls = match error.raw_os_error() {
        None => return error,
        Some(libc::EAGAIN) => "clone",
        Some(libc::ENOMEM) => SPAWNED_IN_MEMORY,
        Some(libc::EMFILE | libc::ENFILE) => "openat, pipe2, socketpair or dup2",
        Some(libc::ENOENT | libc::EACCES | libc::ENOEXEC | libc::E2BIG | libc::ENOTDIR | libc::ELOOP) => "execve",
        Some(_) => "setpgid, sigaction, sigprocmask, clone or execve",
    };
    named(calls, error)
}

/// Results of calls, told by the call's name.
pub trait Call<T> {
    /// The same result; an error says that it was this call that failed.
    fn call(self, name: &'static str) -> io::Result<T>;
}

impl<T, E: Into<io::Error>> Call<T> for Result<T, E> {
    #[inline(always)]
    fn call(self, name: &'static str) -> io::Result<T> {
        self.map_err(|error| named(name, error.into()))
    }
}

/// Repeats a call that waits for a socket within a limit: one that is interrupted by SIGCONT ends early (signal(7)).
#[inline]
pub fn received(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.call("recvfrom"),
        }
    }
}

/// Converts the result of a C library function: the value, or the error that it left in errno. Anything below 0 is an error.
#[inline(always)]
pub fn returned<N: Into<i64> + Copy>(call: &'static str, result: N) -> io::Result<N> {
    if result.into() < 0 { Err(named(call, io::Error::last_os_error())) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_is_called_again_and_nothing_else_is() {
        let after = |kinds: &[io::ErrorKind]| {
            let mut kinds = kinds.iter();
            received(|| kinds.next().map_or(Ok(7), |kind| Err((*kind).into()))).map_err(|error| error.kind())
        };
        assert_eq!(after(&[io::ErrorKind::Interrupted; 3]), Ok(7));
        assert_eq!(after(&[io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock]), Err(io::ErrorKind::WouldBlock));
    }

    #[test]
    fn an_error_says_which_call_failed_and_keeps_kind_and_number() {
        let error = named("clone", io::Error::from_raw_os_error(libc::EAGAIN));
        assert!(error.to_string().starts_with("clone: Resource temporarily unavailable"), "{error}");
        assert_eq!((error.kind(), errno(&error)), (io::ErrorKind::WouldBlock, Some(libc::EAGAIN)));
        assert_eq!((failed(&error), failed(&io::Error::other("no call"))), (Some("clone"), None));
        assert_eq!(errno(&io::Error::from_raw_os_error(libc::ENOSYS)), Some(libc::ENOSYS));
        assert_eq!(errno(&io::Error::other("no call")), None);
        assert_eq!(
            cause(&named("execve", fault(ReasonCode::MissingProgram, "gone"))),
            Some(ReasonCode::MissingProgram)
        );
        assert_eq!((cause(&error), cause(&io::Error::other("no call"))), (None, None));
    }

    #[test]
    fn a_program_that_cannot_be_started_names_the_calls_that_answer_so() {
        let missing = std::process::Command::new("/no/such/program").spawn().unwrap_err();
        let error = spawned(missing);
        assert!(error.to_string().starts_with("execve: No such file"), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let refused = spawned(io::Error::from_raw_os_error(libc::EAGAIN));
        assert_eq!(failed(&refused), Some("clone"));
        assert_eq!(spawned(named("write", io::Error::from_raw_os_error(libc::EIO))).to_string().find("write"), Some(0));
    }
}
