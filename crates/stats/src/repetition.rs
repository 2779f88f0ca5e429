//! Repetition: how far the values of another run lie from those of this one, on logarithms: a deviation is a fraction of the value.

use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::descriptive;
use crate::interval::CONFIDENCE;

/// Weight of what is assumed of a kind of cases, in runs: the prior degrees of freedom.
const ASSUMED_FREEDOM: f64 = 2.0;
/// The least half-width that tells something.
const LEAST_HALF: f64 = 4e-4;
/// Number of values of a kind that weigh as much as all others of the run.
const KIN: f64 = 4.0;
/// Quantile of the run's interval widths that tells how busy the machine is.
const BUSY: f64 = 0.75;

/// The deviation between runs as a share of the half-widths of one run's intervals, by recorded runs of six machines, each left out in turn
/// (docs/decisions/0065).
pub const SHARE: f64 = 0.57;
/// Power of the product of three half-widths: their geometric mean, a little wider where they are small.
const POWER: f64 = 0.95 / 3.0;

/// The half-widths of a run's intervals, on logarithms, by kind: cases of a group that the same value leads.
#[derive(Debug, Clone, Default)]
pub struct HalfWidths(HashMap<(String, bool), Vec<f64>>);

impl HalfWidths {
    /// Adds that of a value, of the core or of another kind.
    pub fn add(&mut self, group: &str, is_of_core: bool, half: f64) {
        self.0.entry((group.to_owned(), is_of_core)).or_default().push(half);
    }

    /// Returns the deviation between runs of a value whose own interval has this half-width: a share of the geometric mean of that, of its
    /// kind's and of the run's, so that calm values of a busy machine stay calm, and a few wild ones do not set it for all.
    pub fn deviation(&self, group: &str, is_of_core: bool, half: f64, share: f64) -> f64 {
        let kin = self.0.get(&(group.to_owned(), is_of_core)).map_or(&[][..], Vec::as_slice);
        let of_run = self.0.iter().filter(|((_, is_core), _)| *is_core == is_of_core).flat_map(|(_, all)| all);
        let run: Vec<f64> = of_run.copied().collect();
        let logarithm = |all: &[f64]| {
            let logarithms: Vec<f64> = all.iter().map(|half| half.max(LEAST_HALF).ln()).collect();
            descriptive::mean(&logarithms).unwrap_or_else(|| LEAST_HALF.ln())
        };
        let weight = kin.len() as f64 / (kin.len() as f64 + KIN);
        let kind = (weight * logarithm(kin) + (1.0 - weight) * logarithm(&run)).exp();
        let busy = descriptive::quantile(&run, BUSY).unwrap_or(0.0);
        share * [half, kind, busy].into_iter().map(|half| half + LEAST_HALF).product::<f64>().powf(POWER)
    }
}

/// The standard deviation between runs, and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Standard deviation of the value's logarithm.
    pub sd: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Runs that tell it; 0 where it is only assumed.
    pub runs: usize,
}

impl Deviation {
    /// No assumption at all: the deviation of groups drawn towards it is their pooled one.
    pub const NONE: Deviation = Deviation { sd: 0.0, freedom: 0.0, runs: 0 };

    /// Returns the assumed deviation where no runs tell.
    pub fn assumed(sd: f64) -> Deviation {
        Deviation { sd, freedom: ASSUMED_FREEDOM, runs: 0 }
    }

    /// Returns that of some runs' values, drawn towards what is assumed as far as they are few; see [`Deviation::drawn`].
    pub fn of(values: &[f64], assumed_sd: f64) -> Option<Deviation> {
        Deviation::drawn(&[values], Deviation::assumed(assumed_sd))
    }

    /// Returns that of several groups of runs, each about its own mean, drawn towards `prior` as far as its degrees of freedom have
    /// it: the moderated variance of Smyth, "Linear models and empirical Bayes methods" (Statistical Applications in Genetics and
    /// Molecular Biology 2004). `None` where no group has two values, or one is not above zero.
    pub fn drawn<Group: AsRef<[f64]>>(groups: &[Group], prior: Deviation) -> Option<Deviation> {
        let groups = || groups.iter().map(AsRef::as_ref).filter(|group| group.len() > 1);
        if groups().flatten().any(|value| !value.is_finite() || *value <= 0.0) {
            return None;
        }
        let (mut squares, mut own_freedom, mut runs) = (0.0, 0.0, 0);
        for group in groups() {
            let logarithms: Vec<f64> = group.iter().map(|value| value.ln()).collect();
            squares += descriptive::stddev(&logarithms)?.powi(2) * (group.len() - 1) as f64;
            own_freedom += (group.len() - 1) as f64;
            runs += group.len();
        }
        let freedom = prior.freedom + own_freedom;
        let variance = (prior.freedom * prior.sd.powi(2) + squares) / freedom;
        (runs > 0).then(|| Deviation { sd: variance.sqrt(), freedom, runs })
    }

    /// Half of the interval about one run's value that holds another's, on logarithms, where no runs tell: what this run does not know of
    /// its value, and twice the deviation of the difference of two runs, which holds 95 %, joined as squares.
    pub fn half_width(&self, own_half: f64) -> f64 {
        own_half.hypot(2.0 * 2.0_f64.sqrt() * self.sd)
    }

    /// Returns the interval that holds the value of another run than these: the prediction interval of Hahn and Meeker, "Statistical
    /// Intervals" (1991), 4.7, on logarithms. Differences of runs include the error within a run. `None` where a value is not above 0.
    pub fn prediction(&self, values: &[f64]) -> Option<(f64, f64)> {
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let middle = descriptive::mean(&logarithms).filter(|middle| middle.is_finite())?;
        let law = StudentsT::new(0.0, 1.0, self.freedom.max(1.0)).ok()?;
        let one_more = (1.0 + 1.0 / values.len() as f64).sqrt();
        let half = law.inverse_cdf(0.5 + CONFIDENCE / 2.0) * self.sd * one_more;
        Some(((middle - half).exp(), (middle + half).exp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::normal;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn few_runs_are_drawn_towards_what_is_assumed_and_many_are_believed() {
        let values =
            |count: usize| -> Vec<f64> { (0..count).map(|number| if number % 2 == 0 { 1.0 } else { 1.1 }).collect() };
        let own = |count: usize| Deviation::of(&values(count), 0.001).unwrap();
        assert!(own(3).sd < own(6).sd && own(6).sd < own(20).sd);
        assert_eq!((own(6).freedom, own(6).runs), (ASSUMED_FREEDOM + 5.0, 6));
        assert_eq!(Deviation::of(&[1.0], 0.1), None);
        assert_eq!(Deviation::of(&[1.0, 0.0, 2.0], 0.1), None);
    }

    #[test]
    fn several_groups_report_together_each_about_its_own_mean() {
        let (near, far) = ([1.0, 1.1, 1.2], [50.0, 55.0, 60.0]);
        let (one, both) =
            (Deviation::of(&near, 0.0).unwrap(), Deviation::drawn(&[near, far], Deviation::assumed(0.0)).unwrap());
        assert_eq!((both.freedom, both.runs), (ASSUMED_FREEDOM + 4.0, 6));
        let squares = |deviation: Deviation| deviation.sd.powi(2) * deviation.freedom;
        assert!((squares(both) - 2.0 * squares(one)).abs() < 1e-12);
        assert_eq!(Deviation::drawn(&[[1.0], [2.0]], Deviation::assumed(0.1)), None);
    }

    #[test]
    fn the_interval_holds_another_runs_value() {
        let mut random = Pcg64Mcg::seed_from_u64(20);
        for (runs, sd, assumed) in [(3, 0.02, 0.02), (3, 0.02, 0.05), (5, 0.1, 0.07), (10, 0.02, 0.01), (20, 0.3, 0.1)]
        {
            let mut coverage = 0;
            for _ in 0..2000 {
                let mut value = || (sd * normal(&mut random)).exp();
                let before: Vec<f64> = (0..runs).map(|_| value()).collect();
                let (this, other) = (value(), value());
                let all: Vec<f64> = before.into_iter().chain([this]).collect();
                let (low, high) = Deviation::of(&all, assumed).unwrap().prediction(&all).unwrap();
                coverage += usize::from(low <= other && other <= high);
            }
            assert!(coverage >= 1860, "{runs} runs of {sd}, {assumed} assumed: {coverage} of 2000");
        }
    }

    /// The share of other runs' values that intervals of single runs hold: `cases` of a kind, five rounds each, which scatter by
    /// `between_rounds` about a run's value, and that by `between_runs` about the case's.
    fn coverage_of_one_run(between_rounds: f64, between_runs: f64, is_of_core: bool) -> f64 {
        let mut random = Pcg64Mcg::seed_from_u64(43);
        let (mut coverage, mut all) = (0, 0);
        for _ in 0..200 {
            let mut measured = || -> Vec<Vec<f64>> {
                let mut run = || {
                    let value = between_runs * normal(&mut random);
                    (0..5).map(|_| value + between_rounds * normal(&mut random)).collect()
                };
                (0..20).map(|_| run()).collect()
            };
            let (this, other) = (measured(), measured());
            let half =
                |rounds: &Vec<f64>| (descriptive::max(rounds).unwrap() - descriptive::min(rounds).unwrap()) / 2.0;
            let halves: Vec<f64> = this.iter().map(half).collect();
            let mut known = HalfWidths::default();
            halves.iter().for_each(|half| known.add("cpu", is_of_core, *half));
            for ((this, other), half) in this.iter().zip(&other).zip(&halves) {
                let deviation = Deviation::assumed(known.deviation("cpu", is_of_core, *half, SHARE));
                let apart = descriptive::median(other).unwrap() - descriptive::median(this).unwrap();
                coverage += usize::from(apart.abs() <= deviation.half_width(*half));
                all += 1;
            }
        }
        coverage as f64 / all as f64
    }

    #[test]
    fn one_run_alone_reports_runs_that_differ_as_its_rounds_do() {
        // As quiet as a machine can be, as busy as one has been seen, and the least that is assumed.
        for (between_rounds, between_runs, is_of_core) in [
            (0.0, 0.0003, true),
            (0.0, 0.0003, false),
            (0.002, 0.002, true),
            (0.02, 0.008, false),
            (0.1, 0.04, false),
            (0.1, 0.04, true),
            (0.3, 0.12, false),
        ] {
            let coverage = coverage_of_one_run(between_rounds, between_runs, is_of_core);
            assert!(coverage >= 0.93, "{between_rounds} {between_runs}: {coverage}");
        }
        // Where all rounds of a run are off together, nothing in it tells so.
        assert!(coverage_of_one_run(0.02, 0.1, false) < 0.8);
    }

    #[test]
    fn a_value_is_as_calm_as_it_is_among_its_kind() {
        let of = |is_of_core: bool, halves: &[f64]| {
            let mut known = HalfWidths::default();
            halves.iter().for_each(|half| known.add("cpu", is_of_core, *half));
            known.deviation("cpu", is_of_core, halves.first().copied().unwrap_or(0.0), SHARE)
        };
        for is_of_core in [true, false] {
            let of = |halves: &[f64]| of(is_of_core, halves);
            assert!((of(&[0.1; 4]) / (SHARE * 0.1_f64.powf(3.0 * POWER)) - 1.0).abs() < 0.01, "{}", of(&[0.1; 4]));
            // Rounds may agree by chance, and not all of a kind.
            assert!(of(&[0.0, 0.1, 0.1, 0.1]) > 10.0 * of(&[0.0; 4]));
            // A wild value hardly widens the calm ones, and is wide itself.
            let calm = [0.01, 0.01, 0.01, 0.01, 0.01, 3.0];
            assert!(of(&calm) < 1.6 * of(&[0.01; 6]), "{} {}", of(&calm), of(&[0.01; 6]));
            assert!(of(&[3.0, 0.01, 0.01, 0.01, 0.01, 0.01]) > 5.0 * of(&calm));
            assert!(of(&[]) > 0.0 && of(&[0.0; 5]) < 0.001);
        }
    }

    #[test]
    fn what_a_run_does_not_know_of_its_own_value_is_in_the_interval_of_one_run_alone() {
        assert!((Deviation::assumed(0.0).half_width(0.03) - 0.03).abs() < 1e-12);
        // What earlier runs differ by has it in itself.
        let (low, high) = Deviation { sd: 0.01, freedom: 1e6, runs: 4 }.prediction(&[1.0, 1.0, 1.0, 1.0]).unwrap();
        assert!((high.ln() - 1.96 * 0.01 * 1.25_f64.sqrt()).abs() < 1e-4 && (low * high - 1.0).abs() < 1e-12);
        assert_eq!(Deviation::assumed(0.1).prediction(&[1.0, 0.0]), None);
    }
}
