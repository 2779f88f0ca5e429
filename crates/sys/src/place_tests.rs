//! Files that are written where others change the names.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::skip::skipped;

type Way = fn(&Place, &[u8], bool) -> io::Result<()>;
/// Functions that write: by a nameless file where there are any, and without.
const WAYS: [Way; 2] = [Place::write, Place::write_named];
/// Somebody who is not root, and not who tests.
const STRANGER: u32 = 65534;

fn names(directory: &Path) -> Vec<OsString> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// A directory, and a path in it.
fn base(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    (directory, path)
}

#[test]
fn a_new_file_is_whole_and_a_file_that_is_there_is_replaced_only_when_it_may_be() {
    for way in WAYS {
        let (directory, path) = base("run.json");
        let place = Place::find(&path).unwrap();
        way(&place, b"first", false).unwrap();
        assert_eq!(way(&place, b"second", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(text(&path), "first");
        way(&place, b"third", true).unwrap();
        assert_eq!(text(&path), "third");
        // As any other file is made.
        let any = directory.path().join("any");
        File::create(&any).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&any));
        assert_eq!(names(directory.path()).len(), 2);
    }
}

#[test]
fn until_it_is_whole_a_nameless_file_is_nowhere() {
    let (directory, path) = base("run.json");
    let place = Place::find(&path).unwrap();
    let Ok(file) = place.nameless() else { return skipped("this filesystem has no nameless files") };
    fill(&file, b"half").unwrap();
    assert!(names(directory.path()).is_empty());
    place.give_name(&file, false).unwrap();
    assert_eq!(names(directory.path()), ["run.json"]);
}

#[test]
fn a_link_of_ones_own_is_followed_and_goes_on_pointing_there() {
    let (directory, path) = base("run.json");
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("data/deep")).unwrap();
    symlink("data", at("results")).unwrap();
    symlink(at("results/deep"), at("near")).unwrap();
    symlink("near/../deep/run.json", at("latest")).unwrap();
    for (named, led) in [("results/a", "data/a"), ("near/b", "data/deep/b"), ("latest", "data/deep/run.json")] {
        for said in ["old", "new"] {
            Place::find(&at(named)).unwrap().write(said.as_bytes(), true).unwrap();
            assert_eq!(text(&at(led)), said, "{named}");
        }
    }
    assert!(fs::symlink_metadata(at("latest")).unwrap().is_symlink());
    symlink("circle", &path).unwrap();
    symlink("run.json", at("circle")).unwrap();
    assert!(Place::find(&path).is_err());
    Directory::make(&at("results/new/newer")).unwrap();
    assert!(at("data/new/newer").is_dir());
}

#[test]
fn who_changes_the_names_after_the_look_leads_nobody_elsewhere() {
    let (directory, _) = base("");
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("out")).unwrap();
    fs::create_dir(at("secret")).unwrap();
    for is_there in [false, true] {
        for way in WAYS {
            fs::write(at("secret/run.json"), "precious").unwrap();
            if is_there {
                fs::write(at("out/run.json"), "old").unwrap();
            }
            // The file itself becomes a link.
            let place = Place::find(&at("out/run.json")).unwrap();
            let _ = fs::remove_file(at("out/run.json"));
            symlink(at("secret/run.json"), at("out/run.json")).unwrap();
            way(&place, b"new", true).unwrap();
            assert_eq!((text(&at("secret/run.json")), text(&at("out/run.json"))), ("precious".into(), "new".into()));
            // The directory above it does.
            let place = Place::find(&at("out/run.json")).unwrap();
            fs::rename(at("out"), at("moved")).unwrap();
            symlink(at("secret"), at("out")).unwrap();
            way(&place, b"newer", true).unwrap();
            assert_eq!(
                (text(&at("secret/run.json")), text(&at("moved/run.json"))),
                ("precious".into(), "newer".into())
            );
            fs::remove_file(at("out")).unwrap();
            fs::rename(at("moved"), at("out")).unwrap();
            fs::remove_file(at("out/run.json")).unwrap();
        }
    }
    // What is added to is the very file that was looked at, or none.
    fs::write(at("out/log"), "1").unwrap();
    let (place, none) = (Place::find(&at("out/log")).unwrap(), Place::find(&at("out/none")).unwrap());
    for name in ["out/log", "out/none"] {
        let _ = fs::remove_file(at(name));
        symlink(at("secret/run.json"), at(name)).unwrap();
    }
    assert!(place.append(b"2").is_err() && none.append(b"2").is_err() && none.create_new(Mode::RUSR).is_err());
    assert_eq!(text(&at("secret/run.json")), "precious");
}

#[test]
fn a_link_that_another_user_made_is_followed_nowhere_on_a_path() {
    let (directory, file) = base("run.json");
    let at = |name: &str| directory.path().join(name);
    fs::write(&file, "old").unwrap();
    symlink("latest", at("ours")).unwrap();
    for target in [file.as_path(), Path::new("/dev/null"), directory.path(), Path::new("nothing/yet")] {
        symlink(target, at("latest")).unwrap();
        if lchown(at("latest"), Some(STRANGER), None).is_err() {
            return skipped("only root can give a link to another user");
        }
        for named in ["latest", "latest/run.json", "ours", "ours/run.json"] {
            let message = Place::find(&at(named)).unwrap_err().to_string();
            assert!(message.contains("another user"), "{named}: {message}");
        }
        assert!(Directory::make(&at("ours/new")).is_err() && Directory::open(&at("latest")).is_err());
        // Its own name is the directory's.
        assert_eq!(Place::entry(&at("latest")).unwrap().kind(), Kind::Other);
        Place::entry(&at("latest")).unwrap().remove().unwrap();
    }
    assert_eq!(text(&file), "old");
}

#[test]
fn nothing_is_added_to_what_a_stranger_put_into_a_directory_of_all() {
    let (directory, path) = base("log");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let append = || Place::find(&path).and_then(|place| place.append(b"line\n"));
    append().unwrap();
    append().unwrap();
    assert_eq!(text(&path), "line\nline\n");
    // A second name of a file that is elsewhere.
    fs::hard_link(&path, directory.path().join("elsewhere")).unwrap();
    assert_eq!(append().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    fs::remove_file(directory.path().join("elsewhere")).unwrap();
    append().unwrap();
    if std::os::unix::fs::chown(&path, Some(STRANGER), None).is_err() {
        return skipped("only root can give a file to another user");
    }
    assert_eq!(append().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    // Replaced, it is theirs no more.
    Place::find(&path).unwrap().write(b"ours", true).unwrap();
    assert_eq!(
        (text(&path).as_str(), fs::metadata(&path).unwrap().uid()),
        ("ours", rustix::process::geteuid().as_raw())
    );
    // In a directory of one's own a file may be another's.
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(&path, Some(STRANGER), None).unwrap();
    append().unwrap();
}

#[test]
fn pipes_devices_and_open_files_are_written_to_as_they_are() {
    let (directory, path) = base("pipe");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || text(&path)
    });
    let place = Place::find(&path).unwrap();
    assert_eq!(place.kind(), Kind::Other);
    place.write(b"through", true).unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    // One that nobody reads, or no more, is not waited for without end.
    let vain = || Place::find(&path).unwrap().append(&[b'x'; 1 << 20]).unwrap_err().to_string();
    assert!(vain().contains("has no reader"));
    let idle = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    assert!(vain().contains("takes nothing"));
    drop(idle);
    Place::find(Path::new("/dev/null")).unwrap().write(b"away", true).unwrap();
    // As /dev/stdout leads to it: a pipe without a name, and a file.
    let open = |file: &OwnedFd| Place::find(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd()))).unwrap();
    let (read, write) = rustix::pipe::pipe().unwrap();
    open(&write).write(b"piped", true).unwrap();
    drop(write);
    let mut heard = String::new();
    File::from(read).read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "piped");
    let log = directory.path().join("log");
    fs::write(&log, "before\n").unwrap();
    let file: OwnedFd = File::options().append(true).open(&log).unwrap().into();
    assert_eq!(open(&file).kind(), Kind::Other);
    open(&file).write(b"after\n", true).unwrap();
    assert_eq!(text(&log), "before\nafter\n");
}

#[test]
fn a_line_that_was_cut_off_stays_alone_and_one_that_finds_no_room_is_taken_back() {
    let (directory, path) = base("log");
    let append = |text: &[u8]| Place::find(&path).and_then(|place| place.append(text)).map_err(|error| error.kind());
    let mount = |words: &[&str]| Command::new(words[0]).args(&words[1..]).arg(directory.path()).output();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=16k", "x"]).is_ok_and(|output| output.status.success()) {
        return skipped("no file system can be mounted here");
    }
    fs::write(&path, "whole\ntor").unwrap();
    let came = [append(b"next\n"), append(&[b'x'; 1 << 16]), append(b"last\n")];
    let left = text(&path);
    mount(&["umount", "-l"]).unwrap();
    assert_eq!((came, &*left), ([Ok(()), Err(io::ErrorKind::StorageFull), Ok(())], "whole\ntor\nnext\nlast\n"));
}

#[test]
fn what_is_missing_or_no_directory_is_told_with_the_call() {
    let (directory, path) = base("file");
    fs::write(&path, "").unwrap();
    let error = |path: PathBuf| Place::find(&path).unwrap_err();
    assert_eq!(error(directory.path().join("nowhere/run")).kind(), io::ErrorKind::NotFound);
    assert_eq!(error(path.join("run")).kind(), io::ErrorKind::NotADirectory);
    let long = error(directory.path().join("x".repeat(300)).join("run"));
    assert_eq!(crate::call::failed(&long), Some("openat"), "{long}");
    for (path, kind) in [(directory.path(), Kind::Directory), (&path, Kind::File), (Path::new("/"), Kind::Directory)] {
        assert_eq!(Place::find(path).unwrap().kind(), kind, "{}", path.display());
    }
    let inner = Directory::open(directory.path()).unwrap().make_below("inner").unwrap();
    inner.entry(OsStr::new("a")).unwrap().write(b"a", false).unwrap();
    inner.entry(OsStr::new("a")).unwrap().rename_to(&Place::entry(&directory.path().join("b")).unwrap()).unwrap();
    assert_eq!(text(&directory.path().join("b")), "a");
    Directory::open(directory.path()).unwrap().remove_below("inner").unwrap();
    assert!(!directory.path().join("inner").exists());
}
