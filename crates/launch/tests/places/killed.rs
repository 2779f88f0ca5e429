//! Steps that may fail on the way to a place, each with its sentence, and whoever is killed on that way.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, Terms};
use hostmark_launch::transport::{Transport, TransportError};

use super::{Spot, over_ssh, says, sessions, terms};
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

#[test]
fn what_is_said_before_the_shell_begins_is_dropped() {
    let spot = Spot::behind("yes Welcome | head -n 2000; printf 'last login: '; exec sh");
    says(&mut spot.start("echo begun", terms(Ending::Killed)), "begun");
    let refusal = Spot::behind("yes Welcome | head -n 20000; exec sh").refusal();
    assert!(refusal.contains("prints more than 64 KiB before its shell starts"), "{refusal}");
    let refusal = Spot::behind("exec cat /dev/zero").refusal();
    assert!(refusal.contains("prints more than 64 KiB before its shell starts"), "{refusal}");
}

#[test]
fn what_leads_to_no_shell_is_reported_in_one_sentence() {
    let refusal = Spot::behind("echo 'sh: no such file' >&2; exit 127").refusal();
    assert!(
        refusal.contains("has no shell (exit status: 127: sh: no such file); it must lead to where there is sh"),
        "{refusal}"
    );
    // Some say it where their output is expected.
    let refusal = Spot::behind("echo 'exec: \"sh\": not found'; exit 126").refusal();
    assert!(refusal.contains("has no shell (exit status: 126: exec: \"sh\": not found)"), "{refusal}");
    // What is typed at a terminal comes back.
    let refusal = Spot::behind("exec cat").refusal();
    assert!(refusal.contains("opens a terminal") && refusal.contains("leave out -t"), "{refusal}");
    let missing = Transport::Command(vec!["/nonexistent/ssh".into(), "host".into()]);
    let cat = Programs::of("/bin/cat".as_ref(), false, "/nonexistent".as_ref());
    let error = missing.start(&cat, &[], terms(Ending::Killed)).unwrap_err();
    assert!(matches!(error, TransportError::NotStarted { .. }), "{error}");
    let expected = "cannot start '/nonexistent/ssh' to reach '/nonexistent/ssh host': No such file or directory";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn a_program_of_which_only_a_part_arrives_is_not_started() {
    let spot = Spot::behind("dd bs=1 count=20000 2>/dev/null | sh; echo ended");
    let error = spot.start_file("/bin/cat".as_ref(), &[], terms(Ending::Killed)).unwrap_err().to_string();
    assert!(error.contains(" bytes of the program") && error.contains("free space there"), "{error}");
}

/// Behind a shell that finds a tool of this text first.
fn with_tool(name: &str, text: &str) -> Spot {
    let mut spot = Spot::behind("PATH=$0:$PATH; export PATH; exec \"$@\"");
    let directory = spot.outside.path().join("tools");
    fs::create_dir(&directory).unwrap();
    fs::rename(spot.tool(name, text), directory.join(name)).unwrap();
    // In the place of the last word, which is this script's own name.
    let Transport::Command(words) = &mut spot.place else { panic!() };
    *words.last_mut().unwrap() = directory.into();
    spot
}

fn error_of(spot: &Spot) -> TransportError {
    spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err()
}

#[test]
fn the_program_that_is_installed_there_is_used_if_it_is_the_same() {
    let text = "echo \"$0 $1\"";
    for (installed, has_copied) in [(text, false), ("echo another", true), ("", true)] {
        let spot = with_tool("hostmark", installed);
        let mut started = spot.start_file(&spot.program(text), &["word"], terms(Ending::Killed)).unwrap();
        assert_eq!(started.has_copied, has_copied, "{installed}");
        says(&mut started.process, "/proc/self/fd/9 word");
        let programs = Programs::of(&spot.program(text), true, spot.outside.path());
        assert_eq!(started.digest, Some(programs.for_machine(std::env::consts::ARCH).unwrap().digest));
    }
}

#[test]
fn an_installed_program_that_is_another_one_by_now_is_not_started() {
    let text = "echo ours";
    // Who is asked for the digest has told it by the time that another file has the name.
    let spot = with_tool("hostmark", text);
    let tools = spot.outside.path().join("tools");
    let digest = "PATH=${PATH#*:} command sha256sum; mv \"${0%/*}/other\" \"${0%/*}/hostmark\" 2>&-";
    fs::rename(spot.tool("sha256sum", digest), tools.join("sha256sum")).unwrap();
    fs::rename(spot.tool("other", "echo theirs"), tools.join("other")).unwrap();
    let mut started = spot.start_file(&spot.program(text), &[], terms(Ending::Killed)).unwrap();
    assert!(!started.has_copied && !tools.join("other").exists());
    says(&mut started.process, "ours");

    // One to which others may write is none.
    let spot = with_tool("hostmark", text);
    let file = spot.outside.path().join("tools/hostmark");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o775)).unwrap();
    let mut started = spot.start_file(&spot.program(text), &[], terms(Ending::Killed)).unwrap();
    assert!(started.has_copied);
    says(&mut started.process, "ours");
}

#[test]
fn a_machine_of_another_kind_is_reported_with_the_file_that_it_needs() {
    let other = if std::env::consts::ARCH == "x86_64" { "aarch64" } else { "x86_64" };
    let spot = with_tool("uname", &format!("echo {other}"));
    let text = error_of(&spot).to_string();
    let file = spot.outside.path().join(format!("hostmark-{other}-linux-musl"));
    let needs = format!("is a {other} machine, and there is no {} here", file.display());
    assert!(text.contains(&needs) && text.contains(&format!("--target {other}-unknown-linux-musl`")), "{text}");
    for machine in ["i686", "../../etc/passwd", "", "a b", "$(id)"] {
        let spot = with_tool("uname", &format!("echo '{machine}'"));
        let error = error_of(&spot);
        assert!(matches!(error, TransportError::UnknownMachine { .. }), "{error}");
        assert!(error.to_string().contains("hostmark runs on x86_64 and aarch64"), "{error}");
    }
}

#[test]
fn data_that_a_connection_alters_is_reported_before_it_is_executed() {
    let other = "0".repeat(64);
    let spot = with_tool("sha256sum", &format!("echo '{other}  -'"));
    let ran = spot.outside.path().join("ran");
    let own = spot.program(&format!("echo > {}", ran.display()));
    let error = spot.start_file(&own, &[], terms(Ending::Killed)).unwrap_err();
    assert!(matches!(&error, TransportError::DigestDiffers { there, .. } if *there == other), "{error}");
    assert!(!ran.exists());
}

/// Behind a shell that finds these tools alone.
fn with_tools(tools: &[&str]) -> Spot {
    let mut spot = Spot::behind("PATH=$0; export PATH; exec \"$@\"");
    let directory = spot.outside.path().join("tools");
    fs::create_dir(&directory).unwrap();
    for tool in tools {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", tool]).output().unwrap().stdout;
        symlink(String::from_utf8(found).unwrap().trim(), directory.join(tool)).unwrap();
    }
    let Transport::Command(words) = &mut spot.place else { panic!() };
    *words.last_mut().unwrap() = directory.into();
    spot
}

#[test]
fn a_place_needs_six_tools_and_the_one_that_is_missing_is_named() {
    let needed = ["sh", "uname", "head", "wc", "chmod", "rm", "ls"];
    // The program itself needs one more.
    with_tools(&[&needed[..], &["cat"]].concat()).works();
    for missing in &needed[2..] {
        let tools: Vec<_> = needed.into_iter().filter(|tool| tool != missing).collect();
        let text = error_of(&with_tools(&tools)).to_string();
        let end = format!("lacks {missing}, without which no program can be copied there; install it");
        assert!(text.ends_with(&end), "{text}");
    }
}

#[test]
fn silence_is_reported_with_what_was_said_last() {
    let patience = Duration::from_millis(300);
    for (script, word) in [
        ("printf 'Password: '; exec sleep 1000", ": Password:; try"),
        ("printf 'host key?\\033[2J' >&2; exec sleep 1000", ": host key?[2J; try"),
        ("while :; do echo; sleep 0.1; done", "begun; try"),
        // What is told is more than a pipe takes.
        ("exec sleep 1000", "begun; try"),
    ] {
        let spot = Spot::behind(script);
        let programs = Programs::of(&spot.program("exit"), false, spot.outside.path());
        let argument = "x".repeat(200_000);
        let terms = Terms { ..terms(Ending::Awaited) };
        let error = spot.place.start_within(&programs, &[&argument], terms, patience).unwrap_err();
        assert!(matches!(error, TransportError::Silent { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn one_that_stands_still_after_it_has_answered_is_reported() {
    // It does as the script does, up to a word; then it says nothing, or without end.
    let begin =
        "read -r line; n=${line##*=}; say() { printf '\\nhostmark %s %s\\n' \"$n\" \"$*\"; }; say ready $(uname -m) -;";
    for (after, step) in [
        ("exec sleep 1000", "while it looked for a directory"),
        ("say room; exec sleep 1000", "while the program was copied"),
        ("say room; dd of=/dev/null 2>/dev/null", "while the program was copied"),
    ] {
        let spot = Spot::behind(&format!("{begin} {after}"));
        let programs = Programs::of(&spot.large("exit", 10_000), false, spot.outside.path());
        let error =
            spot.place.start_within(&programs, &[], terms(Ending::Killed), Duration::from_millis(300)).unwrap_err();
        assert!(
            matches!(&error, TransportError::Silent { step: stopped_at, .. } if stopped_at.to_string() == step),
            "{error}"
        );
    }
    for (after, says) in [
        ("while :; do say tried x; done", "answers 'tried x'"),
        ("say nonsense; cat", "answers 'nonsense'"),
        ("say copied; cat", "answers 'copied'"),
        ("say room; say copied x; cat", "another program than was sent (SHA-256 x,"),
        ("say room; exit 5", "ended while the program was copied (exit status: 5)"),
        ("say room; exec sleep 1000 1>&-", "ended while the program was copied (its output was closed)"),
        ("exit 6", "ended while it looked for a directory (exit status: 6)"),
    ] {
        let refusal = Spot::behind(&format!("{begin} {after}")).refusal();
        assert!(refusal.contains(says), "{refusal}");
    }
}

#[test]
fn nothing_that_comes_from_there_fills_the_screen_or_steers_it() {
    let begin = "read -r line; n=${line##*=}; long=$(head -c 50000 /dev/zero | tr '\\0' x)
        say() { printf '\\nhostmark %s ' \"$n\"; printf \"$*\\n\" \"$long\"; }; machine=$(uname -m);";
    for answers in [
        "say '\\033[2J%s'",
        "say 'ready \\033[2J%s'",
        "say 'ready %s \\033'; exec cat",
        "say \"ready $machine %s\"; for i in 1 2 3 4 5 6; do say 'tried \\033[2J%s'; done; say nowhere",
        "say \"ready $machine -\"; say 'lacks \\033[2J%s'",
        "say \"ready $machine -\"; say room; say 'short \\033[2J%s \\007%s'",
        "say \"ready $machine -\"; say room; say 'short 1 \\007%s'",
        "say \"ready $machine -\"; say room; say 'copied \\033[2J%s'",
        "printf '\\033[2J%s' $long >&2; exit 3",
        "printf '\\033[2J%s\\n' $long; exit 3",
        "printf '\\xff\\377\\200\\n'; exit 3",
    ] {
        let mut spot = Spot::here();
        let script = spot.tool("script", &format!("{begin} {answers}; cat > /dev/null"));
        spot.place = Transport::Command(vec![script.into()]);
        let refusal = spot.refusal();
        assert!(refusal.len() < 4000 && !refusal.chars().any(char::is_control), "{answers}: {refusal}");
    }
}

#[test]
fn a_request_to_stop_is_received_on_the_way() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    rustix::io::write(&write, b"x").unwrap();
    let spot = Spot::behind("exec sleep 1000");
    let terms = Terms { stop: Some(Rc::new(read)), ..terms(Ending::Killed) };
    let error = spot.start_file(&spot.program("exit"), &[], terms).unwrap_err();
    assert!(matches!(error, TransportError::Stopped), "{error}");
}
