//! Another user of the machine who wants a run to write to, or to remove, what is not its own; and names that are no text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use hostmark_model::CalibratedClock;

use crate::jobs::{Places, jobs};
use crate::prelude::*;

/// Makes everything that a run might use before the run does, and puts links and directories in the place of what it has
/// made: in a loop, for as long as it lives. `$1` is a directory that everybody writes to, `$2` a file and `$3` a directory
/// of the victim's; what it takes the place of, it counts in `$4`.
const ATTACK: &str = include_str!("support/attack.sh");

fn as_nobody(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
    command
}

/// What belongs to the victim, who is the user that measures: it must be as it was.
struct Victim {
    file: PathBuf,
    directory: PathBuf,
}

impl Victim {
    fn at(base: &Path) -> Victim {
        let victim = Victim { file: base.join("only-root"), directory: base.join("tree") };
        fs::write(&victim.file, "untouched").unwrap();
        fs::create_dir_all(victim.directory.join("below")).unwrap();
        fs::write(victim.directory.join("below/kept"), "untouched").unwrap();
        victim
    }

    fn assert_is_untouched(&self) {
        assert_eq!(fs::read_to_string(&self.file).unwrap(), "untouched");
        let found = files(&self.directory);
        assert_eq!(found, [self.directory.join("below/kept")]);
        assert_eq!(fs::read_to_string(&found[0]).unwrap(), "untouched");
    }
}

/// A quick run of everything that makes files, beside the attacker. `sticky` says whether names may be taken away by others.
fn attacked(sticky: bool) {
    let home = Home::new();
    if !as_nobody("true").output().is_ok_and(|output| output.status.success()) {
        return skipped("no other user is available here");
    }
    let base = tempfile::tempdir().unwrap();
    let victim = Victim::at(base.path());
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let (shared, taken) = (base.path().join("shared"), base.path().join("taken"));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(if sticky { 0o1777 } else { 0o777 })).unwrap();

    let mut command = home.hostmark(&["run", "file", "disk", "ipc", "process", "net.http", "paging", "syscall"]);
    command.args(["--format", "json", "--scratch"]).arg(&shared);
    let mut run = Running::start(&mut command);
    let mut attack = as_nobody("sh");
    attack.args(["-c", ATTACK, "attack"]).args([&shared, &victim.file, &victim.directory, &taken]);
    attack.arg(run.id().to_string()).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let attacker = Running(attack.spawn().unwrap());
    let (code, json, errors) = said(&run.ends(SOON * 4));
    drop(attacker);

    victim.assert_is_untouched();
    assert!(matches!(code, 0 | 3), "{code} {errors}");
    let run = load_run(&json).unwrap();
    assert!(run.cases.iter().filter(|case| case.measured().is_some()).count() > 20);
    let mut reasons = run.cases.iter().filter_map(|case| match &case.outcome {
        Outcome::Failed { reason } => Some(format!("{} {reason}", case.id)),
        _ => None,
    });
    assert_eq!(reasons.next(), None);
    let moved: Vec<PathBuf> = fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().path()).collect();
    // What the attacker put there lies among them: of its own, with links in it.
    let is_ours =
        |path: &&PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.uid() != 65534 && found.is_dir());
    let moved = moved.iter().filter(|path| path.to_string_lossy().contains("moved-")).filter(is_ours);
    match sticky {
        true => assert!(!taken.exists(), "a sticky directory let names be taken away"),
        // What was moved is empty: the run found its own by its descriptors. The attack was one.
        false => {
            assert!(taken.exists(), "the attacker never came to it");
            moved.for_each(|path| assert!(files(path).is_empty(), "{:?}", files(path)));
        }
    }
    remove_as_nobody_made(&shared);
}

/// The attacker's own names in memory, which only it and root may remove.
fn remove_as_nobody_made(shared: &Path) {
    let _ = as_nobody("find").args(["/dev/shm", "-user", "65534", "-delete"]).output();
    let _ = fs::remove_dir_all(shared);
}

#[test]
fn another_user_leads_no_run_astray_who_may_move_its_directory_or_not() {
    let _beside = beside();
    [true, false].into_iter().for_each(attacked);
}

#[test]
fn a_scratch_directory_may_have_any_name() {
    let _beside = beside();
    let home = Home::new();
    let mut bystander = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
    let pid = bystander.id();
    let names = [
        format!("a\ngroup {pid}\nreaped {pid}\ndirectory x\n").into_bytes(),
        format!("a\n{{\"group\":{pid}}}\n{{\"directory\":[47]}}\n").into_bytes(),
        b"\xff\xfe not text \x1b[31m".to_vec(),
        b"spaces  'quotes\" $(true) \\n".to_vec(),
    ];
    for name in names {
        let scratch = home.scratch.path().join(OsStr::from_bytes(&name));
        fs::create_dir(&scratch).unwrap();
        let by_option = |arguments: &[&str]| {
            let mut command = home.hostmark(arguments);
            command.arg("--scratch").arg(&scratch);
            command
        };
        let by_variable = |arguments: &[&str]| {
            let mut command = home.hostmark(arguments);
            command.env("TMPDIR", &scratch);
            command
        };
        let arguments = ["run", "process.exec@way=fork,child=static", "disk.fsync@block=2300", "--format", "json"];
        for mut command in [by_option(&arguments), by_variable(&arguments)] {
            let json = succeeded(ended(&mut command));
            assert!(measured(&load_run(&json).unwrap()), "{name:?} {json}");
        }
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "left in {name:?}");
        assert_eq!(bystander.try_wait().unwrap(), None, "{name:?} reached a process");
    }
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

fn measured(run: &Run) -> bool {
    run.cases.iter().any(|case| case.probe == "process.exec" && case.measured().is_some())
}

/// Sends a signal to the janitor of a run under way, and gives how the run ended.
fn janitor_has(signal: Signal) -> (Home, Option<i32>) {
    let home = Home::new();
    let mut run = home.hostmark(&["run", "clock.loop", "disk.fsync@block=2300"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut janitor = None;
    assert!(within(SOON, || {
        let all = processes(&home);
        janitor = all.iter().find(|(_, word)| word == "janitor").cloned();
        // By its first worker the run has been told of what the janitor has made.
        all.iter().any(|(_, word)| word == "worker") && fs::read_dir(home.scratch.path()).unwrap().count() > 0
    }));
    kill_process(Pid::from_raw(janitor.unwrap().0).unwrap(), signal).unwrap();
    let mut code = None;
    assert!(within(SOON, || {
        code = run.try_wait().unwrap();
        code.is_some()
    }));
    (home, code.unwrap().code())
}

#[test]
fn a_janitor_that_is_stopped_or_killed_leaves_nothing() {
    let _beside = beside();
    for signal in [Signal::STOP, Signal::KILL] {
        let (home, code) = janitor_has(signal);
        assert_eq!(code, Some(0), "{signal:?}");
        assert!(files(home.scratch.path()).is_empty() && fs::read_dir(home.scratch.path()).unwrap().count() == 0);
    }
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostmark");
/// A round of so little time takes a fraction of it, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
const AT_ONCE: usize = 8;
/// Addresses that a worker may have here, KiB: what asks for memory without asking first is refused it.
const ADDRESSES_KIB: u64 = 2 << 20;

struct Asked {
    what: String,
    child: Running,
}

fn ask(what: String, job: &Job) -> Asked {
    let script = format!("ulimit -v {ADDRESSES_KIB} && exec \"$0\" worker");
    let mut command = Command::new("sh");
    command.args(["-c", &script, PROGRAM]).stdin(Stdio::piped());
    let mut child = Running::start(&mut command);
    let line = format!("{}\n", serde_json::to_string(job).unwrap());
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    Asked { what, child }
}

impl Asked {
    /// What is wrong with the answer, if anything is.
    fn wrong(mut self) -> Option<String> {
        let has_ended = within(PATIENCE, || self.child.try_wait().unwrap().is_some());
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        let (mut said, mut errors) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let last = said.lines().last().and_then(|line| serde_json::from_str::<Event>(line).ok());
        let is_answer = match &last {
            Some(Event::Done { .. }) => true,
            Some(Event::Failed { reason } | Event::Skipped { reason }) => {
                !reason.contains("panicked") && !reason.contains('\n') && reason.len() < 400
            }
            _ => false,
        };
        let is_right = has_ended && status.success() && is_answer;
        (!is_right).then(|| format!("{}: {status}, ended: {has_ended}, {last:?} {errors}", self.what))
    }
}

/// The case with another value of an axis.
fn with(job: &Job, axis: &str, value: &str) -> Job {
    let (probe, axes) = job.case().split_once('@').unwrap();
    let axes: Vec<String> = axes
        .split(',')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if name == axis => format!("{axis}={value}"),
            _ => pair.to_owned(),
        })
        .collect();
    job.clone().with(|job| job.cases[0].id = format!("{probe}@{}", axes.join(",")))
}

/// Jobs that differ from a good one in one number.
fn absurd(job: &Job) -> Vec<(String, Job)> {
    let mut jobs = Vec::new();
    let mut add = |what: &str, job: Job| jobs.push((format!("{} {what}", job.case()), job));
    for cpus in [vec![], vec![usize::MAX], vec![1 << 62], vec![job.cpus[0], usize::MAX]] {
        add(&format!("cpus {cpus:?}"), Job { cpus, ..job.clone() });
    }
    for iterations in [0, 1 << 40, u64::MAX] {
        add(&format!("iterations {iterations}"), job.clone().with(|job| job.cases[0].iterations = Some(iterations)));
    }
    let most = u64::MAX;
    add("budget", Job { budget_ns: most, ..job.clone() });
    add("no budget", Job { budget_ns: 0, ..job.clone() });
    add("caches", Job { l1d_bytes: most, llc_bytes: most, llc_sum_bytes: most, ..job.clone() });
    add("line 0", Job { line_bytes: 0, ..job.clone() });
    add("line", Job { line_bytes: most, ..job.clone() });
    add("no memory", Job { memory_bytes: 0, ..job.clone() });
    add("set-up", Job { setup_ns: most, ..job.clone() });
    add("other CPU", Job { other_cpu: Some(usize::MAX), ..job.clone() });
    for hz in [0.0, -1.0, 1e300, f64::MIN_POSITIVE] {
        add(
            &format!("{hz} Hz"),
            job.clone().with(|job| job.environment.clock = CalibratedClock::Counter { hz, synchronized: true }),
        );
    }
    for folder in ["", "..", "a/b", "a\0b"] {
        add(&format!("folder {folder:?}"), Job { folder: folder.into(), ..job.clone() });
    }
    add("case", job.clone().with(|job| job.cases[0].id = "@=,".into()));
    add("no axes", job.clone().with(|job| job.cases[0].id = job.case().split('@').next().unwrap().to_owned()));
    jobs
}

#[test]
fn a_job_that_cannot_be_meant_is_answered_in_a_sentence() {
    let _alone = alone();
    let places = Places::new();
    let jobs: Vec<Job> = jobs(&places);
    let mut asked: Vec<(String, Job)> = Vec::new();
    let mut seen = BTreeSet::new();
    for job in &jobs {
        let Some((probe, axes)) = job.case().split_once('@') else { continue };
        for (axis, value) in axes.split(',').filter_map(|pair| pair.split_once('=')) {
            if value.parse::<u64>().is_ok() && seen.insert((probe.to_owned(), axis.to_owned())) {
                for value in ["0", "1048576", "70368744177664", "18446744073709551615", "-1"] {
                    asked.push((format!("{probe} {axis}={value}"), with(job, axis, value)));
                }
            }
        }
    }
    for case in ["clock.loop", "ipc.round_trip@by=pipe", "syscall.null@copies=2", "syscall.stat@", "cpu.flops@"] {
        let job = jobs.iter().find(|job| job.case().starts_with(case));
        asked.extend(job.into_iter().flat_map(absurd));
    }
    assert!(asked.len() > 200, "{}", asked.len());
    let mut wrong = Vec::new();
    for some in asked.chunks(AT_ONCE) {
        let under_way: Vec<Asked> = some.iter().map(|(what, job)| ask(what.clone(), job)).collect();
        wrong.extend(under_way.into_iter().filter_map(Asked::wrong));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), asked.len(), wrong.join("\n"));
}
