//! Exact outcomes computed from workers' answers.

use hostmark_model::{Better, Event, Noise, Others, RoundNoise, Text, Throttling, Unit};

use super::*;
use crate::estimate::estimate;
use crate::fixture::{PLAIN, entry};
use crate::probe::{Probe, Quantity};
use crate::record::RoundResult;

/// A round of samples: ns, iterations, disturbance flags.
struct Given {
    ns: Vec<f64>,
    iterations: Vec<u64>,
    amount: u64,
    disturbance_flags: Vec<u8>,
    noise: RoundNoise,
    notes: Vec<(&'static str, &'static str)>,
}

fn quiet() -> RoundNoise {
    RoundNoise { settled: true, resolution_ns: 10.0, iterations: 100, ..RoundNoise::default() }
}

/// Samples of 100 iterations that come to these values.
fn given(values: &[f64]) -> Given {
    Given {
        ns: values.iter().map(|value| value * 100.0).collect(),
        iterations: vec![100; values.len()],
        amount: 0,
        disturbance_flags: vec![0; values.len()],
        noise: quiet(),
        notes: Vec::new(),
    }
}

fn round(number: u32, given: Given) -> RoundResult {
    let mut events = vec![Event::Hello { protocol: 1, pid: 9 }];
    events.extend(given.notes.iter().map(|&(key, value)| Event::Note { key: key.into(), value: value.into() }));
    let Given { ns, iterations, amount, disturbance_flags, noise, .. } = given;
    events.push(Event::Samples { ns, iterations, amount, disturbance_flags });
    events.push(Event::Done { noise });
    RoundResult { round: number, cpus: vec![3], events, others: None }
}

fn rounds(given: Vec<Given>) -> Vec<RoundResult> {
    given.into_iter().enumerate().map(|(number, given)| round(number as u32, given)).collect()
}

/// The same round, which has also given these values.
fn with_also(mut round: RoundResult, name: &str, values: &[f64]) -> RoundResult {
    let end = round.events.len() - 1;
    round.events.insert(end, Event::Also { name: name.into(), values: values.to_vec() });
    round
}

/// The outcome of rounds as a journal has them.
fn outcome(entry: &Entry, rounds: &[RoundResult], planned: u32) -> Outcome {
    let rounds: Vec<Round> = rounds.iter().cloned().map(Round::of).collect();
    let host = crate::fixture::host();
    let place = CasePoint { params: &entry.default_params(), host: &host };
    super::outcome(entry, place, &rounds, planned)
}

fn outcome_of(probe: &str, rounds: &[RoundResult]) -> Outcome {
    let entry = entry(probe);
    outcome(&entry, rounds, 3)
}

#[track_caller]
fn values(outcome: Outcome) -> Measured {
    match outcome {
        Outcome::Measured(measured) => *measured,
        other => panic!("{other:?}"),
    }
}

fn measured_as(probe: &str, given: Vec<Given>) -> Measured {
    values(outcome_of(probe, &rounds(given)))
}

fn measured(given: Vec<Given>) -> Measured {
    measured_as("net.tcp", given)
}

/// Returns its flags, except the one on too few rounds.
fn kinds(measured: &Measured) -> Vec<FlagKind> {
    measured.flags.iter().map(|flag| flag.kind).filter(|kind| *kind != FlagKind::FewRounds).collect()
}

/// Returns the detail of the first of these.
fn detail(measured: &Measured) -> &str {
    &measured.flags.iter().find(|flag| flag.kind != FlagKind::FewRounds).unwrap().detail
}

#[test]
fn a_time_is_ns_an_iteration_and_its_value_the_median_of_medians() {
    let measured = measured(vec![given(&[4.0, 5.0, 9.0]), given(&[7.0, 6.0, 6.5, 9.0]), given(&[5.5])]);
    let estimate = &measured.estimate;
    assert_eq!((estimate.typical, estimate.rounds, estimate.n), (5.5, 3, 8));
    assert_eq!((estimate.min, estimate.max, estimate.best_round), (4.0, 9.0, 5.0));
    assert_eq!((estimate.method, estimate.ci_low, estimate.ci_high), (IntervalMethod::None, None, None));
    assert_eq!(estimate.range, Some([5.0, 6.75]));
    assert_eq!(measured.samples[1], [7.0, 6.0, 6.5, 9.0]);
    let medians: Vec<f64> = measured.rounds.iter().map(|round| round.median).collect();
    assert_eq!(medians, [5.0, 6.75, 5.5]);
    assert_eq!((measured.rounds[2].round, measured.rounds[2].iterations), (2, 100));
    assert_eq!(measured.rounds[2].cpus, [3]);
    assert!(kinds(&measured).is_empty());
}

#[test]
fn a_rate_is_amounts_a_second_and_its_best_round_the_highest() {
    let rate =
        |ns: f64| Given { ns: vec![ns], iterations: vec![10], amount: 64, disturbance_flags: vec![0], ..given(&[]) };
    let measured = measured_as("memory.stream", vec![rate(640.0), rate(320.0), rate(1280.0)]);
    assert_eq!((measured.estimate.typical, measured.estimate.best_round), (1e9, 2e9));
}

#[test]
fn five_rounds_have_an_interval_from_the_smallest_to_the_largest() {
    let five = measured([5.0, 6.0, 7.5, 5.5, 9.0].iter().map(|value| given(&[*value; 3])).collect());
    let Estimate { typical, ci_low, ci_high, confidence, method, range, .. } = five.estimate;
    assert_eq!((typical, ci_low, ci_high), (6.0, Some(5.0), Some(9.0)));
    assert!((confidence - 0.9375).abs() < 1e-12);
    assert_eq!((method, range), (IntervalMethod::OrderStatistics, Some([5.0, 9.0])));
}

const MOVED: u8 = DisturbanceFlags::MIGRATED;
const SWITCHED: u8 = DisturbanceFlags::SWITCHED;
const BELOW_ZERO: u8 = DisturbanceFlags::FORBIDDEN;

fn disturbed(values: &[f64], disturbance_flags: &[u8]) -> Given {
    Given { disturbance_flags: disturbance_flags.to_vec(), ..given(values) }
}

#[test]
fn samples_below_zero_are_in_no_estimate_of_any_group_however_many_others_are_disturbed() {
    for probe in ["net.tcp", "memory.latency"] {
        let round = || disturbed(&[-67.1, 6.0, 6.1, 6.2], &[BELOW_ZERO, MOVED, MOVED, 0]);
        let measured = measured_as(probe, vec![round(), round(), round()]);
        let estimate = &measured.estimate;
        assert_eq!((estimate.typical, estimate.min, estimate.n), (6.1, 6.0, 9), "{probe}");
        assert_eq!(measured.rounds[0].median, 6.1);
        // It stays in the file, with its mark.
        assert_eq!((measured.samples[0][0], measured.rounds[0].disturbance_flags[0]), (-67.1, BELOW_ZERO));
        assert_eq!(measured.noise.disturbed, 9);
    }
}

#[test]
fn disturbed_samples_leave_the_estimate_of_hardware_alone() {
    let disturbed = || {
        vec![
            disturbed(&[5.0, 5.0, 90.0, 90.0], &[0, SWITCHED, MOVED, DisturbanceFlags::DELAYED]),
            given(&[5.0, 5.0, 5.0, 5.0]),
            given(&[5.0, 5.0, 5.0, 5.0]),
        ]
    };
    let memory = measured_as("memory.latency", disturbed());
    assert_eq!((memory.estimate.n, memory.estimate.max), (10, 5.0));
    assert_eq!((memory.noise.disturbed, memory.noise.left_out), (2, 2));
    assert_eq!(memory.rounds[0].median, 5.0);
    let net = measured_as("net.tcp", disturbed());
    assert_eq!((net.estimate.n, net.estimate.max), (12, 90.0));
    assert_eq!((net.noise.disturbed, net.noise.left_out), (2, 0));
    assert_eq!(net.rounds[0].median, 47.5);
    for measured in [memory, net] {
        // Kept and marked all the same.
        assert_eq!(measured.samples[0], [5.0, 5.0, 90.0, 90.0]);
        assert_eq!(measured.rounds[0].disturbance_flags, [0, SWITCHED, MOVED, DisturbanceFlags::DELAYED]);
        assert!(kinds(&measured).is_empty());
    }
}

#[test]
fn where_over_half_is_disturbed_all_of_the_round_stays_and_is_said() {
    let given = vec![
        disturbed(&[5.0, 90.0, 90.0], &[0, MOVED, MOVED]),
        disturbed(&[5.0, 6.0, 70.0], &[0, 0, MOVED]),
        given(&[5.0, 5.0, 5.0]),
    ];
    let measured = measured_as("memory.latency", given);
    assert_eq!((measured.rounds[0].median, measured.rounds[1].median), (90.0, 5.5));
    assert_eq!((measured.noise.disturbed, measured.noise.left_out, measured.estimate.n), (3, 1, 8));
    assert_eq!(kinds(&measured), [FlagKind::MostlyDisturbed]);
    assert_eq!(detail(&measured), "in 1 of 3 rounds over half of the samples were disturbed, and stay");
}

#[test]
fn core_cycles_stand_beside_the_time_where_they_are_asked_for() {
    static CYCLES: Probe = Probe { also: &[Quantity::CORE_CYCLES], ..PLAIN };
    let entry = Entry { group: "cpu", name: "add", shares_worker: false, probe: &CYCLES };
    let at = |ghz: Option<f64>, disturbance_flags: [u8; 3], values: [f64; 3]| Given {
        noise: RoundNoise { core_hz: ghz.map(|ghz| ghz * 1e9), ..quiet() },
        ..disturbed(&values, &disturbance_flags)
    };
    let cycles = |given: Vec<Given>| {
        values(outcome(&entry, &rounds(given), 3)).also.get("cycles").map(|also| also.estimate.clone())
    };
    // Slow where the clock is slow: the cycles are the same.
    let steady = cycles(vec![
        at(Some(3.0), [0, 0, MOVED], [2.0, 2.0, 50.0]),
        at(Some(2.0), [0; 3], [3.0; 3]),
        at(Some(1.5), [0; 3], [4.0; 3]),
    ]);
    let steady = steady.unwrap();
    assert_eq!((steady.typical, steady.max, steady.n), (6.0, 6.0, 8));
    assert_eq!(cycles(vec![at(Some(3.0), [0; 3], [2.0; 3]), at(None, [0; 3], [2.0; 3])]), None);
}

#[test]
fn fewer_than_five_rounds_have_no_interval_and_say_so() {
    let measured = measured(vec![given(&[5.0]), given(&[6.0])]);
    assert_eq!((measured.estimate.ci_low, measured.estimate.ci_high), (None, None));
    assert_eq!(measured.estimate.method, IntervalMethod::None);
    let flags: Vec<FlagKind> = measured.flags.iter().map(|flag| flag.kind).collect();
    assert_eq!(flags, [FlagKind::FewRounds, FlagKind::RoundsLost]);
    assert_eq!(measured.flags[0].detail, "an interval takes 5 rounds, and there are 2");
    assert_eq!(measured.flags[1].detail, "2 of 3 rounds");
}

#[test]
fn an_interval_is_no_narrower_than_the_clock() {
    let measured = measured((0..5).map(|_| given(&[5.0])).collect());
    // 10 ns of 500.
    assert_eq!((measured.estimate.ci_low, measured.estimate.ci_high), (Some(4.9), Some(5.1)));
}

#[test]
fn none_is_a_number_of_things_as_good_as_any() {
    let counted = |values: &[f64]| Given { noise: RoundNoise { resolution_ns: 0.0, ..quiet() }, ..given(values) };
    let none = measured([1, 2, 1, 1, 1].map(|count| counted(&vec![0.0; count])).into());
    assert_eq!((kinds(&none), none.estimate.typical, none.estimate.ci_high), (vec![], 0.0, Some(0.0)));
    // A difference that a probe itself takes has no clock's step, and may come out below zero.
    let below = measured([-5.0, -9.0, 22.0, -5.0, -7.0].map(|value| counted(&[value; 9])).into());
    assert_eq!((kinds(&below), below.estimate.typical), (vec![FlagKind::UnderResolution], -5.0));
}

#[test]
fn what_the_clock_cannot_distinguish_is_said() {
    let under = measured(vec![given(&[0.05]), given(&[0.05]), given(&[0.05])]);
    assert_eq!(kinds(&under), [FlagKind::UnderResolution]);
    assert_eq!(detail(&under), "a sample is shorter than the clock's smallest step");
    assert_eq!(under.estimate.typical, 0.05);
    let noise = measured(vec![given(&[-1.0]), given(&[-2.0]), given(&[1.0])]);
    assert_eq!(kinds(&noise), [FlagKind::UnderResolution]);
    assert_eq!((noise.estimate.typical, noise.estimate.method), (-1.0, IntervalMethod::None));
}

#[test]
fn a_structure_that_was_read_beside_another_thread_alone_is_said_to_be() {
    static WINDOW: Probe = Probe { is_structure: true, better: Better::Higher, ..PLAIN };
    let entry = Entry { group: "cpu", name: "window", shares_worker: false, probe: &WINDOW };
    let details = |shared: f64| {
        let noise = RoundNoise { shared: Some(shared), ..quiet() };
        let rounds = rounds((0..5).map(|_| Given { noise: noise.clone(), ..given(&[162.0; 4]) }).collect());
        values(outcome(&entry, &rounds, 5)).flags.into_iter().map(|flag| flag.detail).collect::<Vec<_>>()
    };
    assert_eq!(details(0.85), ["seen beside another thread, which ran on its core 85 % of the time"]);
    assert!(details(0.3).is_empty());
}

#[test]
fn rounds_that_note_different_things_are_distinguished() {
    let noting = |notes: Vec<(&'static str, &'static str)>| Given { notes, ..given(&[5.0]) };
    let measured = measured(vec![
        noting(vec![("pages", "pmd"), ("kernel", "avx2")]),
        noting(vec![("pages", "base"), ("kernel", "avx2")]),
        noting(vec![("pages", "pmd")]),
    ]);
    let notes: Vec<(&str, &str)> = measured.notes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(notes, [("kernel", "avx2"), ("pages", "pmd; base")]);
}

#[test]
fn noise_is_summed_and_steal_is_none_only_where_no_round_knew() {
    let noisy = |steal_ns: Option<f64>, settled: bool| Given {
        noise: RoundNoise { steal_ns, settled, run_delay_ns: 7.0, involuntary_switches: 2, faults: 3, ..quiet() },
        ..given(&[5.0])
    };
    let outcome = measured(vec![noisy(None, true), noisy(Some(1e7), false), noisy(Some(2e7), true)]);
    let expected = Noise {
        run_delay_ns: 21.0,
        steal_ns: Some(3e7),
        involuntary_switches: 6,
        faults: 9,
        unsettled_rounds: 1,
        ..Noise::default()
    };
    assert_eq!(outcome.noise, expected);
    assert_eq!(kinds(&outcome), [FlagKind::Unsettled]);
    assert_eq!(detail(&outcome), "in 1 of 3 rounds the core's frequency did not settle");
    assert_eq!(measured(vec![noisy(None, true), noisy(None, true), noisy(None, true)]).noise.steal_ns, None);
}

#[test]
fn a_round_that_a_quota_stopped_is_marked() {
    let stopped = |throttled: Option<(u64, f64)>| Given {
        noise: RoundNoise { throttled: throttled.map(|(periods, ns)| Throttling { periods, ns }), ..quiet() },
        ..given(&[5.0])
    };
    let outcome =
        measured(vec![stopped(Some((0, 0.0))), stopped(Some((2, 9e7))), stopped(None), stopped(Some((1, 1e7)))]);
    assert_eq!((outcome.noise.throttled_rounds, outcome.noise.throttled_ns), (Some(2), Some(1e8)));
    let of_rounds: Vec<Option<u64>> = outcome.rounds.iter().map(|round| Some(round.throttled?.periods)).collect();
    assert_eq!(of_rounds, [Some(0), Some(2), None, Some(1)]);
    assert_eq!(kinds(&outcome), [FlagKind::Throttled]);
    assert_eq!(detail(&outcome), "in 2 of 4 rounds a CPU quota stopped the process");
    let quiet = measured(vec![stopped(Some((0, 0.0))), stopped(Some((0, 0.0))), stopped(Some((0, 0.0)))]);
    assert_eq!((quiet.noise.throttled_rounds, kinds(&quiet)), (Some(0), vec![]));
    assert_eq!(measured(vec![stopped(None), stopped(None), stopped(None)]).noise.throttled_rounds, None);
}

#[test]
fn rounds_that_others_disturbed_are_marked_with_the_share_that_they_used() {
    let waited = |waited: f64| Given { noise: RoundNoise { waited: Some(waited), ..quiet() }, ..given(&[5.0]) };
    let mut all = rounds(vec![waited(0.3), waited(0.2), waited(0.0)]);
    let beside = |share: f64| Some(Others { share, error: 0.04 });
    (all[0].others, all[1].others, all[2].others) = (beside(0.6), beside(0.05), beside(0.5));
    let outcome = values(outcome_of("net.tcp", &all));
    // The second stands within the error, and the third did not wait.
    assert_eq!((outcome.noise.contended_rounds, outcome.noise.others_share), (Some(1), Some(0.6)));
    assert_eq!(kinds(&outcome), [FlagKind::Contended]);
    assert_eq!(detail(&outcome), "in 1 of 3 rounds others used 60 % of the time of a CPU");
    assert_eq!((outcome.rounds[1].others, outcome.rounds[1].waited), (beside(0.05), Some(0.2)));
    all.iter_mut().for_each(|round| round.others = None);
    let unknown = values(outcome_of("net.tcp", &all));
    assert_eq!((unknown.noise.contended_rounds, kinds(&unknown)), (None, vec![]));
}

#[test]
fn a_round_that_failed_decides_and_one_that_was_skipped_where_no_other_has_a_value() {
    let mut all = rounds(vec![given(&[5.0]), given(&[5.0]), given(&[5.0])]);
    all[1].events = vec![Event::Failed { reason: ReasonCode::CheckFailed.because("broken") }];
    assert_eq!(outcome_of("net.tcp", &all), Outcome::Failed { reason: ReasonCode::CheckFailed.because("broken") });
    all[1].events = vec![Event::Skipped { reason: ReasonCode::NotApplicable.because("gone") }];
    // What was available before has been measured.
    let measured = values(outcome_of("net.tcp", &all));
    let lost = measured.flags.iter().find(|flag| flag.kind == FlagKind::RoundsLost).unwrap();
    assert!(lost.detail.starts_with("2 of ") && lost.detail.ends_with(" rounds: gone"), "{}", lost.detail);
    assert!(matches!(outcome_of("net.tcp", &all[1..2]), Outcome::Skipped { .. }));
    // What went wrong is never hidden behind what was not available.
    all[2].events = vec![Event::Failed { reason: ReasonCode::CheckFailed.because("broken") }];
    assert_eq!(outcome_of("net.tcp", &all), Outcome::Failed { reason: ReasonCode::CheckFailed.because("broken") });
}

#[test]
fn no_number_that_is_none_comes_out() {
    let good = || given(&[5.0, 5.0]);
    let raw = |ns: &[f64], iterations: &[u64], amount: u64| Given {
        ns: ns.to_vec(),
        iterations: iterations.to_vec(),
        amount,
        disturbance_flags: vec![0; ns.len()],
        ..given(&[])
    };
    let bad = || {
        vec![
            raw(&[f64::NAN, 5.0], &[1, 1], 0),
            raw(&[f64::INFINITY], &[1], 0),
            raw(&[500.0], &[0], 0),
            raw(&[0.0], &[0], 0),
            raw(&[0.0], &[1], 64),
            raw(&[], &[], 0),
            raw(&[5.0, 5.0], &[1], 0),
            Given { disturbance_flags: vec![], ..given(&[5.0]) },
        ]
    };
    for (index, one) in bad().into_iter().enumerate() {
        let reason = ReasonCode::NoValue.because("no round gave a finite value");
        assert_eq!(outcome_of("net.tcp", &rounds(vec![one])), Outcome::Failed { reason }, "{index}");
    }
    // CoreMonitor good rounds, a bad one is a round lost.
    for one in bad() {
        let measured = measured(vec![good(), one, good(), good()]);
        assert!(is_finite(&measured));
        assert_eq!((measured.estimate.typical, measured.estimate.rounds), (5.0, 3));
    }
    let lost = measured(vec![good(), raw(&[f64::NAN], &[1], 0), good()]);
    assert_eq!(kinds(&lost), [FlagKind::RoundsLost]);
    // Zero is a number; so is a sample of no length beside others that have one.
    for zeros in [vec![given(&[0.0]), given(&[0.0]), given(&[0.0])], vec![given(&[0.0]), good(), good()]] {
        let measured = measured(zeros);
        assert!(is_finite(&measured), "{measured:?}");
        assert!(kinds(&measured).contains(&FlagKind::UnderResolution));
    }
    // Finite values whose squares are not.
    let huge = rounds(vec![given(&[1e300, -1e300]), given(&[1e300]), given(&[-1e300])]);
    let reason = ReasonCode::NoValue.because("the rounds came to no finite value");
    assert_eq!(outcome_of("net.tcp", &huge), Outcome::Failed { reason });
}

const LOSS: Quantity = Quantity::given("loss", Unit::Ratio, Better::Higher, Text { en: "loss", zh: "丢失" });
static LOSSY: Probe = Probe { also: &[LOSS], ..PLAIN };

/// A case of a probe with the quantity `loss`, of which each round gave these values.
fn lossy(given_values: &[&[f64]]) -> Measured {
    let entry = Entry { group: "net", name: "lossy", shares_worker: false, probe: &LOSSY };
    let with_loss = |(number, values): (usize, &&[f64])| {
        let round = round(number as u32, given(&[4.0, 5.0]));
        if values.is_empty() { round } else { with_also(round, "loss", values) }
    };
    let rounds: Vec<RoundResult> = given_values.iter().enumerate().map(with_loss).collect();
    values(outcome(&entry, &rounds, 3))
}

#[test]
fn what_a_probe_measured_itself_is_the_median_of_the_round_medians_too() {
    let estimate = &lossy(&[&[0.1, 0.3, 0.2], &[0.4], &[0.1, 0.2]]).also["loss"].estimate;
    let expected = super::estimate(&[vec![0.1, 0.3, 0.2], vec![0.4], vec![0.1, 0.2]], 0.0, Better::Higher);
    assert_eq!(estimate, &expected);
    assert_eq!((estimate.typical, estimate.best_round, estimate.n, estimate.rounds), (0.2, 0.4, 6, 3));
    let [least, most] = estimate.range.unwrap();
    assert!((least - 0.15).abs() < 1e-12 && most == 0.4);
    // Rounds that did not give it have no part in it.
    let two = lossy(&[&[0.1], &[], &[0.3]]);
    let estimate = &two.also["loss"].estimate;
    assert_eq!((estimate.typical, estimate.rounds, estimate.ci_low, two.estimate.rounds), (0.2, 2, None, 3));
    assert!(lossy(&[&[], &[], &[]]).also.is_empty());
}

static STALLING: Probe = Probe { also: &[Quantity::MEAN, Quantity::SUSTAINED], ..PLAIN };

#[test]
fn a_sustained_rate_is_over_all_rounds_and_a_mean_is_of_the_middle_one() {
    let entry = Entry { group: "disk", name: "stalling", shares_worker: false, probe: &STALLING };
    // Four rounds lived on what a limit had saved up, 1000 operations a second; one met the limit, 10.
    let rounds: Vec<RoundResult> = [1000.0, 1000.0, 10.0, 1000.0, 1000.0]
        .into_iter()
        .enumerate()
        .map(|(number, rate)| {
            let round = round(number as u32, given(&[1e9 / rate]));
            with_also(with_also(round, "mean", &[1e9 / rate]), "sustained", &[rate])
        })
        .collect();
    let measured = values(outcome(&entry, &rounds, 5));
    let [mean, sustained] = ["mean", "sustained"].map(|name| measured.also[name].estimate.clone());
    assert!((sustained.typical - 802.0).abs() < 1e-6, "{sustained:?}");
    assert_eq!(mean.typical, 1e6, "{mean:?}");
    for estimate in [mean, sustained] {
        assert!(estimate.ci_low.unwrap() <= estimate.typical && estimate.typical <= estimate.ci_high.unwrap());
        assert!(estimate.min < estimate.max && estimate.rounds == 5);
    }
}

#[test]
fn what_the_disk_did_not_do_came_from_a_cache() {
    static OF_DISK: Probe = Probe { also: &[Quantity::DEVICE_SHARE], ..PLAIN };
    let entry = Entry { group: "disk", name: "read", shares_worker: false, probe: &OF_DISK };
    let flagged = |share: f64| {
        let all: Vec<_> =
            (0..5).map(|number| with_also(round(number, given(&[1.0])), "device_share", &[share])).collect();
        let flags = values(outcome(&entry, &all, 5)).flags;
        flags.into_iter().find(|flag| flag.kind == FlagKind::FromCache).map(|flag| flag.detail)
    };
    assert_eq!(flagged(0.018).as_deref(), Some("the device did 2 % of what was asked of it"));
    assert_eq!((flagged(0.5), flagged(1.0)), (None, None));
}

#[path = "estimate_percentiles_tests.rs"]
mod percentiles;

static VOTED: Probe = Probe { unit: Unit::Bytes, limit: Limit::Voted, ..PLAIN };

#[test]
fn a_round_that_found_nothing_abstains_from_a_vote() {
    let entry = Entry { group: "memory", name: "line", shares_worker: false, probe: &VOTED };
    let mut all = rounds(vec![given(&[64.0, 64.0]), given(&[64.0, 128.0, 64.0]), given(&[512.0])]);
    let skipped = || vec![Event::Skipped { reason: ReasonCode::NotApplicable.because("no step") }];
    all[2].events = skipped();
    let measured = values(outcome(&entry, &all, 3));
    assert_eq!((measured.estimate.typical, measured.estimate.agreement), (64.0, Some(2.0 / 3.0)));
    // Alone it is no majority of three, and without any vote the reason is that of the rounds.
    all[1].events = skipped();
    let reason = |outcome| match outcome {
        Outcome::Skipped { reason } => reason,
        other => panic!("{other:?}"),
    };
    assert!(reason(outcome(&entry, &all, 3)).starts_with("no value was found by most of 3 rounds"));
    all[0].events = skipped();
    assert_eq!(&*reason(outcome(&entry, &all, 3)), "no step");
}

#[test]
fn what_follows_from_a_value_is_never_asked_of_a_probe() {
    let in_each = [
        (Quantity::CORE_CYCLES, 30.0),
        (Quantity::BYTES_PER_CYCLE, 10.0 / 3e9),
        (Quantity::OPERATIONS_PER_CYCLE, 10.0 / 3e9),
    ];
    for (quantity, of_ten) in in_each {
        assert!(!quantity.is_given_as(quantity.name), "{}", quantity.name);
        let found = in_cycles(&quantity).unwrap()(10.0, 3e9);
        assert!((found / of_ten - 1.0).abs() < 1e-12, "{}: {found}", quantity.name);
    }
    // Readers of a run know by the name what follows the value.
    let made = in_each.iter().map(|(quantity, _)| quantity).chain(Quantity::OF_BATCHES);
    assert!(made.into_iter().all(|quantity| Measured::OF_THE_VALUE.contains(&quantity.name)));
    assert!(Quantity::WHOLE.is_given_as("whole") && in_cycles(&Quantity::WHOLE).is_none());
}

#[test]
fn rounds_of_two_states_give_the_better_and_name_the_other_and_one_reading_beyond_all_others_is_no_state() {
    let of = |sizes: &[f64], readings, better| {
        let (quiet, flag) = of(&sizes.iter().map(|&size| vec![size; readings]).collect::<Vec<_>>(), better)?;
        Some((quiet, flag.map(|flag| flag.detail)))
    };
    let (quiet, detail) = of(&[426.0, 242.0, 428.0, 242.0, 240.0, 425.0], 2, Better::Higher).unwrap();
    assert_eq!((quiet.value, quiet.range), (426.0, Some([425.0, 428.0])));
    // Three rounds have no interval.
    assert_eq!((quiet.low, quiet.high), (None, None));
    assert_eq!(detail.as_deref(), Some("seen in 3 of 6 rounds, and 242 in the others"));
    let (quiet, detail) = of(&[320.0, 317.0, 321.0, 318.0, 320.0], 1, Better::Higher).unwrap();
    assert!(quiet.low.unwrap() <= 320.0 && quiet.high.unwrap() >= 320.0 && detail.is_none(), "{quiet:?} {detail:?}");
    // Where none repeats it is the one in the middle.
    let all: [(&[f64], f64); 4] = [
        (&[320.0, 317.0, 321.0, 318.0, 320.0], 320.0),
        (&[320.0, 711.0, 319.0, 321.0, 320.0], 320.0),
        (&[100.0, 200.0, 400.0], 200.0),
        (&[7.0], 7.0),
    ];
    for (sizes, value) in all {
        assert_eq!(of(sizes, 1, Better::Higher).unwrap().0.value, value, "{sizes:?}");
    }
    assert_eq!(of(&[7.0], 1, Better::Neither), None);
}

fn voted_on(samples: &[&[f64]]) -> Measured {
    let samples: Vec<Vec<f64>> = samples.iter().map(|samples| samples.to_vec()).collect();
    Measured { estimate: estimate(&samples, 0.0, Better::Neither), samples, ..Measured::default() }
}

#[test]
fn most_rounds_name_the_value_and_without_a_majority_there_is_a_reason_and_none() {
    // A median of the medians would be 96 here.
    let mut four = voted_on(&[&[64.0, 64.0], &[64.0, 128.0, 64.0], &[128.0, 128.0], &[64.0]]);
    assert_eq!(elect(&mut four, 4), Ok(()));
    assert_eq!((four.estimate.typical, four.estimate.agreement), (64.0, Some(0.75)));
    assert_eq!((four.estimate.ci_low, four.estimate.ci_high), (None, None));
    // Rounds that found nothing count as rounds.
    assert!(elect(&mut voted_on(&[&[64.0], &[64.0]]), 4).is_err());
    for (samples, reason) in [
        (
            &[&[256.0, 256.0, 512.0][..], &[128.0, 512.0, 512.0], &[64.0, 256.0, 128.0]][..],
            "no value was found by most of 3 rounds: 256 by 1, 512 by 1",
        ),
        (&[&[64.0, 128.0]], "none of 1 round agreed with itself on a value"),
    ] {
        let refused = elect(&mut voted_on(samples), samples.len());
        assert_eq!(refused, Err(ReasonCode::Inconclusive.because(reason)));
    }
}
