//! Rules on disks: answers by a cache, and synced records that take too long.

use hostmark_model::{CaseRecord, Estimate, Measured, Message, Run, Text};
use hostmark_say::say;

use super::evidence::{Proven, believed, case_at, lost};
use super::{Conclusion, DISTURBED, Demonstration, Doubt, IO_LIMIT, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::format::time_text;
use crate::texts::findings as texts;

const DIRECT: &str = "disk.direct_io";
const READ_AT: &[(&str, &str)] = &[("op", "read"), ("pattern", "random"), ("block", "4096"), ("depth", "1")];
const SYNC: &str = "disk.fsync";
/// A page of NAND takes 40 to 100 µs from the request to its answer; 25 to 30 µs is what the fastest SLC flash has. ns
const FASTEST_FLASH_NS: f64 = 25e3;
/// A flush that goes over the bus of a device with power-loss protection and back, with the filesystem's own work. ns
const FASTEST_FLUSH_NS: f64 = 8e3;
/// Filesystems that keep their data on a device of this machine.
const ON_DEVICE: [&str; 4] = ["ext4", "xfs", "btrfs", "overlay"];

pub(super) static DISK_CACHE: Rule = Rule {
    id: "disk.answered_by_cache",
    shown: Demonstration::Run,
    probes: &[DIRECT, SYNC],
    cure: Some(texts::disk_cache::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[&IO_LIMIT] },
    draw: |run| [cached_read(run), cached_sync(run)].into_iter().flatten().collect(),
};

/// A device that a file stands for: this machine's own page cache answers for it.
const ON_A_FILE: &str = " on loop";

/// Tells whether the case used a filesystem that has a device.
fn is_on_device(case: &CaseRecord) -> bool {
    let Some(measured) = believed(case) else { return false };
    let is_on_file = measured.notes.get("lies_on").is_some_and(|stack| stack.contains(ON_A_FILE));
    measured.notes.get("filesystem").is_some_and(|name| ON_DEVICE.contains(&name.as_str())) && !is_on_file
}

fn cached_read(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, DIRECT, READ_AT).filter(|case| is_on_device(case))?;
    let took = Proven::also(case, "p50").filter(|took| took.high < FASTEST_FLASH_NS)?;
    let (took, place) = (time_text(took.value), cache_place(run));
    let text = texts::disk_cache::read_text!(took, place);
    let short = texts::disk_cache::read_short!(took);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: 0.0 })
}

fn cache_place(run: &Run) -> Text<String> {
    match run.host.virtualization.hypervisor {
        Some(_) => texts::disk_cache::place_hypervisor!(),
        None => texts::disk_cache::place_device!(),
    }
}

fn cached_sync(run: &Run) -> Option<Conclusion> {
    let case = run.cases.iter().find(|case| case.probe == SYNC).filter(|case| is_on_device(case))?;
    let took = Proven::of_case(case).filter(|took| took.high < FASTEST_FLUSH_NS)?;
    let took = time_text(took.value);
    let text = texts::disk_cache::sync_text!(took);
    let short = texts::disk_cache::sync_short!(took);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: 0.0 })
}

/// The case of etcd's own record size, in a file that is made ready as etcd does it.
const BLOCK: (&str, &str) = ("block", "2300");
const SPACE: (&str, &str) = ("space", "preallocated");
/// Largest 99th percentile of fdatasync by etcd's hardware guide, ns.
const MOST_NS: f64 = 10e6;

pub(super) static SYNC_LATENCY: Rule = Rule {
    id: "disk.slow_sync",
    shown: Demonstration::Run,
    probes: &[SYNC],
    cure: Some(texts::sync_latency::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &IO_LIMIT] },
    draw: sync_latency,
};

/// Remark that one append in a hundred is made safe as soon as etcd asks; none where that is not proven.
pub fn soon_enough_for_etcd(case: &CaseRecord) -> Option<Message> {
    let is_etcds = [BLOCK, SPACE].iter().all(|&(axis, value)| case.params.get(axis) == Some(value));
    let measured = case.measured().filter(|_| case.probe == SYNC && is_etcds)?;
    let p99 = &measured.also.get("p99")?.estimate;
    let (_, high) = p99.interval()?;
    let took = time_text(p99.value());
    (high <= MOST_NS).then(|| say!("p99 {took}: below the 10 ms that etcd asks for"))
}

/// A mean over this many medians, and over a millisecond: most operations do not show what the device sustains.
const BURSTS: f64 = 3.0;
const LEAST_MEAN_NS: f64 = 1e6;
/// The share of operations that p99 speaks of, where they are too few for a percentile, and the fewest slow ones that count.
const SLOW_SHARE: f64 = 0.01;
const LEAST_SLOW: u64 = 3;

fn sync_latency(run: &Run) -> Vec<Conclusion> {
    let Some(case) = case_at(run, SYNC, &[BLOCK, SPACE]) else { return Vec::new() };
    let Some(measured) = case.measured() else { return Vec::new() };
    let too_slow = match measured.also.get("p99") {
        Some(p99) => by_percentile(&p99.estimate),
        None => by_count(measured),
    };
    let drawn = |(short, text, cost)| Conclusion { short, text, cases: vec![case.id.clone()], cost };
    too_slow.into_iter().chain(by_mean(measured)).map(drawn).collect()
}

/// Finding in a line, in full, and its cost.
type Costed = (Text<String>, Text<String>, f64);

/// Verdict, where it is proven and where it is not.
fn verdict(is_proven: bool) -> Text {
    match is_proven {
        true => term!("is too slow for"),
        false => term!("may be too slow for"),
    }
}

/// Judges by the 99th percentile, with enough operations for one.
fn by_percentile(p99: &Estimate) -> Option<Costed> {
    if p99.value() <= MOST_NS {
        return None;
    }
    let took = time_text(p99.value());
    // An interval that reaches below the limit proves nothing.
    let is_proven = p99.interval().is_some_and(|(low, _)| low > MOST_NS);
    let verdict = verdict(is_proven);
    let may = if is_proven { Text::default() } else { term!("may ") };
    let text = texts::sync_latency::by_percentile_text!(verdict, took);
    let short = texts::sync_latency::by_percentile_short!(may, took);
    Some((short, text, lost(p99.value(), MOST_NS)))
}

/// Judges by the slow operations, where a slow device serves too few for a percentile.
fn by_count(measured: &Measured) -> Option<Costed> {
    let histogram = measured.histogram.as_ref()?;
    let of_all = || histogram.values.iter().zip(&histogram.counts);
    let all = of_all().map(|(_, &count)| count).fold(0, u64::saturating_add);
    let slow = of_all().filter(|&(&ns, _)| ns as f64 > MOST_NS).map(|(_, &count)| count).fold(0, u64::saturating_add);
    let most = SLOW_SHARE * all as f64;
    if slow < LEAST_SLOW || slow as f64 <= most {
        return None;
    }
    // Two standard deviations of a count.
    let verdict = verdict(slow as f64 - 2.0 * (slow as f64).sqrt() > most);
    let text = texts::sync_latency::by_count_text!(verdict, slow, all);
    let short = texts::sync_latency::by_count_short!(slow, all);
    Some((short, text, 1.0 - most / slow as f64))
}

/// The mean of all, which stalls after bursts are in.
fn by_mean(measured: &Measured) -> Option<Costed> {
    let sustained = measured.also.get("sustained")?.estimate.value();
    let (mean, median) = (1e9 / sustained, measured.estimate.typical);
    if mean < BURSTS * median || mean < LEAST_MEAN_NS {
        return None;
    }
    let (usual, on_average) = (time_text(median), time_text(mean));
    let text = texts::sync_latency::by_mean_text!(usual, on_average, sustained);
    let short = texts::sync_latency::by_mean_short!(usual, on_average);
    Some((short, text, lost(mean, median)))
}
