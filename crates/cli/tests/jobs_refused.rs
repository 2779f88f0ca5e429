//! Jobs that nobody can mean: whatever a worker is handed, it answers in one sentence, and soon.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hostmark_model::{CalibratedClock, Event, Job};

use crate::alone::alone;
use crate::jobs::{Places, jobs};
use crate::processes::within;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hostmark");
/// A round of so little time takes a fraction of it, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);
/// Workers at the same time.
const AT_ONCE: usize = 8;
/// Addresses that a worker may have here, KiB: what asks for memory without asking first is refused it.
const ADDRESSES_KIB: u64 = 2 << 20;

/// A worker with a job.
struct Asked {
    what: String,
    child: Child,
}

fn ask(what: String, job: &Job) -> Asked {
    let script = format!("ulimit -v {ADDRESSES_KIB} && exec \"$0\" worker");
    let mut command = Command::new("sh");
    command.args(["-c", &script, PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
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
