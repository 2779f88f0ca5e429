//! Probes of branches: conditional ones, wrongly guessed ones, and jumps to one of several targets.

use hostmark_engine::prelude::*;

use crate::kernels::branch::{BranchPattern, Targets};

/// The pattern of two directions in turn.
pub(super) const ALTERNATING: &str = "2";
/// A random pattern so long that no predictor holds it.
pub(super) const UNKNOWABLE: &str = "1048576";
/// Passes over a pattern before it is measured: what a predictor can learn of it, it has learnt by then.
const LESSONS: u64 = 16;

/// Probe cpu.branch: what a conditional branch costs, by the length of the pattern that its directions repeat.
pub static BRANCH: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::count(
        "pattern",
        UNKNOWABLE,
        Points::quick(&[ALTERNATING, UNKNOWABLE])
            .standard(&["1024", "2048", "4096", "8192", "16384", "32768", "65536", "131072", "262144"])
            .thorough(&["1536", "3072", "6144", "12288", "24576", "49152"]),
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_branch),
    ..crate::texts::cpu::BRANCH
};

fn measure_branch(case: &mut Case) -> Result<()> {
    let length: u64 = case.param("pattern")?;
    case.may_fill(length)?;
    let longest = UNKNOWABLE.parse().unwrap_or(1 << 20);
    let mut pattern = match length {
        0..=2 => BranchPattern::alternating(longest),
        _ => BranchPattern::random(length as usize, case.seed()),
    };
    if length < longest as u64 {
        pattern.branch(LESSONS * length);
    }
    case.loops(|n| std::hint::black_box(pattern.branch(n))).time()
}

/// Share of random branches that any predictor guesses wrongly.
const WRONG: f64 = 0.5;

/// Probe cpu.misprediction: what a branch costs that the core guessed wrongly.
pub static MISPREDICTION: Probe = Probe {
    also: &[Quantity::CORE_CYCLES, RANDOM, PREDICTED],
    measure: Measure::Derive { from: &[Source::whole("cpu.branch")], derive },
    ..crate::texts::cpu::MISPREDICTION
};

const RANDOM: Quantity =
    Quantity::given("random", Unit::Nanoseconds, Better::Lower, term!("a branch of random direction"));
const PREDICTED: Quantity = Quantity::given("predicted", Unit::Nanoseconds, Better::Lower, term!("a predicted branch"));

fn derive(cases: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let measured = |pattern: &str| {
        let case = cases.iter().find(|case| case.params.get("pattern") == Some(pattern));
        case.and_then(CaseRecord::measured)
    };
    let (Some(random), Some(predicted)) = (measured(UNKNOWABLE), measured(ALTERNATING)) else {
        return Vec::new();
    };
    let both = [random, predicted];
    let lost = |values: &[f64]| (values[0] - values[1]) / WRONG;
    let quiet = super::quiet_of(both.map(|source| (source, false)), lost);
    let values = (super::by_round(&both, lost), quiet);
    let mut record = super::derived("cpu.misprediction", Params::default(), &both, values, MISPREDICTION.better);
    if let Outcome::Measured(measured) = &mut record.outcome {
        let mut also = |name: &str, estimate: Estimate| measured.also.insert(name.to_owned(), Also { estimate });
        also(RANDOM.name, random.estimate.clone());
        also(PREDICTED.name, predicted.estimate.clone());
        // Each part in cycles of its own round's clock; what is quiet, in those of the clock that it is told at.
        if let Some(cycles) = super::cycles_by_round(&both, lost) {
            let at_the_clock = quiet.and_then(|quiet| {
                let ghz = quiet.at_hz? / 1e9;
                Some(quiet.map(|number| number * ghz))
            });
            also(Quantity::CORE_CYCLES.name, estimate(&cycles, 0.0, Better::Lower).led_by(at_the_clock));
        }
    }
    vec![record]
}

/// Targets in the array: more than predictors hold of an order that never repeats before.
const LENGTH: usize = 1 << 18;

/// Probe cpu.indirect_branch: a jump to one of several targets, by their number and whether their order can be learnt.
pub static INDIRECT_BRANCH: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::count(
            "targets",
            "16",
            Points::quick(&["1", "16"]).standard(&["2", "4", "64", "256"]).thorough(&["8", "32", "128"]),
        ),
        Axis::choice("order", "random", Points::quick(&["random", "cycle"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["targets", "order"] }],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure_indirect_branch),
    ..crate::texts::cpu::INDIRECT_BRANCH
};

fn measure_indirect_branch(case: &mut Case) -> Result<()> {
    let count: usize = case.param("targets")?;
    if count > crate::kernels::branch::MOST_TARGETS {
        return Err(RoundError::not_applicable(say!("the loop has 256 targets at most")));
    }
    case.may_fill(LENGTH as u64)?;
    let mut targets = match case.param::<String>("order")?.as_str() {
        "random" => Targets::random(count, LENGTH, case.seed()),
        _ => Targets::in_turn(count, LENGTH),
    };
    case.loops(|n| std::hint::black_box(targets.jump(n))).time()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::arithmetic::tests::record;

    fn derived(random: &[f64], predicted: &[f64]) -> Vec<CaseRecord> {
        let cases = [
            record("cpu.branch", &[("pattern", "1048576")], random),
            record("cpu.branch", &[("pattern", "4096")], &[100.0; 3]),
            record("cpu.branch", &[("pattern", "2")], predicted),
        ];
        derive(&cases, &HostFacts::default())
    }

    #[test]
    fn half_of_the_guesses_bear_the_whole_difference() {
        let found = derived(&[5.0, 6.0, 7.0], &[1.0, 1.0, 1.0]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, "cpu.misprediction");
        let measured = found[0].measured().unwrap();
        assert_eq!(measured.estimate.typical, 10.0);
        // At 2 GHz a nanosecond is two cycles; both parts are kept as they were.
        let also = |name: &str| measured.also[name].estimate.typical;
        assert_eq!((also("cycles"), also("random"), also("predicted")), (20.0, 6.0, 1.0));
    }

    #[test]
    fn beside_quiet_parts_it_is_made_of_these_at_one_clock() {
        let led = |pattern: &str, rounds: &[f64], value: f64, slower: f64| {
            let mut record = record("cpu.branch", &[("pattern", pattern)], rounds);
            let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
            let (low, high) = (Some(value - 0.25), Some(value + 0.5));
            let quiet = Quiet { value, low, high, range: Some([value, value + 1.0]), at_hz: None };
            let quiet = Quiet { at_hz: Some(3e9 / slower), ..quiet.map(|number| number * slower) };
            (measured.estimate.quiet, measured.estimate.leading) = (Some(quiet), Leading::Quiet);
            record
        };
        let parts = [led("1048576", &[5.0, 6.0, 7.0], 4.0, 1.0), led("2", &[1.0; 3], 1.0, 2.0)];
        let found = derive(&parts, &HostFacts::default());
        let measured = found[0].measured().unwrap();
        let stated = measured.estimate.stated();
        assert_eq!((stated.value, stated.of_this_run, stated.range), (6.0, Some((4.5, 7.5)), Some([4.0, 8.0])));
        let cycles = measured.companion("cycles").unwrap().stated();
        assert_eq!((cycles.value, cycles.of_this_run), (18.0, Some((13.5, 22.5))));
    }

    #[test]
    fn a_difference_below_zero_is_kept_and_marked_and_without_both_parts_nothing_is_reported() {
        let found = derived(&[1.0, 1.0, 1.0], &[1.5, 1.5, 1.5]);
        let measured = found[0].measured().unwrap();
        assert_eq!(measured.estimate.typical, -1.0);
        assert!(measured.flags.iter().any(|flag| flag.kind == FlagKind::UnderResolution));
        let random = [record("cpu.branch", &[("pattern", "1048576")], &[5.0; 3])];
        assert!(derive(&random, &HostFacts::default()).is_empty());
    }
}
