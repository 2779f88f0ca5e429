//! Little memory: a control group with a bystander in it, whom nothing that is measured may cost its life.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use hostmark_engine::probe::entries;
use hostmark_engine::sys::scratch::Private;
use hostmark_model::{AxisKind, CaseRecord, Event, Job, Outcome, load_run};
use hostmark_probes::CATALOGUE;

use crate::alone::beside;
use crate::control_group::ControlGroup;
use crate::processes::{SOON, within};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, Running, ended, files, with_code};

/// Where a limit is written, by version: the directory of groups, the file, and the value.
type Limit = [(&'static str, &'static [(&'static str, &'static str)]); 2];

const OF_128_MIB: Limit = [
    ("/sys/fs/cgroup/memory", &[("memory.limit_in_bytes", "134217728")]),
    ("/sys/fs/cgroup", &[("memory.max", "134217728")]),
];
const OF_LITTLE_CPU: Limit =
    [("/sys/fs/cgroup/cpu", &[("cpu.cfs_quota_us", "5000")]), ("/sys/fs/cgroup", &[("cpu.max", "5000 100000")])];

/// A process that holds 60 MiB and does nothing.
fn bystander(group: &ControlGroup, home: &Home) -> Option<Running> {
    let holds = "$| = 1; my $held = ''; vec($held, (60 << 20) - 1, 8) = 1; print qq(held\\n); sleep 600";
    let mut child = group.start(home, &["perl", "-e", holds]).stdout(Stdio::piped()).spawn().ok()?;
    let mut word = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut()?, &mut word).ok()?;
    Some(Running(child))
}

fn job(case: &str) -> Job {
    Job {
        budget_ns: 10_000_000,
        // Of a time when the group was empty.
        memory_bytes: 1 << 30,
        ..Job::bare(case, vec![hostmark_host::single(&hostmark_host::read_here()).expect("a CPU to run on")])
    }
}

/// What a worker says that is given the job.
fn events(mut worker: Command, job: &Job) -> Vec<Event> {
    let mut worker = worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let line = serde_json::to_string(job).unwrap() + "\n";
    worker.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let output = worker.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The last event of a round that is measured in the group.
fn last_event(group: &ControlGroup, home: &Home, case: &str) -> Event {
    let memory = Private::make("/dev/shm".as_ref()).unwrap();
    let job = job(case).with(|job| job.environment.memory_scratch = memory.entry().unwrap());
    let mut events = events(group.start(home, &[PROGRAM, "worker"]), &job);
    memory.remove().unwrap();
    events.pop().unwrap_or_else(|| panic!("{case}: the worker said nothing"))
}

#[test]
fn what_no_longer_fits_the_group_is_skipped_before_it_is_filled() {
    let _beside = beside();
    let (home, Some(group)) = (Home::new(), ControlGroup::of("worker", &OF_128_MIB)) else {
        return skipped("no control group with a memory limit can be made here");
    };
    let Some(mut bystander) = bystander(&group, &home) else { return skipped("perl is not available here") };
    let size = 58 << 20;
    for case in [
        format!("memory.read@kernel=best,size={size},page=pmd,threads=1"),
        format!("memory.latency@size={size},pattern=random,page=base,copies=1"),
        format!("process.fork_resident@resident={size},page=base"),
        format!("file.reread@size={size},data=sum,place=tmpfs"),
        format!("paging.mmap@size={size},touch=all,backing=anonymous,place=tmpfs"),
    ] {
        let event = last_event(&group, &home, &case);
        let Event::Skipped { reason } = &event else { panic!("{case}: {event:?}") };
        assert!(
            reason.contains("needs") && reason.contains("can spare") || reason.contains("locked"),
            "{case}: {reason}"
        );
        assert!(matches!(bystander.try_wait(), Ok(None)) && group.kills() == 0, "{case}");
    }
    // What fits is measured, and of memory that is only looked through as much as fits.
    for case in [
        "memory.read@kernel=best,size=4194304,page=base,threads=1",
        "memory.integrity@pattern=random,amount=8589934592",
    ] {
        let event = last_event(&group, &home, case);
        assert!(matches!(event, Event::Done { .. }), "{case}: {event:?}");
        assert!(matches!(bystander.try_wait(), Ok(None)) && group.kills() == 0, "{case}");
    }
}

#[test]
fn a_set_up_that_would_take_too_long_is_skipped_after_its_first_part() {
    let _beside = beside();
    let home = Home::new();
    let job = job("memory.read@kernel=best,size=268435456,page=base,threads=1");
    // 64 MiB cannot be filled in a millisecond.
    let hurried = Job { setup_ns: 1_000_000, ..job };
    let said = events(home.hostmark(&["worker"]), &hurried);
    let Some(Event::Skipped { reason }) = said.last() else { panic!("{said:?}") };
    assert!(reason.starts_with("filling 256 MiB at "), "{reason}");
}

#[test]
fn a_slow_set_up_is_reported_until_the_first_sample() {
    let _beside = beside();
    let (home, Some(group)) = (Home::new(), ControlGroup::of("slow", &OF_LITTLE_CPU)) else {
        return skipped("no control group with a CPU quota can be made here");
    };
    let job = job("memory.read@kernel=best,size=134217728,page=base,threads=1");
    let said = events(group.start(&home, &[PROGRAM, "worker"]), &job);
    let filled: Vec<u64> = said
        .iter()
        .filter_map(|event| if let Event::Filled { bytes, .. } = event { Some(*bytes) } else { None })
        .collect();
    assert!(!filled.is_empty() && filled.is_sorted() && matches!(said[0], Event::Hello { .. }), "{said:?}");
    // All of it comes before the round's own events.
    assert!(said[1..=filled.len()].iter().all(|event| matches!(event, Event::Filled { .. })), "{said:?}");
    assert!(matches!(said.last(), Some(Event::Done { .. })), "{said:?}");
}

#[test]
fn a_worker_and_its_copies_are_the_first_to_be_killed() {
    let _beside = beside();
    let home = Home::new();
    let mut worker = home.hostmark(&["worker"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let value = || fs::read_to_string(format!("/proc/{}/oom_score_adj", worker.id())).unwrap().trim().to_owned();
    assert_eq!(value(), fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim());
    let job = Job { budget_ns: 60_000_000_000, ..job("syscall.null@call=getppid") };
    writeln!(worker.stdin.as_ref().unwrap(), "{}", serde_json::to_string(&job).unwrap()).unwrap();
    let became = within(SOON, || value() == "1000");
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(became);
}

#[test]
fn a_whole_run_leaves_everyone_else_in_the_group_alive() {
    let _beside = beside();
    let (home, Some(group)) = (Home::new(), ControlGroup::of("run", &OF_128_MIB)) else {
        return skipped("no control group with a memory limit can be made here");
    };
    let Some(mut bystander) = bystander(&group, &home) else { return skipped("perl is not available here") };
    let filters = ["memory.read", "memory.stream", "memory.copy", "process.fork_resident", "file.reread", "paging"];
    let command = [&[PROGRAM, "run", "--format", "json"], &filters[..]].concat();
    let (json, _) = with_code(0, ended(&mut group.start(&home, &command)));
    let run = load_run(&json).unwrap();
    for case in &run.cases {
        assert!(!matches!(case.outcome, Outcome::Failed { .. }), "{}: {:?}", case.id, case.outcome);
    }
    assert!(run.cases.iter().any(|case| case.measured().is_some()));
    assert!(matches!(bystander.try_wait(), Ok(None)));
    assert_eq!((group.kills(), files(home.scratch.path())), (0, Vec::new()));
}

#[test]
fn a_size_that_no_machine_has_is_skipped_whichever_axis_it_is_of() {
    let _beside = beside();
    let Some(group) = ControlGroup::of("sizes", &OF_128_MIB) else {
        return skipped("no memory control group can be made here");
    };
    let home = Home::new();
    let out = home.data.path().join("sizes.json");
    let sizes = entries(CATALOGUE).flat_map(|entry| {
        let of_sizes = entry.probe.axes.iter().filter(|axis| axis.kind == AxisKind::Size);
        of_sizes.map(move |axis| format!("{}@{}=65536G", entry.id(), axis.name))
    });
    let sizes: Vec<String> = sizes.collect();
    let words: Vec<&str> =
        [PROGRAM, "run", "--out", out.to_str().unwrap()].into_iter().chain(sizes.iter().map(String::as_str)).collect();
    let (code, _, errors) = ended(&mut group.start(&home, &words));
    // Nothing can be measured.
    assert_eq!(code, 4, "{errors}");
    let run = load_run(&fs::read_to_string(&out).unwrap()).unwrap();
    let asked = |case: &&CaseRecord| case.id.contains("=70368744177664");
    let cases: Vec<&CaseRecord> = run.cases.iter().filter(asked).collect();
    assert!(cases.len() >= sizes.len(), "{} of {}", cases.len(), sizes.len());
    for case in cases {
        assert!(matches!(case.outcome, Outcome::Skipped { .. }), "{}: {:?}", case.id, case.outcome);
    }
    assert_eq!(group.kills(), 0);
}
