//! Checks by whole runs in surroundings whose properties are known: the rate, delay and loss of a link, a CPU quota, a slow disk.

use std::time::Duration;

use hostmark_analysis::bilingual::{Words, same};
use hostmark_analysis::words;
use hostmark_model::{CaseRecord, FlagKind, Measured, Outcome, RoundRecord, Run};
use hostmark_say::say;

use super::bench::Bench;
use super::check::{Attempt, Check, Known, Line};
use super::surroundings::{MeasureIn, Surroundings};
use super::unseen::Unseen;

/// No further look begins after this time of a check.
const LIMIT: Duration = Duration::from_secs(5);
/// None begins after this time of the bench: a run in surroundings takes a while.
pub const LATEST: Duration = Duration::from_secs(41);

/// How far a link's rate may be off: a burst of some packets at either end of a sample.
const RATE_OFF: f64 = 0.03;
/// What a round trip may take beside the relay: two kernels, and processes that wake late.
const TRIP_OFF: f64 = 0.1;
/// Loss is counted in events that come by chance.
const LOSS_OFF: f64 = 2.0;
const QUOTA_OFF: f64 = 0.01;
const READS_OFF: f64 = 0.05;

/// The data of TCP in an Ethernet packet of 1500 bytes: without headers and timestamp. tbf counts a frame without what a real wire adds.
const PAYLOAD: f64 = 1448.0;
const FRAME: f64 = 1514.0;

/// The rate of a link, megabits a second.
pub const MBIT: u32 = 83;
/// The delay of a relay each way, and how many frames it passes on before it loses one.
pub const RELAYED: (Duration, u32) = (Duration::from_millis(2), 100);
/// A quota, per cent of one CPU.
pub const QUOTA_PERCENT: u8 = 30;
/// Reads a second from a disk.
pub const READS: u32 = 1000;

pub fn link(bench: &mut Bench, mbit: &Known<u32>, measure: &mut MeasureIn) -> Line {
    let wanted = f64::from(mbit.expected) * 1e6 / 8.0 * PAYLOAD / FRAME;
    let put_in = words(say!(
        "a link of {expected} Mbit/s: {wanted:.2} MB/s of TCP",
        expected = mbit.expected,
        wanted = wanted / 1e6
    ));
    let check = check("link", put_in, percent_off(RATE_OFF));
    in_surroundings(check, bench, Surroundings::Link { mbit: mbit.put }, &[BANDWIDTH], measure, |run| {
        let rate = measured(run, "net.tcp_bandwidth")?.estimate.stated().value;
        let back = same(format!("{:.2} MB/s", rate / 1e6));
        Some((back, (rate / wanted - 1.0).abs() <= RATE_OFF))
    })
}

const BANDWIDTH: &str = "net.tcp_bandwidth@to=peer,cpus=two_hosts,congestion=default";
const ROUND_TRIP: &str = "net.tcp@to=peer,cpus=two_hosts";

pub fn relayed(bench: &mut Bench, relay: &Known<(Duration, u32)>, measure: &mut MeasureIn) -> Line {
    let (delay, loses) = relay.expected;
    let trip_ms = 2e3 * delay.as_secs_f64();
    let put_in = words(say!("a link with a round trip of {trip_ms} ms that loses one frame in {loses}"));
    let bound = words(say!("+{percent:.0} %; by a factor of {LOSS_OFF:.0}", percent = TRIP_OFF * 100.0));
    let (delay, loses) = relay.put;
    let surroundings = Surroundings::Relayed { delay, loses };
    in_surroundings(check("relay", put_in, bound), bench, surroundings, &[ROUND_TRIP, BANDWIDTH], measure, |run| {
        // The smallest: who wakes late only adds, and so does what is sent again.
        let trip = measured(run, "net.tcp")?.estimate.min / 1e6;
        let resent = measured(run, "net.tcp_bandwidth")?.also.get("retransmits_per_gb")?.estimate.stated().value;
        let one_in = 1e9 / PAYLOAD / resent;
        let back = words(say!("{trip:.2} ms, one in {one_in:.0} sent again"));
        let is_trip = (1.0..=1.0 + TRIP_OFF).contains(&(trip / trip_ms));
        let is_loss = (1.0 / LOSS_OFF..=LOSS_OFF).contains(&(one_in / f64::from(relay.expected.1)));
        Some((back, is_trip && is_loss))
    })
}

pub fn quota(bench: &mut Bench, percent: &Known<u8>, measure: &mut MeasureIn) -> Line {
    let wanted = f64::from(percent.expected) / 100.0;
    let put_in = words(say!("a CPU quota of {wanted:.2} CPUs"));
    let bound = words(say!("±{QUOTA_OFF}, and most rounds were stopped"));
    let surroundings = Surroundings::Quota { percent: percent.put };
    in_surroundings(check("quota", put_in, bound), bench, surroundings, &["clock.loop"], measure, |run| {
        let quota = run.host.limits.cpu_quota.unwrap_or(f64::INFINITY);
        let rounds = &measured(run, "clock.loop")?.rounds;
        let is_stopped = |round: &&RoundRecord| round.throttled.is_some_and(|throttled| throttled.periods > 0);
        let stopped = rounds.iter().filter(is_stopped).count();
        let count = rounds.len();
        let back = words(say!("{quota:.2} CPUs, {stopped} of {count} rounds stopped"));
        Some((back, (quota - wanted).abs() <= QUOTA_OFF && 2 * stopped > count))
    })
}

pub fn disk(bench: &mut Bench, reads: &Known<u32>, measure: &mut MeasureIn) -> Line {
    let wanted = f64::from(reads.expected);
    let put_in = words(say!("a disk limited to {wanted} reads a second"));
    let surroundings = Surroundings::Disk { reads_a_second: reads.put };
    let filters = ["disk.read@pattern=random,block=4096,depth=1"];
    in_surroundings(check("disk", put_in, percent_off(READS_OFF)), bench, surroundings, &filters, measure, |run| {
        let rate = measured(run, "disk.read")?.also.get("sustained")?.estimate.stated().value;
        Some((same(format!("{rate:.0} /s")), (rate / wanted - 1.0).abs() <= READS_OFF))
    })
}

fn percent_off(off: f64) -> Words {
    Words { en: format!("±{:.0} %", off * 100.0), zh: format!("±{:.0}%", off * 100.0) }
}

fn check(id: &'static str, put_in: Words, bound: Words) -> Check {
    // The run is another program to this one, and says itself who disturbed it.
    Check { id, put_in, bound, limit: LIMIT, puts_others_in: true }
}

/// Looks at a run in surroundings: what came back, and whether that lies within the bound.
fn in_surroundings(
    check: Check,
    bench: &mut Bench,
    surroundings: Surroundings,
    filters: &[&str],
    measure: &mut MeasureIn,
    judged: impl Fn(&Run) -> Option<(Words, bool)>,
) -> Line {
    check.judge(bench, |bench| {
        if bench.elapsed() >= LATEST {
            return Err(term!("no time is left").to_owned_text().into());
        }
        let run = measure(surroundings, filters)?;
        let (back, is_within) = judged(&run).ok_or_else(|| without_value(&run))?;
        let disturbed = run.cases.iter().filter_map(CaseRecord::measured).any(is_disturbed);
        let is_within = match disturbed && !is_within {
            true => Err(term!("other programs disturbed it; rerun later").to_owned_text()),
            false => Ok(is_within),
        };
        Ok(Attempt { back, is_within })
    })
}

fn is_disturbed(measured: &Measured) -> bool {
    measured.flags.iter().any(|flag| flag.kind == FlagKind::Contended)
}

fn measured<'a>(run: &'a Run, probe: &str) -> Option<&'a Measured> {
    run.cases.iter().find(|case| case.probe == probe)?.measured()
}

/// Why a run has no value.
fn without_value(run: &Run) -> Unseen {
    let reason = run.cases.iter().find_map(|case| match &case.outcome {
        Outcome::Skipped { reason } | Outcome::Failed { reason } => Some(reason),
        _ => None,
    });
    let without = || term!("the run has no value").to_owned_text().into();
    reason.map_or_else(without, Unseen::from)
}
