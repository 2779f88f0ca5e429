//! Fleets that are made up, of which it is known who is odd: for tests.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::score::ScoreColumn;

/// Groups of a made-up fleet, probes of each, and cases of each probe.
const GROUPS: usize = 8;
const PROBES: usize = 5;
const CASES: usize = 5;

/// Deviation of a planted host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Odd {
    All,
    Group,
    Probe,
}

/// The logarithms of the values of hosts of one kind.
pub(super) struct Fleet {
    pub(super) hosts: usize,
    pub(super) groups: usize,
    values: Vec<Vec<f64>>,
}

impl Fleet {
    /// Without an odd host. What hosts differ by is shared by all cases, by those of a group, by those of a probe, and each case's own,
    /// 2 % or so for most cases and more for some; the latter two with Student's tails of so many degrees of freedom (0: normal).
    pub(super) fn of(hosts: usize, tail: f64, seed: u64) -> Fleet {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut draw = |sd: f64, tail: f64| -> Vec<f64> { (0..hosts).map(|_| sd * heavy(&mut random, tail)).collect() };
        let shared = draw(0.008, 0.0);
        let mut values = Vec::new();
        for group in 0..GROUPS {
            // Disks and networks scatter more than calculations.
            let scatter = [0.5, 0.7, 1.0, 1.0, 1.0, 1.5, 2.0, 3.0][group];
            let of_group = draw(0.01 * scatter, 0.0);
            for _ in 0..PROBES {
                let of_probe = draw(0.01 * scatter, tail);
                for _ in 0..CASES {
                    let own = draw(0.01 * scatter, tail);
                    let sum = |host: usize| shared[host] + of_group[host] + of_probe[host] + own[host];
                    values.push((0..hosts).map(sum).collect());
                }
            }
        }
        Fleet { hosts, groups: GROUPS, values }
    }

    /// Makes the first hosts, this share of all and one at least, slower by this share; returns how many.
    pub(super) fn plant(&mut self, share: f64, shift: f64, odd: Odd) -> usize {
        let count = ((self.hosts as f64 * share).round() as usize).max(1);
        let per_group = PROBES * CASES;
        for (case, values) in self.values.iter_mut().enumerate() {
            let is_shifted = match odd {
                Odd::All => true,
                Odd::Group => case / per_group == 2,
                Odd::Probe => case / CASES == 2 * PROBES + 1,
            };
            values.iter_mut().take(count).filter(|_| is_shifted).for_each(|value| *value += (1.0 - shift).ln());
        }
        count
    }

    pub(super) fn columns(&self) -> (Vec<ScoreColumn>, Vec<usize>) {
        let column = |(case, values): (usize, &Vec<f64>)| ScoreColumn {
            probe: case / CASES,
            values: values.iter().copied().map(Some).collect(),
            own: Vec::new(),
        };
        let columns = self.values.iter().enumerate().map(column).collect();
        (columns, (0..GROUPS * PROBES).map(|probe| probe / PROBES).collect())
    }
}

/// A number of mean 0 and deviation 1 of Student's law (Bailey, "Polar generation of random variates with the t-distribution",
/// Mathematics of Computation 1994), or of the normal one.
pub(crate) fn heavy(random: &mut Pcg64Mcg, tail: f64) -> f64 {
    let u = 1.0 - random.random::<f64>();
    let angle = (std::f64::consts::TAU * random.random::<f64>()).cos();
    if tail <= 2.0 {
        return (-2.0 * u.ln()).sqrt() * angle;
    }
    (tail * (u.powf(-2.0 / tail) - 1.0)).sqrt() * angle * ((tail - 2.0) / tail).sqrt()
}
