//! What kind of filesystem holds a file.

use std::io;
use std::path::Path;

use rustix::fd::OwnedFd;

use super::call::Call;

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
