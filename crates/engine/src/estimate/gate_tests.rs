//! Each bound, on both of its sides.

use hostmark_model::{
    Also, Better, CaseRecord, Estimate, Event, Measured, Outcome, QueueingDiscipline, Quiet, RoundNoise, RoundRecord,
};

use super::*;
use crate::estimate::gate::mark;
use crate::estimate::outcomes;
use crate::fixture::{PLAIN, entry, host, params, planned_case, record, round_at};
use crate::probe::{Axis, Limit, Probe};
use crate::quantity::Quantity;
use crate::record::RoundResult;

/// The record of rounds of these medians on a core of this frequency, changed so, as the gate leaves it.
fn gated(probe: &'static Probe, id: &str, rounds: &[f64], hz: f64, change: impl FnOnce(&mut Measured)) -> Measured {
    let mut records = [record(id, rounds)];
    let Outcome::Measured(measured) = &mut records[0].outcome else { unreachable!() };
    measured.rounds = vec![round_at(hz)];
    change(measured);
    mark(&[planned_case(probe, id).entry], &mut records, &host(), &[]);
    records[0].measured().unwrap().clone()
}

#[test]
fn no_end_of_an_interval_lies_where_physics_forbids() {
    static CHAIN: Probe = Probe { limit: Limit::CyclesPerOp, ..PLAIN };
    let held = |rounds: &[f64]| {
        let measured = gated(&CHAIN, "memory.latency@size=1", rounds, 2e9, |_| ());
        assert_eq!(measured.bounds.unwrap().least, Some(0.5));
        (measured.estimate.ci_low.unwrap(), measured.estimate.ci_high.unwrap())
    };
    // A cycle at 2 GHz takes 0.5 ns.
    assert_eq!(held(&[0.4, 0.6, 0.7, 0.8, 0.9]), (0.5, 0.9));
    assert_eq!(held(&[0.6, 0.6, 0.7, 0.8, 0.9]), (0.6, 0.9));
    // One that lies beyond itself is flagged, and not cut off from its interval.
    assert_eq!(held(&[0.3; 5]), (0.3, 0.3));
}

#[test]
fn a_sample_that_no_machine_has_is_left_out_and_the_value_stays() {
    static CHAIN: Probe = Probe { limit: Limit::CyclesPerOp, ..PLAIN };
    let marked = |rounds: &[&[f64]]| {
        let round = |ns: &&[f64]| {
            let (iterations, disturbance_flags) = (vec![1; ns.len()], vec![0; ns.len()]);
            let samples = Event::Samples { ns: ns.to_vec(), iterations, amount: 0, disturbance_flags };
            let noise = RoundNoise { core_hz: Some(3e9), settled: true, ..RoundNoise::default() };
            let done = Event::Done { noise };
            Round::of(RoundResult { round: 0, cpus: vec![0], events: vec![samples, done], others: None })
        };
        let case = planned_case(&CHAIN, "cpu.latency");
        let rounds = rounds.iter().map(round).collect();
        let mut case = CaseRounds { entry: case.entry, id: case.id, rounds, skip: None };
        mark_samples(&mut case, &host());
        let mut records = [outcomes::case_record(&case, outcomes::of_case(&case, 5, &host()))];
        mark(&[case.entry], &mut records, &host(), &[]);
        let measured = records[0].measured().unwrap();
        let flags: Vec<FlagKind> = measured.flags.iter().map(|flag| flag.kind).collect();
        (measured.estimate.min, measured.estimate.rounds, flags)
    };
    // A cycle takes 0.143 ns at 7 GHz, and nothing below zero.
    let usual: &[f64] = &[1.0, 1.1, 1.2, 1.0];
    for impossible in [0.1, -67.0] {
        let with = [1.0, impossible, 1.2, 1.0];
        assert_eq!(marked(&[usual, &with, usual, usual, usual]), (1.0, 5, vec![]), "{impossible}");
        // A round that has no other is lost.
        let alone: &[f64] = &[impossible; 1];
        assert_eq!(
            marked(&[usual, usual, alone, usual, usual]),
            (1.0, 4, vec![FlagKind::FewRounds, FlagKind::RoundsLost])
        );
    }
    // Where many are, it is not the samples that are wrong.
    let half: &[f64] = &[0.1, 1.1, 0.1, 1.0];
    let (least, _, flags) = marked(&[half; 5]);
    assert_eq!((least, flags), (0.1, vec![FlagKind::Implausible]));
}

#[test]
fn cycles_that_no_core_has_are_not_known_and_the_value_stays() {
    static READ: Probe =
        Probe { limit: Limit::BytesPerCycle, also: &[Quantity::BYTES_PER_CYCLE], better: Better::Higher, ..PLAIN };
    let held = |bytes: f64| {
        let estimate = crate::estimate::estimate(&vec![vec![bytes]; 5], 0.0, Better::Higher);
        let with_bytes = |measured: &mut Measured| {
            measured.also.insert("bytes_per_cycle".into(), Also { estimate });
        };
        let measured = gated(&READ, "memory.read@size=1", &[300e9; 5], 3e9, with_bytes);
        assert!(measured.flags.is_empty(), "{:?}", measured.flags);
        (measured.also.len(), measured.notes.get("no_bytes_per_cycle").cloned())
    };
    // Two 64-byte loads are the most that any core does.
    assert_eq!(held(127.0), (1, None));
    assert!(matches!(held(142.5), (0, Some(detail)) if detail.starts_with("142 bytes per core cycle")));
}

#[test]
fn a_clock_that_others_spoilt_makes_no_value_impossible() {
    static CHAIN: Probe = Probe { limit: Limit::DramLatency, ..PLAIN };
    let cases = ["memory.latency@size=1", "memory.latency@size=2"].map(|id| planned_case(&CHAIN, id));
    let clocks = |hz: [f64; 2]| {
        let mut records = cases.clone().map(|case| record(&case.id.to_string(), &[1.0; 3]));
        for (record, hz) in records.iter_mut().zip(hz) {
            let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
            measured.rounds = vec![crate::fixture::round_at(hz)];
        }
        mark(&cases.clone().map(|case| case.entry), &mut records, &host(), &[]);
        records.map(|record| record.measured().unwrap().flags.len())
    };
    // 4 cycles at 4 GHz; one by a clock that had to wait for the core.
    assert_eq!(clocks([4e9, 1e9]), [0, 0]);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(clocks([1e9, 1e9]), [1, 1]);
    }
}

const GHZ_3: Option<f64> = Some(3e9);

/// Returns the message on a value under a limit, with two threads on an axis.
fn said_of(limit: Limit, value: f64, core_hz: Option<f64>) -> Option<String> {
    let probe = Probe { limit, axes: entry("memory.stream").probe.axes, ..PLAIN };
    said(&probe, &[("threads", "2"), ("passes", "1")], value, core_hz)
}

fn said(probe: &Probe, point: &[(&str, &str)], value: f64, core_hz: Option<f64>) -> Option<String> {
    let record = record("memory.stream", &[value; 3]);
    broken(probe, record.measured().unwrap(), &params(point), core_hz, &host()).map(|said| said.to_string())
}

#[test]
fn a_dependent_operation_takes_a_cycle() {
    let said = |value| said_of(Limit::CyclesPerOp, value, GHZ_3);
    assert_eq!(said(0.30).unwrap(), "0.90 core cycles for a dependent operation, which takes at least 1");
    // Frequency and value are each known to about a percent: 0.98 cycles is a cycle.
    assert_eq!((said(0.98 / 3.0), said(1.0)), (None, None));
    // A latency that does not stand out from the noise is not one.
    assert!(said(-1.0).is_some());
}

#[test]
fn a_dependent_load_takes_several() {
    for limit in [Limit::Rising("size"), Limit::DramLatency] {
        let cycles = |cycles: f64| said_of(limit, cycles / 3.0, GHZ_3);
        assert!(cycles(1.5).unwrap().contains("1.50 core cycles for a load on which the next depends"));
        assert_eq!((cycles(0.98 * LEAST_LOAD_CYCLES), cycles(4.0)), (None, None));
    }
    // What no core of this architecture has ever had, where it is known: an L1d of two cycles.
    assert_eq!(said_of(Limit::Rising("size"), 2.0 / 3.0, GHZ_3).is_some(), cfg!(target_arch = "x86_64"));
}

#[test]
fn the_way_into_the_kernel_and_back_takes_what_two_empty_pipelines_do() {
    let cycles = |limit, cycles: f64| said_of(limit, cycles / 3.0, GHZ_3).is_some();
    assert!(cycles(Limit::KernelEntry, 15.0) && !cycles(Limit::KernelEntry, 20.0));
    assert!(cycles(Limit::HandOvers(1), 15.0) && !cycles(Limit::HandOvers(1), 20.0));
    assert!(cycles(Limit::HandOvers(2), 35.0) && !cycles(Limit::HandOvers(2), 40.0));
    assert!(!cycles(Limit::Switch, 1.0), "what is left of a difference");
}

#[test]
fn ports_move_so_many_bytes_a_cycle_and_thread() {
    // Two threads at 3 GHz: 192 bytes a cycle each are 1152 GB/s.
    for (limit, most) in [(Limit::BytesPerCycle, 128.0), (Limit::DramBandwidth, 192.0)] {
        let rate = most * 6e9;
        assert_eq!((said_of(limit, rate, GHZ_3), said_of(limit, rate * 1.02, GHZ_3)), (None, None));
        let said = said_of(limit, rate * 1.25, GHZ_3).unwrap();
        let words =
            format!("{:.0} bytes per core cycle, and this core's ports move no more than {most:.0}", most * 1.25);
        assert_eq!(said, words);
    }
    // Of a design that is known, what that loads: two 32-byte loads.
    let mut host = host();
    host.cpu.model = Some("AMD EPYC 9654 (Zen 4, Genoa)".into());
    let probe = Probe { limit: Limit::BytesPerCycle, ..PLAIN };
    let most = bounds_of(&probe, record("memory.read", &[1e9]).measured().unwrap(), &params(&[]), GHZ_3, &host);
    assert_eq!(most.unwrap().most, Some(64.0 * 3e9));
}

#[test]
fn memory_gives_so_much_a_socket_however_many_threads_ask() {
    let probe = Probe { limit: Limit::DramBandwidth, axes: entry("memory.stream").probe.axes, ..PLAIN };
    let of_threads = |value| said(&probe, &[("threads", "256")], value, GHZ_3);
    assert_eq!(of_threads(5.3e12), None);
    assert_eq!(of_threads(9e12).unwrap(), "9.0 TB/s a socket, and no memory gives more than 8");
}

#[test]
fn a_pair_of_nodes_has_as_many_threads_as_its_rounds_had_cpus() {
    const NODES: &[Axis] = &[Axis::nodes("nodes")];
    let probe = Probe { limit: Limit::DramBandwidth, axes: NODES, ..PLAIN };
    let mut record = record("memory.stream", &[1000e9; 3]);
    let said =
        |record: &CaseRecord| broken(&probe, record.measured().unwrap(), &params(&[("nodes", "0-0")]), GHZ_3, &host());
    assert!(said(&record).is_some());
    let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
    measured.rounds = vec![RoundRecord { cpus: vec![0, 1], ..round_at(3e9) }];
    assert_eq!(said(&record), None);
}

#[test]
fn a_core_does_so_many_operations_a_cycle_by_their_width() {
    let limit = Limit::OperationsPerCycle(&[("f32", 64), ("", 32)]);
    let probe = Probe { limit, ..PLAIN };
    let of_type = |word, a_cycle: f64| said(&probe, &[("type", word)], a_cycle * 3e9, GHZ_3);
    assert_eq!((of_type("f64", 32.0), of_type("f32", 64.0), of_type("f64", 39.0)), (None, None, None));
    assert_eq!(of_type("f64", 64.0).unwrap(), "64.0 operations per core cycle, and the widest cores do at most 32");
    assert!(of_type("f32", 128.0).is_some());
    // A case that no entry is meant for is let be.
    let none = Probe { limit: Limit::OperationsPerCycle(&[("f32", 64)]), ..PLAIN };
    assert_eq!(said(&none, &[("type", "i64")], 1e15, GHZ_3), None);
}

#[test]
fn without_a_frequency_the_fastest_core_that_is_sold_is_the_judge() {
    let core_hz = None;
    // 0.14 ns is a cycle at 7 GHz.
    assert!(said_of(Limit::CyclesPerOp, 0.13, core_hz).is_some());
    assert_eq!(said_of(Limit::CyclesPerOp, 0.15, core_hz), None);
    // Two threads at 7 GHz: 1792 GB/s.
    assert!(said_of(Limit::BytesPerCycle, 1900e9, core_hz).is_some());
    assert_eq!(said_of(Limit::BytesPerCycle, 1750e9, core_hz), None);
    for limit in [Limit::None, Limit::Voted] {
        assert!(said_of(limit, 1e15, GHZ_3).is_none() && said_of(limit, 1e-15, core_hz).is_none());
    }
}

#[test]
fn a_line_is_a_power_of_two() {
    let said = |bytes| said_of(Limit::PowerOfTwo, bytes, None);
    assert!([32.0, 64.0, 128.0, 256.0].into_iter().all(|bytes| said(bytes).is_none()));
    assert_eq!(said(192.0).unwrap(), "192 bytes, and the line of every cache is a power of two");
    assert!(said(0.0).is_some() && said(64.5).is_some() && said(-64.0).is_some());
}

#[test]
fn the_leading_value_the_other_and_every_sample_are_bound() {
    let probe = Probe { limit: Limit::CyclesPerOp, ..PLAIN };
    let said = |typical: f64, quiet: f64, leading: Leading, fastest: f64| {
        let mut record = record("memory.stream", &[typical; 3]);
        let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
        let of = Quiet { value: quiet, low: None, high: None, range: None, at_hz: None };
        measured.estimate = Estimate { leading, min: fastest, ..measured.estimate.clone().led_by(Some(of)) };
        broken(&probe, measured, &params(&[]), GHZ_3, &host()).is_some()
    };
    for leading in Leading::EACH {
        // A sample at the boost of a moment, and one of a difference.
        assert!(!said(1.0, 0.5, leading, 0.4) && !said(1.0, 0.5, leading, 0.3) && !said(1.0, 0.5, leading, -0.1));
        assert!(said(0.3, 0.5, leading, 0.4) && said(1.0, 0.3, leading, 0.4) && said(1.0, 0.5, leading, 0.13));
    }
}

#[test]
fn two_copies_do_no_more_than_twice_the_work_of_one() {
    static TIMES: Probe = Probe { limit: Limit::Copies("copies"), ..PLAIN };
    let marked = |rounds: &[f64]| {
        let measured = gated(&TIMES, "cpu.scaling@copies=2", rounds, 3e9, |measured| measured.rounds.clear());
        let details: Vec<String> = measured.flags.iter().map(|flag| flag.detail.clone()).collect();
        (details, measured.estimate.ci_high)
    };
    // A neighbour slowed one alone in most rounds: two copies seem to do more than twice its work.
    let (details, _) = marked(&[1.94, 2.87, 2.0, 3.05, 2.82]);
    assert!(details.len() == 1 && details[0].starts_with("2.82 times"), "{details:?}");
    // In some, which leaves the value; its interval ends where two copies do.
    assert_eq!(marked(&[1.9, 1.95, 1.98, 2.0, 2.7]), (Vec::new(), Some(2.0)));
    assert_eq!(marked(&[2.01, 2.02, 2.02, 2.03, 2.03]).0, Vec::<String>::new());
}

const MBIT: u64 = 1_000_000;

fn path(link_mbit: Option<u64>, limit_mbit: Option<u64>) -> Option<NetworkPath> {
    let bits_per_s = limit_mbit.map(|mbit| mbit * MBIT);
    let queue = QueueingDiscipline { kind: "tbf".into(), bits_per_s, burst_bytes: Some(125_000), ..Default::default() };
    let bits_per_s = link_mbit.map(|mbit| mbit * MBIT);
    Some(NetworkPath { bits_per_s, queue: Some(queue), ..NetworkPath::default() })
}

/// A peer to which go 1000 Mbit/s through a queue of 80, and from which come 500 through none.
fn peer() -> Peer {
    let (path, path_back) = (path(Some(1000), Some(80)), path(Some(500), None));
    Peer { name: "db".into(), host: host(), place: None, address: None, path, path_back }
}

#[test]
fn the_narrowest_place_of_the_way_that_bytes_go_is_what_they_are_held_against() {
    let mbit = |point: &[(&str, &str)], peer| most_link(&params(point), &[peer]).map(|rate| rate * 8.0 / MBIT as f64);
    let of = |direction| mbit(&[("to", "db"), ("direction", direction)], peer());
    assert_eq!(["send", "receive", "both"].map(of), [Some(80.0), Some(500.0), Some(580.0)]);
    assert_eq!(mbit(&[("direction", "send")], peer()), None, "loopback");
    assert_eq!(mbit(&[("to", "web"), ("direction", "send")], peer()), None);
    let half_known = Peer { path: None, path_back: path(None, Some(7)), ..peer() };
    assert_eq!(mbit(&[("to", "db"), ("direction", "both")], half_known), None);
}

#[test]
fn one_sample_above_the_link_is_enough_and_a_burst_is_none() {
    // Samples of a second: 80 Mbit/s, and a megabit at once.
    let said = |samples: &[f64]| {
        let mut record = record("net.tcp_bandwidth", samples);
        let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
        measured.samples = vec![samples.to_vec()];
        let mut round = round_at(0.0);
        round.raw = Some(hostmark_model::Raw { sample_ns: 1e9, ..Default::default() });
        measured.rounds = vec![RoundRecord { ..round }];
        link_broken(measured, &params(&[("to", "db"), ("direction", "send")]), &[peer()])
    };
    assert_eq!(said(&[9.9e6, 10.1e6, 1e6]), None);
    let found = said(&[9.9e6, 20e6, 1e6]).unwrap();
    assert!(
        found.to_string().starts_with("a sample of 160.0 Mbit/s, and the link lets 81.0 Mbit/s through"),
        "{found}"
    );
}
