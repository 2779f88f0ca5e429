//! A distribution's filesystem in a guest, in which agents run: it is not written.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hostmark_launch::program::{OWN, command};
use hostmark_model::Exit;
use rustix::mount::{MountFlags, mount, mount_bind_recursive};

use crate::output;

/// The word that starts a program in it; no command for people.
pub const NAME: &str = "guest-within";
/// Where it is mounted, and where that is with what is written above it.
const IMAGE: &str = "/image";
const WRITTEN: &str = "/root";
/// What such a filesystem is, and how each is mounted without a repair.
const KINDS: [(&str, &str); 2] = [("ext4", "noload"), ("xfs", "norecovery")];
/// What every distribution has.
const MARK: &str = "etc/os-release";
/// What it shares with the guest's first filesystem.
const SHARED: [&str; 5] = ["proc", "sys", "dev", "tmp", "disk"];

/// Mounts the one on this disk, or on a part of it: where it is.
pub fn enter(disk: &str) -> io::Result<PathBuf> {
    let mut parts: Vec<String> = fs::read_dir(Path::new("/sys/block").join(disk))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(disk))
        .collect();
    parts.sort();
    parts.push(disk.to_owned());
    if !parts.iter().any(|part| is_mounted(part)) {
        return Err(io::Error::other("the image holds no filesystem of a distribution, ext4 or xfs"));
    }
    let root = match with_room_above() {
        Ok(()) => PathBuf::from(WRITTEN),
        // Programs that write beside TMPDIR fail then, and say so.
        Err(_) => PathBuf::from(IMAGE),
    };
    for shared in SHARED {
        let (from, to) = (Path::new("/").join(shared), root.join(shared));
        let _ = fs::create_dir(&to);
        match mount_bind_recursive(&from, &to) {
            // An image that cannot be written has no directory for the disk.
            Err(_) if shared == "disk" => {}
            mounted => mounted?,
        }
    }
    Ok(root)
}

fn is_mounted(part: &str) -> bool {
    let device = format!("/dev/{part}");
    KINDS.iter().any(|(kind, options)| {
        let options = CString::new(*options).unwrap_or_default();
        let mounted = mount(&device, IMAGE, *kind, MountFlags::RDONLY, Some(options.as_c_str())).is_ok();
        if mounted && !Path::new(IMAGE).join(MARK).exists() {
            let _ = rustix::mount::unmount(IMAGE, rustix::mount::UnmountFlags::DETACH);
            return false;
        }
        mounted
    })
}

/// Gives what is written a place in memory.
fn with_room_above() -> io::Result<()> {
    mount("tmpfs", "/modules", "tmpfs", MountFlags::NOSUID, None)?;
    fs::create_dir("/modules/upper")?;
    fs::create_dir("/modules/work")?;
    let options = c"lowerdir=/image,upperdir=/modules/upper,workdir=/modules/work";
    Ok(mount("overlay", WRITTEN, "overlay", MountFlags::empty(), Some(options))?)
}

/// Becomes this program with these words, in the filesystem that stands before them.
pub fn within(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(root) = words.next() else {
        let why = crate::language::said!("this is started in a guest, not by hand; use hostmark vm run");
        return super::complain(&why, Exit::BadInput);
    };
    let entered = rustix::process::chroot(Path::new(&root)).and_then(|()| rustix::process::chdir("/"));
    let error = match entered {
        // It leads to the program's own file from anywhere.
        Ok(()) => command(Path::new(OWN)).args(words).exec(),
        Err(error) => error.into(),
    };
    output::complain(&format!("the image's filesystem cannot be entered ({error}); take another image"));
    ExitCode::from(Exit::ResourceLost.code())
}
