//! Whoever is killed on the way to a place leaves nothing there, and another user there has none of his bytes executed in its place.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hostmark_launch::program::Programs;
use hostmark_launch::supervise::Ending;
use hostmark_launch::transport::Transport;

use super::spot::Spot;
use super::ssh::{over_ssh, sessions};
use super::{says, terms};
use crate::skip::skipped;
use crate::sshd::Options;

/// How many are killed, each a little later than the one before.
const KILLED: usize = 50;
/// What is copied takes some time.
const BYTES: usize = 4 << 20;

#[test]
fn whoever_is_killed_while_it_is_copied_leaves_nothing() {
    let spot = Spot::behind("{ dd bs=1 count=6000 2>/dev/null; kill -9 0; } | sh");
    assert!(spot.start_file("/bin/cat".as_ref(), &[], terms(Ending::Killed)).is_err());
    assert_eq!(fs::read_dir(spot.temporary.path()).unwrap().count(), 0);
}

/// How long it takes to start a program there.
#[expect(clippy::disallowed_methods, reason = "tells when one may be killed; nothing is measured with it")]
fn duration(place: &Transport, programs: &Programs) -> Duration {
    let begin = Instant::now();
    drop(place.start(programs, &[], terms(Ending::Killed)).unwrap());
    begin.elapsed()
}

/// A place to which this happens at one of so many moments while a program is started there.
fn at_moment(place: &Transport, moment: usize, duration: Duration, happens: &str) -> Transport {
    let Transport::Command(words) = place else { panic!() };
    let seconds = duration.as_secs_f64() * moment as f64 / KILLED as f64;
    let script = format!("(sleep {seconds}; {happens}) & exec \"$0\" \"$@\"");
    Transport::Command([&["sh", "-c", &script].map(OsString::from)[..], words].concat())
}

#[test]
fn a_shell_that_is_ended_at_any_moment_leaves_nothing() {
    for happens in ["kill -TERM 0", "kill -HUP 0", "kill -INT 0; kill -TERM 0", "kill -KILL 0"] {
        let spot = Spot::behind("exec sh");
        let programs = Programs::of(&spot.large("cat", BYTES), false, spot.outside.path());
        let duration = duration(&spot.place, &programs);
        for moment in 0..KILLED {
            let place = at_moment(&spot.place, moment, duration, happens);
            // Where it was fast, it is ended afterwards.
            let started = place.start(&programs, &[], terms(Ending::Killed));
            drop(started);
            let left: Vec<_> = fs::read_dir(spot.temporary.path()).unwrap().map(|file| file.unwrap()).collect();
            // Between two calls of the system there is an empty file, which the next one removes.
            let is_killed = happens.contains("KILL");
            let is_empty =
                left.iter().all(|file| file.metadata().unwrap().len() == 0 && file.file_type().unwrap().is_file());
            assert!(left.is_empty() || is_killed && is_empty && left.len() == 1, "{happens} {moment}: {left:?}");
        }
        says(&mut spot.start("echo begun", terms(Ending::Killed)), "begun");
        assert_eq!(fs::read_dir(spot.temporary.path()).unwrap().count(), 0, "{happens}");
    }
}

#[test]
fn only_empty_files_of_our_own_name_are_removed() {
    let spot = Spot::behind("exec sh");
    let name = |letter: &str| spot.temporary.path().join(format!("hostmark-{}", letter.repeat(32)));
    fs::write(name("a"), "").unwrap();
    fs::write(name("b"), "not empty").unwrap();
    fs::create_dir(name("c")).unwrap();
    // Of one that is ours and empty, too.
    let linked = spot.outside.path().join("empty");
    fs::write(&linked, "").unwrap();
    std::os::unix::fs::symlink(linked, name("d")).unwrap();
    fs::write(spot.temporary.path().join("hostmark-e"), "").unwrap();
    says(&mut spot.start("echo begun", terms(Ending::Killed)), "begun");
    assert!(!name("a").exists());
    for letter in ["b", "c", "d"] {
        assert!(name(letter).symlink_metadata().is_ok(), "{letter}");
    }
    for file in [name("b"), name("d"), spot.temporary.path().join("hostmark-e")] {
        fs::remove_file(file).unwrap();
    }
    fs::remove_dir(name("c")).unwrap();
}

#[test]
fn ssh_that_is_killed_at_any_moment_leaves_no_file_and_no_session() {
    let Some((spot, server)) = over_ssh(&Options::default()) else {
        return skipped("there is no sshd here that lets this user in");
    };
    let programs = Programs::of(&spot.large("cat", BYTES), false, spot.outside.path());
    let duration = duration(&spot.place, &programs);
    for moment in 0..KILLED {
        let place = at_moment(&spot.place, moment, duration, "kill -KILL 0");
        drop(place.start(&programs, &[], terms(Ending::Killed)));
    }
    assert!(spot.is_cleared());
    assert!((0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        sessions(&server).is_empty()
    }));
}

/// Set where this test's program is the attacker: the directory that it watches.
const ATTACKS: &str = "HOSTMARK_TEST_ATTACKS";
const NOBODY: u32 = 65534;
/// Programs that are copied beside each attacker.
const COPIED: usize = 20;
const OURS: &str = "hostmark-";

/// Whoever finds a name of ours in the directory puts a program of his own there: in the place of the file, or where that is not
/// allowed, of the whole directory. Ends with who started it.
fn attack(base: &Path) -> ! {
    let (work, parent) = (base.with_extension("work"), rustix::process::getppid());
    // What the victim writes at its begin leaves the rest.
    let text = format!("{}id -u >> {}\nexec sleep 9\n", "\n".repeat(64), base.with_extension("ran").display());
    // All but its name is made before.
    let made = |turn: usize| {
        let own = work.join(format!("own-{turn}"));
        fs::create_dir(&own).unwrap();
        fs::write(own.join("ready"), &text).unwrap();
        for path in [&own, &own.join("ready")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        own
    };
    let (mut own, mut taken) = (made(0), Vec::new());
    while rustix::process::getppid() == parent {
        let names = fs::read_dir(base).into_iter().flatten().flatten().map(|entry| entry.file_name());
        for name in names.filter(|name| name.to_string_lossy().starts_with(OURS)) {
            if taken.contains(&name) {
                continue;
            }
            let is_file_taken = fs::rename(own.join("ready"), base.join(&name)).is_ok();
            if !is_file_taken && fs::rename(own.join("ready"), own.join(&name)).is_ok() {
                let _ = fs::rename(base, base.with_extension(taken.len().to_string()));
                let _ = fs::rename(&own, base);
            }
            taken.push(name);
            own = made(taken.len());
        }
    }
    std::process::exit(0);
}

struct Attacker(Child);

impl Attacker {
    /// Watches a directory, in which there is a file that it is to take first.
    fn of(base: &Path) -> Attacker {
        let name = "places::killed::who_may_rename_there_has_nothing_of_his_own_executed";
        let mut command = Command::new("/proc/self/exe");
        command.args([name, "--exact"]).env(ATTACKS, base).uid(NOBODY).gid(NOBODY);
        Attacker(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn made(path: PathBuf, mode: u32, owner: Option<u32>) -> PathBuf {
    fs::create_dir(&path).unwrap();
    chown(&path, owner, owner).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn who_may_rename_there_has_nothing_of_his_own_executed() {
    if let Some(base) = std::env::var_os(ATTACKS) {
        attack(base.as_ref());
    }
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can take the part of another user");
    }
    let all = tempfile::tempdir().unwrap();
    fs::set_permissions(all.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Whose they are and who writes to them: the directory itself, and the one above it.
    let (open, closed, theirs) = ((0o777, None), (0o755, None), (0o755, Some(NOBODY)));
    for (index, (base, above)) in
        [(open, closed), (theirs, closed), (closed, open), (closed, theirs), ((0o775, None), theirs)].iter().enumerate()
    {
        let above = made(all.path().join(index.to_string()), above.0, above.1);
        let base = made(above.join("base"), base.0, base.1);
        made(above.join("base.work"), 0o777, None);
        let mut spot = Spot::here();
        spot.place = Transport::Command(vec!["env".into(), format!("TMPDIR={}", base.display()).into()]);
        let bait = base.join(format!("{OURS}bait"));
        fs::write(&bait, "").unwrap();
        let attacker = Attacker::of(&base);
        let is_taken = || fs::read(&bait).is_ok_and(|bytes| !bytes.is_empty());
        let is_reached = (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_taken()
        });
        if !is_reached {
            return skipped("another user does not come to the directory for temporary files");
        }
        let ran = base.with_extension("ran");
        for turn in 0..COPIED {
            let started = spot.start_file(&spot.program("echo ours"), &[], terms(Ending::Killed));
            assert!(!ran.exists(), "{index} {turn}: the attacker's program was executed");
            says(&mut started.unwrap_or_else(|error| panic!("{error}")).process, "ours");
        }
        drop(attacker);
    }
}
