//! One test's own hostmark: nothing it keeps or makes lies outside two directories that end with the test.

pub mod in_process;
pub mod prelude;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use hostmark_engine::Wall;
use hostmark_engine::probe::find;
use hostmark_engine::worker::far::{FarEnds, FarRequest, Missing, Waiting, cpus_of};
use hostmark_launch::ServiceLink;
use hostmark_launch::local::{LocalService, Warden};
use hostmark_launch::timing::VARIABLE;
use hostmark_model::{CaseId, Event, Job, JsonLine};
use hostmark_probes::CATALOGUE;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use in_process::in_process;

/// The program under test: the one that cargo has just built, or the one that is named when the tests are built, as the
/// release.
pub const PROGRAM: &str = match option_env!("HOSTMARK_PROGRAM") {
    Some(program) => program,
    None => env!("CARGO_BIN_EXE_hostmark"),
};

/// By how much a home's timeouts are shortened: a lease of 20 s becomes 5 s, which a busy machine still keeps.
const SHORTER: &str = "0.25";

/// A place for runs (`data`) and one for scratch directories.
pub struct Home {
    pub data: TempDir,
    pub scratch: TempDir,
    /// The variable that shortens the timeouts of what is started here, and its value.
    pub timing: Option<(&'static str, &'static str)>,
}

impl Home {
    pub fn new() -> Home {
        Home { data: tempfile::tempdir().unwrap(), scratch: tempfile::tempdir().unwrap(), timing: None }
    }

    /// The same for a test that waits until timeouts have passed.
    pub fn with_short_timeouts() -> Home {
        Home { timing: Some((VARIABLE, SHORTER)), ..Home::new() }
    }

    /// `program` as it is started in this home; a language and width that do not depend on who tests.
    pub fn start(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("XDG_DATA_HOME", self.data.path()).env("TMPDIR", self.scratch.path());
        command.env("LC_ALL", "C.UTF-8").env_remove("COLUMNS").env_remove("NO_COLOR").envs(self.timing);
        command
    }

    pub fn hostmark(&self, arguments: &[&str]) -> Command {
        let mut command = self.start(PROGRAM);
        command.args(arguments);
        command
    }

    /// A command of hostmark that heeds signals even where this test ignores them: a background job of a script does.
    pub fn heeding(&self, arguments: &[&str]) -> Command {
        let mut command = self.start("env");
        command.args(["--default-signal=INT,HUP", PROGRAM]).args(arguments);
        command
    }

    /// Answer of hostmark to these arguments, with its exit code.
    pub fn says(&self, arguments: &[&str]) -> (i32, String, String) {
        ended(&mut self.hostmark(arguments))
    }

    /// What hostmark answers another user; none where there is no other, or it cannot start the program.
    pub fn answers_nobody(&self) -> Option<impl Fn(&[&str]) -> (i32, String, String)> {
        let answer = |arguments: &[&str]| {
            let mut command = self.start("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM]).args(arguments);
            command.output().map(|output| said(&output))
        };
        let can = answer(&["--version"]).is_ok_and(|(code, ..)| code == 0);
        can.then_some(move |arguments: &[&str]| answer(arguments).unwrap())
    }
}

/// A command's exit code, standard output and standard error. What hostmark answers without a process is answered in this one.
pub fn ended(command: &mut Command) -> (i32, String, String) {
    if starts_nothing(command) { in_process(command) } else { said(&command.output().unwrap()) }
}

/// Whether a command is hostmark as it was just built, and neither measures nor starts anything.
fn starts_nothing(command: &Command) -> bool {
    const ONLY_READ: [&str; 9] =
        ["list", "explain", "report", "compare", "import", "runs", "completions", "man", "--dry-run"];
    const ELSEWHERE: [&str; 4] = ["--on", "--peer", "--interleave", "--isolate"];
    const MEASURE: [&str; 5] = ["run", "try", "vm", "serve", "agent"];
    let words: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
    let is = |known: &[&str]| words.iter().any(|word| known.contains(word));
    // A dry run of a guest starts QEMU, to see that it can.
    let only_reads = is(&ONLY_READ) && !is(&ELSEWHERE) && (!is(&MEASURE) || is(&["--dry-run"]) && !is(&["vm"]));
    let built = env!("CARGO_BIN_EXE_hostmark");
    only_reads && command.get_program() == built && PROGRAM == built && command.get_current_dir().is_none()
}

/// What a process that has ended left behind: -1 stands for the end by a signal.
pub fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Output of a command that went well, without a word on standard error.
#[track_caller]
pub fn succeeded((code, out, errors): (i32, String, String)) -> String {
    assert_eq!((code, errors.as_str()), (0, ""), "{out}");
    out
}

/// Sentence of a command that was refused, and printed nothing.
#[track_caller]
pub fn refusal((code, out, errors): (i32, String, String)) -> String {
    assert_eq!((code, out.as_str()), (2, ""), "{errors}");
    errors
}

/// Output and errors of a command that ended with this code.
#[track_caller]
pub fn with_code(expected: i32, (code, out, errors): (i32, String, String)) -> (String, String) {
    assert_eq!(code, expected, "{out} {errors}");
    (out, errors)
}

/// What a worker says that is given the job.
pub fn worker_events(mut worker: Command, job: &Job) -> Vec<Event> {
    let mut worker = worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    worker.stdin.take().unwrap().write_all(job.to_line().unwrap().as_bytes()).unwrap();
    let output = worker.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A process that is killed when it is dropped: a test that failed leaves nothing either.
pub struct Running(pub Child);

impl Running {
    /// Starts a command whose output is read at its end.
    pub fn start(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self), signal).unwrap();
    }

    /// Waits for its end, and gives what it said into pipes.
    pub fn ends(&mut self, limit: Duration) -> Output {
        let read = |stream: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.map(|mut stream| stream.read_to_end(&mut bytes).unwrap());
                bytes
            })
        };
        let stdout = read(self.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
        let stderr = read(self.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
        assert!(within(limit, || self.try_wait().unwrap().is_some()), "it goes on");
        Output { status: self.wait().unwrap(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every file below a directory, but what lists of runs remember.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.retain(|path| !path.ends_with("hostmark/summaries.json"));
    found
}

/// Long enough for a loaded machine to do what is done at once, and for a far end that was cut short to end the round under way.
pub const SOON: Duration = Duration::from_secs(60);
/// What a turn of [`within`] counts at most: more passes only where the machine pauses or others have its CPUs, and what is waited
/// for with it.
const MOST_A_TURN: Duration = Duration::from_millis(20);

/// Every live process of this home, with the first argument that it was started with.
pub fn processes(home: &Home) -> Vec<(i32, String)> {
    let wanted = format!("XDG_DATA_HOME={}", home.data.path().display());
    let described = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_ours = environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes());
        let words = is_ours.then(|| fs::read(format!("/proc/{pid}/cmdline")).ok())??;
        let word = words.split(|&byte| byte == 0).nth(1).unwrap_or_default();
        Some((pid, String::from_utf8_lossy(word).into_owned()))
    };
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| described(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Looks again and again until it is so; whether it was within that time.
pub fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    #[expect(clippy::disallowed_methods, reason = "bounds a wait")]
    let now = Instant::now;
    let mut passed = Duration::ZERO;
    while passed <= limit {
        let turn = now();
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
        passed += turn.elapsed().min(MOST_A_TURN);
    }
    false
}

/// A service that says nothing for so long has hung.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who keeps no record: a test that is killed leaves nothing all the same, as its services die with it.
struct NoWarden;

impl Warden for NoWarden {
    fn takes(&self, _: u32) {}
    fn releases(&self, _: u32) {}
}

struct SinceStart(Instant);

impl Wall for SinceStart {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Starts the far ends of a job's case where they may listen at one of these addresses; none where it needs none. The command
/// ends with the program, and may lead into a network of its own.
pub fn far_ends(command: &[&str], job: &Job, at: &[IpAddr]) -> Result<Option<FarEnds>, Missing> {
    let (program, before) = command.split_first().expect("a program");
    let arguments = [before, &["service"]].concat();
    let id: CaseId = job.case().parse().unwrap();
    let Some(entry) = find(CATALOGUE, &id.probe) else { return Ok(None) };
    let Some(service) = entry.probe.service() else { return Ok(None) };
    let wanted = FarRequest {
        service: service.name,
        params: &id.params,
        cpus: cpus_of(&entry, &id, &job.cpus),
        at,
        memory_bytes: job.memory_bytes,
        setup_ns: 0,
        scratch: &job.environment.scratch,
        folder: &job.folder,
        nonces: &[],
    };
    let open = |job: &_| -> std::io::Result<Box<dyn ServiceLink>> {
        let line = serde_json::to_string(job)?;
        Ok(Box::new(LocalService::start(Path::new(program), &arguments, &line, None, Rc::new(NoWarden))?))
    };
    #[expect(clippy::disallowed_methods, reason = "bounds a wait")]
    let wall = SinceStart(Instant::now());
    FarEnds::start(&open, &wanted, Waiting { wall: &wall, patience: PATIENCE, limit: Duration::MAX }).map(Some)
}
