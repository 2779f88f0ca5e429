//! Hosts that give little: a full disk, little memory, one CPU, nowhere to write.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hostmark_engine::sys::scratch::Private;
use hostmark_model::AxisKind;

use crate::control_group::ControlGroup;
use crate::prelude::*;

// Runs are timed: one at a time.

/// A small file system over a directory while it lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn over(directory: &Path) -> Option<SmallDisk> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "hostmark-test"]).arg(directory);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then(|| SmallDisk(directory.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The run was measured and shown, its loss is one sentence, and nothing but the journal is left of it.
fn assert_is_lost(home: &Home, arguments: &[&str], file: &str) {
    let (code, table, errors) = home.says(arguments);
    assert_eq!(code, 5, "{errors}");
    assert!(table.contains("CLOCKS") && table.contains("Clock read") && !table.contains("saved as"), "{table}");
    let start = format!("hostmark: the run could not be saved to {file}");
    let left = files(home.data.path());
    let end = format!(
        " (write: No space left on device (os error 28)); what was measured is in its journal: make room and save it by \
         hostmark run --resume {}, with --out for another file\n",
        left[0].display()
    );
    assert!(errors.starts_with(&start) && errors.ends_with(&end) && errors.lines().count() == 1, "{errors}");
    assert!(left.len() == 1 && left[0].display().to_string().ends_with(".partial.jsonl"), "{left:?}");
    let journal = fs::read_to_string(&left[0]).unwrap();
    let header: serde_json::Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    assert!(header["plan"].is_object());
    // As it says.
    let other = tempfile::tempdir().unwrap();
    let saved = other.path().join("saved.json");
    let (resume, out) = (left[0].display().to_string(), saved.display().to_string());
    let arguments = ["run", "--resume", &resume, "--out", &out, "--format", "json"];
    let (code, json, errors) = home.says(&arguments);
    // Rounds that the full disk kept from the journal are measured again, and it has no more room for them: the run's file is whole.
    assert_eq!(code, 0, "{errors}");
    assert_eq!(fs::read_to_string(&saved).unwrap(), json);
    let run = load_run(&json).unwrap();
    assert!(run.name == "saved" && run.disturbances.iter().any(|it| it.en.contains("cut short")), "{}", run.name);
    assert_eq!(files(home.data.path()), Vec::<PathBuf>::new());
    assert!(files(home.scratch.path()).is_empty());
}

#[test]
fn a_full_disk_loses_the_run_file_or_a_named_one_and_not_what_is_shown() {
    let _alone = alone();
    let home = Home::new();
    let Some(disk) = SmallDisk::over(home.data.path()) else { return skipped("no file system can be mounted here") };
    assert_is_lost(&home, &["run", "clock.read"], &disk.0.join("hostmark/runs/").display().to_string());
    let file = disk.0.join("mine.json").display().to_string();
    assert_is_lost(&home, &["run", "clock.read", "--out", &file], &file);
}

#[test]
fn a_disk_without_room_for_a_journal_is_reported_before_anything_is_measured() {
    let _alone = alone();
    let home = Home::new();
    let Some(disk) = SmallDisk::over(home.data.path()) else { return skipped("no file system can be mounted here") };
    let filler = disk.0.join("filler");
    let _ = fs::write(&filler, vec![1; 1 << 20]);
    let file = disk.0.join("mine.json").display().to_string();
    let (code, out, errors) = home.says(&["run", "clock.loop", "--out", &file]);
    let why =
        "cannot be written (write: No space left on device (os error 28)); make room, or name another file by --out";
    let sentence = format!("hostmark: the journal {} {why}\n", disk.0.join("mine.partial.jsonl").display());
    assert_eq!((code, out, errors), (5, String::new(), sentence));
    assert_eq!(files(&disk.0), [filler]);
}

/// The most that a group ever used, bytes; kernels before 5.19 do not tell it in version 2.
fn peak(group: &ControlGroup) -> Option<u64> {
    let read = |name: &&str| fs::read_to_string(group.0.join(name)).ok();
    ["memory.max_usage_in_bytes", "memory.peak"].iter().find_map(read)?.trim().parse().ok()
}

/// The run of a command that ended well, in which nothing failed.
fn whole_run(command: &mut Command) -> Run {
    let json = succeeded(ended(command));
    let run = load_run(&json).unwrap();
    for case in &run.cases {
        let is_failed = matches!(case.outcome, Outcome::Failed { .. });
        assert!(!is_failed, "{case:?}");
    }
    run
}

#[test]
fn a_memory_limit_is_named_makes_buffers_smaller_and_kills_nobody() {
    let _alone = alone();
    const LIMIT: u64 = 256 << 20;
    let (home, Some(group)) = (Home::new(), ControlGroup::with_memory("test", LIMIT)) else {
        return skipped("no memory control group can be made here");
    };
    let (code, report, _) = ended(&mut group.start(&home, &[PROGRAM, "host", "--check", "--format", "json"]));
    assert!(code == 1 && report.contains("\"host.little_memory\""), "{code} {report}");
    let mut command = group.start(&home, &[PROGRAM, "run", "memory", "memory.read@size=1G", "memory.latency@size=1G"]);
    let run = whole_run(command.args(["--format", "json"]));
    assert_eq!(run.host.limits.memory_limit_bytes, Some(LIMIT));
    assert_eq!(group.kills(), 0);
    // So far below the limit nothing is swapped either.
    let peak = peak(&group);
    assert!(peak.is_none_or(|bytes| bytes < LIMIT * 3 / 4), "{peak:?}");
    let too_large: Vec<_> = run.cases.iter().filter(|case| case.params.get("size") == Some("1073741824")).collect();
    assert_eq!(too_large.len(), 2);
    for case in too_large {
        let Outcome::Skipped { reason } = &case.outcome else { panic!("{} was measured", case.id) };
        assert!(reason.contains(" MiB of memory; a case of this run may fill "), "{reason}");
    }
    assert!(run.cases.iter().any(|case| case.probe == "memory.read" && case.measured().is_some()));
}

#[test]
fn one_cpu_is_enough() {
    let _alone = alone();
    let home = Home::new();
    let is_there = Command::new("taskset").args(["-c", "0", "true"]).status().is_ok_and(|status| status.success());
    if !is_there {
        return skipped("taskset or CPU 0 is not available here");
    }
    let mut command = home.start("taskset");
    command.args([
        "-c",
        "0",
        PROGRAM,
        "run",
        "cpu.scaling",
        "cpu.kernel_sieve",
        "cpu.core_to_core",
        "cpu.atomic",
        "clock.read",
    ]);
    let run = whole_run(command.args(["--format", "json"]));
    assert_eq!(run.settings.cpu, 0);
    for case in &run.cases {
        match &case.outcome {
            Outcome::Skipped { reason } if case.probe == "cpu.kernel_sieve" => assert!(reason.contains("module")),
            Outcome::Skipped { reason } => assert!(reason.contains("CPU"), "{} {reason}", case.id),
            _ => {
                let on_it = |m: &Measured| m.rounds.iter().flat_map(|round| &round.cpus).all(|&cpu| cpu == 0);
                assert!(case.measured().is_some_and(on_it), "{}", case.id);
            }
        }
    }
}

#[test]
fn a_place_for_runs_that_cannot_be_written_is_reported_and_the_run_is_shown() {
    let _alone = alone();
    let home = Home::new();
    let Some(as_nobody) = home.answers_nobody() else {
        return skipped("no other user is available here, or it cannot start the program");
    };
    for directory in [home.data.path(), home.scratch.path()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let directory = home.data.path().join("hostmark/runs").display().to_string();
    let assert_reason = |why: &str| {
        let (code, table, errors) = as_nobody(&["run", "clock.loop"]);
        let sentence = format!("hostmark: the run cannot be kept ({why}); name a file by --out\n");
        assert_eq!((code, errors), (5, sentence));
        assert!(table.contains("Empty loop") && !table.contains("saved as"), "{table}");
        assert!(files(home.data.path()).is_empty());
    };
    assert_reason(&format!("{directory} cannot be made: mkdirat: Permission denied (os error 13)"));
    // It is there, and not to be written.
    fs::create_dir_all(&directory).unwrap();
    let (code, table, errors) = as_nobody(&["run", "clock.loop"]);
    assert_eq!(code, 5);
    assert!(table.contains("Empty loop") && files(home.data.path()).is_empty(), "{table}");
    let end = "Permission denied (os error 13)); name a file by --out\n";
    assert!(errors.starts_with("hostmark: the run cannot be kept (") && errors.contains(".partial.jsonl"), "{errors}");
    assert!(errors.ends_with(end), "{errors}");
}

#[test]
fn the_limit_of_cpu_time_ends_a_run_as_a_person_would() {
    let _alone = alone();
    let home = Home::new();
    let mut command = home.start("sh");
    // The parent of a run uses little CPU time: the signal comes from outside.
    let script = "ulimit -c 0; \"$0\" \"$@\" & run=$!; sleep 1; kill -XCPU $run; wait $run";
    command.args(["-c", script, PROGRAM, "run", "cpu", "clock", "--format", "json"]);
    let (code, json, _) = ended(&mut command);
    let run = load_run(&json).unwrap();
    assert_eq!((code, run.interrupted.as_deref()), (128 + 24, Some("stopped by a signal")));
}

/// Threads that take time from each CPU.
const BUSY_A_CPU: usize = 4;
#[test]
fn the_quick_profile_ends_on_time_on_a_busy_machine_and_has_every_default_case() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let home = Home::new();
    let is_over = AtomicBool::new(false);
    let cpus = std::thread::available_parallelism().unwrap().get();
    let (took, said) = std::thread::scope(|scope| {
        for _ in 0..BUSY_A_CPU * cpus {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        #[expect(clippy::disallowed_methods, reason = "the limit is one of wall time")]
        let began = Instant::now();
        let said = std::panic::catch_unwind(|| home.says(&["run", "--format", "json"]));
        let took = began.elapsed();
        is_over.store(true, Ordering::Relaxed);
        (took, said.unwrap())
    });
    let (code, json, errors) = said;
    if !quiet.holds(took < Duration::from_secs(60), || format!("{took:?}")) {
        return;
    }
    assert!(matches!(code, 0 | 3) && errors.is_empty(), "{code}: {errors}");
    let run = load_run(&json).unwrap();
    assert!(run.interrupted.is_none());
    let mut seen = HashSet::new();
    for case in &run.cases {
        let is_default = seen.insert(&case.probe);
        match &case.outcome {
            Outcome::Measured(_) => {}
            Outcome::Skipped { reason } => {
                assert!(!reason.is_empty(), "{}", case.id);
                // A default may lack what it needs; it never lacks time.
                quiet.holds(!is_default || &**reason != "no time left", || case.id.clone());
            }
            Outcome::Failed { reason } => {
                assert!(!reason.is_empty(), "{}", case.id);
                quiet.holds(!is_default, || format!("{}: {reason}", case.id));
            }
        }
    }
    assert_eq!(seen.len(), run.probes.len());
    assert!(files(home.scratch.path()).is_empty());
    assert_eq!(files(home.data.path()).len(), 1);
}

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

/// The last event of a round that is measured in the group.
fn last_event(group: &ControlGroup, home: &Home, case: &str) -> Event {
    let memory = Private::make("/dev/shm".as_ref()).unwrap();
    let job = job(case).with(|job| job.environment.memory_scratch = memory.entry().unwrap());
    let mut events = worker_events(group.start(home, &[PROGRAM, "worker"]), &job);
    memory.remove().unwrap();
    events.pop().unwrap_or_else(|| panic!("{case}: the worker said nothing"))
}

#[test]
fn what_no_longer_fits_the_group_is_skipped_before_it_is_filled() {
    let _beside = beside();
    let (home, Some(group)) = (Home::new(), ControlGroup::with_memory("worker", 128 << 20)) else {
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
    let said = worker_events(home.hostmark(&["worker"]), &hurried);
    let Some(Event::Skipped { reason }) = said.last() else { panic!("{said:?}") };
    assert!(reason.starts_with("filling 256 MiB at "), "{reason}");
}

#[test]
fn a_slow_set_up_is_reported_until_the_first_sample() {
    let _beside = beside();
    let (home, Some(group)) = (Home::new(), ControlGroup::with_quota("slow", 5000)) else {
        return skipped("no control group with a CPU quota can be made here");
    };
    let job = job("memory.read@kernel=best,size=134217728,page=base,threads=1");
    let said = worker_events(group.start(&home, &[PROGRAM, "worker"]), &job);
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
fn a_size_that_no_machine_has_is_skipped_whichever_axis_it_is_of() {
    let _beside = beside();
    let Some(group) = ControlGroup::with_memory("sizes", 128 << 20) else {
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
