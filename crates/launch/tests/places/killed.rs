//! Whoever is killed on the way to a place leaves nothing there.

use std::ffi::OsString;
use std::fs;
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
