//! Files that a person names, opened so that none is waited for and none is read without an end; what kind of filesystem holds one.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use hostmark_say::say;
use rustix::fd::OwnedFd;

use super::call::Call;

/// Bytes of a run, or of its journal, at most: few enough that the views of a run end within seconds.
pub const MOST_BYTES: u64 = 64 << 20;
/// The filesystem of pipes without a name (PIPEFS_MAGIC of linux/magic.h).
const PIPEFS: i64 = 0x5049_5045;

/// Opens what is a regular file: a named pipe would be waited for, and a device might have no end.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata().call("statx")?.file_type();
    if kind.is_file() { Ok(file) } else { Err(is_no_file(kind)) }
}

/// Opens a regular file, or an unnamed pipe as `/dev/stdin` or `<(…)`, whose writer is there or has ended, for reading.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata().call("statx")?.file_type();
    match kind.is_fifo() && rustix::fs::fstatfs(&file).call("fstatfs")?.f_type as i64 == PIPEFS {
        true => {
            // This opening of it is nobody else's, and its reader may wait.
            let flags = rustix::fs::fcntl_getfl(&file).call("fcntl")? - rustix::fs::OFlags::NONBLOCK;
            rustix::fs::fcntl_setfl(&file, flags).call("fcntl")?;
            Ok(file)
        }
        false if kind.is_file() => Ok(file),
        false => Err(is_no_file(kind)),
    }
}

/// All of a file from where it stands; none when that is more than a run has.
pub fn all_of(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let length = file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((length as u64 <= MOST_BYTES).then_some(bytes))
}

fn is_no_file(kind: FileType) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        match kind {
            kind if kind.is_dir() => say!("it is a directory"),
            kind if kind.is_fifo() => say!("it is a named pipe, which might be waited for without end"),
            kind if kind.is_char_device() || kind.is_block_device() => say!("it is a device"),
            _ => say!("it is no regular file"),
        },
    )
}

/// The type of the filesystem that holds `path`, as the kernel names its magic number here; its number in hex otherwise.
pub fn filesystem(path: &Path) -> io::Result<String> {
    Ok(name_of(&rustix::fs::statfs(path).call("statfs")?))
}

/// The same of the filesystem that holds an open directory.
pub fn filesystem_of(directory: &OwnedFd) -> io::Result<String> {
    Ok(name_of(&rustix::fs::fstatfs(directory).call("fstatfs")?))
}

fn name_of(status: &rustix::fs::StatFs) -> String {
    let magic = status.f_type as u64 & 0xffff_ffff;
    // The numbers are those of linux/magic.h.
    match magic {
        0x0102_1994 => "tmpfs".into(),
        0xef53 => "ext4".into(),
        0x5846_5342 => "xfs".into(),
        0x9123_683e => "btrfs".into(),
        0x794c_7630 => "overlay".into(),
        0x6969 => "nfs".into(),
        other => format!("{other:#x}"),
    }
}
