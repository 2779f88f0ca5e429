//! Every group that makes something of the operating system's, ended in every way: nothing is left but what was measured.

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use hostmark_model::{CaseId, out_of_memory};

use crate::prelude::*;
use crate::under_way::{Queues, adopt_orphans, journal_in, names, objects, orphans};

// Runs are timed, and what is left of one must not be taken for another's: one at a time.

/// The rest of a run of one load takes this long on a loaded machine.
const ENDS_WITHIN: Duration = Duration::from_secs(180);

/// Something that a run has made, and that it must not leave.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trace {
    /// A System V object of this kind.
    Object(&'static str),
    /// Its scratch directory, in which files need have no names.
    Scratch,
    /// A file in its scratch directory.
    File,
    /// A file in its directory in memory.
    Memory,
    Crowd(usize),
}

/// What is run, and what of it has to be there when it is ended.
type Load = (&'static [&'static str], Trace);

const LOADS: &[Load] = &[
    (&["ipc.hand_over@by=sysv_semaphore"], Trace::Object("sem")),
    (&["ipc.round_trip@by=sysv_queue"], Trace::Object("msg")),
    (
        &[
            "ipc.round_trip@by=unix_stream",
            "ipc.round_trip@by=unix_dgram",
            "ipc.unix_connect",
            "ipc.round_trip@by=fifo",
        ],
        Trace::File,
    ),
    (&["sched.messaging", "sched.context_switch"], Trace::Crowd(12)),
    (&["file"], Trace::Memory),
    (&["disk"], Trace::Scratch),
    (&["process.exec", "process.spawn"], Trace::File),
    (&["paging.fault@kind=file"], Trace::Memory),
    (&["net.http"], Trace::File),
    (&["syscall.stat", "syscall.open_close", "signal"], Trace::Memory),
];
/// The loads that more rare endings are tried with: an object, a socket file, a crowd, a far end.
const HARDEST: [usize; 4] = [0, 2, 3, 8];

/// A run under way in a home of its own.
struct UnderWay<'a> {
    home: Home,
    /// What `--scratch` names: on a disk, where the build has one.
    disk: TempDir,
    child: Running,
    queues: &'a Queues,
    before: BTreeSet<String>,
    /// Directories in memory that it was seen to have.
    memory: RefCell<BTreeSet<PathBuf>>,
}

impl UnderWay<'_> {
    fn start<'a>(filters: &[&str], queues: &'a Queues) -> UnderWay<'a> {
        let home = Home::new();
        let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let before = objects(queues);
        let mut command = home.heeding(&["run", "--scratch"]);
        command.arg(disk.path()).args(filters).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        UnderWay { child: Running(command.spawn().unwrap()), home, disk, queues, before, memory: RefCell::default() }
    }

    /// Sends a signal to every process of the run that has this name, as the kernel tells it.
    fn signal_all(&self, name: &str, signal: Signal) {
        for (pid, _) in processes(&self.home) {
            let is_it = fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == name);
            if is_it && let Some(pid) = Pid::from_raw(pid) {
                // It may have ended since.
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Lets those go on that were stopped before they executed what they were started for: until then they are the run, which
    /// nobody but itself can tell from them.
    fn let_begin(&self) {
        let run = Pid::from_child(&self.child);
        let unbegun = processes(&self.home).into_iter().filter(|(_, word)| word == "run");
        for pid in unbegun.filter_map(|(pid, _)| Pid::from_raw(pid)).filter(|&pid| pid != run) {
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Lets workers and far ends of a killed run go on that were stopped before they had asked to die with it, and that its janitor
    /// was not told of: they find that it is gone. All others are gone by now.
    fn let_ask(&self) {
        std::thread::sleep(Duration::from_millis(500));
        let unasked = processes(&self.home).into_iter().filter(|(_, word)| word == "worker" || word == "service");
        for pid in unasked.filter_map(|(pid, _)| Pid::from_raw(pid)) {
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Directories of this run in memory that are there: those that a process of it ever had open.
    fn in_memory(&self) -> Vec<PathBuf> {
        let mut seen = self.memory.borrow_mut();
        for (pid, _) in processes(&self.home) {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let directories = open.filter_map(|entry| fs::read_link(entry.path()).ok());
            seen.extend(
                directories.filter(|path| path.to_string_lossy().starts_with("/dev/shm/hostmark-") && path.is_dir()),
            );
        }
        seen.iter().filter(|path| path.exists()).cloned().collect()
    }

    fn has(&self, trace: Trace) -> bool {
        let inside =
            |directory: &Path| names(directory).into_iter().map(|name| directory.join(name)).collect::<Vec<_>>();
        // Of the run, and in it those of its rounds.
        let on_disk = || inside(self.disk.path()).iter().flat_map(|run| inside(run)).collect::<Vec<_>>();
        match trace {
            Trace::Object(kind) => objects(self.queues).difference(&self.before).any(|one| one.starts_with(kind)),
            Trace::Scratch => !on_disk().is_empty(),
            Trace::File => on_disk().iter().any(|round| !inside(round).is_empty()),
            Trace::Memory => self.in_memory().iter().any(|run| !inside(run).is_empty()),
            Trace::Crowd(least) => processes(&self.home).len() >= least,
        }
    }

    /// Waits until a round is journalled and the trace is there.
    fn until_there_is(&mut self, trace: Trace) {
        let mut has_ended = false;
        let seen = within(SOON, || {
            has_ended = self.child.try_wait().unwrap().is_some();
            has_ended || (journal_in(&self.home).lines().count() > 1 && self.has(trace))
        });
        assert!(seen && !has_ended, "never seen: {trace:?}; {}", journal_in(&self.home));
    }

    /// Waits for the end, and looks for what is left: nothing but what is in the data directory.
    fn left(&mut self, limit: Duration) -> (ExitStatus, Vec<PathBuf>) {
        let ended = within(limit, || {
            self.in_memory();
            self.child.try_wait().unwrap().is_some()
        });
        assert!(ended, "the run goes on");
        let status = self.child.wait().unwrap();
        assert!(within(SOON, || orphans(&[]).is_empty()), "left alive: {:?}", orphans(&[]));
        for scratch in [self.disk.path(), self.home.scratch.path()] {
            assert!(within(SOON, || names(scratch).is_empty()), "left: {:?} of {:?}", files(scratch), names(scratch));
        }
        assert!(within(SOON, || self.in_memory().is_empty()), "left: {:?}", self.in_memory());
        // Other programs may have made objects too: but what they made at this moment they will remove as well.
        let new: BTreeSet<String> = objects(self.queues).difference(&self.before).cloned().collect();
        let still = || objects(self.queues).intersection(&new).cloned().collect::<Vec<_>>();
        assert!(within(SOON, || still().is_empty()), "left: {:?}", still());
        (status, files(self.home.data.path()))
    }
}

/// The run in the one file that is left.
fn kept(left: &[PathBuf]) -> Run {
    let file = left.iter().find(|path| path.extension().is_some_and(|extension| extension == "json"));
    let run = load_run(&fs::read_to_string(file.unwrap()).unwrap()).unwrap();
    // The journal of a run that was stopped lies beside it.
    assert_eq!(left.len(), if run.interrupted.is_some() { 2 } else { 1 }, "{left:?}");
    run
}

/// Runs a load until what it could leave is there, ends it, and looks.
fn ended_amid<'a>((filters, trace): Load, queues: &'a Queues, end: impl FnOnce(&mut UnderWay)) -> Ended<'a> {
    // Longer than a loaded machine takes to see it and to end it.
    let mut run = UnderWay::start(&[filters, &["--profile", "standard"]].concat(), queues);
    run.until_there_is(trace);
    end(&mut run);
    // Whose worker is killed goes on to its end.
    let (status, left) = run.left(ENDS_WITHIN);
    Ended { _run: run, status, left }
}

/// A run that has ended, of which no more is left than this; its home goes with it.
struct Ended<'a> {
    _run: UnderWay<'a>,
    status: ExitStatus,
    left: Vec<PathBuf>,
}

/// Where this machine has System V objects, and this test sees POSIX queues; else it says what it passes over. None where another
/// process has done the test.
fn seen() -> Option<(Queues, Vec<Load>)> {
    if !adopt_orphans() {
        return None;
    }
    let queues = Queues::seen();
    if matches!(queues, Queues::Unseen) {
        skipped("the names of POSIX queues cannot be seen here");
    }
    let is_there = |(_, trace): &&Load| match trace {
        Trace::Object(kind) => Path::new("/proc/sysvipc").join(kind).exists(),
        _ => true,
    };
    Some((queues, LOADS.iter().filter(is_there).copied().collect()))
}

#[test]
fn every_group_that_asks_the_system_for_something_is_run() {
    let _beside = beside();
    let (list, _) = with_code(0, Home::new().says(&["list", "--format", "json"]));
    let probes: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    let all = probes.iter().map(|probe| probe["id"].as_str().unwrap().split('.').next().unwrap());
    // Made of instructions alone, of guests and timers that end with their descriptors, or of a command that the person
    // names, which has a test of its own.
    let others = ["clock", "cpu", "memory", "virt", "external"];
    let wanted: BTreeSet<&str> = all.filter(|group| !others.contains(group)).collect();
    let run = LOADS.iter().flat_map(|(filters, _)| filters.iter().map(|filter| filter.split('.').next().unwrap()));
    assert_eq!(run.collect::<BTreeSet<_>>(), wanted);
}

#[test]
fn a_run_that_ends_by_itself_leaves_its_file_alone() {
    let _alone = alone();
    let Some((queues, _)) = seen() else { return };
    let filters = [
        "ipc.hand_over@by=sysv_semaphore,cpus=same_cpu",
        "ipc.round_trip@by=posix_queue",
        "ipc.round_trip@by=sysv_queue",
        "ipc.unix_connect@cpus=same_cpu",
        "ipc.round_trip@by=fifo,cpus=same_cpu",
        "net.tcp_connect@copies=1",
        "file.create_delete@op=create,size=0",
        "disk.fsync@block=2300",
        "process.exec@way=fork,child=static",
        "sched.wakeup@cpus=same_cpu",
        "signal.handle",
        "paging.fault@kind=file",
        "syscall.stat",
    ];
    let mut run = UnderWay::start(&filters, &queues);
    let (status, left) = run.left(SOON);
    let kept = kept(&left);
    assert_eq!(status.code(), Some(0), "{:?}", kept.cases);
    for filter in filters {
        let wanted: CaseId = filter.parse().unwrap();
        let is_it = |case: &&CaseRecord| {
            case.probe == wanted.probe && wanted.params.0.iter().all(|set| case.params.0.contains(set))
        };
        assert!(kept.cases.iter().filter(is_it).any(|case| case.measured().is_some()), "{filter} was not measured");
    }
}

#[test]
fn all_rounds_of_a_disk_probe_use_the_file_that_the_first_wrote() {
    let _alone = alone();
    let Some((queues, _)) = seen() else { return };
    let mut run = UnderWay::start(&["disk.direct_io@op=read"], &queues);
    let mut inodes = BTreeSet::new();
    let ended = within(ENDS_WITHIN, || {
        // A directory may go while it is read.
        let runs = names(run.disk.path()).into_iter().map(|name| run.disk.path().join(name));
        let files = runs.flat_map(|run| names(&run).into_iter().map(move |name| run.join(name)));
        inodes.extend(
            files.filter_map(|file| fs::metadata(file).ok().filter(fs::Metadata::is_file)).map(|file| file.ino()),
        );
        run.child.try_wait().unwrap().is_some()
    });
    assert!(ended, "the run goes on");
    let (_, left) = run.left(SOON);
    let kept = kept(&left);
    let Some(measured) = kept.cases.iter().find_map(CaseRecord::measured) else {
        return skipped(&format!("no round had a file on a device: {:?}", kept.cases));
    };
    assert!(measured.rounds.len() > 1);
    assert_eq!(inodes.len(), 1, "{inodes:?}");
}

#[test]
fn a_run_that_is_asked_to_stop_leaves_its_file_alone() {
    let _alone = alone();
    let Some((queues, loads)) = seen() else { return };
    // A load after the other, and the hardest by the other signal too.
    let hardest = HARDEST.map(|load| (LOADS[load], Signal::TERM, 143));
    for (load, signal, code) in loads.iter().map(|load| (*load, Signal::INT, 130)).chain(hardest) {
        let ended = ended_amid(load, &queues, |run| run.child.signal(signal));
        let is_interrupted = kept(&ended.left).interrupted.is_some();
        assert_eq!((ended.status.code(), is_interrupted), (Some(code), true), "{load:?}");
    }
}

/// Runs a load until what it could leave is there, and has it end by a kill: its journal alone is left.
fn killed_amid(load: Load, queues: &Queues, end: impl FnOnce(&mut UnderWay)) {
    let ended = ended_amid(load, queues, end);
    assert_eq!(ended.status.signal(), Some(9), "{load:?}");
    assert!(ended.left.len() == 1 && ended.left[0].to_string_lossy().ends_with(".partial.jsonl"), "{:?}", ended.left);
}

#[test]
fn a_run_that_is_killed_leaves_its_journal_alone() {
    let _alone = alone();
    let Some((queues, loads)) = seen() else { return };
    for load in &loads {
        killed_amid(*load, &queues, |run| {
            // Who is stopped does not end by itself when it has nobody left to answer.
            run.signal_all("hostmark\n", Signal::STOP);
            run.let_begin();
            run.child.signal(Signal::KILL);
            run.let_ask();
        });
    }
    for load in HARDEST.map(|load| LOADS[load]) {
        killed_amid(load, &queues, |run| run.signal_all("hostmark\n", Signal::KILL));
    }
    // Objects whose guards are killed with all the rest are found by their records: who is stopped first cleans up after nobody.
    for load in loads.iter().filter(|(_, trace)| matches!(trace, Trace::Object(_))) {
        killed_amid(*load, &queues, |run| {
            for signal in [Signal::STOP, Signal::KILL] {
                ["hm-guard\n", "hostmark\n"].iter().for_each(|name| run.signal_all(name, signal));
            }
        });
    }
}

#[test]
fn what_a_run_killed_with_its_janitor_leaves_the_next_command_removes_and_tells() {
    let _alone = alone();
    let Some((queues, _)) = seen() else { return };
    let mut run = UnderWay::start(&["disk"], &queues);
    run.until_there_is(Trace::Scratch);
    for signal in [Signal::STOP, Signal::KILL] {
        ["hm-janitor\n", "hostmark\n"].iter().for_each(|name| run.signal_all(name, signal));
    }
    assert!(within(SOON, || run.child.try_wait().unwrap().is_some() && processes(&run.home).is_empty()));
    assert!(!names(run.disk.path()).is_empty(), "nothing was left");
    let (_, told) = with_code(0, ended(run.home.start(PROGRAM).arg("host")));
    assert!(told.contains("removed ") && told.contains(", which a hostmark that was killed had left"), "{told}");
    assert!(run.left(SOON).1.iter().all(|file| !file.to_string_lossy().contains("/changed/")), "the record stays");
}

#[test]
fn a_killed_worker_costs_its_case_and_leaves_nothing() {
    let _alone = alone();
    let Some((queues, loads)) = seen() else { return };
    for load in &loads {
        let ended = ended_amid(*load, &queues, |run| {
            let mut worker = None;
            within(SOON, || {
                worker = processes(&run.home).into_iter().find(|(_, word)| word == "worker");
                worker.is_some()
            });
            let Some(worker) = worker.and_then(|(pid, _)| Pid::from_raw(pid)) else { panic!("no worker") };
            let _ = kill_process(worker, Signal::KILL);
            // The run goes on, unless the worker had already done its work.
            let rounds = journal_in(&run.home).lines().count();
            let goes_on = within(SOON, || {
                journal_in(&run.home).lines().count() > rounds || run.child.try_wait().unwrap().is_some()
            });
            assert!(goes_on);
            let _ = kill_process(Pid::from_child(&run.child), Signal::INT);
        });
        let kept = kept(&ended.left);
        assert!(matches!(ended.status.code(), Some(130 | 3)), "{load:?} {}", ended.status);
        for case in &kept.cases {
            if let Outcome::Failed { reason } = &case.outcome {
                assert_eq!(**reason, format!("the worker {}", out_of_memory()), "{}", case.id);
            }
        }
    }
}

#[test]
fn children_are_waited_for_also_where_whoever_starts_a_run_ignores_their_end() {
    let _alone = alone();
    let home = Home::new();
    let mut command = home.start("env");
    // Ignored, the kernel forgets children as they end, and gives their numbers away.
    command.args(["--ignore-signal=CHLD", PROGRAM, "run", "process.fork_exit@way=syscall"]);
    with_code(0, ended(&mut command));
}
