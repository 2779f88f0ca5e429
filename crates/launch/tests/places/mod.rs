//! What is started here, and what is copied behind a command and started there: both are told, heard and ended alike, and
//! nothing is left of either.

mod both;
mod killed;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, Errors, Membership, ReadOutcome, Supervised, Terms};
use hostmark_launch::transport::{Started, Transport, TransportError, close_own_descriptor};
use tempfile::TempDir;

use crate::skip::skipped;
use crate::sshd::{Options, Sshd};

const SOON: Duration = Duration::from_secs(20);

fn terms(ending: Ending) -> Terms {
    Terms { group: Membership::Own, has_input: true, errors: Errors::Captured, ending, stop: None }
}

#[track_caller]
fn says(process: &mut Supervised, line: &str) {
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Line(line.into()));
}

/// A place, and what is seen of it from here.
pub struct Spot {
    pub place: Transport,
    /// Its directory for temporary files.
    pub temporary: TempDir,
    /// Where its root directory is, and the programs of this test are.
    pub outside: TempDir,
}

impl Spot {
    pub fn new(prefix: impl FnOnce(&Path, &Path) -> Option<Vec<OsString>>) -> Spot {
        let (temporary, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = prefix(outside.path(), temporary.path()).map_or(Transport::Here, Transport::Command);
        Spot { place, temporary, outside }
    }

    /// Behind the words that are made of its directory for temporary files.
    pub fn of(words: impl FnOnce(&str) -> Vec<String>) -> Spot {
        Spot::new(|_, temporary| Some(words(temporary.to_str().unwrap()).into_iter().map(OsString::from).collect()))
    }

    pub fn here() -> Spot {
        Spot::new(|_, _| None)
    }

    /// Behind these words, of which a shell makes what it likes of the `sh` that follows.
    pub fn behind(script: &str) -> Spot {
        Spot::new(|_, temporary| {
            let temporary = format!("TMPDIR={}", temporary.display());
            Some(["env", &temporary, "sh", "-c", script, "sh"].map(OsString::from).to_vec())
        })
    }

    /// Below a root directory of its own, made by this script; none where no namespace can be made.
    pub fn apart(script: &str) -> Option<Spot> {
        let can = Command::new("unshare").args(["-r", "--mount", "chroot", "/", "true"]).output();
        can.ok().filter(|output| output.status.success())?;
        Some(Spot::new(|outside, temporary| {
            let root = outside.join("root");
            fs::create_dir(&root).unwrap();
            let words = ["env", "-u", "TMPDIR", "-u", "HOME", "-u", "XDG_RUNTIME_DIR"];
            let words = words.into_iter().chain(["unshare", "-r", "--mount", "sh", "-c", script]).map(OsString::from);
            Some(words.chain([root.into(), temporary.into()]).collect())
        }))
    }

    pub fn program(&self, text: &str) -> PathBuf {
        let file = self.outside.path().join("program");
        // By another process: what this one has open for writing, a child of another thread has open for a moment as well,
        // and nothing that is written to is executed.
        let script = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        assert!(Command::new("sh").args(["-c", script]).arg(&file).arg(text).status().unwrap().success());
        file
    }

    /// A program of this text, and of so many bytes more.
    pub fn large(&self, text: &str, bytes: usize) -> PathBuf {
        let file = self.program(&format!("{text}\nexit"));
        let script = "head -c $1 /dev/zero | tr '\\0' '#' >> \"$0\"";
        assert!(Command::new("sh").args(["-c", script]).arg(&file).arg(bytes.to_string()).status().unwrap().success());
        file
    }

    /// An executable file beside the programs of this test, of this text.
    pub fn tool(&self, name: &str, text: &str) -> String {
        let file = self.outside.path().join(name);
        fs::rename(self.program(text), &file).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// Starts a program there, which is told, heard and ended as one here is; it is copied there.
    #[track_caller]
    pub fn works(&self) {
        let text = "read -r a; echo \"got $a $#\"; cat; echo why >&2; exit 3";
        let own = self.large(text, 300_000);
        let started =
            self.start_file(&own, &["a b", "it's"], terms(Ending::Killed)).unwrap_or_else(|error| panic!("{error}"));
        let mut process = started.process;
        assert!(started.has_copied && !started.is_static);
        process.send("one\n").unwrap();
        says(&mut process, "got one 2");
        process.send_last("and all the rest\n").unwrap();
        says(&mut process, "and all the rest");
        assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
        assert!(process.ends_within(SOON));
        assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(3), Some("why")));
    }

    /// Waits until nothing is left in its directory for temporary files: who lost its link ends in its own time.
    pub fn is_cleared(&self) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            fs::read_dir(self.temporary.path()).unwrap().next().is_none()
        })
    }

    pub fn start(&self, text: &str, terms: Terms) -> Supervised {
        self.start_file(&self.program(text), &[], terms).unwrap().process
    }

    pub fn start_file(&self, own: &Path, arguments: &[&str], terms: Terms) -> Result<Started, TransportError> {
        self.place.start(&Programs::of(own, false, self.outside.path()), arguments, terms)
    }

    /// Why no program can be started there.
    pub fn refusal(&self) -> String {
        self.start_file(&self.program("exit 0"), &[], terms(Ending::Killed)).unwrap_err().to_string()
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        let left: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty() || std::thread::panicking(), "{left:?}");
    }
}

/// Stands in for `kubectl exec -i POD -- COMMAND…`, which passes the words after `--` as they are, without a terminal, and
/// with the pod's environment in place of the caller's.
const KUBECTL: &str = include_str!("kubectl.sh");

/// Stands in for `docker exec -i NAME COMMAND…`: the process there is no child of the client. When the client is killed it
/// lives on, and its standard input ends.
const DOCKER: &str = include_str!("docker.sh");

/// Stands in for `srun -w NODE COMMAND…`, which hands on what a task says by the line.
const SRUN: &str = include_str!("srun.sh");

/// Behind a client of this text, where the words before the last are these.
fn behind(name: &str, text: &str, words: &[&str], last: &[&str]) -> Spot {
    let mut spot = Spot::behind("");
    let client = spot.tool(name, text);
    let temporary = spot.temporary.path().to_str().unwrap().to_owned();
    let words = [&[client.as_str()], words, &[temporary.as_str()], last].concat();
    spot.place = hostmark_launch::transport::Transport::Command(words.into_iter().map(Into::into).collect());
    spot
}

#[test]
fn a_stand_in_of_kubectl_leads_into_a_pod() {
    behind("kubectl", KUBECTL, &["exec", "-i"], &["--"]).works();
}

#[test]
fn a_stand_in_of_docker_leads_into_a_container() {
    behind("docker", DOCKER, &["exec", "-i"], &[]).works();
}

#[test]
fn a_stand_in_of_srun_leads_to_a_node() {
    behind("srun", SRUN, &["-w"], &[]).works();
}

#[test]
fn who_lives_on_in_a_container_whose_client_is_killed_ends_with_its_input() {
    let spot = behind("docker", DOCKER, &["exec", "-i"], &[]);
    let ended = spot.outside.path().join("ended");
    let text = format!("echo $$; cat > /dev/null; echo > {}", ended.display());
    let mut process = spot.start(&text, terms(Ending::Killed));
    let hostmark_launch::supervise::ReadOutcome::Line(pid) = process.read_line_within(SOON).unwrap() else { panic!() };
    let there = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    assert!(rustix::process::getpgid(Some(there)).unwrap().as_raw_nonzero().get() != process.id() as i32);
    drop(process);
    assert!((0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        ended.exists()
    }));
}

#[test]
fn a_container_of_docker_that_is_killed_while_it_takes_the_program_keeps_nothing_of_it() {
    for parts in [1, 3, 20] {
        let spot = behind("docker", DOCKER, &["exec", "-i"], &[]);
        // The client takes so much, and then is no more.
        let cut = format!("(sleep 0.0{parts}; kill -9 0) & exec \"$0\" \"$@\"");
        let hostmark_launch::transport::Transport::Command(words) = &spot.place else { panic!() };
        let before = ["sh", "-c", &cut].map(std::ffi::OsString::from);
        let place = hostmark_launch::transport::Transport::Command([&before[..], words].concat());
        let programs = hostmark_launch::program::Programs::of(&spot.large("exit", 8 << 20), false, spot.outside.path());
        // Where it was fast, it is killed afterwards.
        drop(place.start(&programs, &[], terms(Ending::Killed)));
        assert!(spot.is_cleared());
    }
}

/// Set where this test's program runs as a copy.
const COPIED: &str = "HOSTMARK_TEST_COPIED";

#[test]
fn a_copy_lets_go_of_its_own_file_and_others_close_nothing() {
    let held =
        || std::fs::read_link("/proc/self/fd/9").is_ok_and(|file| file.to_string_lossy().ends_with(" (deleted)"));
    if std::env::var_os(COPIED).is_some() {
        return assert!(held() && close_own_descriptor() && !held());
    }
    assert!(!close_own_descriptor());
    let place = Transport::Command(vec!["env".into(), format!("{COPIED}=1").into()]);
    let name = "places::a_copy_lets_go_of_its_own_file_and_others_close_nothing";
    let arguments = [name, "--exact", "--nocapture", "--test-threads=1"];
    let mut process =
        place.start(&Programs::of_this(false).unwrap(), &arguments, terms(Ending::Killed)).unwrap().process;
    assert_eq!(process.drain(SOON, 1 << 20).unwrap(), ReadOutcome::Closed);
    let said = String::from_utf8(process.take_buffered()).unwrap();
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}

const NO_SERVER: &str = "there is no sshd here that lets this user in";
/// What a server's message of the day may be, at ten lines a KiB.
const GREETING: &str =
    "yes 'Welcome to this machine; all that you do is recorded, and nothing of it is ours. Have a good day.'";

/// Behind a server of these options, whose sessions have a directory for temporary files of their own.
pub fn over_ssh(options: &Options) -> Option<(Spot, Sshd)> {
    let mut server = None;
    let spot = Spot::of(|temporary| {
        let environment: Vec<_> = options.environment.iter().copied().chain([("TMPDIR", temporary)]).collect();
        server = Sshd::start(&Options { environment: &environment, ..*options });
        server.as_ref().map(Sshd::prefix).unwrap_or_default()
    });
    Some((spot, server?))
}

#[test]
fn a_program_runs_behind_ssh_and_nothing_of_it_is_left() {
    let Some((spot, server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    spot.works();
    // Of a session in the middle of its work, too: an agent ends when its input does.
    let mut process = spot.start("echo $$; exec cat >/dev/null", terms(Ending::Killed));
    let ReadOutcome::Line(pid) = process.read_line_within(SOON).unwrap() else { panic!("it says nothing") };
    assert_ne!(sessions(&server), "");
    assert!(Path::new("/proc").join(&pid).exists());
    drop(process);
    let is_left = || Path::new("/proc").join(&pid).exists();
    for _ in 0..SOON.as_millis() / 10 {
        if !is_left() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!is_left());
}

/// The processes that the server's sessions have begun with.
pub fn sessions(server: &Sshd) -> String {
    let pid = server.pid();
    std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap()
}

#[test]
fn a_banner_before_the_login_changes_nothing() {
    let banner = "Authorized users only.\n".repeat(100);
    let Some((spot, _server)) = over_ssh(&Options { banner: &banner, ..Options::default() }) else {
        return skipped(NO_SERVER);
    };
    spot.works();
    let mut process = spot.start("exit 4", terms(Ending::Killed));
    assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
    assert!(process.ends_within(SOON));
    assert_eq!((process.end().unwrap().code(), process.last_word()), (Some(4), None));
}

#[test]
fn a_message_of_the_day_is_dropped_unless_it_is_too_long() {
    for (lines, is_too_long) in [(100, false), (1000, true)] {
        let profile = format!("{GREETING} | head -n {lines}");
        let Some((spot, _server)) = over_ssh(&Options { profile: &profile, ..Options::default() }) else {
            return skipped(NO_SERVER);
        };
        if !is_too_long {
            spot.works();
            continue;
        }
        let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
        assert!(matches!(error, TransportError::Banner { .. }), "{error}");
    }
}

#[test]
fn a_program_runs_behind_every_login_shell() {
    for shell in ["dash", "bash", "bash --login", "busybox sh"] {
        let Some((spot, _server)) = over_ssh(&Options { shell, ..Options::default() }) else {
            skipped(&format!("{NO_SERVER}, with the shell {shell}"));
            continue;
        };
        spot.works();
    }
}

#[test]
fn a_terminal_of_ssh_is_reported() {
    let Some((mut spot, _server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    let hostmark_launch::transport::Transport::Command(words) = &mut spot.place else { panic!() };
    words.insert(1, "-tt".into());
    let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
    assert!(matches!(error, TransportError::Terminal { .. }), "{error}");
    assert!(error.to_string().ends_with("leave out -t"), "{error}");
}

#[test]
fn ssh_leads_through_ssh() {
    let Some((spot, server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    let nested = Spot::of(|temporary| {
        let temporary = format!("TMPDIR={temporary}");
        [server.prefix(), server.prefix(), vec!["env".into(), temporary]].concat()
    });
    nested.works();
    drop(spot);
}

#[test]
fn what_ssh_says_of_a_login_that_fails_is_reported() {
    let Some((mut spot, server)) = over_ssh(&Options::default()) else { return skipped(NO_SERVER) };
    let begun = spot.start("echo begun", terms(Ending::Killed)).read_line_within(SOON).unwrap();
    assert_eq!(begun, ReadOutcome::Line("begun".into()));
    for (option, says) in [("User=nobody", "Permission denied"), ("Port=1", "Connection refused")] {
        let mut words = server.prefix();
        words.splice(1..1, ["-o".into(), option.into()]);
        spot.place = hostmark_launch::transport::Transport::Command(words.into_iter().map(Into::into).collect());
        let error = spot.start_file(&spot.program("exit"), &[], terms(Ending::Killed)).unwrap_err();
        assert!(matches!(error, TransportError::Ended { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("before its shell had begun (exit status: 255: ") && text.contains(says), "{text}");
    }
}
