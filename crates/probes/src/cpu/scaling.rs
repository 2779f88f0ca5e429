//! Probes of many copies of work: the sieve that loads every core, and the speed-up of copies of any probe.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::kernels::arith::{BELOW, PRIMES, WORDS, sieve};
use crate::workloads::machine::kernel_module::KernelOperation;

/// Probe cpu.sieve: the sieve of Eratosthenes to a million, over and over: a pure load of one core or of all.
pub static SIEVE: Probe = Probe {
    axes: &[
        Axis::threads("threads", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
        Axis::copies(Profile::Quick),
        Axis::bind_elsewhere(),
    ],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_sieve),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::cpu::SIEVE)
};

fn measure_sieve(case: &mut Case) -> Result<()> {
    let found = sieve(&mut [0; WORDS]);
    if found != PRIMES {
        return Err(RoundError::wrong(say!("found {found} primes below {BELOW}, not {PRIMES}")));
    }
    match case.thread_cpus().as_slice() {
        [] | [_] => case.loops(sieve_n()).rate(1),
        cpus => case.workers(cpus, |_| Ok(sieve_n())).rate(1),
    }
}

fn sieve_n() -> impl FnMut(u64) {
    let mut composite = Box::new([0; WORDS]);
    move |n| {
        for _ in 0..n {
            std::hint::black_box(sieve(&mut composite));
        }
    }
}

/// Probe cpu.kernel_sieve: the sieve of cpu.sieve inside the kernel, with interrupts on and off.
pub static KERNEL_SIEVE: Probe = Probe {
    axes: &[Axis::bind(), in_kernel::IRQ],
    full_factorial: in_kernel::FULL_FACTORIAL,
    needs: in_kernel::NEEDS,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| in_kernel::measure(case, 1, KernelOperation::Sieve)),
    ..crate::rate(Unit::OperationsPerSecond, crate::texts::cpu::KERNEL_SIEVE)
};

/// The key of the number of copies that are not.
const WITHIN: &str = "within_5_percent";

/// Probe cpu.scaling: how much more several copies of a probe get done than one, as the probes' `copies` axes show it.
pub static SCALING: Probe = Probe {
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
    "net.round_trip",
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
mod tests {
    use super::*;
    use crate::cpu::arithmetic::tests::record as made;

    /// A case of a probe with these round medians.
    fn case(id: &str, params: &[(&str, &str)], medians: &[f64]) -> CaseRecord {
        CaseRecord { id: id.into(), ..made(id, params, medians) }
    }

    fn call(copies: &str, medians: &[f64]) -> CaseRecord {
        case("syscall.null", &[("copies", copies)], medians)
    }

    fn derived(cases: &[CaseRecord]) -> Vec<CaseRecord> {
        derive(cases, &HostFacts::default())
    }

    fn value(record: &CaseRecord) -> f64 {
        record.measured().unwrap().estimate.typical
    }

    #[test]
    fn every_probe_with_copies_is_a_source() {
        let all = crate::CATALOGUE.iter().flat_map(|group| group.probes.iter().map(move |probe| (group.name, probe)));
        let with_copies = all.filter(|(_, (_, probe))| probe.axes.iter().any(|axis| axis.kind == AxisKind::Copies));
        let mut found: Vec<String> = with_copies.map(|(group, (name, _))| format!("{group}.{name}")).collect();
        let mut listed = SOURCES.to_vec();
        found.sort();
        listed.sort_unstable();
        assert_eq!(found, listed);
        assert!(is_rate("cpu.sieve") && !is_rate("syscall.null"));
    }

    #[test]
    fn copies_that_do_not_slow_down_scale_perfectly() {
        let records = derived(&[call("1", &[100.0; 3]), call("2", &[100.0; 3]), call("4", &[125.0; 3])]);
        let ids: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
        let expected = ["cpu.scaling@source=syscall.null,copies=2", "cpu.scaling@source=syscall.null,copies=4"];
        assert_eq!((ids, value(&records[0]), value(&records[1])), (expected.to_vec(), 2.0, 3.2));
        // Two copies are each as fast as one, four are not; it stands with the most.
        assert!(!records[0].measured().unwrap().also.contains_key(WITHIN));
        assert_eq!(records[1].measured().unwrap().also[WITHIN].estimate.typical, 2.0);
    }

    #[test]
    fn one_alone_is_held_against_copies_by_its_typical_value_whatever_leads() {
        let mut alone = call("1", &[100.0; 3]);
        let quiet = Quiet { value: 80.0, low: None, high: None, range: None, at_hz: None };
        let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
        measured.estimate = measured.estimate.clone().led_by(Some(quiet));
        let estimate =
            |alone: CaseRecord| derived(&[alone, call("2", &[100.0; 3])])[0].measured().unwrap().estimate.clone();
        let of_rounds = estimate(alone.clone());
        assert_eq!((of_rounds.value(), of_rounds.estimator()), (2.0, Leading::Typical));
        // Where no round of the one has its like, too.
        let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
        measured.rounds.clear();
        assert_eq!(estimate(alone).value(), 2.0);
    }

    #[test]
    fn disturbed_samples_of_the_copies_are_not_its_own() {
        let mut many = call("2", &[100.0; 3]);
        let Outcome::Measured(measured) = &mut many.outcome else { unreachable!("a measured case") };
        (measured.noise.disturbed, measured.noise.left_out) = (9, 4);
        let records = derived(&[call("1", &[100.0; 3]), many]);
        assert_eq!(records[0].measured().unwrap().noise, Noise::default());
    }

    #[test]
    fn a_rate_scales_by_what_each_copy_still_does() {
        let sieve = |copies: &str, rate: f64| case("cpu.sieve", &[("threads", "1"), ("copies", copies)], &[rate; 3]);
        let threads = case("cpu.sieve", &[("threads", "2"), ("copies", "1")], &[1900.0; 3]);
        let records = derived(&[sieve("1", 1000.0), threads, sieve("2", 600.0)]);
        assert_eq!(records[1].id, "cpu.scaling@source=cpu.sieve,copies=2");
        assert_eq!(value(&records[1]), 1.2);
        assert_eq!(records[1].measured().unwrap().also[WITHIN].estimate.typical, 1.0);
        // The default case comes first, and says why it has no value.
        assert!(matches!(&records[0].outcome, Outcome::Skipped { reason } if reason.contains("syscall.null")));
    }

    #[test]
    fn each_round_is_compared_with_one_alone_in_its_replicate_or_the_two_values_where_none_is_in_common() {
        // Both drift together; the third round of one alone is lost.
        let mut alone = call("1", &[100.0, 110.0, 120.0, 130.0, 140.0, 150.0]);
        let many = call("2", &[100.0, 112.0, 125.0, 130.0, 145.0, 150.0]);
        let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
        measured.rounds.remove(2);
        let estimate = |cases: &[CaseRecord]| derived(cases)[0].measured().unwrap().estimate.clone();
        let of_rounds = estimate(&[alone.clone(), many.clone()]);
        assert_eq!((of_rounds.typical, of_rounds.rounds, of_rounds.range), (2.0, 5, Some([2.0 * 140.0 / 145.0, 2.0])));
        assert!(of_rounds.ci_low.unwrap() <= 2.0 * 110.0 / 112.0 && of_rounds.ci_high == Some(2.0));
        let Outcome::Measured(measured) = &mut alone.outcome else { unreachable!("a measured case") };
        measured.rounds.clear();
        measured.estimate = call("1", &[100.0; 3]).measured().unwrap().estimate.clone();
        let of_values = estimate(&[alone, call("2", &[125.0; 3])]);
        assert_eq!((of_values.typical, of_values.ci_low, of_values.range), (1.6, None, None));
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut alone = call("1", &[100.0; 3]);
        alone.outcome = Outcome::Failed { reason: ReasonCode::CheckFailed.because("it broke") };
        let reason = |cases: &[CaseRecord]| match &derived(cases)[0].outcome {
            Outcome::Skipped { reason } => reason.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(&*reason(&[alone, call("2", &[100.0; 3])]), "one copy alone was not measured");
        let mut two = call("2", &[100.0; 3]);
        two.outcome = Outcome::Skipped { reason: ReasonCode::TimeBudget.because("no time left") };
        assert_eq!(&*reason(&[call("1", &[100.0; 3]), two]), "syscall.null: no time left");
        assert_eq!(&*reason(&[call("1", &[100.0; 3])]), "syscall.null needs two CPUs for two copies");
        let two = HostFacts {
            cpus: (0..2).map(|id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() }).collect(),
            ..HostFacts::default()
        };
        let records = derive(&[call("1", &[100.0; 3])], &two);
        let expected = Outcome::Skipped {
            reason: ReasonCode::MissingInput.because("syscall.null was not measured with two copies"),
        };
        assert_eq!(records[0].outcome, expected);
        assert_eq!(derived(&[]).len(), 1);
    }
}
