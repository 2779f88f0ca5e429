//! Memory that the kernel maps for this process alone to give away, whoever uses it and for what.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;

use hostmark_say::say;

use super::call::named;

pub const READ_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// A mapping at an address of the kernel's choice; unmapped when dropped.
#[derive(Debug)]
pub struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapped {
    /// Memory of no file, to be read and written.
    #[inline(always)]
    pub fn anonymous(bytes: usize, flags: libc::c_int) -> io::Result<Mapped> {
        Mapped::new(bytes, READ_WRITE, flags | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// A part of a file, from `offset` on.
    #[inline(always)]
    pub fn of_file(
        file: BorrowedFd<'_>,
        offset: libc::off_t,
        bytes: usize,
        protection: libc::c_int,
        flags: libc::c_int,
    ) -> io::Result<Mapped> {
        Mapped::new(bytes, protection, flags, file.as_raw_fd(), offset)
    }

    #[inline(always)]
    fn new(
        bytes: usize,
        protection: libc::c_int,
        flags: libc::c_int,
        file: RawFd,
        at: libc::off_t,
    ) -> io::Result<Mapped> {
        assert!(flags & libc::MAP_FIXED == 0, "the kernel chooses the address");
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, at) };
        if address == libc::MAP_FAILED {
            return Err(named("mmap", io::Error::last_os_error()));
        }
        let start = NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other(say!("mmap gave address 0")))?;
        Ok(Mapped { start, bytes })
    }

    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapped {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what was mapped; who has a reference into it has one to this value's owner.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
