//! Check of contention: a process that uses a known share of the measured CPU.

use std::any::Any;
use std::time::Duration;

use hostmark_analysis::words;
use hostmark_engine::is_contended;
use hostmark_model::Others;
use hostmark_say::say;

use super::bench::{Bench, BenchRound, least};
use super::check::{Attempt, Check, Known, Line};
use super::durations::without_cycles;
use super::known::KNOWN;

/// Rounds before it, with it and after it: a second each, in which the kernel's counters tell enough.
const ROUNDS: u32 = 16;
/// How far the share may be off.
const OFF: f64 = 0.1;
/// Others that used more than this without it make the look useless.
const QUIET: f64 = 0.05;

/// Starts a process that uses this percentage of a CPU until what is returned is dropped.
pub type Start<'a> = dyn FnMut(usize, u8) -> Result<Box<dyn Any>, String> + 'a;

/// The percentage of a CPU that the process is asked for.
pub const PERCENT: u8 = 30;

pub fn competitor(bench: &mut Bench, percent: &Known<u8>, start: &mut Start) -> Line {
    let (cpu, expected) = (bench.cpu, percent.expected);
    let put_in = words(say!("a competitor that uses {expected} % of CPU {cpu}"));
    let bound = words(say!("±{points:.0} points, and samples are marked as disturbed", points = OFF * 100.0));
    let check = Check { id: "competitor", put_in, bound, limit: Duration::from_secs(10), puts_others_in: true };
    check.judge(bench, |bench| {
        let rounds = |bench: &mut Bench| bench.others_during(|bench| bench.rounds(KNOWN, "known.delay", ROUNDS));
        let (without, before) = rounds(bench);
        let competes = start(cpu, percent.put)?;
        let (with, during) = rounds(bench);
        drop(competes);
        let (_, after) = rounds(bench);
        let (Some(before), Some(during), Some(after)) = (before, during, after) else {
            return Err(term!("the kernel does not count who uses its CPUs").to_owned_text().into());
        };
        let (without, with) = (least(&without?, BenchRound::disturbed), with?);
        let waited = with.iter().filter_map(|round| round.noise.waited).reduce(f64::min);
        let marked = [without, least(&with, BenchRound::disturbed)];
        let beside = if after.share > before.share { after } else { before };
        let mut attempt = judged([beside, during], marked, waited, f64::from(expected) / 100.0);
        // An emulator whose own host is busy loses ticks of the timer, by which its kernel counts who uses a CPU.
        if let (Ok(false), Some(emulated)) = (&attempt.is_within, without_cycles(bench)) {
            attempt.is_within = Err(emulated);
        }
        Ok(attempt)
    })
}

/// What others used beside the competitor's time and in it, what share of the samples was marked, and what share of the time the
/// measuring thread waited for its CPU.
pub fn judged([beside, during]: [Others; 2], marked: [f64; 2], waited: Option<f64>, expected: f64) -> Attempt {
    let [share, percent] = [during.share, marked[1]].map(|share| share * 100.0);
    let back = words(say!("{share:.0} %, {percent:.0} % of the samples marked"));
    let is_found =
        (during.share - expected).abs() <= OFF && marked[1] > marked[0] && is_contended(&[0], Some(during), waited);
    let used = beside.share * 100.0;
    let is_busy = || words(say!("other programs used {used:.0} % of it as well; rerun later"));
    Attempt { back, is_within: (beside.share - beside.error < QUIET).then_some(is_found).ok_or_else(is_busy) }
}
