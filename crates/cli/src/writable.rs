//! Check that a directory can be written to: tried, so that read-only filesystems and /proc are seen too, and without a trace.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use hostmark_engine::sys::place::Directory;
use hostmark_engine::sys::scratch::fresh_name;
use rustix::fs::{Mode, OFlags};

/// Tries to make something in a directory that is there.
pub fn check(directory: &Path) -> io::Result<()> {
    // A file without a name leaves nothing, whoever is killed when; not every filesystem has them.
    let nameless = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    if rustix::fs::open(directory, nameless, Mode::RUSR | Mode::WUSR).is_ok() {
        return Ok(());
    }
    let inside = Directory::open(directory)?.entry(OsStr::new(&fresh_name()?))?;
    inside.create_new(Mode::RUSR | Mode::WUSR)?;
    inside.remove()
}

/// The same for a directory that may have to be made first, with those above it.
pub fn check_new(directory: &Path) -> io::Result<()> {
    let whole = std::path::absolute(directory)?;
    match whole.ancestors().find(|above| above.exists()) {
        None => Ok(()),
        Some(there) if there == whole => check(there),
        Some(above) => {
            let (above, name) = (Directory::open(above)?, fresh_name()?);
            above.make_below(&name)?;
            above.remove_below(&name)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_cannot_be_written_to_is_told_and_nothing_is_left_where_it_can() {
        let place = tempfile::tempdir().unwrap();
        check(place.path()).unwrap();
        check_new(&place.path().join("a/b")).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        for wrong in ["/proc", "/proc/a/b"] {
            assert!(check_new(Path::new(wrong)).is_err(), "{wrong}");
        }
        assert!(check_new(&file.join("a")).is_err() && check(&file).is_err());
    }
}
