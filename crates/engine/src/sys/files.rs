//! Files as operations to be measured: one byte in or out by the system-call instruction.

use std::io;
use std::path::Path;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use super::arch;

/// Opens an existing file.
pub fn open(path: &Path, write: bool) -> io::Result<OwnedFd> {
    let access = if write { OFlags::WRONLY } else { OFlags::RDONLY };
    Ok(rustix::fs::open(path, access | OFlags::CLOEXEC, Mode::empty())?)
}

/// Reads one byte by the instruction; an error when there was none.
#[inline(always)]
pub fn read_byte(file: &OwnedFd) -> io::Result<()> {
    let mut byte = [0_u8];
    one(arch::transfer(libc::SYS_read, file.as_raw_fd(), byte.as_mut_ptr(), 1))
}

/// Writes one byte by the instruction; an error when it was not taken.
#[inline(always)]
pub fn write_byte(file: &OwnedFd) -> io::Result<()> {
    let mut byte = [b'x'];
    one(arch::transfer(libc::SYS_write, file.as_raw_fd(), byte.as_mut_ptr(), 1))
}

#[inline(always)]
fn one(result: i64) -> io::Result<()> {
    match result {
        1 => Ok(()),
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        error => Err(io::Error::from_raw_os_error(-error as i32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_goes_in_and_comes_out() {
        read_byte(&open(Path::new("/dev/zero"), false).unwrap()).unwrap();
        write_byte(&open(Path::new("/dev/null"), true).unwrap()).unwrap();
    }

    #[test]
    fn what_gives_no_byte_is_an_error() {
        let null = open(Path::new("/dev/null"), false).unwrap();
        assert_eq!(read_byte(&null).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(write_byte(&null).is_err());
    }
}
