//! Files that are there whole and synced, or not at all, however the program ends meanwhile.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hostmark_engine::sys::call::Call;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::parent;

/// A run is for others to read as well, as any file that a program writes, as far as the umask allows.
const MODE: u32 = 0o666;

/// Writes a file; a symbolic link goes on pointing to it. A file that is there is replaced, or is an error.
pub fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    refuse_foreign_link(path)?;
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = parent(path);
    if !is_directory(directory)? {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no directory {}", directory.display())));
    }
    match nameless(directory) {
        Ok(file) => {
            fill(&file, text)?;
            give_name(&file, path, replace).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                // Without /proc a file cannot be given a name.
                _ => write_named(path, text, replace),
            })
        }
        // Not every file system has files without a name; another error comes again.
        Err(_) => write_named(path, text, replace),
    }?;
    // The file's name is kept by its directory. Not every file system can be asked to.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Links on the way to a file at most: the kernel follows no more.
const MOST_LINKS: usize = 40;

/// A link that another user made leads where that user likes: to a file, a pipe or a device, and as well where it stands for a
/// directory on the way or another link leads to it. Root's are trusted, as /dev/stdout.
pub fn refuse_foreign_link(path: &Path) -> io::Result<()> {
    let parts = |path: &Path| path.iter().rev().map(OsStr::to_owned).collect::<Vec<_>>();
    let (mut ahead, mut at, mut links) = (parts(path), PathBuf::new(), 0);
    while let Some(part) = ahead.pop() {
        at.push(part);
        let Some(found) = found(fs::symlink_metadata(&at))? else { break };
        if !found.is_symlink() {
            continue;
        }
        if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
            let message = "a link that another user made leads there";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        links += 1;
        if links > MOST_LINKS {
            break;
        }
        ahead.extend(parts(&fs::read_link(&at).call("readlink")?));
        at.pop();
    }
    Ok(())
}

/// Whether there is a directory; an error where the kernel does not say.
pub fn is_directory(path: &Path) -> io::Result<bool> {
    Ok(found(fs::metadata(path))?.is_some_and(|found| found.is_dir()))
}

/// What was found; none where there is nothing of this name.
fn found(status: io::Result<Metadata>) -> io::Result<Option<Metadata>> {
    match status {
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
        status => status.call("statx").map(Some),
    }
}

/// A file that has no name yet: when the program is killed it is gone with it.
fn nameless(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::from_bits_truncate(MODE)).map(File::from)?)
}

fn fill(mut file: &File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes()).call("write")?;
    file.sync_all().call("fsync")
}

fn link(file: &File, name: &Path) -> io::Result<()> {
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, source, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn give_name(file: &File, path: &Path, replace: bool) -> io::Result<()> {
    match link(file, path) {
        Err(error) if replace && error.kind() == io::ErrorKind::AlreadyExists => {
            // Linking replaces nothing: a name of its own, and at once a rename.
            let named = beside().make_in(parent(path), |name| link(file, name))?;
            named.persist(path).map(drop).map_err(|error| error.error)
        }
        linked => linked,
    }
}

/// The same on a file system without nameless files: what is killed in the midst of it leaves a hidden file.
fn write_named(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    let mut builder = beside();
    let builder = builder.permissions(Permissions::from_mode(MODE));
    // The name of a file that is gone again is nothing to tell.
    let file = builder.tempfile_in(parent(path)).map_err(|error| io::Error::from(error.kind()))?;
    fill(file.as_file(), text)?;
    let persisted = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map(drop).map_err(|error| error.error)
}

fn beside<'a>() -> tempfile::Builder<'a, 'a> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hostmark-").suffix(".tmp");
    builder
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    type Way = fn(&Path, &str, bool) -> io::Result<()>;
    /// By a nameless file where there are any, and without.
    const WAYS: [Way; 2] = [write, write_named];

    fn names(directory: &Path) -> Vec<std::ffi::OsString> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn what_the_kernel_does_not_report_is_not_taken_for_an_answer() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_directory(&home.path().join("nowhere")).unwrap());
        std::fs::write(home.path().join("file"), "").unwrap();
        assert!(!is_directory(&home.path().join("file/below")).unwrap());
        let message = write(&home.path().join("x".repeat(300)).join("run"), "", true).unwrap_err();
        assert_eq!(hostmark_engine::sys::call::failed(&message), Some("statx"), "{message}");
    }

    #[test]
    fn a_new_file_is_whole_and_a_file_that_is_there_is_replaced_only_when_it_may_be() {
        for way in WAYS {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("run.json");
            way(&path, "first", false).unwrap();
            assert_eq!(way(&path, "second", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&path).unwrap(), "first");
            way(&path, "third", true).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "third");
            let other = directory.path().join("other.json");
            way(&other, "new", true).unwrap();
            assert_eq!(names(directory.path()).len(), 2);
        }
    }

    #[test]
    fn both_ways_give_a_file_the_rights_of_any_other() {
        for way in WAYS {
            let directory = tempfile::tempdir().unwrap();
            let (ours, any) = (directory.path().join("run.json"), directory.path().join("any"));
            way(&ours, "", false).unwrap();
            File::create(&any).unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode(&ours), mode(&any));
        }
    }

    #[test]
    fn a_symbolic_link_goes_on_pointing_to_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let (file, symlink) = (directory.path().join("run.json"), directory.path().join("latest"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &symlink).unwrap();
        write(&symlink, "new", true).unwrap();
        assert!(fs::symlink_metadata(&symlink).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_link_that_another_user_made_is_not_followed_to_whatever_it_leads() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("run.json"), directory.path().join("latest"));
        fs::write(&file, "old").unwrap();
        let ours = directory.path().join("ours");
        std::os::unix::fs::symlink("latest", &ours).unwrap();
        for target in [file.as_path(), Path::new("/dev/null"), directory.path()] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            // Who is not root can give nothing away.
            if std::os::unix::fs::lchown(&link, Some(65534), None).is_ok() {
                for named in [link.clone(), link.join("run.json"), ours.clone(), ours.join("run.json")] {
                    let message = crate::store::write(&named, "new").unwrap_err().to_string();
                    assert!(message.contains("another user"), "{}: {message}", named.display());
                    // Before anything is measured.
                    assert!(crate::store::RunFiles::named(&named).is_err(), "{}", named.display());
                }
            }
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }

    #[test]
    fn until_it_is_whole_a_nameless_file_is_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let Ok(file) = nameless(directory.path()) else { return skipped("this filesystem has no nameless files") };
        fill(&file, "half").unwrap();
        assert!(names(directory.path()).is_empty());
        give_name(&file, &directory.path().join("run.json"), false).unwrap();
        assert_eq!(names(directory.path()), ["run.json"]);
    }
}
