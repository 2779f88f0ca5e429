//! Probe cpu.scaling: how much more several copies of a probe get done than one, as the probes' `copies` axes show it.

use hostmark_engine::prelude::*;

/// The key of the number of copies that are not.
const WITHIN: &str = "within_5_percent";

pub static PROBE: Probe = Probe {
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[Quantity::given(WITHIN, Unit::Count, Better::Higher, term!("copies within 5 % of one"))],
    axes: &[
        Axis::choice("source", "syscall.null", Points::quick(SOURCES)),
        Axis::count("copies", "2", Points::quick(&["2"])),
    ],
    limit: Limit::Copies("copies"),
    measure: Measure::Derive { from: FROM, derive },
    ..crate::texts::cpu::SCALING
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let mut records: Vec<CaseRecord> = SOURCES.iter().flat_map(|source| of_source(cases, source)).collect();
    let default = id(SOURCES[0], 2);
    match records.iter().position(|record| record.id == default) {
        Some(index) => records[..=index].rotate_right(1),
        None => {
            let source = SOURCES[0];
            let (code, lack) = match host.usable_cpus().len() > 1 {
                true => (ReasonCode::MissingInput, say!("{source} was not measured with two copies")),
                false => (ReasonCode::TooFewCpus, say!("{source} needs two CPUs for two copies")),
            };
            let reason = code.because(lack);
            records.insert(0, record(SOURCES[0], 2, Outcome::Skipped { reason }));
        }
    }
    records
}

/// Returns the throughput of `copies` together as a multiple of one alone.
fn speed_up(alone: &Measured, many: &Measured, copies: u64, is_rate: bool) -> Measured {
    let ratio = |one: f64, each: f64| copies as f64 * if is_rate { each / one } else { one / each };
    // What disturbed the copies stands with them: this has one value a round, not their samples.
    let noise = Noise::default();
    let mut measured = Measured { also: Default::default(), histogram: None, noise, bounds: None, ..many.clone() };
    // Rounds of one pass lie near each other in time.
    measured.rounds.retain(|round| alone.rounds.iter().any(|other| other.round == round.round));
    for round in &mut measured.rounds {
        let one = alone.rounds.iter().find(|other| other.round == round.round).map_or(f64::NAN, |other| other.median);
        round.median = ratio(one, round.median);
        round.disturbance_flags = vec![0];
    }
    // Where no round of the one has its like, their values alone tell.
    let together = || vec![ratio(alone.estimate.typical, many.estimate.typical)];
    measured.samples = measured.rounds.iter().map(|round| vec![round.median]).collect();
    measured.estimate = match measured.samples.is_empty() {
        true => Estimate { range: None, ..estimate(&[together()], 0.0, Better::Higher) },
        false => estimate(&measured.samples, 0.0, Better::Higher),
    };
    measured
}

/// A copy that is slower than one alone by no more than this is not hindered by the others.
const UNHINDERED: f64 = 0.05;

/// The speed-ups of one probe, by ascending number of copies.
pub fn of_source(cases: &[CaseRecord], source: &str) -> Vec<CaseRecord> {
    // The first is the default case: along its copies alone.
    let Some(default) = cases.iter().find(|case| case.probe == source) else { return Vec::new() };
    let one = default.params.with("copies", "1");
    let at = |case: &CaseRecord| {
        let copies: u64 = case.params.get("copies")?.parse().ok()?;
        (case.params.with("copies", "1") == one).then_some(copies)
    };
    let mut line: Vec<(u64, &CaseRecord)> =
        cases.iter().filter(|case| case.probe == source).filter_map(|case| Some((at(case)?, case))).collect();
    line.sort_by_key(|(copies, _)| *copies);
    let alone = line.first().filter(|(copies, _)| *copies == 1).and_then(|(_, case)| case.measured());
    let of_copies = |&(copies, case): &(u64, &CaseRecord)| {
        let outcome = match (alone, &case.outcome) {
            (Some(alone), Outcome::Measured(many)) => {
                Outcome::Measured(Box::new(speed_up(alone, many, copies, is_rate(source))))
            }
            (None, Outcome::Measured(_)) => {
                Outcome::Skipped { reason: ReasonCode::MissingInput.because(say!("one copy alone was not measured")) }
            }
            (_, Outcome::Skipped { reason } | Outcome::Failed { reason }) => Outcome::Skipped {
                reason: reason.clone().with_text(say!("{what}: {error}", what = case.id, error = reason)),
            },
        };
        record(source, copies, outcome)
    };
    let mut records: Vec<CaseRecord> = line.iter().filter(|(copies, _)| *copies > 1).map(of_copies).collect();
    let is_unhindered = |(copies, record): &(u64, &CaseRecord)| {
        record.measured().is_some_and(|measured| measured.estimate.typical * (1.0 + UNHINDERED) >= *copies as f64)
    };
    let measured = line[1.min(line.len())..].iter().map(|(copies, _)| *copies).zip(&records);
    let within = measured.take_while(is_unhindered).last().map_or(1, |(copies, _)| copies);
    let last = records.iter_mut().rfind(|record| record.measured().is_some());
    if let Some(Outcome::Measured(most)) = last.map(|record| &mut record.outcome) {
        let estimate = estimate(&[vec![within as f64]], 0.0, Better::Neither);
        most.also.insert(WITHIN.into(), Also { estimate });
    }
    records
}

/// The id of the case of `source` with so many copies.
pub fn id(source: &str, copies: u64) -> String {
    format!("cpu.scaling@source={source},copies={copies}")
}

pub fn record(source: &str, copies: u64, outcome: Outcome) -> CaseRecord {
    let params = Params(vec![("source".into(), source.into()), ("copies".into(), copies.to_string())]);
    CaseRecord { id: id(source, copies), probe: "cpu.scaling".into(), params, outcome }
}

/// Every probe with an axis of copies; the first is the default.
pub const SOURCES: &[&str] = &[
    "syscall.null",
    "cpu.sieve",
    "memory.latency",
    "process.fork_exit",
    "paging.parallel_fault",
    "ipc.bandwidth",
    "net.tcp",
    "net.udp",
    "net.tcp_connect",
    "syscall.parallel",
];

/// Sources of the values: of each only its sweep of copies.
const FROM: &[Source] = &{
    let mut from = [Source::along("", &["copies"]); SOURCES.len()];
    let mut index = 0;
    while index < SOURCES.len() {
        from[index].probe = SOURCES[index];
        index += 1;
    }
    from
};

/// Tells whether more of the source's value is better.
pub fn is_rate(source: &str) -> bool {
    let probes = crate::CATALOGUE.iter().flat_map(|group| group.probes.iter().map(|probe| (group.name, probe)));
    let mut of_source = probes.filter(|(group, (name, _))| source.split_once('.') == Some((group, name)));
    of_source.any(|(_, (_, probe))| probe.better == Better::Higher)
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
