//! Undisturbed values of the machine, for cases of one thread whose samples are all of one length.
//!
//! What disturbs a guest lasts longer than its run, and mostly only adds. A fixed quantile, on the good side, of all samples that
//! nothing is known to have disturbed repeats where the median does not, and does not wander off as samples become more, as the
//! best of them does. What the core does by itself takes the same number of its cycles at whatever clock it has, and that clock
//! steps with the load of the whole package: such values are counted in cycles, and converted at the median clock of the case's
//! rounds, at which a typical value of as many cycles stands too (docs/decisions/0027-typical-and-quiet.md has the reasons). Cycles
//! are the quotient of two such quantiles, of the samples and of the clock beside them, and never a quantile of quotients: what is
//! wrong with the clock of one sample would make that the best of all (docs/decisions/0062-what-is-core-bound.md).

use hostmark_model::{AxisKind, Better, DisturbanceFlags, HostFacts, Leading, Params, Quiet};
use hostmark_stats::{descriptive, interval};

use crate::case::surroundings::Bind;
use crate::probe::{CoreBound, Entry};
use crate::quantity::Quantity;
use crate::record::{Round, Sampled};

/// Share of the samples that are better than the undisturbed value.
const QUANTILE: f64 = 0.1;
/// Samples that nothing disturbed; where there are fewer, all are taken.
const LEAST_SAMPLES: usize = 3;
/// Clocks of samples over the one that the value is reported at. What another thread on the core takes of it looks like a slower clock
/// where that thread is always there, and so may the latter be too slow.
const NEAR: std::ops::RangeInclusive<f64> = 0.9..=1.15;
/// Least clock of a round as a share of the fast rounds': below it, another thread had the core while the clock was taken.
const LEAST_CLOCK: f64 = 2.0 / 3.0;
/// No core runs at such a clock, hertz.
const FASTEST_HZ: f64 = 1e10;
/// Quantile of the rounds' clocks that tells the fast ones'.
const FAST: f64 = 0.75;
/// Largest share of the second cache that surely stays in it whatever else the core has there.
const SHARE_OF_CACHE: f64 = 0.5;

/// Point of a case, and the host it was measured on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CasePoint<'a> {
    pub params: &'a Params,
    pub host: &'a HostFacts,
}

/// The quiet value of a case from its rounds; none of cases of which it is not told.
pub(crate) fn of(
    entry: &Entry,
    place: CasePoint,
    rounds: &[(&Round, &Sampled)],
    relative_resolution: f64,
) -> Option<Quiet> {
    if entry.probe.better == Better::Neither {
        return None;
    }
    if rounds.is_empty() || !has_quiet_value(entry) || !rounds.iter().all(|round| is_watched(entry, place, round)) {
        return None;
    }
    let cpu = rounds[0].0.cpus.first().copied();
    let clocks = if is_of_core(entry, place, cpu) { clocks(rounds) } else { None };
    let at_hz = clocks.map(|(median, _)| median);
    let known = |is_quiet: bool| -> Vec<Vec<Timed>> {
        rounds.iter().map(|(_, sampled)| with_clock(sampled, clocks, is_quiet)).collect()
    };
    let is_difference = rounds.iter().any(|(_, sampled)| parts(sampled).is_some());
    let (all, mut rounds) = (known(false), known(true));
    // A round that was disturbed from its first sample to its last says nothing of the machine left alone, where others do.
    let undisturbed = rounds.concat();
    for (round, all) in rounds.iter_mut().zip(all) {
        if round.len() < LEAST_SAMPLES {
            *round = all;
        }
    }
    let has_undisturbed = undisturbed.len() >= LEAST_SAMPLES;
    // What disturbed the whole and its overhead is as large as their difference.
    if is_difference && !has_undisturbed {
        return None;
    }
    let best = |samples: &[Timed]| best(samples, entry.probe.better, at_hz);
    let of_rounds: Vec<f64> = rounds.iter().filter_map(|round| best(round)).collect();
    // Else the best round's: the samples of several rounds have no clock in common.
    let value = match entry.probe.better {
        _ if has_undisturbed => best(&undisturbed),
        Better::Higher => descriptive::max(&of_rounds),
        _ => descriptive::min(&of_rounds),
    };
    let value = value.filter(|value| *value > 0.0)?;
    let floor = value.abs() * relative_resolution;
    let interval = interval::of_medians(&of_rounds, floor).map(|interval| interval.floored(value, floor));
    let (low, high) = (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
    let range = descriptive::min(&of_rounds).zip(descriptive::max(&of_rounds));
    Some(Quiet { value, low, high, range: range.map(|(least, most)| [least.min(value), most.max(value)]), at_hz })
}

/// The median of the rounds' median clocks beside their samples, hertz, without clocks that are none; and the greatest of those near it.
fn clocks(rounds: &[(&Round, &Sampled)]) -> Option<(f64, f64)> {
    let known = |sampled: &Sampled| {
        sampled.core_hz().into_iter().filter(|hz| *hz > 0.0 && *hz < FASTEST_HZ).collect::<Vec<f64>>()
    };
    let all: Vec<f64> = rounds.iter().filter_map(|(_, sampled)| descriptive::median(&known(sampled))).collect();
    let least = LEAST_CLOCK * descriptive::quantile(&all, FAST)?;
    let median = descriptive::median(&all.iter().copied().filter(|hz| *hz >= least).collect::<Vec<f64>>())?;
    let near = all.into_iter().filter(|hz| NEAR.contains(&(hz / median)));
    Some((median, near.fold(median, f64::max)))
}

/// Chooses the headline value of a case on `cpu`: the undisturbed one of core-bound work, else what a program got.
pub(crate) fn leading(entry: &Entry, place: CasePoint, cpu: Option<usize>) -> Leading {
    if has_quiet_value(entry) && is_of_core(entry, place, cpu) { Leading::Quiet } else { Leading::Typical }
}

/// Tells whether such cases have an undisturbed value.
fn has_quiet_value(entry: &Entry) -> bool {
    !matches!(entry.probe.core_bound, CoreBound::No)
}

/// Tells whether disturbances of the core show: its frequency is taken beside equal samples of one thread that the engine times.
fn is_watched(entry: &Entry, place: CasePoint, (round, sampled): &(&Round, &Sampled)) -> bool {
    let is_of = |kind: AxisKind| entry.probe.axis_of(kind).and_then(|axis| place.params.get(axis.name));
    let is_seen = match is_of(AxisKind::Copies) {
        // Another copy may be the thread beside it.
        Some(copies) if copies != "1" => !sampled.noise.looks.is_empty(),
        // What two threads do to each other depends on where they lie, which no sample tells: most of the run has to.
        _ => {
            is_of(AxisKind::Placement).is_none()
                && (round.cpus.len() < 2 || Bind::of_case(place.params) == Some(Bind::Free))
        }
    };
    sampled.noise.core_hz.is_some() && is_seen
}

/// Tells whether the case uses only the core and its own caches.
fn is_of_core(entry: &Entry, place: CasePoint, cpu: Option<usize>) -> bool {
    match entry.probe.core_bound {
        CoreBound::No => false,
        CoreBound::Yes => true,
        CoreBound::Within(bytes) => {
            let cache = cpu.and_then(|cpu| place.host.cache(cpu, 2)).map(|cache| cache.size_bytes as f64);
            bytes(place.params).zip(cache).is_some_and(|(bytes, cache)| bytes <= SHARE_OF_CACHE * cache)
        }
    }
}

#[derive(Clone, Copy)]
struct Timed {
    value: f64,
    /// Overhead within it: the quantile of a difference would be of the samples whose overhead was disturbed.
    overhead: f64,
    /// The core's frequency beside it, hertz; 0 where it is not known.
    hz: f64,
}

/// Each sample's whole time and the overhead within it, where the value is their difference.
fn parts(sampled: &Sampled) -> Option<(&Vec<f64>, &Vec<f64>)> {
    let part = |of: Quantity| sampled.also.get(of.name).filter(|all| all.len() == sampled.values.len());
    part(Quantity::WHOLE).zip(part(Quantity::OVERHEAD))
}

/// The samples of a round, or the undisturbed ones. Where the value is told at a clock, these have one near it beside them, and what has
/// none or another counts as if it had been taken at the greatest: it never seems to take fewer cycles than it did.
fn with_clock(sampled: &Sampled, clocks: Option<(f64, f64)>, is_quiet: bool) -> Vec<Timed> {
    let parts = parts(sampled);
    let is_near = |hz: f64| clocks.is_none_or(|(median, _)| NEAR.contains(&(hz / median)));
    let timed = |(at, hz)| match parts {
        Some((whole, overhead)) => Timed { value: whole[at], overhead: overhead[at], hz },
        None => Timed { value: sampled.values[at], overhead: 0.0, hz },
    };
    let all = sampled.core_hz().into_iter().enumerate().zip(&sampled.disturbance_flags);
    let kept = all.filter(|&((_, hz), flags)| !is_quiet || (DisturbanceFlags(*flags).is_quiet() && is_near(hz)));
    let clock = |hz: f64| clocks.filter(|_| !is_near(hz)).map_or(hz, |(_, most)| most);
    kept.map(|((at, hz), _)| timed((at, clock(hz)))).collect()
}

/// The tenth on the good side of these samples, at the clock `at_hz` by its cycles at the tenth fastest clock beside them.
fn best(samples: &[Timed], better: Better, at_hz: Option<f64>) -> Option<f64> {
    let is_rate = better == Better::Higher;
    let of = |part: fn(&Timed) -> f64, p: f64| descriptive::quantile(&samples.iter().map(part).collect::<Vec<_>>(), p);
    let p = if is_rate { 1.0 - QUANTILE } else { QUANTILE };
    let value = of(|timed| timed.value, p)? - of(|timed| timed.overhead, p)?;
    let Some(at_hz) = at_hz else { return Some(value) };
    let times = of(|timed| timed.hz, 1.0 - QUANTILE)? / at_hz;
    Some(if is_rate { value / times } else { value * times })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{PLAIN, host};
    use crate::probe::{Axis, Probe};
    use crate::record::RoundResult;
    use hostmark_model::{CacheFact, CaseId, Event, Profile, RoundNoise};

    static TIME: Probe = Probe { better: Better::Lower, core_bound: CoreBound::Yes, ..PLAIN };
    static RATE: Probe = Probe { better: Better::Higher, ..TIME };
    static WAITS: Probe = Probe { core_bound: CoreBound::No, ..TIME };

    fn entry(probe: &'static Probe) -> Entry {
        Entry { probe, ..crate::fixture::entry("net.tcp") }
    }

    /// A round of samples of so many ns, each with a mark and the core's frequency beside it, GHz.
    fn round(samples: &[(f64, u8, f64)]) -> Round {
        let core_khz = samples.iter().map(|(_, _, ghz)| [1, (ghz * 1e6) as u64]).collect();
        let noise = RoundNoise { core_hz: Some(3e9), core_khz, resolution_ns: 1e-9, ..RoundNoise::default() };
        let ns = samples.iter().map(|(ns, ..)| *ns).collect();
        let (iterations, disturbance_flags) =
            (vec![1; samples.len()], samples.iter().map(|(_, flags, _)| *flags).collect());
        let events = vec![Event::Samples { ns, iterations, amount: 0, disturbance_flags }, Event::Done { noise }];
        Round::of(RoundResult { round: 0, cpus: vec![0], events, others: None })
    }

    fn quiet_of(entry: Entry, at: &str, rounds: &[Round]) -> Option<Quiet> {
        let (id, host): (CaseId, _) = (at.parse().unwrap(), cached());
        let sampled: Vec<(&Round, &Sampled)> =
            rounds.iter().map(|round| (round, round.sampled.as_ref().unwrap())).collect();
        of(&entry, CasePoint { params: &id.params, host: &host }, &sampled, 0.0)
    }

    /// A host whose cores have a second cache of 2 MiB each.
    fn cached() -> HostFacts {
        let mut host = host();
        let second = CacheFact { level: 2, size_bytes: 2 << 20, shared_cpus: vec![0], ..CacheFact::default() };
        host.caches.push(second);
        host
    }

    fn steady(values: &[f64]) -> Round {
        round(&values.iter().map(|ns| (*ns, 0, 3.0)).collect::<Vec<_>>())
    }

    fn is_near(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-9
    }

    #[test]
    fn it_is_the_tenth_on_the_good_side_of_all_undisturbed_samples() {
        let values: Vec<f64> = (0..=100).map(|step| 100.0 + f64::from(step)).collect();
        let rounds = vec![steady(&values); 5];
        let quiet = quiet_of(entry(&TIME), "a.b", &rounds).unwrap();
        assert!((quiet.value - 110.0).abs() < 0.5, "{quiet:?}");
        let (low, high) = (quiet.low.unwrap(), quiet.high.unwrap());
        assert!(low <= quiet.value && quiet.value <= high && high - low < 0.5, "{quiet:?}");
        let rate = quiet_of(entry(&RATE), "a.b", &rounds).unwrap();
        assert!((rate.value - 190.0).abs() < 0.5, "{rate:?}");
    }

    #[test]
    fn a_marked_sample_is_none_of_them_while_others_are_left() {
        let marked = |flags: u8| {
            let samples: Vec<(f64, u8, f64)> =
                (0..40).map(|number| if number % 2 == 0 { (100.0, flags, 3.0) } else { (200.0, 0, 3.0) }).collect();
            quiet_of(entry(&TIME), "a.b", &vec![round(&samples); 5]).unwrap().value
        };
        assert!(is_near(marked(0), 100.0) && is_near(marked(DisturbanceFlags::SWITCHED), 100.0));
        for flags in [DisturbanceFlags::SHARED, DisturbanceFlags::MIGRATED, DisturbanceFlags::DELAYED] {
            assert!(is_near(marked(flags), 200.0), "{flags}");
        }
        let all = [(100.0, DisturbanceFlags::SHARED, 3.0); 6];
        assert!(is_near(quiet_of(entry(&TIME), "a.b", &vec![round(&all); 5]).unwrap().value, 100.0));
    }

    #[test]
    fn what_the_core_does_is_reported_at_the_median_clock_of_its_rounds_and_so_never_worse_than_the_typical_value() {
        // Always 300 cycles, at a clock that steps: half of the time 3.0 GHz, half 3.3.
        let stepping = |slow: usize| {
            let sample = |number: usize| if number < slow { (100.0, 0, 3.0) } else { (300.0 / 3.3, 0, 3.3) };
            round(&(0..20).map(sample).collect::<Vec<_>>())
        };
        for (slow, ghz) in [([15; 5], 3.0), ([5; 5], 3.3), ([20, 0, 0, 0, 20], 3.3), ([0, 20, 15, 20, 0], 3.0)] {
            let rounds = slow.map(stepping);
            let quiet = quiet_of(entry(&TIME), "a.b", &rounds).unwrap();
            assert!(
                is_near(quiet.value, 300.0 / ghz) && is_near(quiet.at_hz.unwrap(), ghz * 1e9),
                "{slow:?} {quiet:?}"
            );
            let values = |round: &Round| round.sampled.as_ref().unwrap().values.clone();
            let typical =
                crate::estimate::estimate(&rounds.iter().map(values).collect::<Vec<_>>(), 0.0, Better::Lower).typical;
            assert!(quiet.value <= typical * (1.0 + 1e-9), "{slow:?} {quiet:?} {typical}");
        }
        // A clock that was timed while others had the core makes no sample the best.
        let mut late = vec![(100.0, 0, 3.0); 9];
        late.push((100.0, 0, 2.7));
        for probe in [&TIME, &RATE] {
            assert!(is_near(quiet_of(entry(probe), "a.b", &vec![round(&late); 5]).unwrap().value, 100.0));
        }
        // Nor an overhead that was disturbed a difference of 60.
        let mut part = round(&[(60.0, 0, 3.0); 10]);
        let also = &mut part.sampled.as_mut().unwrap().also;
        also.insert("whole".into(), vec![100.0; 10]);
        also.insert("overhead".into(), [vec![40.0; 9], vec![70.0]].concat());
        assert!(is_near(quiet_of(entry(&TIME), "a.b", &vec![part; 5]).unwrap().value, 60.0));
        // Where it changed between two looks nobody knows what a sample ran at.
        let mut samples = vec![(100.0, 0, 3.0); 10];
        samples.extend([(1.0, 0, 0.0); 10]);
        assert!(is_near(quiet_of(entry(&TIME), "a.b", &vec![round(&samples); 5]).unwrap().value, 100.0));
    }

    #[test]
    fn memory_beyond_the_cores_own_caches_is_reported_as_it_was_measured_and_leads_with_what_a_program_got() {
        static SIZED: Probe = Probe { core_bound: CoreBound::SIZE, ..TIME };
        let second = 2 << 20;
        let samples: Vec<(f64, u8, f64)> =
            (0..20).map(|number| (100.0, 0, if number < 10 { 3.0 } else { 3.3 })).collect();
        let at = |bytes: u64| {
            let at = format!("memory.latency@size={bytes}");
            quiet_of(entry(&SIZED), &at, &vec![round(&samples); 5]).unwrap()
        };
        assert_eq!((at(2 * second).at_hz, at(second).at_hz), (None, None));
        assert!(is_near(at(2 * second).value, 100.0));
        assert!(is_near(at(second / 2).at_hz.unwrap(), 3.15e9));
        let leads = |probe, at: &str| {
            let (id, host): (CaseId, _) = (at.parse().unwrap(), cached());
            leading(&entry(probe), CasePoint { params: &id.params, host: &host }, Some(0))
        };
        let memory = |bytes: u64| leads(&SIZED, &format!("memory.latency@size={bytes}"));
        assert_eq!(
            (memory(second / 2), memory(second), memory(64 << 20)),
            (Leading::Quiet, Leading::Typical, Leading::Typical)
        );
        assert_eq!((leads(&RATE, "a.b"), leads(&WAITS, "a.b")), (Leading::Quiet, Leading::Typical));
    }

    #[test]
    fn it_is_reported_for_what_is_declared_core_bound_and_watched() {
        let rounds = vec![steady(&[1.0; 10]); 5];
        assert!(quiet_of(entry(&TIME), "a.b", &rounds).is_some());
        assert_eq!(quiet_of(entry(&WAITS), "a.b", &rounds), None);
        // Where no chain was timed, several threads were at work, or the probe took the samples itself.
        let mut unwatched = rounds;
        unwatched[0].sampled.as_mut().unwrap().noise.core_hz = None;
        assert_eq!(quiet_of(entry(&TIME), "a.b", &unwatched), None);
    }

    #[test]
    fn another_thread_that_looks_like_a_slow_or_fast_clock_makes_no_value() {
        // Always 300 cycles at 3 GHz, all marked but in one round, whose samples are unmarked beside a clock that is wrong.
        let shared = round(&[(101.0, DisturbanceFlags::SHARED, 3.0); 20]);
        for ghz in [1.0, 1.9, 2.6, 3.6, 18_688.0] {
            let rounds: Vec<Round> =
                (0..5).map(|n| if n == 2 { round(&[(100.0, 0, ghz); 20]) } else { shared.clone() }).collect();
            let quiet = quiet_of(entry(&TIME), "a.b", &rounds).unwrap();
            let cycles = quiet.value * quiet.at_hz.unwrap() / 1e9;
            assert!((299.0..304.0).contains(&cycles), "{ghz} {quiet:?}");
            assert!(quiet.low.unwrap() > 0.98 * quiet.value, "{ghz} {quiet:?}");
        }
        // Nor where most rounds have such a clock.
        let wrong = |ghz: f64| round(&[(150.0, 0, ghz); 20]);
        let rounds = [wrong(0.9), shared.clone(), shared, wrong(1.5), wrong(1.2)];
        assert!(is_near(quiet_of(entry(&TIME), "a.b", &rounds).unwrap().value, 101.0));
    }

    #[test]
    fn a_round_that_was_shared_from_its_first_sample_on_has_no_part_in_it_while_others_are_left() {
        let shared = round(&[(50.0, DisturbanceFlags::SHARED, 3.0); 10]);
        let mut rounds = vec![steady(&[100.0; 10]); 4];
        rounds.push(shared.clone());
        let quiet = quiet_of(entry(&TIME), "a.b", &rounds).unwrap();
        assert!(is_near(quiet.value, 100.0), "{quiet:?}");
        assert_eq!(quiet.range, Some([50.0, 100.0]));
        assert!(is_near(quiet_of(entry(&TIME), "a.b", &vec![shared; 5]).unwrap().value, 50.0));
    }

    #[test]
    fn several_threads_have_none_and_copies_one_where_their_core_is_looked_at() {
        static COPIES: Probe = Probe { axes: &[Axis::copies(Profile::Quick)], ..TIME };
        static PLACED: Probe = Probe { axes: &[Axis { default: "same_cache", ..crate::fixture::CPUS }], ..TIME };
        let on_two = |looks: &[[u64; 2]]| {
            let mut round = steady(&[100.0; 10]);
            round.cpus = vec![0, 1];
            round.sampled.as_mut().unwrap().noise.looks = looks.to_vec();
            vec![round; 5]
        };
        let (looked, blind) = (on_two(&[[0, 5000], [10, 5000]]), on_two(&[]));
        let has_value = |probe, at: &str, rounds: &[Round]| quiet_of(entry(probe), at, rounds).is_some();
        // One round of five in which the host had both CPUs on one core was the value of a transfer between cores.
        assert!(!has_value(&PLACED, "a.b@cpus=same_cache", &looked) && !has_value(&TIME, "a.b", &looked));
        assert!(has_value(&COPIES, "a.b@copies=2", &looked) && !has_value(&COPIES, "a.b@copies=2", &blind));
        assert!(has_value(&COPIES, "a.b@copies=1", &vec![steady(&[100.0; 10]); 5]));
        assert!(has_value(&TIME, "a.b@bind=none", &blind));
    }

    #[test]
    fn fewer_than_five_rounds_have_a_quiet_value_and_no_interval() {
        let quiet = quiet_of(entry(&TIME), "a.b", &vec![steady(&[1.0; 10]); 4]).unwrap();
        assert_eq!((quiet.value, quiet.low, quiet.high), (1.0, None, None));
        let apart: Vec<Round> = [1.0, 2.0, 4.0].map(|ns| steady(&[ns; 10])).into();
        let quiet = quiet_of(entry(&TIME), "a.b", &apart).unwrap();
        assert_eq!((quiet.value, quiet.range), (1.0, Some([1.0, 4.0])));
    }

    #[test]
    fn it_does_not_wander_off_as_samples_or_rounds_become_more() {
        // A true cost of 100, noise that only adds, and every third round half as slow again.
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let mut value = |rounds: usize, samples: usize| {
            let rounds: Vec<Round> = (0..rounds)
                .map(|number| {
                    let slow = if number % 3 == 2 { 1.5 } else { 1.0 };
                    steady(&(0..samples).map(|_| slow * (100.0 - 2.0 * random().ln())).collect::<Vec<_>>())
                })
                .collect();
            quiet_of(entry(&TIME), "a.b", &rounds).unwrap().value
        };
        let few = value(5, 80);
        for (rounds, samples) in [(5, 160), (5, 320), (10, 320), (20, 320)] {
            let more = value(rounds, samples);
            assert!((more / few - 1.0).abs() < 0.005, "{rounds} rounds of {samples}: {more} and {few}");
        }
    }
}
