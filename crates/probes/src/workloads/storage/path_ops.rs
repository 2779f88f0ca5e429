//! Names of files as operations to be measured: found, made, removed and listed by their system calls.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use crate::workloads::call::{Call, returned};
use crate::workloads::checked;
use crate::workloads::machine::arch;

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
/// Flag of openat2(2): no way out of the directory where the walk begins.
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

/// Flag of files to reach without the page cache where the device is memory. It does nothing elsewhere.
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
        returned("ioctl", unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FSGETXATTR as _, &raw mut attributes) })?;
        attributes.flags ^= FS_XFLAG_DAX;
        // SAFETY: as above; the kernel only reads them.
        returned("ioctl", unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FSSETXATTR as _, &raw const attributes) })
            .map(drop)
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

#[derive(Debug)]
pub struct FileNames {
    directory: OwnedFd,
    names: Vec<CString>,
}

impl FileNames {
    /// `count` short names for files in `directory`, which it makes.
    pub fn new(directory: &Path, count: usize) -> io::Result<FileNames> {
        std::fs::create_dir_all(directory).call("mkdir")?;
        FileNames::named(directory, (0..count).map(|number| number.to_string()))
    }

    /// Returns these names for files in a directory that is there.
    pub fn named(directory: &Path, names: impl IntoIterator<Item = String>) -> io::Result<FileNames> {
        let directory =
            rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).call("openat")?;
        let names = names.into_iter().map(|name| Ok(CString::new(name)?)).collect::<io::Result<_>>()?;
        Ok(FileNames { directory, names })
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Makes every file with `content`: openat(2), write(2) where there is any, close(2). None may be there before.
    #[inline(always)]
    pub fn create(&self, content: &[u8]) -> io::Result<()> {
        let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC) as usize;
        for name in &self.names {
            let arguments = [self.directory.as_raw_fd() as usize, name.as_ptr() as usize, flags, 0o600, 0, 0];
            // SAFETY: a path that ends in 0.
            let file = checked("openat", unsafe { arch::call(libc::SYS_openat, arguments) })?;
            let written = if content.is_empty() {
                0
            } else {
                let arguments = [file, content.as_ptr() as usize, content.len(), 0, 0, 0];
                // SAFETY: the kernel reads at most as many bytes of `content` as it has.
                checked("write", unsafe { arch::call(libc::SYS_write, arguments) })?
            };
            let rest = content.get(written..).filter(|rest| !rest.is_empty()).map(|rest| refusal(file, rest));
            // SAFETY: closes the descriptor that has just been made, which nobody else knows.
            checked("close", unsafe { arch::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) })?;
            if let Some(refusal) = rest {
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Reads every file from its start into `block`, whose length is what each of them has: openat(2), read(2), close(2).
    #[inline(always)]
    pub fn read(&self, block: &mut [u8]) -> io::Result<()> {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        for name in &self.names {
            let arguments = [self.directory.as_raw_fd() as usize, name.as_ptr() as usize, flags, 0, 0, 0];
            // SAFETY: a path that ends in 0; no file is created, so that no mode is read.
            let file = checked("openat", unsafe { arch::call(libc::SYS_openat, arguments) })?;
            let arguments = [file, block.as_mut_ptr() as usize, block.len(), 0, 0, 0];
            // SAFETY: the kernel writes at most as many bytes to `block` as it has.
            let came = checked("read", unsafe { arch::call(libc::SYS_read, arguments) });
            // SAFETY: closes the descriptor that has just been made, which nobody else knows.
            checked("close", unsafe { arch::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) })?;
            if came? != block.len() {
                return Err(io::Error::other(say!("fewer bytes came than were asked for")));
            }
        }
        Ok(())
    }

    /// Removes every file: unlinkat(2).
    #[inline(always)]
    pub fn delete(&self) -> io::Result<()> {
        for name in &self.names {
            let arguments = [self.directory.as_raw_fd() as usize, name.as_ptr() as usize, 0, 0, 0, 0];
            // SAFETY: a path that ends in 0.
            checked("unlinkat", unsafe { arch::call(libc::SYS_unlinkat, arguments) })?;
        }
        Ok(())
    }
}

/// Explains why a file was written in part: a disk that is full and a limit of file sizes take what still fits, and refuse the rest.
#[cold]
fn refusal(file: usize, rest: &[u8]) -> io::Error {
    // SAFETY: the kernel reads at most as many bytes of `rest` as it has.
    let written =
        checked("write", unsafe { arch::call(libc::SYS_write, [file, rest.as_ptr() as usize, rest.len(), 0, 0, 0]) });
    written.err().unwrap_or_else(|| io::Error::other(say!("a file was written in part")))
}

/// Size of glibc's reads, as 64-bit words: the kernel aligns entries so.
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
            let start = crate::workloads::machine::timer::ClockSource::MonotonicRaw.read();
            file.open_close().unwrap();
            crate::workloads::machine::timer::ClockSource::MonotonicRaw.read() - start
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

    #[test]
    fn files_come_with_their_content_and_go() {
        let base = tempfile::tempdir().unwrap();
        let directory = base.path().join("inside");
        let names = FileNames::new(&directory, 20).unwrap();
        names.create(b"content").unwrap();
        let contents: Vec<Vec<u8>> =
            std::fs::read_dir(&directory).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
        assert_eq!(contents, vec![b"content".to_vec(); names.count()]);
        let mut block = *b"-------";
        names.read(&mut block).unwrap();
        assert_eq!(&block, b"content");
        assert!(names.read(&mut [0; 8]).is_err(), "more than a file has");
        assert_eq!(names.create(b"").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        names.delete().unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        assert!(names.delete().is_err());
    }

    #[test]
    fn a_file_that_is_cut_short_reports_what_cut_it() {
        crate::workloads::process::in_a_child(|| {
            let base = tempfile::tempdir()?;
            let names = FileNames::new(&base.path().join("inside"), 1)?;
            let limit = rustix::process::Rlimit { current: Some(10), maximum: None };
            rustix::process::setrlimit(rustix::process::Resource::Fsize, limit)?;
            // SAFETY: a worker ignores the signal too; what is ignored runs nothing.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
            let error = names.create(&[1; 20]).unwrap_err();
            assert_eq!(
                (error.kind(), crate::workloads::call::failed(&error)),
                (io::ErrorKind::FileTooLarge, Some("write"))
            );
            Ok(())
        });
    }

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
