//! Places that tests make and what is seen of them from here: stand-ins of clients of clusters and containers, since none of these runs
//! in a test, carry streams and end as the real ones do; a program that was copied lets go of the descriptor by which it was executed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, ReadOutcome, Supervised, Terms};
use hostmark_launch::transport::{Started, Transport, TransportError, close_own_descriptor};
use tempfile::TempDir;

use super::{SOON, says, terms};

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
const KUBECTL: &str = r#"[ "$1 $2" = "exec -i" ] && [ "$4" = -- ] || { echo "error: unknown command" >&2; exit 1; }
temporary=$3; shift 4
exec env -i PATH="$PATH" TMPDIR="$temporary" "$@""#;

/// Stands in for `docker exec -i NAME COMMAND…`: the process there is no child of the client. When the client is killed it
/// lives on, and its standard input ends.
const DOCKER: &str = r#"[ "$1 $2" = "exec -i" ] || { echo "docker: unknown command" >&2; exit 125; }
temporary=$3; shift 3
d=$(mktemp -d "${0%/*}/streams-XXXXXX"); mkfifo "$d/in" "$d/out" "$d/err"
# Both ends of each are open before anybody has one: who opens a fifo alone waits.
exec 3<&0 4<>"$d/in" 5<"$d/in" 6>"$d/in"
exec 4<>"$d/out" 7<"$d/out" 8>"$d/out"
exec 4<>"$d/err" 9<"$d/err"
setsid env -i PATH="$PATH" TMPDIR="$temporary" "$@" <&5 >&8 2>&4 3<&- 4<&- 5<&- 6>&- 7<&- 8>&- 9<&- &
there=$!
exec 4<&- 5<&- 8>&-
cat <&7 6>&- & out=$!
cat <&9 >&2 6>&- & err=$!
cat <&3 >&6 & in=$!
exec 6>&-
wait $there; code=$?
wait $out; wait $err
kill $in 2>/dev/null
exit $code"#;

/// Stands in for `srun -w NODE COMMAND…`, which hands on what a task says by the line.
const SRUN: &str = r#"[ "$1" = -w ] || { echo "srun: error: unknown option" >&2; exit 1; }
temporary=$2; shift 2
{ TMPDIR=$temporary "$@"; echo $? >"${0%/*}/code"; } | grep --line-buffered ''
exit "$(cat "${0%/*}/code")""#;

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
    let hostmark_launch::supervise::ReadOutcome::Line(pid) = process.read_line_within(super::SOON).unwrap() else {
        panic!()
    };
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
    let name = "places::spot::a_copy_lets_go_of_its_own_file_and_others_close_nothing";
    let arguments = [name, "--exact", "--nocapture", "--test-threads=1"];
    let mut process =
        place.start(&Programs::of_this(false).unwrap(), &arguments, terms(Ending::Killed)).unwrap().process;
    assert_eq!(process.drain(SOON, 1 << 20).unwrap(), ReadOutcome::Closed);
    let said = String::from_utf8(process.take_buffered()).unwrap();
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}
