//! What holds here and behind a command alike, also behind commands that lead into a namespace, to another user, or to places whose
//! root directory is their own.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use hostmark_launch::supervise::{Ending, ReadOutcome, Terms};
use hostmark_launch::transport::TransportError;

use super::{SOON, Spot, says, terms};
use crate::skip::skipped;

/// A root directory of one's own that is the usual one but for /tmp: there what was made outside is not seen.
const APART: &str =
    r#"mount --rbind / "$0" && mount --bind "$1" "$0/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;
/// Each of these is a test here and a test elsewhere.
macro_rules! at_both {
    ($($name:ident)*) => {
        mod here {
            $(#[test] fn $name() { super::$name(&super::Spot::here()); })*
        }
        mod behind_a_command {
            $(#[test] fn $name() {
                match super::Spot::apart(super::APART) {
                    Some(spot) => super::$name(&spot),
                    None => super::skipped("no user and mount namespace can be made here"),
                }
            })*
        }
    };
}

at_both! {
    lines_come_one_by_one_and_then_the_end
    arguments_arrive_as_they_are
    a_program_in_the_machines_own_language_runs
    nothing_has_a_name_while_it_runs
    files_are_made_as_the_caller_has_it
    who_fails_says_why
    silence_times_out_and_nothing_is_left
    who_is_asked_to_stop_may_say_so
    who_is_reported_nothing_has_an_empty_input
    a_request_to_stop_is_received
    a_program_that_is_not_there_is_an_error
}

fn lines_come_one_by_one_and_then_the_end(spot: &Spot) {
    let mut process = spot.start("read -r a; echo \"got $a\"; read -r b; echo \"$b\"; exit 3", terms(Ending::Killed));
    process.send("one\n").unwrap();
    says(&mut process, "got one");
    process.send_last("two\n").unwrap();
    says(&mut process, "two");
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!(process.end().unwrap().code(), Some(3));
}

fn arguments_arrive_as_they_are(spot: &Spot) {
    let arguments = ["a b", "", "it's", "\"$HOME\" `id` \\", "-n", "two\nlines", "}", "字"];
    let program = spot.program("for a in \"$@\"; do printf '<%s>' \"$a\"; done");
    let mut process = spot.start_file(&program, &arguments, terms(Ending::Killed)).unwrap().process;
    assert_eq!(process.drain(SOON, 1000).unwrap(), ReadOutcome::Closed);
    let expected: String = arguments.iter().map(|argument| format!("<{argument}>")).collect();
    assert_eq!(String::from_utf8(process.take_buffered()).unwrap(), expected);
}

fn a_program_in_the_machines_own_language_runs(spot: &Spot) {
    let mut process = spot.start_file("/bin/cat".as_ref(), &["-"], terms(Ending::Killed)).unwrap().process;
    process.send("hostmark\n").unwrap();
    says(&mut process, "hostmark");
    process.send_last("and no more").unwrap();
    assert_eq!(process.drain(SOON, 1000).unwrap(), ReadOutcome::Closed);
    assert_eq!(process.take_buffered(), b"and no more");
}

fn nothing_has_a_name_while_it_runs(spot: &Spot) {
    let mut process = spot.start("echo begun; read -r a", terms(Ending::Killed));
    says(&mut process, "begun");
    assert_eq!(fs::read_dir(spot.temporary.path()).unwrap().count(), 0);
}

fn files_are_made_as_the_caller_has_it(spot: &Spot) {
    let ours = Command::new("sh").args(["-c", "umask"]).output().unwrap().stdout;
    let mut process = spot.start("umask", terms(Ending::Killed));
    says(&mut process, String::from_utf8(ours).unwrap().trim());
}

fn who_fails_says_why(spot: &Spot) {
    let mut process = spot.start("echo first >&2; echo why >&2; exit 5", terms(Ending::Killed));
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(5), Some("why")));
}

fn silence_times_out_and_nothing_is_left(spot: &Spot) {
    let mut process = spot.start("sleep 1000 & echo; sleep 1000", terms(Ending::Killed));
    says(&mut process, "");
    assert_eq!(process.read_line_within(Duration::from_millis(20)).unwrap(), ReadOutcome::TimedOut);
    let group = rustix::process::Pid::from_raw(process.id() as i32).unwrap();
    drop(process);
    // Orphans of it are reaped by init in their own time.
    for _ in 0..2000 {
        if rustix::process::test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a process of the group is left");
}

fn who_is_asked_to_stop_may_say_so(spot: &Spot) {
    let script = "trap 'echo stopped >&2; exit 6' INT TERM; echo; while :; do sleep 0.01; done";
    let mut process = spot.start(script, terms(Ending::Asked(SOON)));
    says(&mut process, "");
    assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(6), Some("stopped")));
}

fn who_is_reported_nothing_has_an_empty_input(spot: &Spot) {
    let mut process = spot.start("cat; echo end", Terms { has_input: false, ..terms(Ending::Killed) });
    says(&mut process, "end");
    assert!(process.send("").is_err());
}

fn a_request_to_stop_is_received(spot: &Spot) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let mut process = spot.start("echo; sleep 1000", Terms { stop: Some(Rc::new(read)), ..terms(Ending::Killed) });
    says(&mut process, "");
    rustix::io::write(&write, b"x").unwrap();
    assert_eq!(process.read_line_within(Duration::MAX).unwrap(), ReadOutcome::Stopped);
}

fn a_program_that_is_not_there_is_an_error(spot: &Spot) {
    let missing = spot.outside.path().join("nothing");
    let error = spot.start_file(&missing, &[], terms(Ending::Killed)).unwrap_err();
    let TransportError::Io(error) = error else { panic!("{error}") };
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn every_kind_of_shell_reads_the_script() {
    for shell in ["dash", "bash", "bash --posix", "busybox sh"] {
        let word = shell.split(' ').next().unwrap();
        if !Command::new("sh").args(["-c", &format!("command -v {word}")]).output().unwrap().status.success() {
            skipped(&format!("there is no {word} here"));
            continue;
        }
        let spot = Spot::behind(&format!("exec {shell}"));
        let mut process = spot.start("read -r a; echo \"$a\"", terms(Ending::Killed));
        process.send_last("told\n").unwrap();
        assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Line("told".into()), "{shell}");
    }
}

fn succeeds(words: &[&str]) -> bool {
    let status = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A network namespace that has a name, until it is dropped.
struct Network(String);

impl Network {
    fn new() -> Option<Network> {
        let name = format!("hostmark-test-{}", std::process::id());
        succeeds(&["sudo", "-n", "ip", "netns", "add", &name]).then_some(Network(name))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        succeeds(&["sudo", "-n", "ip", "netns", "del", &self.0]);
    }
}

#[test]
fn sudo_leads_into_a_network_namespace() {
    let Some(network) = Network::new() else {
        return skipped("no network namespace can be made here by sudo and ip");
    };
    let spot = Spot::of(|temporary| {
        let temporary = format!("TMPDIR={temporary}");
        let words = ["sudo", "-n", "env", &temporary, "ip", "netns", "exec", &network.0];
        words.map(str::to_owned).to_vec()
    });
    spot.works();
}

/// A process with namespaces of its own, which ends when it is dropped.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nsenter_leads_into_another_processs_namespaces() {
    let words = ["-r", "--mount", "--net", "sh", "-c", "echo; exec cat"];
    let Ok(holder) = Command::new("unshare").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return skipped("there is no unshare here");
    };
    let mut holder = Holder(holder);
    let mut begun = [0];
    if std::io::Read::read(holder.0.stdout.as_mut().unwrap(), &mut begun).unwrap() == 0 {
        return skipped("no user, mount and network namespaces can be made here");
    }
    let target = holder.0.id().to_string();
    let enter = ["nsenter", "--preserve-credentials", "-t", &target, "-U", "-m", "-n"];
    if !succeeds(&[&enter[..], &["true"]].concat()) {
        return skipped("no namespaces can be entered here by nsenter");
    }
    let spot = Spot::of(|temporary| {
        let temporary = format!("TMPDIR={temporary}");
        ["env", &temporary].into_iter().chain(enter).map(str::to_owned).collect()
    });
    spot.works();
}

const NO_NAMESPACE: &str = "no user and mount namespace can be made here";

/// A root directory of one's own, where nothing in /tmp is executed, and what is in /var/tmp is seen outside.
const WITHOUT_TMP: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o noexec none "$0/tmp" &&
    mount --bind "$1" "$0/var/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;
/// The same, where nothing is executed in any of them.
const WITHOUT_ANY: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o noexec none "$0/tmp" &&
    mount -t tmpfs -o noexec none "$0/var/tmp" && mount -t tmpfs -o noexec none "$0/dev/shm" &&
    root=$0 && shift && exec chroot "$root" "$@""#;

#[test]
fn a_directory_whose_files_are_not_executed_is_passed_over() {
    let Some(spot) = Spot::apart(WITHOUT_TMP) else { return skipped(NO_NAMESPACE) };
    let mut process = spot.start("readlink /proc/self/fd/9", terms(Ending::Killed));
    let ReadOutcome::Line(path) = process.read_line_within(SOON).unwrap() else { panic!() };
    assert!(path.starts_with("/var/tmp/hostmark-") && path.ends_with(" (deleted)"), "{path}");
    let Some(nowhere) = Spot::apart(WITHOUT_ANY) else { return skipped(NO_NAMESPACE) };
    let refusal = nowhere.refusal();
    let expected = "has no directory that takes a program and executes it; set TMPDIR there";
    assert!(refusal.contains(expected) && refusal.contains("/var/tmp (no file can be executed: "), "{refusal}");
}

/// The same, where others may rename files above one directory, which has a link, and in the only other one.
const OPEN: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o mode=777 none "$0/tmp" &&
    mount -t tmpfs -o mode=775 none "$0/var/tmp" && mount -t tmpfs -o noexec none "$0/dev/shm" &&
    mkdir -p "$0/tmp/open/own" && chmod 757 "$0/tmp/open" && ln -s ../../tmp/open/own "$0/dev/shm/link" &&
    root=$0 && shift && exec env TMPDIR=/dev/shm/link chroot "$root" "$@""#;

#[test]
fn a_directory_in_which_others_may_rename_is_refused_with_what_to_do() {
    let Some(spot) = Spot::apart(OPEN) else { return skipped(NO_NAMESPACE) };
    let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
    let TransportError::Nowhere { tried, .. } = &error else { panic!("{error}") };
    let [link, temporary, variable, shared] = &tried[..] else { panic!("{tried:?}") };
    assert_eq!(link, "/tmp/open/own (others may rename files in /tmp)");
    assert_eq!(temporary, "/tmp (others may rename files in /tmp)");
    assert_eq!(variable, "/var/tmp (others may rename files in /var/tmp)");
    assert!(shared.starts_with("/dev/shm (no file can be executed: "), "{shared}");
    assert!(error.to_string().contains("in which and above which nobody else may rename files"), "{error}");
}

/// The same, where /tmp has little room, and what is in /var/tmp is seen outside.
const WITH_LITTLE_TMP: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o size=256k none "$0/tmp" &&
    mount --bind "$1" "$0/var/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;
/// The same, where each of them has little room, and /tmp none at all.
const WITH_LITTLE: &str = r#"mount --rbind / "$0" && mount -t tmpfs -o size=64k none "$0/tmp" &&
    mount -t tmpfs -o size=256k none "$0/var/tmp" && mount -t tmpfs -o size=256k none "$0/dev/shm" &&
    { head -c 1000000 /dev/zero > "$0/tmp/full" 2>&1 || :; } && root=$0 && shift && exec chroot "$root" "$@""#;
/// The same, where nothing can be written but in /dev/shm, which is seen outside.
const READ_ONLY: &str = r#"mount --rbind / "$0" && mount --bind "$1" "$0/dev/shm" && mount -o remount,bind,ro "$0" && root=$0 && shift && exec chroot "$root" "$@""#;
/// A root directory that has nothing in it but what the test put there, and /tmp, which is seen outside.
const BARE: &str = r#"mount --bind "$1" "$0/tmp" && mount --rbind /proc "$0/proc" && root=$0 && shift &&
    exec chroot "$root" "$@""#;
const BARE_WITHOUT_PROC: &str = r#"mount --bind "$1" "$0/tmp" && root=$0 && shift && exec chroot "$root" "$@""#;

/// The same with /proc, where /tmp has little room.
const BARE_WITH_LITTLE: &str = r#"mount -t tmpfs -o size=256k none "$0/tmp" && mount --rbind /proc "$0/proc" &&
    root=$0 && shift && exec chroot "$root" "$@""#;

/// Bytes that need more room than there is where there is little.
const MUCH: usize = 1 << 20;

#[test]
fn a_directory_without_room_is_passed_over() {
    let Some(spot) = Spot::apart(WITH_LITTLE_TMP) else { return skipped(NO_NAMESPACE) };
    let own = spot.large("readlink /proc/self/fd/9; head -c 20 /proc/self/fd/9 | wc -c", MUCH);
    let mut process = spot.start_file(&own, &[], terms(Ending::Killed)).unwrap().process;
    let ReadOutcome::Line(path) = process.read_line_within(SOON).unwrap() else { panic!() };
    assert!(path.starts_with("/var/tmp/hostmark-") && path.ends_with(" (deleted)"), "{path}");
    says(&mut process, "20");
    drop(process);

    let Some(spot) = Spot::apart(WITH_LITTLE) else { return skipped(NO_NAMESPACE) };
    let error = spot.start_file(&spot.large("exit", MUCH), &[], terms(Ending::Killed)).unwrap_err();
    let TransportError::Nowhere { tried, .. } = &error else { panic!("{error}") };
    assert_eq!(tried.len(), 3, "{tried:?}");
    assert!(tried[0].starts_with("/tmp (no file can be written: "), "{tried:?}");
    assert!(tried[1].starts_with(&format!("/var/tmp (no room for {} bytes: No space", own_size(&spot))), "{tried:?}");
    assert!(error.to_string().ends_with(&tried.join(", ")), "{error}");
}

fn own_size(spot: &Spot) -> u64 {
    fs::metadata(spot.outside.path().join("program")).unwrap().len()
}

#[test]
fn a_root_directory_that_cannot_be_written_is_passed_over() {
    let Some(spot) = Spot::apart(READ_ONLY) else { return skipped(NO_NAMESPACE) };
    let own = spot.program("readlink /proc/self/fd/9; touch /var/tmp/written || echo no");
    let mut process =
        spot.start_file(&own, &[], terms(Ending::Killed)).unwrap_or_else(|error| panic!("{error}")).process;
    let ReadOutcome::Line(path) = process.read_line_within(SOON).unwrap() else { panic!() };
    assert!(path.starts_with("/dev/shm/hostmark-"), "{path}");
    says(&mut process, "no");
}

/// A place below a root directory in which there is a shell and these programs of busybox; none where that cannot be.
fn bare(script: &str) -> Option<Spot> {
    let found = Command::new("sh").args(["-c", "command -v busybox"]).output().ok()?.stdout;
    let busybox = String::from_utf8(found).ok()?.trim().to_owned();
    // It has no libraries there.
    let needs_loader = fs::read(&busybox).ok()?.windows(8).take(4096).any(|bytes| bytes == b"/ld-linu");
    if needs_loader {
        return None;
    }
    let spot = Spot::apart(script)?;
    let root = spot.outside.path().join("root");
    for directory in ["bin", "tmp", "proc"] {
        fs::create_dir(root.join(directory)).unwrap();
    }
    fs::copy(busybox, root.join("bin/busybox")).unwrap();
    for program in PROGRAMS {
        symlink("busybox", root.join("bin").join(program)).unwrap();
    }
    Some(spot)
}

const NO_CONTAINER: &str = "no container can be made here from a static busybox and namespaces";
const PROGRAMS: [&str; 8] = ["sh", "uname", "head", "wc", "chmod", "rm", "ls", "cat"];

#[test]
fn a_container_needs_little_more_than_a_shell() {
    let Some(spot) = bare(BARE) else { return skipped(NO_CONTAINER) };
    spot.works();
    let left = fs::read_dir(spot.outside.path().join("root")).unwrap().map(|file| file.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["bin", "proc", "tmp"]);
}

#[test]
fn a_container_that_lacks_something_is_reported() {
    let Some(spot) = bare(BARE_WITHOUT_PROC) else { return skipped(NO_CONTAINER) };
    let refusal = spot.refusal();
    assert!(refusal.contains("lacks /proc") && refusal.ends_with("mount it"), "{refusal}");
}

#[test]
fn room_that_ends_while_the_program_is_copied_is_reported() {
    // Without /dev/zero it is not tried before whether there is room.
    let Some(spot) = bare(BARE_WITH_LITTLE) else { return skipped(NO_CONTAINER) };
    let error = spot.start_file(&spot.large("exit", MUCH), &[], terms(Ending::Killed)).unwrap_err();
    let TransportError::Short { taken, why, .. } = &error else { panic!("{error}") };
    assert!(taken.parse::<usize>().unwrap() < MUCH && why.starts_with(": "), "{error}");
}

#[test]
fn a_program_that_needs_libraries_does_not_begin_in_a_container_without_them() {
    let Some(spot) = bare(BARE) else { return skipped(NO_CONTAINER) };
    let mut started = spot.start_file("/bin/cat".as_ref(), &[], terms(Ending::Killed)).unwrap();
    assert!(!started.is_static);
    assert_eq!(started.process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(started.process.ends_within(SOON));
    assert_eq!(started.process.end().unwrap().code(), Some(127));
    let word = started.process.last_word().unwrap();
    assert!(word.ends_with("not found"), "{word}");
}
