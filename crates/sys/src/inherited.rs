//! Descriptors that who started this process has left open for it.

use std::io;

use rustix::fd::{FromRawFd, OwnedFd, RawFd};

use super::call::returned;

/// The first number that is given to a copy: none of the standard streams'.
const LEAST: RawFd = 3;

/// A copy of an open descriptor, which no other program inherits. The one of that number stays as it is: it may have another owner.
pub fn copy_of(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved; a number that is not open is an error.
    let copy = returned("fcntl", unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, LEAST) })?;
    // SAFETY: the call has just made it, so that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsRawFd;

    #[test]
    fn a_copy_is_another_one_and_what_is_not_open_is_an_error() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let copy = copy_of(reader.as_raw_fd()).unwrap();
        assert!(copy.as_raw_fd() >= LEAST && copy.as_raw_fd() != reader.as_raw_fd());
        assert!(rustix::io::fcntl_getfd(&copy).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        rustix::io::write(&writer, b"x").unwrap();
        assert_eq!(rustix::io::read(&copy, &mut [0; 2]).unwrap(), 1);
        for number in [-1, RawFd::MAX] {
            assert!(copy_of(number).unwrap_err().to_string().starts_with("fcntl: "));
        }
    }
}
