//! The plausibility gate: no number that physics forbids is reported as good.

mod bounds;
mod copies;
mod link;
mod relations;

use hostmark_model::{
    Bounds, CaseRecord, DisturbanceFlags, Flag, FlagKind, HostFacts, Measured, Message, Outcome, Params, Peer, Quiet,
};

use crate::probe::{Entry, Limit, ValueSource};
use crate::record::{CaseRounds, Round, Sampled};

/// Marks every value of a run that physics forbids, by itself or beside others. `entries`: the probe of each record.
pub(crate) fn mark(entries: &[Entry], records: &mut [CaseRecord], host: &HostFacts, peers: &[Peer]) {
    // A case's own clock may have been timed while others had the core, which makes any value of the case look too fast; and a
    // core may hold its highest clock in a single round.
    let fastest_hz = records.iter().flat_map(core_hz).max_by(f64::total_cmp);
    for (entry, record) in entries.iter().zip(&mut *records) {
        hold(entry, record, fastest_hz, host, peers);
    }
    let found: Vec<Option<Message>> = (entries.iter().zip(&*records))
        .map(|(entry, record)| match entry.probe.limit {
            Limit::Link => link::broken(record.measured()?, &record.params, peers),
            Limit::Copies(axis) => copies::broken(record.measured()?, &record.params, axis),
            _ => bounds::broken(entry.probe, record.measured()?, &record.params, fastest_hz, host),
        })
        .collect();
    for (record, detail) in records.iter_mut().zip(found) {
        if let Some(detail) = detail {
            flag(record, detail);
        }
    }
    relations::mark(entries, records, host);
}

/// So many of a case's samples may be of something else. Where more are, something is wrong with the case.
const MOST_FORBIDDEN: f64 = 0.25;

/// Marks samples that no machine can have: they are left out. A round that has no others is lost.
pub(crate) fn mark_samples(case: &mut CaseRounds, host: &HostFacts) {
    let (probe, params) = (case.entry.probe, &case.id.params);
    let sampled = || case.rounds.iter().filter_map(|round| Some((round, round.sampled.as_ref()?)));
    let is_forbidden = |value: f64, cpus: &[usize]| bounds::is_forbidden(probe, params, cpus.len(), value, host);
    let of_round = |(round, sampled): (&Round, &Sampled)| {
        sampled.values.iter().map(|value| is_forbidden(*value, &round.cpus)).collect::<Vec<bool>>()
    };
    let forbidden: Vec<Vec<bool>> = sampled().map(of_round).collect();
    let all = forbidden.iter().map(Vec::len).sum::<usize>();
    let count = forbidden.iter().flatten().filter(|is_so| **is_so).count();
    let may_be_left_out = count as f64 <= MOST_FORBIDDEN * all as f64;
    let is_never_below_zero = probe.unit.is_time_or_rate();
    let rounds = case.rounds.iter_mut().filter(|round| round.sampled.is_some());
    for (round, forbidden) in rounds.zip(forbidden) {
        let Some(sampled) = &mut round.sampled else { continue };
        for ((flags, is_so), value) in sampled.disturbance_flags.iter_mut().zip(&forbidden).zip(&sampled.values) {
            let is_left_out = *is_so && may_be_left_out || is_never_below_zero && *value < 0.0;
            let mark = if is_left_out { DisturbanceFlags::FORBIDDEN } else { 0 };
            *flags = *flags & !DisturbanceFlags::FORBIDDEN | mark;
        }
        if sampled.disturbance_flags.iter().all(|flags| !DisturbanceFlags(*flags).is_possible()) {
            round.sampled = None;
        }
    }
}

/// Marks values that stand beside the same in cycles of a clock that no core of the run had; `of` tells the probe of each.
pub(crate) fn mark_clocks(of: &[Entry], cases: &mut [CaseRecord], seen_hz: impl Iterator<Item = f64>) {
    let seen = seen_hz
        .filter(|&hz| hz > 0.0)
        .fold([f64::INFINITY, 0.0], |[slowest, fastest], hz| [hz.min(slowest), hz.max(fastest)]);
    for record in cases.iter_mut().filter(|_| seen[1] > 0.0) {
        let unit = of.iter().find(|entry| entry.id() == record.probe).map(|entry| entry.probe.unit);
        unit.into_iter().for_each(|unit| relations::mark_clocks(unit, record, seen));
    }
}

/// Holds the ends of a value's intervals to what physics allows: that a value may lie there is no reason to say so.
fn hold(entry: &Entry, record: &mut CaseRecord, fastest_hz: Option<f64>, host: &HostFacts, peers: &[Peer]) {
    let Outcome::Measured(measured) = &mut record.outcome else { return };
    measured.bounds = match entry.probe.limit {
        Limit::Link => link::most(&record.params, peers).map(|most| Bounds { least: None, most: Some(most) }),
        Limit::Copies(axis) => copies::most(&record.params, axis).map(|most| Bounds { least: None, most: Some(most) }),
        _ => bounds::of(entry.probe, measured, &record.params, fastest_hz, host),
    };
    let Some(bounds) = measured.bounds else { return };
    let estimate = &mut measured.estimate;
    if let (Some(low), Some(high)) = (&mut estimate.ci_low, &mut estimate.ci_high) {
        (*low, *high) = bounds.held((*low, *high), estimate.typical);
    }
    if let Some(Quiet { value, low: Some(low), high: Some(high), .. }) = &mut estimate.quiet {
        (*low, *high) = bounds.held((*low, *high), *value);
    }
    hold_in_cycles(entry, measured, &record.params, host);
}

/// Takes away the same value in cycles of the core where it is none that a core can have: the clock beside the case was timed while others
/// had the core. At 1 GHz a cycle is a nanosecond, so that the bounds of times and rates are those of cycles.
fn hold_in_cycles(entry: &Entry, measured: &mut Measured, params: &Params, host: &HostFacts) {
    let names = entry.probe.also.iter().filter_map(|quantity| match quantity.source {
        ValueSource::CoreCycles => Some((quantity.name, 1.0)),
        ValueSource::EachCoreCycle => Some((quantity.name, 1e9)),
        _ => None,
    });
    for (name, scale) in names {
        let found = measured.companion(name).and_then(|companion| {
            let value = companion.value() * scale;
            bounds::broken_by(
                value,
                entry.probe,
                params,
                bounds::threads_of(entry.probe, params, measured),
                Some(1e9),
                host,
            )
        });
        if let Some(detail) = found {
            measured.also.remove(name);
            measured.notes.insert(format!("no_{name}"), detail.to_string());
        }
    }
}

/// The core's frequency in each round of a value; none where threads that the gate knows nothing of did the work.
fn core_hz(record: &CaseRecord) -> impl Iterator<Item = f64> {
    let rounds = record.measured().map_or(&[][..], |measured| &measured.rounds);
    rounds.iter().filter_map(|round| round.core_hz).filter(|&hz| hz > 0.0)
}

fn flag(record: &mut CaseRecord, detail: Message) {
    remark(record, FlagKind::Implausible, detail);
}

fn remark(record: &mut CaseRecord, kind: FlagKind, detail: Message) {
    let flag = Flag::new(kind, detail);
    if let Outcome::Measured(measured) = &mut record.outcome
        && !measured.flags.contains(&flag)
    {
        measured.flags.push(flag);
    }
}

#[cfg(test)]
mod tests {
    use hostmark_model::{Also, Better, Event, RoundNoise};

    use super::*;
    use crate::estimate::outcomes;
    use crate::fixture::{PLAIN, host, planned_case, record};
    use crate::probe::{Limit, Probe};
    use crate::quantity::Quantity;
    use crate::record::RoundResult;

    #[test]
    fn no_end_of_an_interval_lies_where_physics_forbids() {
        static CHAIN: Probe = Probe { limit: Limit::CyclesPerOp, ..PLAIN };
        let case = planned_case(&CHAIN, "memory.latency@size=1");
        let held = |rounds: &[f64]| {
            let mut records = [record("memory.latency@size=1", rounds)];
            let Outcome::Measured(measured) = &mut records[0].outcome else { unreachable!() };
            measured.rounds = vec![crate::fixture::round_at(2e9)];
            mark(std::slice::from_ref(&case.entry), &mut records, &host(), &[]);
            let measured = records[0].measured().unwrap();
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
        let case = planned_case(&READ, "memory.read@size=1");
        let held = |bytes: f64| {
            let mut records = [record("memory.read@size=1", &[300e9; 5])];
            let Outcome::Measured(measured) = &mut records[0].outcome else { unreachable!() };
            let estimate = crate::estimate::estimate(&vec![vec![bytes]; 5], 0.0, Better::Higher);
            measured.also.insert("bytes_per_cycle".into(), Also { estimate });
            measured.rounds = vec![crate::fixture::round_at(3e9)];
            mark(std::slice::from_ref(&case.entry), &mut records, &host(), &[]);
            let measured = records[0].measured().unwrap();
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
}
