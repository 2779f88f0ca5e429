//! Files as operations to be measured: one byte in or out by a system call.

use std::io::{self, Write};
use std::path::Path;

use hostmark_engine::prelude::say;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fd::AsRawFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::workloads::call::{Call, named};
use crate::workloads::machine::arch;
use crate::workloads::{by_function, checked};

pub use rustix::fd::OwnedFd;
pub use rustix::fs::Advice as Expected;

pub fn open(path: &Path, write: bool) -> io::Result<OwnedFd> {
    let access = if write { OFlags::WRONLY } else { OFlags::RDONLY };
    rustix::fs::open(path, access | OFlags::CLOEXEC, Mode::empty()).call("openat")
}

/// Makes a file, or empties the one that is there, and writes `content` into it; `mode`: who may do what with it.
pub fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).call("openat")?;
    // Whatever the user's umask takes away.
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).call("fchmod")?;
    std::fs::File::from(file).write_all(content).call("write")
}

/// A further descriptor of the same open file.
pub fn copy(file: &OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(file, 3).call("fcntl")
}

/// Reads one byte; an error when there was none.
#[inline(always)]
pub fn read_byte(file: &OwnedFd) -> io::Result<()> {
    let mut byte = [0_u8];
    one("read", arch::transfer(libc::SYS_read, file.as_raw_fd(), byte.as_mut_ptr(), 1))
}

/// Writes one byte; an error when it was not taken.
#[inline(always)]
pub fn write_byte(file: &OwnedFd) -> io::Result<()> {
    let mut byte = [b'x'];
    one("write", arch::transfer(libc::SYS_write, file.as_raw_fd(), byte.as_mut_ptr(), 1))
}

/// Reads one byte, whatever it is.
#[inline(always)]
pub fn take_byte(file: &OwnedFd) -> io::Result<u8> {
    let mut byte = [0_u8];
    one("read", arch::transfer(libc::SYS_read, file.as_raw_fd(), byte.as_mut_ptr(), 1)).map(|()| byte[0])
}

#[inline(always)]
pub fn give_byte(file: &OwnedFd, byte: u8) -> io::Result<()> {
    let mut byte = [byte];
    one("write", arch::transfer(libc::SYS_write, file.as_raw_fd(), byte.as_mut_ptr(), 1))
}

/// Reads into `block` from a place of the file: pread64(2); an error unless all of it came.
#[inline(always)]
pub fn read_at(file: &OwnedFd, offset: u64, block: &mut [u8]) -> io::Result<()> {
    let arguments = [file.as_raw_fd() as usize, block.as_mut_ptr() as usize, block.len(), offset as usize, 0, 0];
    // SAFETY: the kernel writes at most `block.len()` bytes to `block`.
    whole(checked("pread64", unsafe { arch::call(libc::SYS_pread64, arguments) })?, block.len())
}

/// Writes `block` at a place of the file: pwrite64(2); an error unless all of it was taken.
#[inline(always)]
pub fn write_at(file: &OwnedFd, offset: u64, block: &[u8]) -> io::Result<()> {
    let arguments = [file.as_raw_fd() as usize, block.as_ptr() as usize, block.len(), offset as usize, 0, 0];
    // SAFETY: the kernel reads at most `block.len()` bytes of `block`.
    let moved = checked("pwrite64", unsafe { arch::call(libc::SYS_pwrite64, arguments) })?;
    if moved == block.len() { Ok(()) } else { Err(cut_short(file, offset, block, moved)) }
}

/// Explains why a write took only `moved` bytes: a full disk and the limit of file sizes are told by the write behind it.
#[cold]
fn cut_short(file: &OwnedFd, offset: u64, block: &[u8], moved: usize) -> io::Error {
    match rustix::io::pwrite(file, &block[moved..], offset + moved as u64) {
        Err(error) => named("pwrite64", error.into()),
        Ok(_) => io::Error::other(say!("{moved} of {block} bytes were moved", block = block.len())),
    }
}

fn whole(moved: usize, asked: usize) -> io::Result<()> {
    if moved == asked { Ok(()) } else { Err(io::Error::other(say!("{moved} of {asked} bytes were moved"))) }
}

/// A new file in `directory` that has no name, so that nothing is left of it however this process ends.
pub fn unnamed(directory: &Path) -> io::Result<OwnedFd> {
    let (access, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    if let Ok(file) = rustix::fs::open(directory, access | OFlags::TMPFILE, mode) {
        return Ok(file);
    }
    // Not every filesystem has files without names.
    let path = directory.join("unnamed");
    let file = rustix::fs::open(&path, access | OFlags::CREATE | OFlags::EXCL, mode).call("openat")?;
    rustix::fs::unlink(&path).call("unlink")?;
    Ok(file)
}

/// Gives a file without a name this one, unless there is such a file already.
pub fn give_name(file: &OwnedFd, path: &Path) -> io::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(rustix::fs::CWD, unnamed, rustix::fs::CWD, path, AtFlags::SYMLINK_FOLLOW).call("linkat")
}

/// Opens a file for reading and writing, and follows no link.
pub fn open_both_ways(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).call("openat")
}

/// Writes `bytes` from the file's start on, no two sectors alike ([`Content`]); `written` is told of each part.
pub fn fill<E: From<io::Error>>(
    file: &OwnedFd,
    bytes: u64,
    mut written: impl FnMut(u64) -> Result<(), E>,
) -> Result<(), E> {
    const BLOCK: usize = 1 << 20;
    let mut content = Content::new()?;
    let mut block = content.bytes(BLOCK);
    let mut done = 0;
    while done < bytes {
        let length = BLOCK.min(usize::try_from(bytes - done).unwrap_or(BLOCK));
        content.renew(&mut block[..length]);
        write_at(file, done, &block[..length])?;
        written(length as u64)?;
        done += length as u64;
    }
    Ok(())
}

/// Waits until all of the file is on its device: fsync(2).
pub fn sync(file: &OwnedFd) -> io::Result<()> {
    by_function(|| rustix::fs::fsync(file)).call("fsync")
}

/// Waits until the file's data, and what is needed to find it again, are on its device: fdatasync(2).
#[inline(always)]
pub fn sync_data(file: &OwnedFd) -> io::Result<()> {
    by_function(|| rustix::fs::fdatasync(file)).call("fdatasync")
}

/// Gives the file a length, without writing to it.
pub fn set_length(file: &OwnedFd, bytes: u64) -> io::Result<()> {
    rustix::fs::ftruncate(file, bytes).call("ftruncate")
}

/// Gives the file this length and empty blocks for all of it: fallocate(2). Fails where its filesystem cannot.
pub fn preallocate(file: &OwnedFd, bytes: u64) -> io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes).call("fallocate")
}

/// Makes reads and writes of the file bypass the cache (O_DIRECT). An error where its filesystem cannot.
pub fn bypass_cache(file: &OwnedFd) -> io::Result<()> {
    rustix::fs::fcntl_setfl(file, rustix::fs::fcntl_getfl(file).call("fcntl")? | OFlags::DIRECT).call("fcntl")
}

/// Asks that no page of the file stay in the cache; a filesystem may keep them all the same.
pub fn drop_cache(file: &OwnedFd) -> io::Result<()> {
    expect(file, Expected::DontNeed)
}

/// Tells the kernel how the whole file will be read, by which it decides what to read ahead: posix_fadvise(2).
pub fn expect(file: &OwnedFd, how: Expected) -> io::Result<()> {
    rustix::fs::fadvise(file, 0, None, how).call("fadvise64")
}

/// Bytes that this user may still write to the filesystem of `directory`.
pub fn room(directory: &Path) -> io::Result<u64> {
    let room = rustix::fs::statvfs(directory).call("statfs")?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// Bytes that the filesystem of `directory` has for files, written or not.
pub fn capacity(directory: &Path) -> io::Result<u64> {
    let all = rustix::fs::statvfs(directory).call("statfs")?;
    Ok(all.f_blocks.saturating_mul(all.f_frsize))
}

#[inline(always)]
fn one(call: &'static str, result: i64) -> io::Result<()> {
    match result {
        1 => Ok(()),
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        error => Err(named(call, io::Error::from_raw_os_error(-error as i32))),
    }
}

/// Bytes of the smallest piece that a device looks at.
const SECTOR_BYTES: usize = 512;

/// A source of such data; another one gives other data.
pub struct Content(Pcg64Mcg);

impl Content {
    /// A new source. An error where the kernel gives no random bytes.
    pub fn new() -> io::Result<Content> {
        let mut seed = <Pcg64Mcg as SeedableRng>::Seed::default();
        let given = getrandom(&mut seed, GetRandomFlags::INSECURE).call("getrandom")?;
        if given != seed.len() {
            return Err(named("getrandom", io::Error::other(say!("fewer bytes came than were asked for"))));
        }
        Ok(Content(Pcg64Mcg::from_seed(seed)))
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.fill(&mut bytes);
        bytes
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// Makes each sector of `bytes` one that was not there before, by its first word: a few ns for a page.
    #[inline]
    pub fn renew(&mut self, bytes: &mut [u8]) {
        for sector in bytes.chunks_mut(SECTOR_BYTES) {
            let word = self.0.next_u64().to_ne_bytes();
            let length = sector.len().min(word.len());
            sector[..length].copy_from_slice(&word[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_byte_goes_in_and_comes_out_and_none_is_an_error() {
        read_byte(&open(Path::new("/dev/zero"), false).unwrap()).unwrap();
        write_byte(&open(Path::new("/dev/null"), true).unwrap()).unwrap();
        let null = open(Path::new("/dev/null"), false).unwrap();
        assert_eq!(read_byte(&null).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(write_byte(&null).is_err());
    }

    #[test]
    fn an_unnamed_file_holds_what_it_was_filled_with_and_leaves_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = unnamed(directory.path()).unwrap();
        fill(&file, (1 << 20) + 1000, |_| io::Result::Ok(())).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let mut block = [0; 1000];
        read_at(&file, 1 << 20, &mut block).unwrap();
        assert!(block.chunks_exact(8).all(|word| word != [0; 8]));
        assert!(read_at(&file, (1 << 20) + 1, &mut block).is_err(), "one byte less than asked");
        assert!(room(directory.path()).unwrap() > 0);
    }

    #[test]
    fn a_preallocated_file_has_its_length_and_its_blocks() {
        let directory = tempfile::tempdir().unwrap();
        let file = unnamed(directory.path()).unwrap();
        preallocate(&file, 1 << 20).unwrap();
        let status = rustix::fs::fstat(&file).unwrap();
        assert_eq!(status.st_size, 1 << 20);
        assert!(status.st_blocks * 512 >= 1 << 20);
    }

    #[test]
    fn no_sector_comes_twice_however_often_a_block_is_renewed() {
        let mut content = Content::new().unwrap();
        let mut block = content.bytes(4096);
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            content.renew(&mut block);
            assert!(block.chunks(SECTOR_BYTES).all(|sector| seen.insert(sector.to_vec())));
        }
        let mut other = Content::new().unwrap().bytes(4096);
        assert_ne!(other[8..], block[8..]);
        other[..3].fill(0);
        content.renew(&mut other[..3]);
        assert_eq!(other.len(), 4096);
    }

    #[test]
    fn every_value_of_a_byte_comes_as_often_as_another() {
        let mut counts = [0_u32; 256];
        for byte in Content::new().unwrap().bytes(1 << 16) {
            counts[usize::from(byte)] += 1;
        }
        // 256 each, with a standard deviation of 16.
        assert!(counts.iter().all(|&count| (128..=384).contains(&count)), "{counts:?}");
    }
}
