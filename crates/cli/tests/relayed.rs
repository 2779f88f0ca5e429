//! A way of known delay and loss between two hosts: what is measured over it is what was put in.

use std::path::Path;
use std::time::Duration;

use hostmark_model::{CaseRecord, Run, load_run};

// Runs are timed: one at a time.
use crate::alone::alone;
use crate::quiet::{Quiet, undisturbed};
use crate::skip::skipped;
use crate::support::{Home, PROGRAM, ended, files};
use hostmark::self_check::limits::{Networks, OVER_THERE, Relay};

/// A run from host 1 to host 2 by the relayed way, or why there is none here.
fn measured(delay: Duration, loses: u32, arguments: &[&str]) -> Result<Run, String> {
    let networks = Networks::of(3)?;
    let _relay = Relay::begin(&networks, Path::new(PROGRAM), delay, loses)?;
    let (home, [on, peer]) = (Home::new(), [1, 2].map(|host| networks.enter(host).join(" ")));
    let places = ["--on", &on, "--peer", &peer, "--via", OVER_THERE, "--format", "json"];
    let mut command = home.hostmark(&[&["run"], arguments, &places].concat());
    let (code, out, errors) = undisturbed(|| ended(&mut command), |said| said.0 == 0);
    assert_eq!((code, errors.as_str()), (0, ""), "{arguments:?}");
    assert!(files(home.scratch.path()).is_empty(), "something was left");
    Ok(load_run(&out).unwrap())
}

fn case<'a>(run: &'a Run, probe: &str) -> &'a CaseRecord {
    run.cases.iter().find(|case| case.probe == probe).unwrap_or_else(|| panic!("no {probe}"))
}

/// The smallest sample: who wakes late only adds.
fn least(case: &CaseRecord) -> f64 {
    case.measured().unwrap_or_else(|| panic!("{case:?}")).estimate.min
}

fn also(case: &CaseRecord, name: &str) -> f64 {
    let measured = case.measured().unwrap_or_else(|| panic!("{case:?}"));
    measured.also.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", measured.also.keys())).estimate.typical
}

/// The share of all requests that were lost, and how many there were. The mean of the rounds' shares tells more where a round has few requests, since one
/// that is lost takes the time of many.
fn lost(case: &CaseRecord) -> (f64, f64) {
    let measured = case.measured().unwrap_or_else(|| panic!("{case:?}"));
    let of_rounds = measured.rounds.iter().zip(&measured.samples).map(|(round, samples)| {
        let raw = round.raw.as_ref().unwrap_or_else(|| panic!("{round:?}"));
        let (share, answered) = (raw.also["lost"][0], samples.len() as f64);
        (share / (1.0 - share) * answered, answered)
    });
    let (lost, answered) = of_rounds.fold((0.0, 0.0), |all, of| (all.0 + of.0, all.1 + of.1));
    (lost / (lost + answered), lost + answered)
}

#[test]
fn a_known_delay_is_what_round_trips_take() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let delay = Duration::from_millis(37);
    let filters = ["net.tcp@to=peer", "net.udp@to=peer", "net.tcp_connect@to=peer"];
    let bare = match measured(Duration::ZERO, 0, &filters) {
        Ok(run) => run,
        Err(why) => return skipped(&why),
    };
    let delayed = measured(delay, 0, &filters).unwrap();
    // A connection is made in one round trip, and the far end's close comes with the next.
    for (probe, passes) in [("net.tcp", 2.0), ("net.udp", 2.0), ("net.tcp_connect", 4.0)] {
        let (bare, delayed) = (least(case(&bare, probe)), least(case(&delayed, probe)));
        // What the way takes by itself is no part of the delay.
        let added = delayed - bare;
        let wanted = passes * delay.as_nanos() as f64;
        let is_so = (added / wanted - 1.0).abs() < 0.02 && (delayed / wanted - 1.0).abs() < 0.05;
        quiet.holds(is_so, || format!("{probe}: {delayed} ns, {bare} without what adds {wanted}"));
    }
}

#[test]
fn one_packet_in_a_hundred_that_is_lost_shows_as_sent_again() {
    let (_alone, quiet) = (alone(), Quiet::begin());
    let bandwidth = "net.tcp_bandwidth@to=peer,cpus=two_hosts,congestion=default";
    let delay = Duration::from_millis(2);
    let whole = match measured(delay, 0, &[bandwidth]) {
        Ok(run) => run,
        Err(why) => return skipped(&why),
    };
    let lossy = measured(delay, 100, &[bandwidth]).unwrap();
    // Segments of 1448 bytes, of which one in a hundred is sent twice.
    let wanted = 1e9 / 1448.0 / 100.0;
    let resent = also(case(&lossy, "net.tcp_bandwidth"), "retransmits_per_gb");
    quiet.holds((0.5..2.0).contains(&(resent / wanted)), || format!("{resent} of {wanted}"));
    let before = also(case(&whole, "net.tcp_bandwidth"), "retransmits_per_gb");
    quiet.holds(before < resent / 3.0, || format!("{before} without loss, {resent} with"));
    // Each is two frames, of which every hundredth is lost: one in fifty, where there are many.
    let requests = measured(delay, 100, &["net.udp@to=peer", "--profile", "standard"]).unwrap();
    let (share, asked) = lost(case(&requests, "net.udp"));
    if asked < 500.0 {
        return skipped(&format!("only {asked} requests were made"));
    }
    quiet.holds((0.005..0.05).contains(&share), || format!("{share} of {asked}"));
}
