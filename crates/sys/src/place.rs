//! Files named by a person, found and written in a directory that is held open, so that renames on the way mislead nobody.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path};
use std::time::Duration;

use hostmark_model::Message;
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat, fstatfs, linkat, mkdirat, openat, renameat,
    renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::call::Call;
use super::names::random_number;
use super::scratch;

/// A file is for others to read as well, as any that a program writes, as far as the umask allows.
const MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);
/// A directory, to look up names in: its files need not be readable for that.
const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Links on the way to a file at most: the kernel follows no more.
const MOST_LINKS: usize = 40;
/// The filesystem of processes (PROC_SUPER_MAGIC of linux/magic.h): a link in it may lead to what has no name.
const PROC: i64 = 0x9fa0;

/// Longest wait for a reader of a pipe, and for the next part that it takes; the time between two looks for one.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(500) } else { Duration::from_secs(5) };
const TURN: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    /// A regular file, which is replaced as a whole.
    File,
    Directory,
    /// A pipe, a device, or what a process has open: it is written to as it is.
    Other,
}

/// A directory that is held: a name in it leads to what is in it, whatever becomes of the names above.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// A name in a directory that is held, and what it stood for when it was looked up.
#[derive(Debug)]
pub struct Place {
    directory: Directory,
    name: OsString,
    found: Option<Stat>,
    /// True where the name is a link of /proc, which the kernel alone can follow.
    is_open_file: bool,
}

impl Directory {
    pub fn open(path: &Path) -> io::Result<Directory> {
        walk(path, End::Directory).map(|place| place.directory)
    }

    /// The same; what is missing of it is made.
    pub fn make(path: &Path) -> io::Result<Directory> {
        walk(path, End::NewDirectory).map(|place| place.directory)
    }

    /// The directory of this name in it, made where it is not there; an error where something else has the name, as a link.
    pub fn make_below(&self, name: &str) -> io::Result<Directory> {
        match mkdirat(&self.0, name, DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => openat(&self.0, name, HELD, Mode::empty()).call("openat").map(Directory),
            Err(error) => Err(error).call("mkdirat"),
        }
    }

    /// Removes the directory of this name in it, with all that is in that.
    pub fn remove_below(&self, name: &str) -> io::Result<()> {
        scratch::remove_folder(self.0.as_fd(), &CString::new(name)?)
    }

    /// A name in it: of a link, its own.
    pub fn entry(&self, name: &OsStr) -> io::Result<Place> {
        let directory = Directory(rustix::io::fcntl_dupfd_cloexec(&self.0, 0).call("fcntl")?);
        let found = match rustix::fs::statat(&directory.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            found => Some(found.call("newfstatat")?),
        };
        Ok(Place { directory, name: name.to_owned(), found, is_open_file: false })
    }
}

/// Target of a walk along a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Name,
    Directory,
    NewDirectory,
}

/// The parts of a path, the first last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// Goes along a path by descriptors; a link is read by the descriptor whose owner was looked at. Another user's link is refused wherever it
/// stands: fs.protected_symlinks guards the last part of a path alone. Root's are trusted, as /dev/stdout.
fn walk(path: &Path, end: End) -> io::Result<Place> {
    let (mut ahead, mut links) = (parts(path), 0);
    let root = || rustix::fs::open("/", HELD, Mode::empty()).call("open");
    let mut at = if path.has_root() { root()? } else { rustix::fs::open(".", HELD, Mode::empty()).call("open")? };
    while let Some(name) = ahead.pop() {
        let is_last = ahead.is_empty() && end == End::Name;
        if !is_last {
            // Opened as a directory, what is mounted on demand is mounted.
            match openat(&at, &name, HELD, Mode::empty()) {
                Ok(directory) => {
                    at = directory;
                    continue;
                }
                Err(Errno::NOENT) if end == End::NewDirectory => {
                    match mkdirat(&at, &name, DIRECTORY_MODE) {
                        Ok(()) | Err(Errno::EXIST) => ahead.push(name),
                        Err(error) => return Err(error).call("mkdirat"),
                    }
                    continue;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error).call("openat"),
            }
        }
        let found = match openat(&at, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) if is_last => {
                return Ok(Place { directory: Directory(at), name, found: None, is_open_file: false });
            }
            found => found.call("openat")?,
        };
        let status = fstat(&found).call("fstat")?;
        if !FileType::from_raw_mode(status.st_mode).is_symlink() {
            if is_last {
                return Ok(Place { directory: Directory(at), name, found: Some(status), is_open_file: false });
            }
            return Err(Errno::NOTDIR).call("openat");
        }
        links += 1;
        if !is_ours(&status) {
            return Err(planted(say!("a link that another user made leads there")));
        }
        if links > MOST_LINKS {
            return Err(Errno::LOOP).call("openat");
        }
        if fstatfs(&found).call("fstatfs")?.f_type as i64 == PROC {
            let target = openat(&at, &name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).call("openat")?;
            let status = fstat(&target).call("fstat")?;
            match FileType::from_raw_mode(status.st_mode).is_dir() {
                true => at = target,
                false if is_last => {
                    return Ok(Place { directory: Directory(at), name, found: Some(status), is_open_file: true });
                }
                false => return Err(Errno::NOTDIR).call("openat"),
            }
            continue;
        }
        let target = rustix::fs::readlinkat(&found, "", Vec::new()).call("readlinkat")?;
        let target = Path::new(OsStr::from_bytes(target.as_bytes()));
        if target.has_root() {
            at = root()?;
        }
        ahead.extend(parts(target));
    }
    let found = Some(fstat(&at).call("fstat")?);
    Ok(Place { directory: Directory(at), name: ".".into(), found, is_open_file: false })
}

/// Tells whether something is root's or this user's.
fn is_ours(status: &Stat) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&status.st_uid)
}

fn planted(what: Message) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

impl Place {
    /// Finds the place that a path leads to. A link that this user or root made is followed, also where it leads to nothing yet.
    pub fn find(path: &Path) -> io::Result<Place> {
        walk(path, End::Name)
    }

    /// A path's last name itself: a link there is not followed.
    pub fn entry(path: &Path) -> io::Result<Place> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Directory::open(path.parent().unwrap_or(Path::new("")))?.entry(name)
    }

    /// Returns the kind of file that had the name when it was looked up.
    pub fn kind(&self) -> Kind {
        match self.found.as_ref().map(|found| FileType::from_raw_mode(found.st_mode)) {
            None => Kind::Nothing,
            Some(FileType::Directory) => Kind::Directory,
            Some(FileType::RegularFile) if !self.is_open_file => Kind::File,
            Some(_) => Kind::Other,
        }
    }

    /// Writes a file that is there whole and synced, or not at all, however the program ends meanwhile; a pipe or a device as it can be. A
    /// file that is there is replaced, or is an error.
    pub fn write(&self, text: &[u8], replace: bool) -> io::Result<()> {
        if self.kind() == Kind::Other {
            return pour(&self.as_it_is()?, text);
        }
        if self.kind() == Kind::Directory {
            return Err(Errno::ISDIR.into());
        }
        match self.nameless() {
            Ok(file) => {
                fill(&file, text)?;
                self.give_name(&file, replace).or_else(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Err(error),
                    // Without /proc a file cannot be given a name.
                    _ => self.write_named(text, replace),
                })
            }
            // Not every file system has files without a name; another error comes again.
            Err(_) => self.write_named(text, replace),
        }?;
        // The file's name is kept by its directory. Not every file system can be asked to.
        let reads = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let _ = openat(&self.directory.0, ".", reads, Mode::empty()).map(|directory| rustix::fs::fsync(&directory));
        Ok(())
    }

    /// Adds lines to the end of a file, which is made where it is not there, in one write: who reads it meanwhile sees whole lines. A line
    /// that has no end stays alone, and of lines for which there is no room nothing is left.
    pub fn append(&self, text: &[u8]) -> io::Result<()> {
        let file = match self.found {
            None => self.create(OFlags::APPEND, MODE)?,
            Some(_) => self.as_it_is()?,
        };
        let (before, mut last) = (file.metadata().call("fstat")?.len(), [b'\n']);
        // Nothing can be read back of a pipe, or of a file that is for writing alone.
        let _ = before.checked_sub(1).map(|end| file.read_at(&mut last, end));
        let begin: &[u8] = if last == [b'\n'] { &[] } else { b"\n" };
        pour(&file, &[begin, text].concat()).inspect_err(|_| drop(file.set_len(before)))
    }

    /// Makes a new file and opens it to be written to; one that is there is an error.
    pub fn create_new(&self, mode: Mode) -> io::Result<File> {
        self.create(OFlags::empty(), mode)
    }

    fn create(&self, flags: OFlags, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | flags;
        openat(&self.directory.0, &self.name, flags, mode).call("openat").map(File::from)
    }

    /// Opens what has the name: no link, and nothing that is waited for.
    pub fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        openat(&self.directory.0, &self.name, flags, MODE).call("openat").map(File::from)
    }

    /// Gives it another name, in whose place nothing stays.
    pub fn rename_to(&self, to: &Place) -> io::Result<()> {
        renameat(&self.directory.0, &self.name, &to.directory.0, &to.name).call("renameat")
    }

    /// Takes the name away; of a link, its own, and of a directory where it is empty.
    pub fn remove(&self) -> io::Result<()> {
        let flags = if self.kind() == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        unlinkat(&self.directory.0, &self.name, flags).call("unlinkat")
    }

    /// Opens what was found, to add to it.
    fn as_it_is(&self) -> io::Result<File> {
        let was = self.found.as_ref().ok_or(io::ErrorKind::NotFound)?;
        if !self.is_open_file {
            // As fs.protected_regular and fs.protected_fifos, which not every kernel has, and no second name of a file elsewhere.
            let above = fstat(&self.directory.0).call("fstat")?;
            let is_shared = above.st_mode & 0o1000 != 0 && above.st_mode & 0o022 != 0;
            let is_file = FileType::from_raw_mode(was.st_mode).is_file();
            if is_shared && (!is_ours(was) && was.st_uid != above.st_uid || is_file && was.st_nlink > 1) {
                return Err(planted(say!("another user put it into a directory that many may write to")));
            }
        }
        let follows = if self.is_open_file { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::APPEND | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC | follows;
        let open = |way| openat(&self.directory.0, &self.name, flags | way, Mode::empty());
        let mut opened = open(if self.kind() == Kind::File { OFlags::RDWR } else { OFlags::WRONLY });
        let mut looks = PATIENCE.as_millis() / TURN.as_millis();
        // A file that is for writing alone, and a pipe that nobody reads yet.
        while matches!(opened, Err(Errno::ACCESS | Errno::NXIO)) && looks > 0 {
            looks = if matches!(opened, Err(Errno::NXIO)) { looks - 1 } else { 0 };
            crate::clock::sleep(TURN);
            opened = open(OFlags::WRONLY);
        }
        let file: File = match opened {
            Err(Errno::NXIO) => return Err(io::Error::new(io::ErrorKind::TimedOut, say!("it has no reader"))),
            opened => opened.call("openat")?.into(),
        };
        let is = fstat(&file).call("fstat")?;
        match (is.st_dev, is.st_ino) == (was.st_dev, was.st_ino) {
            true => Ok(file),
            false => Err(io::Error::other(say!("something else took its place meanwhile"))),
        }
    }

    /// A file that has no name yet: when the program is killed it is gone with it.
    fn nameless(&self) -> io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&self.directory.0, ".", flags, MODE).call("openat").map(File::from)
    }

    fn give_name(&self, file: &File, replace: bool) -> io::Result<()> {
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |name: &OsStr| linkat(CWD, &source, &self.directory.0, name, AtFlags::SYMLINK_FOLLOW);
        match link(&self.name) {
            Err(Errno::EXIST) if replace => {
                // Linking replaces nothing: a name of its own, and at once a rename.
                let beside = beside()?;
                link(&beside).call("linkat")?;
                self.take_from(&beside).inspect_err(|_| {
                    let _ = unlinkat(&self.directory.0, &beside, AtFlags::empty());
                })
            }
            linked => linked.call("linkat"),
        }
    }

    /// The same on a file system without nameless files: what is killed in the midst of it leaves a hidden file.
    fn write_named(&self, text: &[u8], replace: bool) -> io::Result<()> {
        let beside = beside()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = openat(&self.directory.0, &beside, flags, MODE).call("openat")?.into();
        let written = fill(&file, text).and_then(|()| match replace {
            true => self.take_from(&beside),
            false => self.take_unless_there(&beside),
        });
        if written.is_err() {
            let _ = unlinkat(&self.directory.0, &beside, AtFlags::empty());
        }
        written
    }

    /// Gives this name to the file that has another one in the directory.
    fn take_from(&self, beside: &OsStr) -> io::Result<()> {
        renameat(&self.directory.0, beside, &self.directory.0, &self.name).call("renameat")
    }

    /// The same where nothing has it.
    fn take_unless_there(&self, beside: &OsStr) -> io::Result<()> {
        let at = &self.directory.0;
        match renameat_with(at, beside, at, &self.name, RenameFlags::NOREPLACE) {
            // A filesystem that cannot, as NFS, has links.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(at, beside, at, &self.name, AtFlags::empty()).call("linkat")?;
                unlinkat(at, beside, AtFlags::empty()).call("unlinkat")
            }
            renamed => renamed.call("renameat2"),
        }
    }
}

fn fill(mut file: &File, text: &[u8]) -> io::Result<()> {
    file.write_all(text).call("write")?;
    file.sync_all().call("fsync")
}

/// Writes to what may be a pipe, whose reader is not waited for without end.
fn pour(file: &File, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match rustix::io::write(file, text) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => text = &text[length..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let at_most = Timespec::try_from(PATIENCE).ok();
                let room = poll(&mut [PollFd::new(file, PollFlags::OUT)], at_most.as_ref());
                if !matches!(room, Ok(1..) | Err(Errno::INTR)) {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, say!("its reader takes nothing")));
                }
            }
            Err(error) => return Err(error).call("write"),
        }
    }
    Ok(())
}

/// A name that nobody can foresee, for the moment before a rename.
fn beside() -> io::Result<OsString> {
    Ok(format!(".hostmark-{:016x}.tmp", random_number()?).into())
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
