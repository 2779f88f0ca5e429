//! A run under way, which a test stops, and what is left of it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use hostmark_model::{Outcome, Run, load_run};
use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{SOON, processes, within};
use crate::support::{Home, PROGRAM, Running, files};

/// First rounds fill memory, which may be slow to touch.
pub const BEGUN_WITHIN: Duration = Duration::from_secs(60);

/// The journal that a run keeps in its home, as far as there is one.
pub fn journal_in(home: &Home) -> String {
    let left = files(home.data.path());
    let journal = left.iter().find(|path| path.display().to_string().ends_with(".partial.jsonl"));
    journal.and_then(|journal| std::fs::read_to_string(journal).ok()).unwrap_or_default()
}

/// A run under way, which its test stops.
pub struct UnderWay {
    pub home: Home,
    pub child: Running,
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self), signal).unwrap();
    }
}

impl UnderWay {
    /// Starts a run, the leader of a group of its own as under a shell, and waits until it has journalled some rounds.
    pub fn start(arguments: &[&str]) -> UnderWay {
        let home = Home::new();
        let mut command = home.hostmark(arguments);
        if ignores_interrupts() {
            // A background job of a script is started so, and its children inherit it.
            command = home.start("env");
            command.args(["--default-signal=INT,HUP", PROGRAM]).args(arguments);
        }
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = UnderWay { child: Running(command.spawn().unwrap()), home };
        let is_measuring =
            within(BEGUN_WITHIN, || run.journal().matches('\n').count() > 3 || run.child.try_wait().unwrap().is_some());
        assert!(is_measuring, "{:?}", files(run.home.data.path()));
        run
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// The text of the journal; nothing when there is none.
    pub fn journal(&self) -> String {
        journal_in(&self.home)
    }

    /// Waits for the end. Nobody reads the output meanwhile, so it has to fit into a pipe, or the run to be stopped soon.
    pub fn ends(&mut self, limit: Duration) -> Output {
        let (stdout, stderr) = (self.child.stdout.take().unwrap(), self.child.stderr.take().unwrap());
        let read = |mut stream: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).unwrap();
                bytes
            })
        };
        let (stdout, stderr) = (read(Box::new(stdout)), read(Box::new(stderr)));
        assert!(within(limit, || self.child.try_wait().unwrap().is_some()), "the run goes on");
        Output { status: self.child.wait().unwrap(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
    }

    /// Nothing of the run is alive or lies in the scratch directory; what is in the data directory.
    pub fn left(&self, limit: Duration) -> Vec<PathBuf> {
        assert!(within(limit, || processes(&self.home).is_empty()), "left: {:?}", processes(&self.home));
        let scratch = self.home.scratch.path();
        assert!(within(limit, || std::fs::read_dir(scratch).unwrap().next().is_none()), "left: {:?}", files(scratch));
        files(self.home.data.path())
    }

    /// The run in the one file that is left, but for the journal by which one that was stopped goes on.
    pub fn kept(&self) -> Run {
        kept(&self.left(SOON))
    }

    /// The one file that is left is a journal that begins with its header and has whole lines, perhaps but for the last.
    pub fn assert_only_the_journal_is_left(&self) {
        let left = self.left(SOON);
        assert!(left.len() == 1 && left[0].display().to_string().ends_with(".partial.jsonl"), "{left:?}");
        let text = self.journal();
        let whole = text.rsplit_once('\n').unwrap().0;
        let lines: Vec<serde_json::Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["run"]["schema"], "hostmark.run/1");
        assert!(lines[0]["plan"]["cases"].as_array().unwrap().len() > 1);
        assert!(lines.len() > 3 && lines[1..].iter().all(|line| line["events"].is_array() && line["case"].is_string()));
    }
}

/// The run in the one of these files that is one, but for the journal by which one that was stopped goes on.
pub fn kept(left: &[PathBuf]) -> Run {
    let is_journal = |path: &&PathBuf| path.display().to_string().ends_with(".partial.jsonl");
    let [file] = left.iter().filter(|path| !is_journal(path)).collect::<Vec<_>>()[..] else { panic!("{left:?}") };
    let run = load_run(&std::fs::read_to_string(file).unwrap()).unwrap();
    let journal = file.with_extension("partial.jsonl");
    assert_eq!(left.iter().find(is_journal), run.interrupted.as_ref().map(|_| &journal));
    run
}

/// Whether this process, and so each that it starts, ignores SIGINT or SIGHUP.
fn ignores_interrupts() -> bool {
    hostmark_launch::group::ignored("self") & 0b11 != 0
}

/// What was measured is kept, and the rest says that it was not.
pub fn assert_is_interrupted(run: &Run) {
    assert_eq!(run.interrupted.as_deref(), Some("stopped by a signal"));
    assert!(run.finished.is_some());
    assert!(run.cases.iter().any(|case| case.measured().is_some()));
    let mut others = run.cases.iter().filter(|case| case.measured().is_none()).peekable();
    assert!(others.peek().is_some());
    for case in others {
        let has_reason = match &case.outcome {
            Outcome::Skipped { reason } => !reason.is_empty(),
            // Nothing fails because a person wants to stop.
            _ => false,
        };
        assert!(has_reason, "{case:?}");
    }
}
