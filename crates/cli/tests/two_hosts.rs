//! Runs with peers: hosts are networks of the test's own, joined by a bridge, and each far end is where it was asked for.

use std::net::IpAddr;

use hostmark::self_check::limits::{Networks, OVER_THERE, Relay};

use crate::prelude::*;
use crate::sshd::{Options, Sshd};
use crate::support;
use crate::under_way::{UnderWay, assert_is_interrupted, measured};

// Runs are timed: one at a time.

/// Hosts, or why there are none here.
fn hosts(count: usize) -> Option<Networks> {
    Networks::of(count).map_err(|why| skipped(&why)).ok()
}

/// The way from one host to another, as a place that is typed.
pub fn beside(networks: &Networks, host: usize) -> String {
    format!("nsenter -n -t {}", networks.pid(host))
}

/// The way from outside, as a place that is typed.
fn place(networks: &Networks, host: usize) -> String {
    networks.enter(host).join(" ")
}

/// hostmark with these arguments at a host.
pub fn at(home: &Home, networks: &Networks, host: usize, arguments: &[&str]) -> Command {
    let words = networks.enter(host);
    let mut command = home.start(&words[0]);
    command.args(&words[1..]).arg(PROGRAM).args(arguments);
    command
}

fn value(case: &CaseRecord) -> f64 {
    case.measured().unwrap_or_else(|| panic!("{case:?}")).estimate.typical
}

fn cases_to<'a>(run: &'a Run, to: &'a str) -> impl Iterator<Item = &'a CaseRecord> {
    run.cases.iter().filter(move |case| case.params.get("to") == Some(to))
}

#[test]
fn a_peer_is_measured_beside_this_host_and_described() {
    let _alone = alone();
    let Some(networks) = hosts(2) else { return };
    let home = Home::new();
    let peer = beside(&networks, 2);
    let arguments = ["run", "net.round_trip", "--peer", &peer, "--set", "ip=any,4,6"];
    let run = measured(&mut at(&home, &networks, 1, &arguments));
    let [described] = run.peers.as_slice() else { panic!("{:?}", run.peers) };
    assert_eq!((described.name.as_str(), described.place.as_deref()), ("peer", Some(peer.as_str())));
    assert_eq!(described.address, Some("192.0.2.2".parse::<IpAddr>().unwrap()));
    assert_eq!(described.host.boot_id, run.host.boot_id);
    let (there, back) = (described.path.as_ref().unwrap(), described.path_back.as_ref().unwrap());
    assert_eq!((there.interface.as_deref(), there.path_mtu_bytes), (Some("wire"), Some(1500)));
    assert_eq!(back.destination, Some("192.0.2.1".parse::<IpAddr>().unwrap()));
    // Both versions of the Internet Protocol lead there, and neither way is the one that stays here.
    for protocol in ["tcp", "udp"] {
        let has_it = |case: &&CaseRecord| case.params.get("protocol") == Some(protocol);
        let ways: Vec<_> = cases_to(&run, "peer").filter(has_it).map(|case| case.params.get("ip")).collect();
        assert_eq!(ways, [Some("any"), Some("4"), Some("6")], "{protocol}");
    }
    assert!(run.cases.iter().all(|case| value(case) > 0.0));
    assert!(run.disturbances.iter().any(|text| text.en.contains("peer is this very machine")));
    assert!(files(home.scratch.path()).is_empty(), "something was left");
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
}

#[test]
fn a_run_elsewhere_reaches_its_peer_by_itself() {
    let _alone = alone();
    let Some(networks) = hosts(2) else { return };
    let home = Home::new();
    // This process is at neither of the two.
    let (from, to) = (place(&networks, 1), place(&networks, 2));
    let arguments = ["run", "net.round_trip@to=peer", "net.tcp_connect@to=peer", "--on", &from, "--peer", &to];
    let run = measured(&mut home.hostmark(&arguments));
    assert_eq!(run.place.as_deref(), Some(from.as_str()));
    assert_eq!(run.peers[0].place.as_deref(), Some(to.as_str()));
    assert_eq!(run.peers[0].address, Some("192.0.2.2".parse::<IpAddr>().unwrap()));
    assert_eq!(run.peers[0].path.as_ref().unwrap().source, Some("192.0.2.1".parse::<IpAddr>().unwrap()));
    assert!(run.cases.len() >= 2 && run.cases.iter().all(|case| value(case) > 0.0));
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
}

#[test]
fn every_pair_of_three_hosts_is_measured_both_ways_and_alone() {
    let _alone = alone();
    let Some(networks) = hosts(3) else { return };
    let home = Home::new();
    let places = [beside(&networks, 2), beside(&networks, 3)];
    let arguments = ["run", "net.round_trip@protocol=udp,to=here", "--peer", &places[0], "--peer", &places[1]];
    let run = measured(&mut at(&home, &networks, 1, &arguments));
    let names: Vec<&str> = run.peers.iter().map(|peer| peer.name.as_str()).collect();
    let [one, other] = names[..] else { panic!("{names:?}") };
    let mut pairs: Vec<_> = run.pairs.iter().map(|pair| (pair.from.as_str(), pair.to.as_str())).collect();
    pairs.sort_unstable();
    let mut wanted = [("here", one), ("here", other), (one, "here"), (one, other), (other, "here"), (other, one)];
    wanted.sort_unstable();
    assert_eq!(pairs, wanted);
    for pair in &run.pairs {
        assert_eq!(pair.failed, None);
        let probes: Vec<_> = pair.cases.iter().map(|case| (case.probe.as_str(), value(case) > 0.0)).collect();
        assert_eq!(probes, [("net.round_trip", true), ("net.tcp_bandwidth", true)]);
        // Any two of three hosts share one with every other two.
        assert_eq!(run.pairs.iter().filter(|other| other.turn == pair.turn).count(), 1, "{:?}", pair.turn);
    }
    assert!(files(home.scratch.path()).is_empty(), "something was left");
}

#[test]
fn a_peer_that_cannot_be_reached_is_reported_in_a_sentence() {
    let _alone = alone();
    let Some(networks) = hosts(2) else { return };
    let home = Home::new();
    let peer = beside(&networks, 2);
    let refused = |arguments: &[&str], code: i32, says: &str| {
        let arguments = [&["run", "net.round_trip@protocol=tcp"], arguments].concat();
        let (ended_with, out, errors) = ended(&mut at(&home, &networks, 1, &arguments));
        assert_eq!((ended_with, out.as_str()), (code, ""), "{errors}");
        assert!(errors.contains(says) && errors.trim_end().lines().count() == 1, "{errors}");
    };
    refused(&["--peer", &peer, "--via", "192.0.2.77"], 2, "peer cannot be reached for the measurement (192.0.2.77: ");
    // Whatever is sent there vanishes, as behind a firewall that drops.
    networks.run(1, "ip neigh add 192.0.2.88 lladdr 02:00:00:00:00:88 dev wire").unwrap();
    refused(&["--peer", &peer, "--via", "192.0.2.88"], 2, "(192.0.2.88: connect: Connection timed out");
    refused(&["--peer", "false"], 2, "'false' ended before its shell had begun");
    refused(&["--peer", ""], 2, "--peer has no word");
    // A link that is down is named, whichever end is set down.
    networks.run(1, "ip link set wire down").unwrap();
    refused(&["--peer", &peer], 2, "; wire is down or has no carrier here); ");
    networks.run(1, "ip link set wire up").unwrap();
    networks.run(2, "ip link set wire down").unwrap();
    refused(&["--peer", &peer], 2, "peer has no interface that is up with an address for other hosts; ");
    assert!(files(home.data.path()).is_empty(), "a run was kept");
}

/// A run of a minute with a peer, at the first of two networks.
fn long_run(networks: &Networks) -> UnderWay {
    let (on, peer) = (place(networks, 1), place(networks, 2));
    UnderWay::start(&["run", "net.round_trip@protocol=tcp", "net.udp_bandwidth", "--on", &on, "--peer", &peer])
}

#[test]
fn a_peer_that_dies_fails_its_own_cases_and_no_others() {
    let _alone = alone();
    let Some(networks) = hosts(2) else { return };
    let home = Home::new();
    let place = beside(&networks, 2);
    let mut run =
        Running::start(&mut at(&home, &networks, 1, &["run", "net.round_trip", "--peer", &place, "--format", "json"]));
    let agent = || processes(&home).into_iter().find(|(_, word)| word == "agent");
    let has_begun = || processes(&home).iter().any(|(_, word)| word == "worker");
    assert!(within(SOON, has_begun), "no worker was started");
    kill_process(Pid::from_raw(agent().unwrap().0).unwrap(), Signal::KILL).unwrap();
    let (code, out, errors) = support::said(&run.ends(SOON * 4));
    assert_eq!((code, errors.as_str()), (3, ""));
    let run = load_run(&out).unwrap();
    assert!(cases_to(&run, "here").all(|case| case.measured().is_some()));
    let is_named =
        |case: &CaseRecord| matches!(&case.outcome, Outcome::Failed { reason } if reason.contains("broke off"));
    assert!(cases_to(&run, "peer").any(is_named), "{:?}", cases_to(&run, "peer").collect::<Vec<_>>());
    assert!(within(SOON, || processes(&home).is_empty()), "{:?}", processes(&home));
    assert!(files(home.scratch.path()).is_empty(), "something was left");
}

#[test]
fn nothing_is_left_at_a_peer_whose_run_is_killed_and_the_run_goes_on_later() {
    let _alone = alone();
    let Some(networks) = hosts(2) else { return };
    let run = long_run(&networks);
    run.child.signal(Signal::KILL);
    run.assert_only_the_journal_is_left();
    let (one, other) = (place(&networks, 1), place(&networks, 2));
    let (_, errors) = with_code(2, run.home.says(&["run", "--resume", "--on", &one]));
    assert!(errors.contains("was begun with the peers peer; name each by --peer"), "{errors}");
    let whole = measured(&mut run.home.hostmark(&["run", "--resume", "--on", &one, "--peer", &other]));
    assert!(whole.cases.iter().all(|case| case.measured().is_some()), "{:?}", whole.cases);
    assert_eq!((whole.place.as_deref(), whole.peers[0].place.as_deref()), (Some(one.as_str()), Some(other.as_str())));
    assert!(whole.disturbances.iter().any(|text| text.en.contains("was cut short after")));
}

#[test]
fn a_run_with_a_peer_that_is_asked_to_stop_is_kept() {
    let _alone = alone();
    let Some(networks) = hosts(2) else { return };
    let mut run = long_run(&networks);
    run.child.signal(Signal::INT);
    let output = run.child.ends(SOON);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = run.kept();
    assert_is_interrupted(&kept);
    assert_eq!(kept.peers.len(), 1);
}

// Runs are timed: one at a time.

/// A run from host 1 to host 2 by the relayed way, or why there is none here.
fn measured_over(delay: Duration, arguments: &[&str]) -> Result<Run, String> {
    let networks = Networks::of(3)?;
    let _relay = Relay::begin(&networks, Path::new(PROGRAM), delay, 0)?;
    let (home, [on, peer]) = (Home::new(), [1, 2].map(|host| networks.enter(host).join(" ")));
    let places = ["--on", &on, "--peer", &peer, "--via", OVER_THERE];
    let run = measured(&mut home.hostmark(&[&["run"], arguments, &places].concat()));
    assert!(files(home.scratch.path()).is_empty(), "something was left");
    Ok(run)
}

fn case<'a>(run: &'a Run, probe: &str) -> &'a CaseRecord {
    run.cases.iter().find(|case| case.id.contains(probe)).unwrap_or_else(|| panic!("no {probe}"))
}

/// The smallest sample: who wakes late only adds.
fn least(case: &CaseRecord) -> f64 {
    case.measured().unwrap_or_else(|| panic!("{case:?}")).estimate.min
}

#[test]
fn a_known_delay_is_what_round_trips_take() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let delay = Duration::from_millis(37);
    let filters = ["net.round_trip@to=peer", "net.tcp_connect@to=peer"];
    let bare = match measured_over(Duration::ZERO, &filters) {
        Ok(run) => run,
        Err(why) => return skipped(&why),
    };
    let delayed = measured_over(delay, &filters).unwrap();
    // A connection is made in one round trip, and the far end's close comes with the next.
    for (probe, passes) in [("protocol=tcp", 2.0), ("protocol=udp", 2.0), ("net.tcp_connect", 4.0)] {
        let (bare, delayed) = (least(case(&bare, probe)), least(case(&delayed, probe)));
        // What the way takes by itself is no part of the delay.
        let added = delayed - bare;
        let wanted = passes * delay.as_nanos() as f64;
        let is_so = (added / wanted - 1.0).abs() < 0.02 && (delayed / wanted - 1.0).abs() < 0.05;
        quiet.holds(is_so, || format!("{probe}: {delayed} ns, {bare} without what adds {wanted}"));
    }
}

// Runs are timed: one at a time.

const NO_SERVER: &str = "there is no sshd here that lets this user in";
/// Some seconds when nobody stops it.
const SHORT: &[&str] = &["clock.read", "syscall.null", "--seed", "7"];

/// A server whose sessions belong to this home, and the place that it is.
fn server(far: &Home) -> Option<(Sshd, String)> {
    let directories = [&far.data, &far.scratch].map(|directory| directory.path().display().to_string());
    let environment = [("XDG_DATA_HOME", directories[0].as_str()), ("TMPDIR", directories[1].as_str())];
    let server = Sshd::start(&Options { environment: &environment, ..Options::default() })?;
    let place = server.prefix().join(" ");
    Some((server, place))
}

/// Nothing of ours is alive or lies there.
fn is_left_in_peace(far: &Home) {
    assert!(within(SOON, || processes(far).is_empty()), "{:?}", processes(far));
    for directory in [&far.data, &far.scratch] {
        assert!(files(directory.path()).is_empty(), "{:?}", files(directory.path()));
    }
}

#[test]
fn a_run_over_ssh_is_kept_here_and_leaves_nothing_there() {
    let _alone = alone();
    let (near, far) = (Home::new(), Home::new());
    let Some((_server, place)) = server(&far) else { return skipped(NO_SERVER) };
    let arguments = [&["run", "--on", &place, "--format", "json"], SHORT].concat();
    let out = succeeded(near.says(&arguments));
    let run = load_run(&out).unwrap();
    assert_eq!((run.place.as_deref(), run.settings.seed), (Some(place.as_str()), 7));
    assert!(run.cases.iter().all(|case| case.measured().is_some()));
    assert_eq!(files(near.data.path()).len(), 1);
    is_left_in_peace(&far);
}

/// Kills one of those on the way in the middle of a run, which then goes on over the same server. `who` finds its processes.
fn goes_on_after(who: impl FnOnce(&Sshd, &UnderWay, &Home) -> Vec<i32>) {
    let far = Home::new();
    let Some((server, place)) = server(&far) else { return skipped(NO_SERVER) };
    let mut run = UnderWay::start(&[&["run", "--on", &place, "--format", "json"], SHORT].concat());
    let victims = who(&server, &run, &far);
    assert!(!victims.is_empty(), "{:?} {:?}", processes(&run.home), processes(&far));
    let before = run.journal().lines().count() - 1;
    for victim in victims {
        let _ = kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL);
    }
    let output = run.child.ends(SOON);
    if output.status.code().is_some() {
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), errors.lines().count()), (Some(5), 1), "{errors}");
        assert!(errors.contains(&place) && errors.contains("hostmark run --resume"), "{errors}");
    }
    run.assert_only_the_journal_is_left();
    is_left_in_peace(&far);
    let kept = run.journal().lines().count() - 1;
    assert!(kept >= before, "{kept} {before}");
    let out = succeeded(run.home.says(&["run", "--resume", "--on", &place, "--format", "json"]));
    let whole = load_run(&out).unwrap();
    assert!(whole.interrupted.is_none() && whole.cases.iter().all(|case| case.measured().is_some()));
    let expected = format!("cut short after {kept} rounds");
    assert!(whole.disturbances.iter().any(|one| one.en.contains(&expected)), "{:?}", whole.disturbances);
    is_left_in_peace(&far);
}

/// The numbers of those that were started with this first argument.
fn started_with(home: &Home, word: &str) -> Vec<i32> {
    processes(home).into_iter().filter(|(_, first)| first == word).map(|(pid, _)| pid).collect()
}

#[test]
fn whoever_of_ssh_is_killed_no_finished_round_is_lost() {
    let _alone = alone();
    goes_on_after(|_, run, _| started_with(&run.home, "-F"));
    goes_on_after(|_, _, far| started_with(far, "agent"));
    goes_on_after(|_, run, _| vec![i32::try_from(run.child.id()).unwrap()]);
    // A session of sshd.
    goes_on_after(|server, _, _| {
        let listener = server.pid();
        let children = fs::read_to_string(format!("/proc/{listener}/task/{listener}/children")).unwrap();
        children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    });
}
