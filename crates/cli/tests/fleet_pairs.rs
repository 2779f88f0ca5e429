//! `hostmark fleet run --pairs`: hosts are networks of the test's own, and one of them has a slow link.

use std::process::Stdio;
use std::time::Duration;

use hostmark_model::{Estimate, FleetPair, FleetRun, HostState};
use rustix::process::{Pid, Signal, kill_process};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::fleets::Fleet;
use crate::processes::{processes, within};
use crate::quiet::Quiet;
use crate::skip::skipped;
use crate::support::{ended, files, said};
use hostmark::self_check::limits::Networks;

/// Long enough for a loaded machine to measure a pair.
const SOON: Duration = Duration::from_secs(120);
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
    let (code, out, errors) = ended(&mut fleet.command(&[&common[..], &["--out", &runs]].concat()));
    assert_eq!(code, 0, "{out} {errors}");
    assert!(pairs(&fleet).is_empty());

    // Pairs are added to what is measured, and who interrupts them keeps those that were.
    let with_pairs = [&common[..], &["--pairs", "--resume", &runs]].concat();
    let mut command = fleet.command(&with_pairs);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let has_one = within(SOON, || !pairs(&fleet).is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (code, out, errors) = said(&child.wait_with_output().unwrap());
    assert!(has_one && code == 130 && out.contains("--pairs"), "{code} {out} {errors}");
    let before = pairs(&fleet);
    assert!(before.len() < 6, "{before:?}");
    assert!(within(SOON, || processes(&fleet.home).is_empty()), "{:?}", processes(&fleet.home));

    let (code, out, errors) = ended(&mut fleet.command(&with_pairs));
    assert_eq!(code, 0, "{out} {errors}");
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
    let (code, out, errors) = ended(&mut fleet.home.hostmark(&["fleet", "report", &runs]));
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(out.contains("6 measured, both ways counted"), "{out}");

    // A host to which there is no way any more is told in its pairs, and the others are not measured again.
    let gone = fleet.write("hosts", &[&names[..2], &["999999999".to_owned()]].concat().join("\n"));
    let words = ["--hosts", &gone, "--each", &each, "syscall.null", "--pairs", "--resume", &runs];
    let (code, out, errors) = ended(&mut fleet.command(&words));
    assert_eq!(code, 3, "{out} {errors}");
    assert_eq!(pairs(&fleet), all);
    let states: Vec<HostState> = fleet.rows("runs").into_iter().map(|(_, state, _)| state).collect();
    assert_eq!(states, [HostState::Measured, HostState::Measured, HostState::Measured, HostState::Failed]);
    let runs = names.iter().map(|name| format!("{name}.json"));
    let mut wanted: Vec<String> = runs.chain(["fleet.json".to_owned()]).collect();
    wanted.sort();
    assert_eq!(fleet.names("runs"), wanted);
}
