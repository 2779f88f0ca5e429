//! Reading a directory, as an operation to be measured: lseek(2) and getdents64(2).

use std::io;
use std::path::Path;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use crate::workloads::call::Call;
use crate::workloads::{checked, machine::arch};

/// What glibc reads at a time, bytes, as 64-bit words: the kernel aligns entries so.
const WORDS: usize = (32 << 10) / 8;
/// An entry as linux/dirent.h has it: inode (8 bytes), place of the next (8), length (2), type (1), and the name, which ends in 0.
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// An open directory, and room for a part of its entries.
pub struct Directory {
    directory: OwnedFd,
    entries: Box<[u64; WORDS]>,
}

impl Directory {
    /// Opens it.
    pub fn open(path: &Path) -> io::Result<Directory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty()).call("openat")?;
        Ok(Directory { directory, entries: Box::new([0; WORDS]) })
    }

    fn rewind(&self) -> io::Result<()> {
        let arguments = [self.directory.as_raw_fd() as usize, 0, libc::SEEK_SET as usize, 0, 0, 0];
        // SAFETY: the call touches no memory of ours.
        checked("lseek", unsafe { arch::call(libc::SYS_lseek, arguments) }).map(drop)
    }

    /// The next entries: how many bytes of them.
    #[inline(always)]
    fn next(&mut self) -> io::Result<usize> {
        let (to, bytes) = (self.entries.as_mut_ptr() as usize, size_of_val(&*self.entries));
        // SAFETY: the kernel writes at most as many bytes as there is room for.
        checked("getdents64", unsafe {
            arch::call(libc::SYS_getdents64, [self.directory.as_raw_fd() as usize, to, bytes, 0, 0, 0])
        })
    }

    /// Names in it but `.` and `..`, and the bytes of all entries.
    pub fn count(&mut self) -> io::Result<(usize, usize)> {
        self.rewind()?;
        let (mut names, mut all_bytes) = (0, 0);
        loop {
            match self.next()? {
                0 => return Ok((names, all_bytes)),
                bytes => {
                    let words = self.entries.iter().take(bytes.div_ceil(8));
                    let content: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
                    names += count(&content[..bytes]);
                    all_bytes += bytes;
                }
            }
        }
    }

    /// Reads all of it; an error unless it was so many bytes.
    #[inline(always)]
    pub fn read_all(&mut self, due: usize) -> io::Result<()> {
        self.rewind()?;
        let mut done = 0;
        loop {
            match self.next()? {
                0 if done == due => return Ok(()),
                0 => return Err(io::Error::other(say!("{done} of {due} bytes were moved"))),
                bytes => done += bytes,
            }
        }
    }
}

/// Names but `.` and `..` among entries one after another.
fn count(mut entries: &[u8]) -> usize {
    let mut names = 0;
    while let Some(length) = entries.get(LENGTH_AT..LENGTH_AT + 2) {
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let Some((entry, rest)) = entries.split_at_checked(length).filter(|_| length > NAME_AT) else { break };
        let name = entry[NAME_AT..].split(|&byte| byte == 0).next();
        names += usize::from(!matches!(name, Some(b"." | b"..")));
        entries = rest;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_counts_once_and_a_directory_that_has_grown_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        // More than one call returns.
        for number in 0..2000 {
            std::fs::write(place.path().join(format!("{number}")), "").unwrap();
        }
        let mut directory = Directory::open(place.path()).unwrap();
        let (names, bytes) = directory.count().unwrap();
        assert_eq!(names, 2000);
        assert!(bytes > size_of_val(&*directory.entries));
        (0..3).for_each(|_| directory.read_all(bytes).unwrap());
        std::fs::write(place.path().join("another"), "").unwrap();
        assert!(directory.read_all(bytes).is_err());
    }

    #[test]
    fn entries_cut_short_end_the_count() {
        let mut entry = [0_u8; 24];
        entry[LENGTH_AT] = 24;
        entry[NAME_AT] = b'x';
        let two = [entry, entry].concat();
        assert_eq!([two.len(), 47, 24, 0].map(|bytes| count(&two[..bytes])), [2, 1, 1, 0]);
        entry[LENGTH_AT] = 0;
        assert_eq!(count(&entry), 0);
    }
}
