//! Files of a directory made and removed by name, as operations to be measured.

use std::ffi::CString;
use std::io;
use std::path::Path;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use crate::workloads::call::Call;
use crate::workloads::{checked, machine::arch};

/// An open directory, and names for files in it.
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

    /// These names for files in a directory that is there.
    pub fn named(directory: &Path, names: impl IntoIterator<Item = String>) -> io::Result<FileNames> {
        let directory =
            rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).call("openat")?;
        let names = names.into_iter().map(|name| Ok(CString::new(name)?)).collect::<io::Result<_>>()?;
        Ok(FileNames { directory, names })
    }

    /// How many.
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

/// Why a file was written in part: a disk that is full and a limit of file sizes take what still fits, and refuse the rest.
#[cold]
fn refusal(file: usize, rest: &[u8]) -> io::Error {
    // SAFETY: the kernel reads at most as many bytes of `rest` as it has.
    let written =
        checked("write", unsafe { arch::call(libc::SYS_write, [file, rest.as_ptr() as usize, rest.len(), 0, 0, 0]) });
    written.err().unwrap_or_else(|| io::Error::other(say!("a file was written in part")))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
