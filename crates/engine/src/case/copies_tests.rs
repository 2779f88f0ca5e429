//! Replicas that follow a script: they are waited for, watched, and ended.

use super::*;
use crate::clock::FakeClock;

fn job(cpus: &[usize]) -> Job {
    Job::bare("a.b@copies=3", cpus.to_vec()).with(|job| {
        job.environment.parent = 1;
        (job.cases[0].seed, job.cases[0].iterations) = (7, Some(9));
        (job.memory_bytes, job.folder) = (900, "round-2".into());
    })
}

/// Replicas that are shells with this script; each has read its job when it begins.
fn copies(count: usize, script: &str) -> Copies {
    let jobs = jobs(&job(&[4, 5, 6]), 3, 1).unwrap();
    let shell = || {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("read -r job; {script}")]);
        command
    };
    Copies::start(&jobs[1..=count], shell).unwrap()
}

fn pids(copies: &Copies) -> Vec<u32> {
    let Copies::Leader(replicas) = copies else { panic!() };
    replicas.iter().map(|replica| replica.process.id()).collect()
}

const MEASURES: &str = r#"echo '{"event":"measuring"}'; exec sleep 60"#;

#[test]
fn each_copy_has_its_cpu_and_its_share_and_the_first_measures() {
    let jobs = jobs(&job(&[4, 5, 6, 7]), 3, 1).unwrap();
    assert_eq!(jobs.iter().map(|job| job.cpus.clone()).collect::<Vec<_>>(), [[4], [5], [6]]);
    assert_eq!(jobs.iter().map(|job| job.replica).collect::<Vec<_>>(), [false, true, true]);
    assert!(jobs.iter().all(|job| job.memory_bytes == 300 && job.cases[0].iterations == Some(9)));
    assert_eq!((jobs[0].environment.parent, jobs[1].environment.parent), (1, std::process::id()));
    assert!(jobs[0].cases[0].seed == 7 && jobs[1].cases[0].seed != 7 && jobs[2].cases[0].seed != jobs[1].cases[0].seed);
    assert_eq!((jobs[0].folder.as_str(), jobs[2].folder.as_str()), ("round-2", "round-2-copy-2"));
    // Both parties of a copy are on its CPU, and each copy has one.
    assert_eq!(super::jobs(&job(&[4, 5]), 2, 2).unwrap()[1].cpus, [5, 5]);
    let refused = super::jobs(&job(&[4]), 2, 1).unwrap_err();
    assert_eq!(refused, RoundError::internal("the job has 2 copies for 1 CPUs"));
}

#[test]
fn companions_that_measure_are_met_and_ended() {
    let mut copies = copies(2, MEASURES);
    copies.start_barrier().unwrap();
    copies.end_barrier().unwrap();
    let pids = pids(&copies);
    drop(copies);
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is left");
    }
}

#[test]
fn each_companion_reads_its_own_job() {
    let script = format!(r#"case "$job" in *'"cpus":[5]'*'"replica":true'*) {MEASURES};; esac"#);
    copies(1, &script).start_barrier().unwrap();
    assert!(copies(2, &script).start_barrier().is_err(), "the second has CPU 6");
}

#[test]
fn a_companion_that_cannot_says_why() {
    let says = |event: &str| copies(1, &format!(r#"echo '{{"event":"hello","protocol":1,"pid":1}}'; echo '{event}'"#));
    let skipped = says(r#"{"event":"skipped","reason":"no memory","code":"too_little_memory"}"#).start_barrier();
    assert_eq!(
        skipped,
        Err(RoundError::skipped(ReasonCode::TooLittleMemory, "a copy on CPU 5 was skipped: no memory"))
    );
    let failed = says(r#"{"event":"failed","reason":"it broke","code":"check_failed"}"#).start_barrier();
    assert_eq!(failed, Err(RoundError::wrong("a copy on CPU 5 failed: it broke")));
    assert_eq!(
        copies(1, "exit 0").start_barrier(),
        Err(RoundError::failed(ReasonCode::ProcessDied, "a copy on CPU 5 ended while others measured: exit status: 0"))
    );
}

#[test]
fn a_companion_that_ended_before_the_measuring_did_is_noticed() {
    let broke = r#"echo '{"event":"measuring"}'; echo '{"event":"failed","reason":"it broke","code":"check_failed"}'"#;
    let mut copies = copies(2, broke);
    copies.start_barrier().unwrap();
    let Copies::Leader(replicas) = &mut copies else { panic!() };
    assert!(replicas[0].process.ends_within(Duration::from_secs(60)));
    assert_eq!(copies.end_barrier(), Err(RoundError::wrong("a copy on CPU 5 failed: it broke")));
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let gathered = Copies::start(&[job(&[4])], || Command::new("/nonexistent/hostmark"));
    assert!(matches!(gathered, Err(RoundError::Failed(reason)) if reason.contains("could not be started")));
}

#[test]
fn a_companion_reports_when_it_has_begun_and_does_its_body_until_it_fails() {
    let fake = FakeClock::new(0);
    let lengths = std::cell::RefCell::new(Vec::new());
    let mut body = |iterations| {
        let mut lengths = lengths.borrow_mut();
        lengths.push(iterations);
        fake.advance(iterations * 50_000);
        if lengths.len() < 7 { Ok(()) } else { Err(RoundError::wrong("enough")) }
    };
    // A mark between the lengths.
    let announce = || {
        lengths.borrow_mut().push(0);
        Ok(())
    };
    let result = go_on(&Clock::Fake(fake.clone()), &mut body, announce);
    assert_eq!((result, lengths.into_inner()), (Err(RoundError::wrong("enough")), vec![1, 0, 1, 2, 4, 4, 4]));
}
