//! A run under way, which a test stops, and what is left of it.

use rustix::process::{WaitOptions, getpid, set_child_subreaper, waitpid};

use crate::prelude::*;
use crate::quiet::undisturbed;

/// First rounds fill memory, which may be slow to touch.
pub const BEGUN_WITHIN: Duration = Duration::from_secs(60);

/// The journal that a run keeps in its home, as far as there is one.
pub fn journal_in(home: &Home) -> String {
    let left = files(home.data.path());
    let journal = left.iter().find(|path| path.display().to_string().ends_with(".partial.jsonl"));
    journal.and_then(|journal| fs::read_to_string(journal).ok()).unwrap_or_default()
}

/// A run under way, which its test stops.
pub struct UnderWay {
    pub home: Home,
    pub child: Running,
}

impl UnderWay {
    /// Starts a run, the leader of a group of its own as under a shell, and waits until it has journalled some rounds.
    pub fn start(arguments: &[&str]) -> UnderWay {
        let home = Home::new();
        let child = Running::start(home.heeding(arguments).process_group(0));
        let mut run = UnderWay { child, home };
        let is_measuring =
            within(BEGUN_WITHIN, || run.journal().matches('\n').count() > 3 || run.child.try_wait().unwrap().is_some());
        assert!(is_measuring, "{:?}", files(run.home.data.path()));
        run
    }

    /// The text of the journal; nothing when there is none.
    pub fn journal(&self) -> String {
        journal_in(&self.home)
    }

    /// Nothing of the run is alive or lies in the scratch directory; what is in the data directory.
    pub fn left(&self, limit: Duration) -> Vec<PathBuf> {
        assert!(within(limit, || processes(&self.home).is_empty()), "left: {:?}", processes(&self.home));
        let scratch = self.home.scratch.path();
        assert!(within(limit, || fs::read_dir(scratch).unwrap().next().is_none()), "left: {:?}", files(scratch));
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
    let run = load_run(&fs::read_to_string(file).unwrap()).unwrap();
    let journal = file.with_extension("partial.jsonl");
    assert_eq!(left.iter().find(is_journal), run.interrupted.as_ref().map(|_| &journal));
    run
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

/// Where POSIX queues have their names, if that can be looked at.
pub enum Queues {
    Mounted(PathBuf),
    /// Mounted for the test; unmounted when dropped.
    Own(TempDir),
    /// Not to be seen by this user.
    Unseen,
}

impl Queues {
    pub fn seen() -> Queues {
        let usual = Path::new("/dev/mqueue");
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        if mounts.lines().any(|line| line.split(' ').nth(1) == usual.to_str()) {
            return Queues::Mounted(usual.to_owned());
        }
        let own = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "mqueue", "hostmark-test"]).arg(own.path());
        match mount.output().is_ok_and(|output| output.status.success()) {
            true => Queues::Own(own),
            false => Queues::Unseen,
        }
    }

    fn names(&self) -> Vec<String> {
        let directory = match self {
            Queues::Mounted(path) => path.as_path(),
            Queues::Own(directory) => directory.path(),
            Queues::Unseen => return Vec::new(),
        };
        names(directory)
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        if let Queues::Own(directory) = self {
            let _ = Command::new("umount").arg("-l").arg(directory.path()).status();
        }
    }
}

/// The names in a directory; none where there is no such.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Kinds of System V objects as /proc names them.
pub const KINDS: [&str; 3] = ["shm", "sem", "msg"];

/// Every System V object and every POSIX queue that there is, with its kind: `sem 7`.
pub fn objects(queues: &Queues) -> BTreeSet<String> {
    let of_kind = |kind: &str| -> Vec<String> {
        let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let ids = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        ids.map(|id| format!("{kind} {id}")).collect()
    };
    let posix = queues.names().into_iter().map(|name| format!("queue {name}"));
    KINDS.into_iter().flat_map(of_kind).chain(posix).collect()
}

/// Set for the process that has one test to do.
const ADOPTS: &str = "HOSTMARK_TEST_ADOPTS";

/// Has every process whose parents have ended become a child of this one, which is started for the calling test alone: it waits for all
/// of its children, and other tests have children too. Where it is false that process has done the test.
pub fn adopt_orphans() -> bool {
    if std::env::var_os(ADOPTS).is_some() {
        set_child_subreaper(Some(getpid())).unwrap();
        return true;
    }
    let name = std::thread::current().name().unwrap().to_owned();
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", &name, "--nocapture"]).env(ADOPTS, "1").stderr(Stdio::inherit());
    let output = test.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

/// The live processes that are children of this one, `known` apart, by their command lines; those that have ended are reaped
/// on the way, as init would.
pub fn orphans(known: &[u32]) -> Vec<String> {
    let parent_and_state = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.to_owned();
        Some((words.next()?.parse::<u32>().ok()?, state))
    };
    let mut alive = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let Some(pid) = entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        match parent_and_state(pid) {
            Some((parent, state)) if parent == std::process::id() && !known.contains(&pid) => {
                let reaped = waitpid(Pid::from_raw(pid as i32), WaitOptions::NOHANG);
                if matches!(reaped, Ok(None)) {
                    let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    alive.push(format!("{pid} {state} {}", words.replace('\0', " ")));
                }
            }
            _ => {}
        }
    }
    alive
}

pub struct Neighbour(Running);

impl Neighbour {
    /// A shell on one CPU; none where there is no taskset.
    pub fn on(cpu: usize, script: &str) -> Option<Neighbour> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", script]).stdin(Stdio::null());
        command.spawn().ok().map(|child| Neighbour(Running(child)))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

pub fn one_cpu() -> Option<usize> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    (0..1024).find(|cpu| set.is_set(*cpu))
}

/// A run that ended well, whatever disturbed the first attempts.
pub fn measured(command: &mut Command) -> Run {
    command.args(["--format", "json"]);
    load_run(&succeeded(undisturbed(|| ended(command), |said| said.0 == 0))).unwrap()
}
