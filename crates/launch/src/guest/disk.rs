//! A guest's disk: a filesystem in a file without a name, which so is gone with the guest.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Output};

use hostmark_model::Message;
use hostmark_say::say;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::contents;
use super::error::GuestError;
use super::{DiskFormat, DiskSpec};
use crate::transport_error::shown;

/// Makes the filesystem. Nothing of it is left for the guest's kernel to do in the background.
const MKFS: [&str; 7] = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-m", "0"];
/// Lays it out otherwise.
const CONVERT: [&str; 6] = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2"];
/// Where programs of the administrator's are, which not every user has in PATH.
const SYSTEM: &str = "/usr/sbin:/sbin";
/// Bytes of the smallest disk with a journal that leaves room for cases.
const LEAST: u64 = 64 << 20;

pub fn make(spec: &DiskSpec) -> Result<File, GuestError> {
    let directory = shown(&spec.directory.to_string_lossy());
    let failed = |why: Message, remedy: Message| {
        GuestError::Asked(say!("the guest's disk cannot be made in {directory} ({why}); {remedy}"))
    };
    if spec.size < LEAST {
        return Err(failed(say!("{size} bytes are too few", size = spec.size), say!("choose 64 MiB or more")));
    }
    let refused = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => say!("make room, or choose a smaller disk"),
            _ => say!("name another directory"),
        };
        failed(error.into(), remedy)
    };
    let disk = tempfile::tempfile_in(&spec.directory).map_err(refused)?;
    // What is not there yet when the guest writes would be allocated then, and a case would pay for it.
    match fallocate(&disk, FallocateFlags::empty(), 0, spec.size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => disk.set_len(spec.size).map_err(refused)?,
        allocated => allocated.map_err(|error| refused(error.into()))?,
    }
    run(&MKFS, &[&disk]).map_err(|(why, remedy)| failed(why, remedy))?;
    match spec.format {
        DiskFormat::Raw => Ok(disk),
        DiskFormat::Qcow2 => {
            let other = tempfile::tempfile_in(&spec.directory).map_err(refused)?;
            run(&CONVERT, &[&disk, &other]).map_err(|(why, remedy)| failed(why, remedy))?;
            Ok(other)
        }
    }
}

/// Runs a program on files without names; otherwise why it failed, and what to do.
fn run(words: &[&str], files: &[&File]) -> Result<(), (Message, Message)> {
    let name = words.first().copied().unwrap_or_default();
    // Only this program inherits them: nothing else is started while they are there.
    let inherited: io::Result<Vec<_>> = files.iter().map(|file| Ok(rustix::io::dup(file)?)).collect();
    let inherited = inherited.map_err(|error| (error.into(), say!("raise the limit of open files (ulimit -n)")))?;
    let paths = inherited.iter().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(name);
    command.args(&words[1..]).args(paths).env("PATH", format!("{path}:{SYSTEM}"));
    match command.output() {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { stderr, .. }) => {
            let text = String::from_utf8_lossy(&stderr);
            let word = text.lines().rfind(|line| !line.trim().is_empty()).map(|line| Message::plain(shown(line)));
            let word = word.unwrap_or_else(|| say!("it says nothing"));
            Err((say!("{name}: {word}"), say!("look at what it names")))
        }
        Err(error) => Err((say!("{what}: {error}", what = name), say!("install that program"))),
    }
}

/// What an image's contents are laid out as.
pub fn format_of(image: &Path) -> io::Result<DiskFormat> {
    let mut begin = [0; 4];
    let length = contents::open(image)?.read(&mut begin)?;
    Ok(if begin[..length] == *b"QFI\xfb" { DiskFormat::Qcow2 } else { DiskFormat::Raw })
}

impl DiskFormat {
    /// As QEMU names it.
    pub fn name(self) -> &'static str {
        match self {
            DiskFormat::Raw => "raw",
            DiskFormat::Qcow2 => "qcow2",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn spec(directory: &Path) -> DiskSpec {
        let (directory, format, cache) = (directory.into(), DiskFormat::Raw, "none".into());
        DiskSpec { directory, size: LEAST, format, cache, iothread: false }
    }

    #[test]
    fn a_disk_has_a_filesystem_and_no_name() {
        let place = tempfile::tempdir().unwrap();
        for format in [DiskFormat::Raw, DiskFormat::Qcow2] {
            let disk = match make(&DiskSpec { format, ..spec(place.path()) }) {
                Ok(disk) => disk,
                Err(error) if error.to_string().contains("install that program") => {
                    return crate::skip::skipped(&error.to_string());
                }
                Err(error) => panic!("{error}"),
            };
            assert!(disk.metadata().unwrap().len() > 1 << 17);
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
            let kept = place.path().join("kept");
            fs::copy(format!("/proc/self/fd/{}", disk.as_raw_fd()), &kept).unwrap();
            assert_eq!(format_of(&kept).unwrap(), format);
            fs::remove_file(kept).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_made_is_reported_in_one_sentence() {
        let place = tempfile::tempdir().unwrap();
        let message = |spec: DiskSpec| make(&spec).unwrap_err().to_string();
        assert!(message(DiskSpec { size: 1 << 20, ..spec(place.path()) }).contains("choose 64 MiB or more"));
        let full = message(DiskSpec { size: 1 << 60, ..spec(place.path()) });
        assert!(full.contains("cannot be made") && full.contains("; "), "{full}");
        assert!(message(spec(&place.path().join("none"))).contains("name another directory"));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
