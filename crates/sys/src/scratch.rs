//! Directories of one run alone: made under a name that nobody can foresee, used and removed by their descriptors.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hostmark_model::{PathBytes, ReasonCode, Scratch};
use hostmark_say::say;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::call::{Call, fault};
use super::ipc_cleanup;
use super::names::{entries, plain, random_number};

/// Access rights of the owner alone.
const OWNER_ALONE: Mode = Mode::RWXU;
/// Flags for opening a directory: never through a link in its last place.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Names begin like this, so that a person who finds one knows whose it is.
const PREFIX: &str = "hostmark-";
/// Passes over a tree that somebody goes on to fill while it is removed.
const MOST_PASSES: usize = 10_000;

/// A directory that this process made.
#[derive(Debug)]
pub struct Private {
    base: OwnedFd,
    path: PathBuf,
    name: CString,
    directory: OwnedFd,
}

impl Private {
    /// Makes a directory in `base`, which may be a directory that everybody writes to.
    pub fn make(base: &Path) -> io::Result<Private> {
        Private::make_as(base, &fresh_name()?)
    }

    /// The same under a name that another process drew by [`fresh_name`], so that it knows of the directory before there is
    /// one. A name that is taken is an error: by chance it is as unlikely as 64 random bits.
    pub fn make_as(base: &Path, name: &str) -> io::Result<Private> {
        let name = CString::new(name)?;
        plain(&name)?;
        let above =
            rustix::fs::open(base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).call("open")?;
        rustix::fs::mkdirat(&above, &name, OWNER_ALONE).call("mkdirat")?;
        open_made(&above, &name)
            .inspect_err(|_| {
                // Nobody would be in charge of it.
                remove_empty(&above, &name);
            })
            .map(|directory| {
                let path = base.join(OsStr::from_bytes(name.to_bytes()));
                Private { base: above, path, name, directory }
            })
    }

    /// Returns the entry by which other processes of the run find it.
    pub fn entry(&self) -> io::Result<Scratch> {
        let status = rustix::fs::fstat(&self.directory).call("fstat")?;
        let path = PathBytes(self.path.as_os_str().as_bytes().to_vec());
        Ok(Scratch::Made { path, device: status.st_dev, inode: status.st_ino })
    }

    /// Removes the kernel objects that are written down in it: of a process group, or of all.
    pub fn remove_objects(&self, group: Option<u32>) {
        ipc_cleanup::remove_recorded(self.directory.as_fd(), group);
    }

    /// Removes all that is in it, and itself where it still has its name.
    pub fn remove(&self) -> io::Result<()> {
        clear(self.directory.as_fd())?;
        let (ours, named) = (
            rustix::fs::fstat(&self.directory).call("fstat")?,
            rustix::fs::statat(&self.base, &self.name, AtFlags::SYMLINK_NOFOLLOW),
        );
        match named {
            Ok(named) if is_same(&ours, &named) => {
                rustix::fs::unlinkat(&self.base, &self.name, AtFlags::REMOVEDIR).call("unlinkat")
            }
            // Somebody moved it, and it is empty: what has its name now is not ours.
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(super::call::named("newfstatat", error.into())),
        }
    }
}

/// A name for a directory of a run that nobody can foresee.
pub fn fresh_name() -> io::Result<String> {
    Ok(format!("{PREFIX}{:016x}", random_number()?))
}

/// Opens the directory that has just been made.
fn open_made(above: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let directory = rustix::fs::openat(above, name, DIRECTORY, Mode::empty()).call("openat")?;
    // Where the directory above lets others take names away, one could have put another directory in its place. One of
    // another user is noticed by its owner, one of this user by what is in it.
    let status = rustix::fs::fstat(&directory).call("fstat")?;
    match is_private(&status) && entries(&directory)?.is_empty() {
        true => Ok(directory),
        false => Err(io::Error::other(say!("another user put something in the place of the directory that was made"))),
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Tells whether a directory is this user's, and no other may enter it.
fn is_private(status: &Stat) -> bool {
    status.st_uid == rustix::process::geteuid().as_raw() && status.st_mode & 0o777 == OWNER_ALONE.bits()
}

/// Opens the directory that another process of this run made; an error when something else is found in its place.
pub fn open(path: &PathBytes, device: u64, inode: u64) -> io::Result<OwnedFd> {
    let directory = rustix::fs::open(OsStr::from_bytes(&path.0), DIRECTORY, Mode::empty()).call("open")?;
    let status = rustix::fs::fstat(&directory).call("fstat")?;
    match (status.st_dev, status.st_ino) == (device, inode) && is_private(&status) {
        true => Ok(directory),
        false => Err(io::Error::other(say!("it is not the directory that the run made"))),
    }
}

/// Opens one of the run's directories, where it has one.
pub fn of_run(scratch: &Scratch) -> Option<io::Result<OwnedFd>> {
    match scratch {
        Scratch::Made { path, device, inode } => Some(open(path, *device, *inode)),
        Scratch::Missing(_) => None,
    }
}

/// The round's own directory in one of the run's: made, and removed with all that is in it when dropped.
#[derive(Debug)]
pub struct Folder {
    run: OwnedFd,
    folder: CString,
    before: OwnedFd,
}

impl Folder {
    /// Makes it and makes it the working directory of the calling thread, and of the threads and processes that the thread
    /// starts from now on: what it does by relative paths nobody else can lead astray, whatever becomes of the names above.
    pub fn enter(run: OwnedFd, folder: &str) -> io::Result<Folder> {
        let folder = CString::new(folder)?;
        plain(&folder)?;
        let before =
            rustix::fs::open(c".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).call("open")?;
        rustix::fs::mkdirat(&run, &folder, OWNER_ALONE).call("mkdirat")?;
        // Whatever the user's umask takes away.
        rustix::fs::chmodat(&run, &folder, OWNER_ALONE, AtFlags::empty()).call("fchmodat")?;
        let entered = Folder { run, folder, before };
        let directory = rustix::fs::openat(&entered.run, &entered.folder, DIRECTORY, Mode::empty()).call("openat")?;
        // SAFETY: gives this thread a working directory and a umask of its own; no memory is concerned.
        if unsafe { libc::unshare(libc::CLONE_FS) } != 0 {
            let error = io::Error::last_os_error();
            // Container runtimes refuse the call in any case. A process of one thread shares its working directory with nobody anyway.
            super::process::only_one_thread().map_err(|_| super::call::named("unshare", error))?;
        }
        rustix::process::fchdir(&directory).call("fchdir")?;
        Ok(entered)
    }

    /// The working directory that the thread had before.
    pub fn before(&self) -> &OwnedFd {
        &self.before
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed when the run ends.
        let _ = rustix::process::fchdir(&self.before);
        let _ = remove_folder(self.run.as_fd(), &self.folder);
    }
}

pub fn remove_folder(run: BorrowedFd, folder: &CStr) -> io::Result<()> {
    plain(folder)?;
    let directory = rustix::fs::openat(run, folder, DIRECTORY, Mode::empty()).call("openat")?;
    clear(directory.as_fd())?;
    rustix::fs::unlinkat(run, folder, AtFlags::REMOVEDIR).call("unlinkat")
}

/// Removes all that is in a directory, never through a link and never on another device. It goes down to a directory without
/// directories, and begins anew: three descriptors are enough for any depth.
fn clear(top: BorrowedFd) -> io::Result<()> {
    let device = rustix::fs::fstat(top).call("fstat")?.st_dev;
    for _ in 0..MOST_PASSES {
        let mut above: Option<(OwnedFd, CString)> = None;
        let mut here = rustix::io::fcntl_dupfd_cloexec(top, 0).call("fcntl")?;
        while let Some(below) = remove_files(&here)? {
            let directory = open_below(&here, &below, device)?;
            above = Some((std::mem::replace(&mut here, directory), below));
        }
        match above {
            None => return Ok(()),
            Some((above, name)) => rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR).call("unlinkat")?,
        }
    }
    Err(fault(ReasonCode::Disturbed, say!("it fills as fast as it is emptied")))
}

/// Opens a directory in another one, and nothing that is mounted there: neither another filesystem nor, where the kernel can
/// tell (openat2, Linux 5.6), another directory of the same one.
fn open_below(above: &OwnedFd, name: &CStr, device: u64) -> io::Result<OwnedFd> {
    let within = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let directory = match rustix::fs::openat2(above, name, DIRECTORY, Mode::empty(), within) {
        // A kernel without it, or a filter that does not know it.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(above, name, DIRECTORY, Mode::empty()).call("openat")?,
        opened => opened.call("openat2")?,
    };
    match rustix::fs::fstat(&directory).call("fstat")?.st_dev == device {
        true => Ok(directory),
        false => Err(io::Error::other(say!("another filesystem is mounted in it"))),
    }
}

/// Removes the run's directory where the janitor was killed before it could. Returns its path where it was still there.
pub fn remove_left(made: &Scratch) -> Option<&Path> {
    let Scratch::Made { path, device, inode } = made else { return None };
    let directory = open(path, *device, *inode).ok()?;
    let path = Path::new(OsStr::from_bytes(&path.0));
    ipc_cleanup::remove_recorded(directory.as_fd(), None);
    // It is empty then: no more than an empty directory can be lost by this.
    clear(directory.as_fd()).and_then(|()| rustix::fs::rmdir(path).call("rmdir")).ok()?;
    Some(path)
}

/// Removes the directory of this name that the janitor was asked for, which it may have made before it was killed.
pub fn remove_unanswered(base: &Path, name: &str) {
    let above = rustix::fs::open(base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    if let (Ok(above), Ok(name)) = (above, CString::new(name)) {
        remove_empty(&above, &name);
    }
}

/// Removes a directory of this user's that no other may enter, if it is empty: no more can be lost by this.
fn remove_empty(above: &OwnedFd, name: &CStr) {
    let named = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
    if named.is_ok_and(|named| is_private(&named)) {
        let _ = rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR);
    }
}

/// Removes all of a directory but its directories; the first of those.
fn remove_files(directory: &OwnedFd) -> io::Result<Option<CString>> {
    let mut below = None;
    for name in entries(directory)? {
        match rustix::fs::unlinkat(directory, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Linux says the first, POSIX the second.
            Err(Errno::ISDIR | Errno::PERM) if below.is_none() => below = Some(name),
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(super::call::named("unlinkat", error.into())),
        }
    }
    Ok(below)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn path(private: &Private) -> PathBuf {
        private.path.clone()
    }

    #[test]
    fn its_owner_alone_may_enter_and_its_name_is_another_each_time() {
        let base = tempfile::tempdir().unwrap();
        let (one, other) = (Private::make(base.path()).unwrap(), Private::make(base.path()).unwrap());
        assert_ne!(path(&one), path(&other));
        let status = fs::symlink_metadata(path(&one)).unwrap();
        assert_eq!(status.permissions().mode() & 0o7777, 0o700);
        let Scratch::Made { path: entry, device, inode } = one.entry().unwrap() else { panic!() };
        assert_eq!((device, inode), (status.dev(), status.ino()));
        open(&entry, device, inode).unwrap();
        assert!(open(&entry, device, inode + 1).is_err());
    }

    #[test]
    fn a_base_that_is_not_there_or_no_directory_is_an_error() {
        assert_eq!(Private::make(Path::new("/nonexistent/base")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(Private::make(Path::new("/dev/null")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn what_is_removed_is_what_was_made_however_deep_and_never_what_a_link_leads_to() {
        let base = tempfile::tempdir().unwrap();
        let outside = base.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        let private = Private::make(base.path()).unwrap();
        let mut deep = path(&private);
        deep.extend(std::iter::repeat_n("d", 200));
        fs::create_dir_all(&deep).unwrap();
        for number in 0..300 {
            fs::write(deep.join(number.to_string()), "x").unwrap();
        }
        symlink(&outside, path(&private).join("link")).unwrap();
        symlink(outside.join("kept"), deep.join("link")).unwrap();
        private.remove().unwrap();
        assert!(!path(&private).exists());
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "x");
    }

    #[test]
    fn what_somebody_put_in_its_place_stays() {
        let base = tempfile::tempdir().unwrap();
        let private = Private::make(base.path()).unwrap();
        fs::write(path(&private).join("file"), "x").unwrap();
        let moved = base.path().join("moved");
        fs::rename(path(&private), &moved).unwrap();
        fs::create_dir(path(&private)).unwrap();
        fs::write(path(&private).join("theirs"), "x").unwrap();
        private.remove().unwrap();
        assert!(path(&private).join("theirs").exists());
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
    }

    #[test]
    fn a_round_works_in_its_folder_whatever_becomes_of_the_names_above() {
        let base = tempfile::tempdir().unwrap();
        let private = Private::make(base.path()).unwrap();
        let before = std::env::current_dir().unwrap();
        let run = || rustix::io::fcntl_dupfd_cloexec(&private.directory, 0).unwrap();
        let folder = Folder::enter(run(), "round-1").unwrap();
        assert_eq!(Folder::enter(run(), "round-1").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let moved = base.path().join("moved");
        fs::rename(path(&private), &moved).unwrap();
        fs::DirBuilder::new().recursive(true).mode(0o777).create(path(&private).join("round-1")).unwrap();
        fs::write("file", "x").unwrap();
        assert!(moved.join("round-1/file").exists() && !path(&private).join("round-1/file").exists());
        // A thread that it starts works there too.
        assert_eq!(std::thread::spawn(std::env::current_dir).join().unwrap().unwrap(), moved.join("round-1"));
        drop(folder);
        assert_eq!(std::env::current_dir().unwrap(), before);
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
    }

    #[test]
    fn a_round_s_folder_has_a_plain_name() {
        let base = tempfile::tempdir().unwrap();
        let private = Private::make(base.path()).unwrap();
        let outside = base.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        let absolute = outside.display().to_string();
        for name in ["", ".", "..", "../outside", "a/b", absolute.as_str()] {
            let run = rustix::io::fcntl_dupfd_cloexec(&private.directory, 0).unwrap();
            assert_eq!(Folder::enter(run, name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
            let name = CString::new(name).unwrap();
            assert!(remove_folder(private.directory.as_fd(), &name).is_err(), "{name:?}");
        }
        assert!(outside.join("kept").exists());
    }

    #[test]
    fn what_is_mounted_inside_is_left_as_it_is() {
        let base = tempfile::tempdir().unwrap();
        let outside = base.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        // On a thread of its own, in a mount namespace of its own: descriptors stay in the one that they were opened in.
        let removed = std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // SAFETY: gives this thread, which ends at once, a mount namespace of its own; no memory is concerned.
                let is_apart = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0;
                let mount = |arguments: &[&str]| {
                    let status = std::process::Command::new("mount").args(arguments).status();
                    status.is_ok_and(|status| status.success())
                };
                if !is_apart || !mount(&["--make-rprivate", "/"]) {
                    return None;
                }
                let private = Private::make(base.path()).unwrap();
                let point = path(&private).join("point");
                fs::create_dir(&point).unwrap();
                mount(&["--bind", outside.to_str().unwrap(), point.to_str().unwrap()]).then(|| private.remove())
            });
            inside.join().unwrap()
        });
        // Where nothing can be mounted there is nothing to see.
        assert!(removed.is_none_or(|removed| removed.is_err()));
        assert!(outside.join("kept").exists());
    }

    #[test]
    fn a_run_removes_what_a_killed_janitor_left() {
        let base = tempfile::tempdir().unwrap();
        let private = Private::make(base.path()).unwrap();
        fs::create_dir_all(path(&private).join("round-1/a")).unwrap();
        fs::write(path(&private).join("round-1/a/file"), "x").unwrap();
        let entry = private.entry().unwrap();
        let path = path(&private);
        drop(private);
        remove_left(&entry);
        assert!(!path.exists());
        // What has its name by now is another's.
        fs::create_dir(&path).unwrap();
        remove_left(&entry);
        assert!(path.exists());
    }
}
