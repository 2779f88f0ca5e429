//! Finding files by name, as operations to be measured: stat, fstat, open and close by their system calls.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::workloads::call::named;
use crate::workloads::{checked, machine::arch};

/// A path, made ready for the kernel before anything is timed.
#[derive(Debug, Clone)]
pub struct KernelPath(CString);

impl KernelPath {
    /// An error when the path has a zero byte in it.
    pub fn new(path: &Path) -> io::Result<KernelPath> {
        Ok(KernelPath(CString::new(path.as_os_str().as_bytes())?))
    }

    /// The file's status by its path: newfstatat(2), which stat(3) is on every architecture.
    #[inline(always)]
    pub fn stat(&self) -> io::Result<()> {
        let mut status = MaybeUninit::<libc::stat>::uninit();
        let arguments = [libc::AT_FDCWD as usize, self.0.as_ptr() as usize, status.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: a path that ends in 0, and room for one status.
        checked("newfstatat", unsafe { arch::call(libc::SYS_newfstatat, arguments) }).map(drop)
    }

    /// The same by statx(2), which is asked for what stat(3) tells.
    #[inline(always)]
    pub fn statx(&self) -> io::Result<()> {
        let mut status = MaybeUninit::<[u64; STATX_WORDS]>::uninit();
        let (wanted, to) = (libc::STATX_BASIC_STATS as usize, status.as_mut_ptr() as usize);
        let arguments = [libc::AT_FDCWD as usize, self.0.as_ptr() as usize, 0, wanted, to, 0];
        // SAFETY: a path that ends in 0, and room for one status.
        checked("statx", unsafe { arch::call(libc::SYS_statx, arguments) }).map(drop)
    }

    /// Opens the file to read: openat(2).
    #[inline(always)]
    pub fn open(&self) -> io::Result<OwnedFd> {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        // SAFETY: a path that ends in 0; no file is created, so that no mode is read.
        let file = checked("openat", unsafe {
            arch::call(libc::SYS_openat, [libc::AT_FDCWD as usize, self.0.as_ptr() as usize, flags, 0, 0, 0])
        })?;
        // SAFETY: the descriptor has just been made, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(file as i32) })
    }

    /// Opens the file to read and closes it: openat(2) and close(2).
    #[inline(always)]
    pub fn open_close(&self) -> io::Result<()> {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        // SAFETY: a path that ends in 0; no file is created, so that no mode is read.
        let file = checked("openat", unsafe {
            arch::call(libc::SYS_openat, [libc::AT_FDCWD as usize, self.0.as_ptr() as usize, flags, 0, 0, 0])
        })?;
        close(file)
    }

    /// The same by openat2(2), where the walk may not do what `resolve` forbids.
    #[inline(always)]
    pub fn open2_close(&self, resolve: u64) -> io::Result<()> {
        // open_how of linux/openat2.h: flags, the mode of what is created, and what the walk may not do.
        let how = [(libc::O_RDONLY | libc::O_CLOEXEC) as u64, 0, resolve];
        let (path, at, bytes) = (self.0.as_ptr() as usize, (&raw const how) as usize, size_of_val(&how));
        // SAFETY: a path that ends in 0, and a structure of the size that is said, which is only read.
        let file = checked("openat2", unsafe {
            arch::call(libc::SYS_openat2, [libc::AT_FDCWD as usize, path, at, bytes, 0, 0])
        })?;
        close(file)
    }
}

/// 64-bit words of a status by statx(2).
const STATX_WORDS: usize = 32;
/// For openat2(2): no way out of the directory where the walk begins.
pub const BENEATH: u64 = libc::RESOLVE_BENEATH;

#[inline(always)]
fn close(file: usize) -> io::Result<()> {
    // SAFETY: closes the descriptor that has just been made, which nobody else knows.
    checked("close", unsafe { arch::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) }).map(drop)
}

/// A file's further attributes, as linux/fs.h lays them out.
#[derive(Debug, Default)]
#[repr(C)]
struct Attributes {
    flags: u32,
    others: [u32; 6],
}

/// Whether the file is to be reached without the page cache where the device is memory. It does nothing elsewhere.
const FS_XFLAG_DAX: u32 = 0x8000;
/// _IOR('X', 31, struct fsxattr) and _IOW('X', 32, struct fsxattr), where requests have the layout of asm-generic/ioctl.h.
const FS_IOC_FSGETXATTR: u32 = 0x801c_581f;
const FS_IOC_FSSETXATTR: u32 = 0x401c_5820;

impl KernelPath {
    /// Makes the kernel forget the file's name and inode as soon as nobody has it open: a filesystem that honours
    /// FS_XFLAG_DAX drops both when that flag changes, so that its new value comes to count (Documentation/filesystems/dax.rst
    /// of the kernel). Its blocks stay where they are, and the next one to open the file has it cached again. An error on other
    /// filesystems. Some take the flag and forget nothing, which nothing but the time of the next opening tells.
    pub fn forget(&self) -> io::Result<()> {
        let file = self.open()?;
        let mut attributes = Attributes::default();
        // SAFETY: `attributes` has the size that is part of the request's number.
        let got = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FSGETXATTR as _, &raw mut attributes) };
        if got < 0 {
            return Err(named("ioctl", io::Error::last_os_error()));
        }
        attributes.flags ^= FS_XFLAG_DAX;
        // SAFETY: as above; the kernel only reads them.
        let set = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FSSETXATTR as _, &raw const attributes) };
        if set < 0 { Err(named("ioctl", io::Error::last_os_error())) } else { Ok(()) }
    }
}

/// The status of an open file: fstat(2).
#[inline(always)]
pub fn fstat(file: &OwnedFd) -> io::Result<()> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: room for one status.
    let result =
        unsafe { arch::call(libc::SYS_fstat, [file.as_raw_fd() as usize, status.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    checked("fstat", result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use crate::workloads::call::errno;

    #[test]
    fn what_is_there_is_found_and_what_is_not_is_an_error() {
        let here = KernelPath::new(Path::new("/proc/self/exe")).unwrap();
        here.stat().unwrap();
        here.open_close().unwrap();
        fstat(&super::super::files::open(Path::new("/dev/null"), false).unwrap()).unwrap();
        let nowhere = KernelPath::new(Path::new("/proc/self/nothing")).unwrap();
        assert_eq!(nowhere.stat().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(nowhere.open_close().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_newer_calls_find_the_same_and_nothing_beyond_where_they_may_go() {
        let (inside, outside) = (Path::new("Cargo.toml"), Path::new("../probes/Cargo.toml"));
        let [inside, outside] = [inside, outside].map(|path| KernelPath::new(path).unwrap());
        if inside.open2_close(0).is_err_and(|error| errno(&error) == Some(libc::ENOSYS)) {
            return skipped("this kernel has no openat2");
        }
        for found in [inside.statx(), outside.statx(), inside.open2_close(BENEATH), outside.open2_close(0)] {
            found.unwrap();
        }
        assert_eq!(errno(&outside.open2_close(BENEATH).unwrap_err()), Some(libc::EXDEV));
        assert!(KernelPath::new(Path::new("nothing")).unwrap().statx().is_err());
    }

    #[test]
    fn a_forgotten_file_takes_longer_to_open_and_is_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let file = KernelPath::new(&path).unwrap();
        let timed = || {
            let start = crate::workloads::machine::clocks::ClockSource::MonotonicRaw.read();
            file.open_close().unwrap();
            crate::workloads::machine::clocks::ClockSource::MonotonicRaw.read() - start
        };
        let (mut forgotten, mut remembered) = ([0; 200], [0; 200]);
        for turn in 0..200 {
            if file.forget().is_err() {
                return skipped("this filesystem forgets no name on request");
            }
            (forgotten[turn], remembered[turn]) = (timed(), timed());
        }
        // The medians: a process that another test forks may have the file open for a moment, which then is not forgotten.
        let [forgotten, remembered] = [&mut forgotten, &mut remembered].map(|all| *all.select_nth_unstable(100).1);
        assert!(2 * forgotten > 3 * remembered, "{forgotten} ns and {remembered} ns");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "content");
    }

    #[test]
    fn opening_and_closing_leaves_no_descriptor() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let path = KernelPath::new(Path::new("/dev/null")).unwrap();
        // Other tests open files meanwhile, but not a thousand.
        let before = open();
        for _ in 0..1000 {
            path.open_close().unwrap();
        }
        assert!(open() < before + 500);
    }
}
