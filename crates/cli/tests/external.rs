//! Any command as a load: its time, CPU time and memory; how it fails, and that it ends with the run.

use hostmark_model::{Better, Unit};

use crate::prelude::*;
use crate::support;

/// The one case of a run of a command with further words.
fn external_run(home: &Home, command: &str, words: &[&str]) -> (i32, Run) {
    let all = ["run", "--command", command, "--format", "json"];
    let (code, json, errors) = home.says(&[&all[..], words].concat());
    let run = load_run(&json).unwrap_or_else(|error| panic!("{error}\n{json}\n{errors}"));
    assert_eq!(run.cases.len(), 1, "{:?}", run.cases);
    (code, run)
}

fn run_of(home: &Home, command: &str) -> (i32, Run) {
    external_run(home, command, &["external"])
}

fn measured(run: &Run) -> &Measured {
    run.cases[0].measured().unwrap_or_else(|| panic!("{:?}", run.cases))
}

#[test]
fn a_command_is_run_once_a_round_with_what_it_used() {
    let home = Home::new();
    let scratch = home.scratch.path().display();
    // Each execution leaves a line, and burns some CPU time.
    let script =
        format!("echo x >> {scratch}/lines; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo out; echo err >&2");
    let (code, run) = run_of(&home, &format!("sh -c '{script}'"));
    assert_eq!(
        (code, run.cases[0].id.as_str()),
        (0, format!("external.command@cpus={}", run.host.usable_cpus().len()).as_str())
    );
    let measured = measured(&run);
    assert_eq!((measured.estimate.rounds, measured.estimate.n), (5, 5));
    assert_eq!(fs::read_to_string(home.scratch.path().join("lines")).unwrap(), "x\n".repeat(5));
    let user = measured.also["user"].estimate.typical;
    assert!(user > 0.0 && user < 2.0 * measured.estimate.max, "{measured:?}");
    assert!(measured.also["system"].estimate.typical >= 0.0);
    assert!(measured.estimate.ci_low.is_some());
    assert_eq!((run.settings.limit_s, run.settings.set["command"].starts_with("sh -c")), (0.0, true));
    // What it wrote went with the scratch directory.
    assert_eq!(files(home.scratch.path()).len(), 1);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_long_command_is_distinguished_from_a_short_one_and_from_a_hungry_one() {
    let home = Home::new();
    let wall = |command: &str| measured(&run_of(&home, command).1).estimate.min;
    let (short, long) = (wall("sleep 0.05"), wall("sleep 0.4"));
    assert!(short >= 50e6 && long >= 400e6 && short < long, "{short} {long}");
    // 64 MiB in one shell variable, which is more than the worker itself ever had.
    let hungry = r#"sh -c 'x=$(head -c 67108864 /dev/zero | tr "\\0" a); : "$x"'"#;
    let (_, run) = run_of(&home, hungry);
    let peak = measured(&run).also["peak_memory"].estimate.typical;
    assert!(peak >= f64::from(64 << 20), "{peak}");
}

#[test]
fn one_that_fails_says_how_with_its_last_line_and_its_code() {
    let home = Home::new();
    let script = home.scratch.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for (command, words, kind) in [
        (
            "sh -c 'echo first; echo the disk is on fire >&2; exit 3'",
            &["status 3", "the disk is on fire"][..],
            ReasonCode::CommandFailed,
        ),
        ("sh -c 'kill -9 $$'", &["signal 9"], ReasonCode::CommandFailed),
        (script.to_str().unwrap(), &["cannot be started: execve"], ReasonCode::MissingProgram),
    ] {
        let (code, run) = run_of(&home, command);
        let Outcome::Failed { reason } = &run.cases[0].outcome else { panic!("{:?}", run.cases) };
        assert!(code == 3 && words.iter().all(|word| reason.contains(word)), "{code} {reason}");
        assert_eq!(reason.code, Some(kind), "{reason}");
    }
}

#[test]
fn a_run_without_a_value_is_kept_and_is_not_the_last() {
    let home = Home::new();
    let last = || home.says(&["report", "last", "--format", "json"]);
    assert_eq!(run_of(&home, "false").0, 3);
    let (code, _, errors) = last();
    assert!(code == 2 && errors.contains("none of the runs that are kept on this machine (1) has a value"), "{errors}");
    let (code, good) = run_of(&home, "true");
    assert_eq!((code, run_of(&home, "false").0), (0, 3));
    assert_eq!(load_run(&last().1).unwrap(), good);
    let (_, listed, _) = home.says(&["runs", "--format", "json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&listed).unwrap().as_array().unwrap().len(), 3);
}

#[test]
fn the_bytes_that_it_moves_make_its_time_a_rate() {
    let home = Home::new();
    let (code, run) = external_run(&home, "sleep 0.25", &["--bytes", "1M"]);
    let measured = measured(&run);
    assert!(code == 0 && run.cases[0].id.starts_with("external.rate@"), "{code} {}", run.cases[0].id);
    // A mebibyte in at least a quarter of a second.
    let rate = measured.estimate.typical;
    assert!(rate > 0.0 && rate <= 4.0 * 1_048_576.0, "{rate}");
    assert!(measured.estimate.ci_low.is_some() && measured.also.contains_key("user"));
    assert_eq!(run.settings.set["bytes"], "1048576");
    let info = run.probes.iter().find(|info| info.id == "external.rate").unwrap();
    assert_eq!((info.unit, info.better), (Unit::BytesPerSecond, Better::Higher));
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn the_number_that_it_prints_is_its_value_in_its_unit() {
    let home = Home::new();
    // Another number each time, which a file counts; the last of several matches counts, and none of the round before.
    let count = home.scratch.path().join("count").display().to_string();
    let script = format!("echo x >> {count}; echo avg=900; echo avg=$(( 10 + $(wc -l < {count}) )).5 us >&2");
    for (unit, probe, factor) in [
        ("us", "external.time", 1e3),
        ("MiB/s", "external.rate", 1_048_576.0),
        ("kops/s", "external.operations", 1e3),
        ("count", "external.number", 1.0),
    ] {
        let _ = fs::remove_file(&count);
        let (code, run) =
            external_run(&home, &format!("sh -c '{script}'"), &["--value", "avg=([0-9.]+)", "--unit", unit]);
        let measured = measured(&run);
        assert!(code == 0 && run.cases[0].id.starts_with(&format!("{probe}@")), "{code} {:?}", run.cases);
        let (rounds, estimate) = (f64::from(measured.estimate.rounds), &measured.estimate);
        assert_eq!((estimate.min, estimate.max), (11.5 * factor, (10.5 + rounds) * factor), "{estimate:?}");
        assert!(measured.also["wall"].estimate.typical > 0.0);
        assert_eq!((run.settings.set["value"].as_str(), run.settings.set["unit"].as_str()), ("'avg=([0-9.]+)'", unit));
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_command_that_prints_no_number_says_what_it_printed() {
    let home = Home::new();
    for (script, word) in [
        ("echo nothing of it", "nothing of it"),
        ("true", "matches nothing"),
        ("echo avg=slow", "'slow'"),
        ("echo avg=0", "above 0"),
        ("echo avg=nan", "'nan'"),
        (r"printf \033[31mavg=\033[0m\\n", "no number"),
    ] {
        let (code, run) = external_run(&home, &format!("sh -c '{script}'"), &["--value", r"avg=(\S+)", "--unit", "ms"]);
        let Outcome::Failed { reason } = &run.cases[0].outcome else { panic!("{script}: {:?}", run.cases) };
        assert!(code == 3 && reason.contains(word) && reason.len() < 400, "{script}: {code} {reason}");
    }
    // What it printed does not steer the terminal.
    let arguments = ["run", "--command", r"sh -c 'printf \033[31mevil'", "--value", "avg=(.*)", "--unit", "ms"];
    let (_, out, errors) = home.says(&arguments);
    assert!(!out.contains("\u{1b}[31m") && !errors.contains("\u{1b}[31m"), "{out}{errors}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn one_that_prints_for_ever_or_much_ends_all_the_same() {
    let home = Home::new();
    let much = "sh -c 'head -c 50000000 /dev/zero | tr \"\\0\" a; echo; echo avg=7'";
    let (code, run) = external_run(&home, much, &["--value", "avg=([0-9]+)", "--unit", "s"]);
    assert_eq!((code, measured(&run).estimate.typical), (0, 7e9));
    assert!(files(home.scratch.path()).is_empty(), "{:?}", files(home.scratch.path()));
}

#[test]
fn a_signal_ends_the_command_too() {
    let home = Home::new();
    let mut run = Running::start(home.heeding(&["run", "--command", "sleep 1000"]).process_group(0));
    let begun = within(SOON, || processes(&home).iter().any(|(_, word)| word == "1000"));
    run.signal(Signal::INT);
    assert!(begun && said(&run.ends(SOON)).0 == 130);
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
}

/// A command that leaves a daemon: in a session of its own, by two forks, with no parent that waits for it. Once it is there
/// the command does `then`.
fn with_daemon(home: &Home, then: &str) -> String {
    let begun = home.scratch.path().join("begun");
    let (begun, daemon) = (begun.display(), "sleep 1000 & sleep 1001 & echo >>");
    format!("sh -c 'setsid sh -c \"{daemon} {begun}\" & until [ -s {begun} ]; do sleep 0.01; done; rm {begun}; {then}'")
}

fn daemons(home: &Home) -> usize {
    processes(home).iter().filter(|(_, word)| ["1000", "1001"].contains(&word.as_str())).count()
}

/// A process of the same user that must not be harmed.
fn bystander() -> Running {
    Running(Command::new("setsid").args(["sleep", "1002"]).spawn().unwrap())
}

#[test]
fn a_daemon_that_a_command_leaves_ends_with_the_command() {
    let (home, mut bystander) = (Home::new(), bystander());
    let (code, run) = run_of(&home, &with_daemon(&home, "true"));
    assert_eq!((code, daemons(&home)), (0, 0), "{:?}", run.cases);
    assert_eq!(measured(&run).estimate.rounds, 5);
    assert!(bystander.try_wait().unwrap().is_none());
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_daemon_that_a_command_leaves_ends_with_the_run_however_that_ends() {
    // Who is killed, by the names that the kernel has.
    for killed in [&["run"][..], &["worker"], &["run", "worker"], &["keeper"], &["worker", "keeper"]] {
        let (home, mut bystander) = (Home::new(), bystander());
        let mut command = home.hostmark(&["run", "--command", &with_daemon(&home, "sleep 1003")]);
        let mut run = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(within(SOON, || daemons(&home) == 2), "{killed:?} {:?}", processes(&home));
        // Who is stopped cannot do anything before it is killed.
        let all = processes(&home);
        let named = |name: &str| -> Vec<i32> {
            let comm = |pid: i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let is_it = |(pid, word): &(i32, String)| match name {
                "keeper" => comm(*pid) == "hm-guard\n",
                _ => comm(*pid) == "hostmark\n" && word == name,
            };
            all.iter().filter(|process| is_it(process)).map(|(pid, _)| *pid).collect()
        };
        let victims: Vec<i32> = killed.iter().flat_map(|name| named(name)).collect();
        assert_eq!(victims.len(), killed.len(), "{killed:?} {all:?}");
        let all_get = |signal: Signal| {
            let got = |&&pid: &&i32| kill_process(Pid::from_raw(pid).unwrap(), signal).is_ok();
            victims.iter().filter(got).count()
        };
        assert_eq!(all_get(Signal::STOP), victims.len(), "{killed:?}");
        // Some end with the first.
        assert!(all_get(Signal::KILL) > 0, "{killed:?}");
        // A case that lost its worker or its keeper has failed; the run goes on with nothing, and ends.
        let ended = within(SOON, || run.try_wait().unwrap().is_some());
        assert!(within(SOON, || processes(&home).is_empty()), "{killed:?} {:?}", processes(&home));
        assert!(ended && bystander.try_wait().unwrap().is_none(), "{killed:?}");
        assert!(killed.contains(&"run") || run.wait().unwrap().code() == Some(3), "{killed:?}");
    }
}

#[test]
fn who_was_there_before_a_shell_became_hostmark_is_not_hostmarks() {
    let home = Home::new();
    // The kernel counts both as children of the program that the shell becomes: the second once its parent has ended.
    let script = r#"exec 3>&2 2>/dev/null
        sleep 1000 3>&- &
        sh -c 'sleep 0.5; sleep 1001 &' 3>&- &
        exec "$0" run --command true 2>&3 3>&-"#;
    let (code, _, errors) = ended(home.start("sh").args(["-c", script, support::PROGRAM]).stdout(Stdio::null()));
    // The second may begin after the run.
    let are_left = within(SOON, || daemons(&home) == 2);
    for (pid, _) in processes(&home) {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    assert_eq!((code, are_left), (0, true), "{errors}");
}

#[test]
fn a_command_keeps_its_users_place_among_those_killed_for_want_of_memory() {
    let home = Home::new();
    let users = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let (code, run) = run_of(&home, &format!("sh -c 'exit $(($(cat /proc/self/oom_score_adj) != {}))'", users.trim()));
    assert_eq!(code, 0, "{:?}", run.cases);
    assert_eq!(measured(&run).notes.get("oom_score_adj"), None);
}

#[test]
fn a_command_gets_the_signals_as_a_shell_would_give_them() {
    let home = Home::new();
    let masks = home.scratch.path().join("masks");
    let script = format!("grep -E SigIgn:\\|SigBlk: /proc/self/status >> {}", masks.display());
    // As few programs start with anything ignored: here even if the one that started hostmark ignored these.
    for ignored in ["", "env --ignore-signal=PIPE --ignore-signal=XFSZ"] {
        let mut words: Vec<&str> = ignored.split_whitespace().collect();
        words.push(support::PROGRAM);
        let mut command = home.start("env");
        command.args(["--default-signal"]).args(words);
        let command = command.args(["run", "--command", &format!("sh -c '{script}'"), "--format", "json"]);
        assert_eq!(ended(command).0, 0);
        let text = fs::read_to_string(&masks).unwrap();
        fs::remove_file(&masks).unwrap();
        assert_eq!(text.lines().count(), 10, "{text}");
        for line in text.lines() {
            let mask = line.split_whitespace().nth(1).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap();
            // Above 31 are those that the C library takes for itself.
            assert_eq!(mask & 0x7fff_ffff, 0, "{ignored}: {text}");
        }
    }
}
