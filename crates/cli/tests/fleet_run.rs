//! `hostmark fleet run` over a list of hosts: rows, limits, interrupts, going on, hostile lists, and ssh for real.

use hostmark::self_check::limits::Networks;
use hostmark_model::{Estimate, FleetPair, FleetRun, HostState};
use rustix::fs::{FlockOperation, flock};

use crate::fleets::Fleet;
use crate::prelude::*;
use crate::sshd::{Options, Sshd};
use crate::support;

// Runs are timed: one at a time.

/// What each host measures: a few seconds.
const SHORT: &str = "syscall.null";
/// Long enough for a host's run on a loaded machine.
const MEASURED_WITHIN: Duration = Duration::from_secs(120);

/// Leads to this machine, but for hosts that the directory has a file of: `fail` says why it fails, `hang` makes it wait.
const WAY: &str = r#"
if [ -e "$FLEET/fail-$1" ]; then cat "$FLEET/fail-$1" >&2; exit 1; fi
if [ -e "$FLEET/hang-$1" ]; then : > "$FLEET/hangs"; exec sleep 1000; fi
shift
exec "$@""#;

fn state(rows: &[(String, HostState, String)]) -> Vec<(&str, HostState)> {
    rows.iter().map(|(host, state, _)| (host.as_str(), *state)).collect()
}

#[test]
fn a_failed_host_is_a_row_and_going_on_measures_it_alone() {
    let _alone = alone();
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "# rack 1\na\nb # slow?\n\nc\n");
    let each = format!("{} {{host}}", fleet.script("way", WAY));
    fleet.write("fail-b", "\u{1b}[31mno such host\u{202e}\n");
    let runs = fleet.at("runs").display().to_string();
    let common = ["--hosts", &hosts, "--each", &each, "--at-once", "3", SHORT];
    let (out, errors) = with_code(3, ended(&mut fleet.command(&[&common[..], &["--out", &runs]].concat())));
    let rows = fleet.rows("runs");
    use HostState::{Failed, Measured};
    assert_eq!(state(&rows), [("a", Measured), ("b", Failed), ("c", Measured)]);
    assert!(rows[1].2.contains("no such host") && out.contains("no such host"), "{out}");
    assert!(out.contains("2 of 3 hosts are measured") && out.contains("--resume"), "{out}");
    assert!(!format!("{out}{errors}").contains(['\u{1b}', '\u{202e}']), "{out} {errors}");
    assert_eq!(errors.lines().count(), 4, "{errors}");
    assert_eq!(fleet.names("runs"), ["a.json", "c.json", "fleet.json"]);
    let run = load_run(&fleet.text("runs/a.json")).unwrap();
    assert!(run.name == "a" && run.place.is_some_and(|place| place.ends_with("way a")));
    let out = succeeded(fleet.home.says(&["fleet", "report", &runs]));
    assert!(out.contains("b has no run (failed: ") && !out.contains('\u{1b}'), "{out}");

    fs::remove_file(fleet.at("fail-b")).unwrap();
    let before = fleet.text("runs/a.json");
    let (out, errors) = with_code(0, ended(&mut fleet.command(&[&common[..], &["--resume", &runs]].concat())));
    assert!(errors.contains("measuring 1 of 3 hosts into") && !out.contains("--resume"), "{out} {errors}");
    assert_eq!(fleet.names("runs"), ["a.json", "b.json", "c.json", "fleet.json"]);
    assert_eq!(fleet.text("runs/a.json"), before);
    // A file that is lost or torn meanwhile is measured again.
    fleet.write("runs/a.json", &before[..before.len() / 2]);
    let (code, _, errors) = ended(&mut fleet.command(&[&common[..], &["--resume", &runs]].concat()));
    assert!(code == 0 && errors.contains("measuring 1 of 3 hosts into"), "{errors}");
    assert!(load_run(&fleet.text("runs/a.json")).is_ok());
}

#[test]
fn a_host_without_an_end_is_given_up_and_nothing_of_it_is_left() {
    let _alone = alone();
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "a\nb\n");
    let each = format!("{} {{host}}", fleet.script("way", WAY));
    fleet.write("hang-a", "");
    fleet.write("fail-b", "away");
    let runs = fleet.at("runs").display().to_string();
    let words = ["--hosts", &hosts, "--each", &each, "--timeout", "5s", "--out", &runs, SHORT];
    let (out, _) = with_code(3, ended(&mut fleet.command(&words)));
    let rows = fleet.rows("runs");
    assert_eq!(state(&rows), [("a", HostState::Slow), ("b", HostState::Failed)]);
    assert!(rows[0].2.contains("not done after 5 s") && out.contains("0 of 2 hosts are measured"), "{out}");
    assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
    assert_eq!(fleet.names("runs"), ["fleet.json"]);
}

#[test]
fn no_more_hosts_than_asked_for_are_measured_at_once() {
    let _beside = beside();
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "a\nb\nc\nd\ne\n");
    // Each waits for a second one to be there, and a third one would be seen.
    let way = fleet.script(
        "way",
        r#"mkdir -p "$FLEET/in"; : > "$FLEET/in/$1"
n=0; while [ $n -lt 40 ]; do ls "$FLEET/in" | wc -l >> "$FLEET/counts"; sleep 0.02; n=$((n + 1)); done
rm "$FLEET/in/$1"; exit 1"#,
    );
    let each = format!("{way} {{host}}");
    for (at_once, most) in [("2", 2), ("1", 1)] {
        let runs = fleet.at(&format!("runs-{at_once}")).display().to_string();
        let words = ["--hosts", &hosts, "--each", &each, "--at-once", at_once, "--out", &runs, SHORT];
        assert_eq!(ended(&mut fleet.command(&words)).0, 3);
        let counts: Vec<usize> = fleet.text("counts").lines().filter_map(|line| line.trim().parse().ok()).collect();
        assert_eq!(counts.iter().max(), Some(&most), "{counts:?}");
        fs::remove_file(fleet.at("counts")).unwrap();
        assert!(state(&fleet.rows(&format!("runs-{at_once}"))).iter().all(|(_, state)| *state == HostState::Failed));
    }
}

/// Whether a janitor has opened the process with this first word: it holds its descriptor.
fn is_known_to_a_janitor(home: &Home, word: &str) -> bool {
    let all = processes(home);
    let Some((known, _)) = all.iter().find(|(_, first)| first == word) else { return false };
    let line = format!("Pid:\t{known}");
    let holds = |janitor: i32| {
        let mut files = fs::read_dir(format!("/proc/{janitor}/fdinfo")).into_iter().flatten().flatten();
        files.any(|file| fs::read_to_string(file.path()).is_ok_and(|text| text.lines().any(|said| said == line)))
    };
    all.iter().any(|(pid, first)| first == "janitor" && holds(*pid))
}

/// A fleet of which the first host is measured and the second hangs is ended by this signal.
fn ended_by(signal: Signal) {
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "a\nb\nc\n");
    let each = format!("{} {{host}}", fleet.script("way", WAY));
    fleet.write("hang-b", "");
    let runs = fleet.at("runs").display().to_string();
    let common = ["--hosts", &hosts, "--each", &each, SHORT];
    let mut command = fleet.command(&[&common[..], &["--out", &runs]].concat());
    command.process_group(0);
    let mut child = support::Running::start(&mut command);
    // A janitor looks for no process that it hears of when its run is dead: it hears of these first.
    let are_known = || ["--quiet", "1000"].iter().all(|word| is_known_to_a_janitor(&fleet.home, word));
    let hangs = within(MEASURED_WITHIN, || fleet.at("hangs").exists() && are_known());
    child.signal(signal);
    let (code, out, errors) = said(&child.ends(SOON * 4));
    assert!(hangs, "{out} {errors}");
    assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));
    let rows = fleet.rows("runs");
    use HostState::{Measured, Running, Stopped, Waiting};
    if signal == Signal::INT {
        assert_eq!(code, 130, "{out} {errors}");
        assert_eq!(state(&rows), [("a", Measured), ("b", Stopped), ("c", Waiting)]);
        assert!(out.contains("1 of 3 hosts are measured") && out.contains(&format!("--resume {runs}")), "{out}");
        assert_eq!(fleet.names("runs"), ["a.json", "fleet.json"]);
    } else {
        assert_eq!(code, -1);
        assert_eq!(state(&rows), [("a", Measured), ("b", Running), ("c", Waiting)]);
    }
    fs::remove_file(fleet.at("hang-b")).unwrap();
    let before = fleet.text("runs/a.json");
    with_code(0, ended(&mut fleet.command(&[&common[..], &["--resume", &runs]].concat())));
    assert_eq!(fleet.names("runs"), ["a.json", "b.json", "c.json", "fleet.json"]);
    assert_eq!(fleet.text("runs/a.json"), before);
}

#[test]
fn who_interrupts_a_fleet_keeps_what_has_arrived_and_goes_on_later() {
    let _alone = alone();
    ended_by(Signal::INT);
}

#[test]
fn a_fleet_that_is_killed_leaves_no_process_and_goes_on_later() {
    let _alone = alone();
    ended_by(Signal::KILL);
}

#[test]
fn a_directory_that_is_not_this_fleets_is_refused() {
    let _beside = beside();
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "a\n");
    let each = format!("{} {{host}}", fleet.script("way", WAY));
    fleet.write("fail-a", "away");
    let runs = fleet.at("runs").display().to_string();
    let common = ["--hosts", hosts.as_str(), "--each", &each];
    let run = |further: &[&str]| ended(&mut fleet.command(&[&common[..], further].concat()));
    // What a person has lying there stays, whatever its name.
    fleet.write("runs/a.json", "mine");
    assert_eq!(run(&["--out", &runs, SHORT]).0, 3);
    assert_eq!((fleet.text("runs/a.json").as_str(), fleet.names("runs").len()), ("mine", 2));
    for (words, part) in [
        (["--out", &runs, SHORT], "holds a fleet already"),
        (["--resume", &runs, "syscall.stat"], "other filters"),
        (["--resume", "/nowhere", SHORT], "holds no fleet"),
    ] {
        let (code, _, errors) = run(&words);
        assert!(code == 2 && errors.contains(part) && errors.lines().count() == 1, "{words:?} {errors}");
    }
    let whole = fleet.text("runs/fleet.json");
    for (from, to) in [
        ("\"a-2.json\"", "\"../../a.json\""),
        ("\"a-2.json\"", "\"fleet.json\""),
        ("\"a\"", "\"-oProxyCommand=x\""),
        ("hostmark.fleet_run/1", "hostmark.fleet_run/2"),
        ("{", "["),
    ] {
        assert!(whole.contains(from), "{whole}");
        fleet.write("runs/fleet.json", &whole.replacen(from, to, 9));
        let (code, _, errors) = run(&["--resume", &runs, SHORT]);
        assert!(code == 2 && errors.contains("is not what fleet run writes"), "{to} {errors}");
        // Who reads it all the same is told that it is no run.
        let (code, out, errors) = fleet.home.says(&["fleet", "report", &runs]);
        assert!(code == 2 && out.is_empty() && errors.lines().count() == 1, "{code} {out} {errors}");
    }
    fleet.write("runs/fleet.json", &whole);
    let lock = fleet.write("runs/.under-way/lock", "");
    let held = fs::File::open(lock).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let (code, _, errors) = run(&["--resume", &runs, SHORT]);
    assert!(code == 2 && errors.contains("another hostmark measures into"), "{errors}");
    drop(held);
    assert_eq!(run(&["--resume", &runs, SHORT]).0, 3);
}

#[test]
fn what_is_no_far_end_is_that_hosts_failure() {
    let _beside = beside();
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "flood\nquiet\nliar\n");
    let way = fleet.script(
        "way",
        r#"case $1 in
flood) exec yes ;;
quiet) exit 0 ;;
*) cat > /dev/null & echo '{"schema": "hostmark.run/1"}'; echo 'no run'; exit 0 ;;
esac"#,
    );
    let each = format!("{way} {{host}}");
    let runs = fleet.at("runs").display().to_string();
    let (code, out, errors) =
        ended(&mut fleet.command(&["--hosts", &hosts, "--each", &each, "--at-once", "3", "--out", &runs, SHORT]));
    assert_eq!(code, 3, "{out} {errors}");
    for (host, state, why) in fleet.rows("runs") {
        assert!(state == HostState::Failed && why.contains(&format!("way {host}")), "{host} {state:?} {why}");
    }
    assert_eq!(fleet.names("runs"), ["fleet.json"]);
}

#[test]
fn the_printed_script_measures_the_same_hosts() {
    let _alone = alone();
    let fleet = Fleet::new();
    let hosts = fleet.write("hosts", "a\nme@b\nc\n");
    let each = format!("{} {{host}}", fleet.script("my way/it's", WAY).replace("my way/it's", "'my way/it'\\''s'"));
    fleet.write("fail-c", "away");
    let words = ["--hosts", &hosts, "--each", &each, "--at-once", "3", "--print", "--seed", "7", SHORT];
    let script = succeeded(ended(&mut fleet.command(&words)));
    let path = fleet.script("printed", script.strip_prefix("#!/bin/sh\n").unwrap());
    for shell in ["sh", "bash"] {
        assert!(Command::new(shell).args(["-n", &path]).status().unwrap().success(), "{shell} {script}");
    }
    let command = fleet.command(&[]);
    let (variables, mut run) = (command.get_envs().collect::<Vec<_>>(), Command::new(&path));
    for (name, value) in variables {
        if let Some(value) = value {
            run.env(name, value);
        }
    }
    let runs = fleet.at("printed-runs").display().to_string();
    let (code, out, errors) = ended(run.arg(&runs));
    assert_ne!(code, 0, "{script} {out} {errors}");
    assert!(errors.contains("c: not measured"), "{script} {errors}");
    assert_eq!(fleet.names("printed-runs"), ["a.json", "c.log", "me-b.json"], "{errors}");
    assert_eq!(load_run(&fleet.text("printed-runs/me-b.json")).unwrap().settings.seed, 7);
}

#[test]
fn hosts_behind_ssh_are_measured_and_nothing_is_left_there() {
    const HOSTS: usize = 4;
    let _alone = alone();
    let (fleet, far) = (Fleet::new(), support::Home::new());
    let directories = [&far.data, &far.scratch].map(|directory| directory.path().display().to_string());
    let environment = [("XDG_DATA_HOME", directories[0].as_str()), ("TMPDIR", directories[1].as_str())];
    let mut servers = Vec::new();
    for host in 0..HOSTS {
        let Some(server) = Sshd::start(&Options { environment: &environment, ..Options::default() }) else {
            return skipped("there is no sshd here that lets this user in");
        };
        fs::copy(&server.prefix()[2], fleet.at(&format!("host{host}.config"))).unwrap();
        servers.push(server);
    }
    let hosts = fleet.write("hosts", "host0\nhost1\nhost2\nhost3\nhost4\n");
    // Nobody listens there.
    fleet.write("host4.config", "Host far\n HostName 127.0.0.1\n Port 1\n BatchMode yes\n");
    let each = format!("ssh -F {}/{{host}}.config far", fleet.at("").display());
    let runs = fleet.at("runs").display().to_string();
    let words = ["--hosts", &hosts, "--each", &each, "--at-once", "5", "--out", &runs, SHORT];
    with_code(3, ended(&mut fleet.command(&words)));
    for (host, state, why) in fleet.rows("runs") {
        match host.as_str() {
            "host4" => assert!(state == HostState::Failed && why.contains("Connection refused"), "{state:?} {why}"),
            _ => assert!(state == HostState::Measured && load_run(&fleet.text(&format!("runs/{host}.json"))).is_ok()),
        }
    }
    assert!(within(SOON, || processes(&far).is_empty()), "{:?}", processes(&far));
    for listener in servers.iter().map(Sshd::pid) {
        let sessions = || fs::read_to_string(format!("/proc/{listener}/task/{listener}/children")).unwrap();
        assert!(within(SOON, || sessions().is_empty()), "{}", sessions());
    }
    for directory in [&far.data, &far.scratch] {
        assert!(support::files(directory.path()).is_empty(), "{:?}", support::files(directory.path()));
    }
}

// Runs are timed: one at a time.

/// Long enough for a loaded machine to measure a pair.
const PAIR_SOON: Duration = Duration::from_secs(120);
/// What the slow link lets through, bytes a second: 40 Mbit.
const SLOW: f64 = 5e6;

fn pairs(fleet: &Fleet) -> Vec<FleetPair> {
    FleetRun::load(&fleet.text("runs/fleet.json")).map(|fleet| fleet.pairs).unwrap_or_default()
}

#[test]
fn every_two_hosts_meet_both_ways_and_a_slow_link_shows_at_its_host() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let networks = match Networks::of(3) {
        Ok(networks) => networks,
        Err(why) => return skipped(&why),
    };
    let limit = "tc qdisc add dev wire root tbf rate 40mbit burst 64k latency 50ms";
    if let Err(why) = networks.run(3, limit) {
        return skipped(&format!("no link can be made slow here ({why})"));
    }
    let fleet = Fleet::new();
    let names = [1, 2, 3].map(|host| networks.pid(host).to_string());
    let list = fleet.write("hosts", &names.join("\n"));
    let mut enter: Vec<String> = networks.enter(1);
    enter.pop();
    let way = fleet.script("way", &format!("host=$1; shift; exec {} \"$host\" \"$@\"", enter.join(" ")));
    let each = format!("{way} {{host}}");
    let runs = fleet.at("runs").display().to_string();
    let common = ["--hosts", &list, "--each", &each, "syscall.null"];
    with_code(0, ended(&mut fleet.command(&[&common[..], &["--out", &runs]].concat())));
    assert!(pairs(&fleet).is_empty());

    // Pairs are added to what is measured, and who interrupts them keeps those that were.
    let with_pairs = [&common[..], &["--pairs", "--resume", &runs]].concat();
    let mut child = Running::start(&mut fleet.command(&with_pairs));
    let has_one = within(PAIR_SOON, || !pairs(&fleet).is_empty());
    child.signal(Signal::INT);
    let (code, out, errors) = said(&child.ends(SOON * 4));
    assert!(has_one && code == 130 && out.contains("--pairs"), "{code} {out} {errors}");
    let before = pairs(&fleet);
    assert!(before.len() < 6, "{before:?}");
    assert!(within(PAIR_SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));

    let (out, _) = with_code(0, ended(&mut fleet.command(&with_pairs)));
    assert!(out.contains("6 of 6 pairs are measured"), "{out}");
    let all = pairs(&fleet);
    assert_eq!(all[..before.len()], before);
    let mut met: Vec<(&str, &str)> = all.iter().map(|pair| (pair.from.as_str(), pair.to.as_str())).collect();
    met.sort_unstable();
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    for from in &names {
        wanted.extend(names.iter().filter(|to| *to != from).map(|to| (from.as_str(), to.as_str())));
    }
    wanted.sort_unstable();
    assert_eq!(met, wanted);
    for pair in &all {
        let [rate, round_trip] = [&pair.bandwidth, &pair.round_trip].map(|value| value.as_ref().map(Estimate::value));
        // The limit is at what the third sends; what it receives is as fast as of any.
        let is_right = |rate: f64| if pair.from == names[2] { rate < 1.2 * SLOW } else { rate > 2.0 * SLOW };
        quiet.holds(rate.is_some_and(is_right) && round_trip.is_some_and(|ns| ns > 0.0), || format!("{pair:?}"));
    }
    assert!(files(fleet.home.scratch.path()).is_empty(), "{:?}", files(fleet.home.scratch.path()));
    let out = succeeded(fleet.home.says(&["fleet", "report", &runs]));
    assert!(out.contains("6 measured, both ways counted"), "{out}");

    // A host to which there is no way any more is told in its pairs, and the others are not measured again.
    let gone = fleet.write("hosts", &[&names[..2], &["999999999".to_owned()]].concat().join("\n"));
    let words = ["--hosts", &gone, "--each", &each, "syscall.null", "--pairs", "--resume", &runs];
    with_code(3, ended(&mut fleet.command(&words)));
    assert_eq!(pairs(&fleet), all);
    let states: Vec<HostState> = fleet.rows("runs").into_iter().map(|(_, state, _)| state).collect();
    assert_eq!(states, [HostState::Measured, HostState::Measured, HostState::Measured, HostState::Failed]);
    let runs = names.iter().map(|name| format!("{name}.json"));
    let mut wanted: Vec<String> = runs.chain(["fleet.json".to_owned()]).collect();
    wanted.sort();
    assert_eq!(fleet.names("runs"), wanted);
}
