//! A run's own directory: nobody else can foresee it, enter it, or lead what is done in it elsewhere.

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
