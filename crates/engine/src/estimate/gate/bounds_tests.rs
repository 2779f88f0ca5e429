//! Each bound, on both of its sides.

use hostmark_model::{CaseRecord, Estimate, Outcome, Quiet, RoundRecord};

use super::*;
use crate::fixture::{PLAIN, entry, host, params, record, round_at};
use crate::probe::Axis;

const GHZ_3: Option<f64> = Some(3e9);

/// What is said of a value under a limit, with two threads on an axis.
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
    let most = of(&probe, record("memory.read", &[1e9]).measured().unwrap(), &params(&[]), GHZ_3, &host);
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
