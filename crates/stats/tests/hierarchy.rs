//! Finds the known levels on a measured curve and on simulated machines, and no level that is not there.

use hostmark_stats::change::{Plateau, Reading, plateaus, plateaus_of};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const SEEDS: u64 = 50;

/// The points of one section and stride of the reference's measurement, sizes in bytes.
fn reference(section: &str, stride: &str) -> Vec<(f64, f64)> {
    let all: Value = serde_json::from_str(include_str!("fixtures/reference_latency.json")).unwrap();
    let points = all[section][stride].as_array().unwrap();
    points.iter().map(|point| (point[0].as_f64().unwrap() * KIB, point[1].as_f64().unwrap())).collect()
}

/// Whether the levels are those expected: (latency, capacity) of each cache, the capacity within the tolerance given
/// as a part, then DRAM's latency; all latencies within 25 %.
fn matches(found: &[Plateau], caches: &[(f64, f64)], dram: f64, tolerance: f64) -> bool {
    let near = |value: f64, truth: f64, part: f64| (value / truth - 1.0).abs() <= part;
    found.len() == caches.len() + 1
        && found.iter().zip(caches).all(|(level, &(latency, capacity))| {
            near(level.latency, latency, 0.25) && level.capacity.is_some_and(|size| near(size, capacity, tolerance))
        })
        && found.last().is_some_and(|last| near(last.latency, dram, 0.25) && last.capacity.is_none())
}

const REFERENCE_CACHES: [(f64, f64); 3] = [(1.338, 32.0 * KIB), (4.02, 256.0 * KIB), (11.6, 3.0 * MIB)];

#[test]
fn the_reference_curve_has_three_caches() {
    let found = plateaus(&reference("l3_section", "4096"));
    assert!(matches(&found, &REFERENCE_CACHES, 54.0, 0.25), "{found:#?}");
}

#[test]
fn all_of_the_references_curves_together_have_three_caches() {
    let mut points = reference("l3_section", "4096");
    for stride in ["64", "1024", "4096"] {
        points.extend(reference("l1_section", stride));
    }
    let found = plateaus(&points);
    assert!(matches(&found, &REFERENCE_CACHES, 54.0, 0.25), "{found:#?}");
}

/// How the loads start to miss as a size outgrows a cache.
#[derive(Clone, Copy, Debug)]
enum Filling {
    /// None below the capacity, all above: least recently used, pages placed well.
    Sharp,
    /// From none to all over an octave around the capacity, in log size.
    Smeared,
    /// Random replacement: what misses replaces others' lines, `f = 1 − exp(−f · size / capacity)`.
    Random,
    /// Least recently used lines over randomly placed pages: sets of 16 ways overflow one after another.
    RandomPages,
}

impl Filling {
    fn missing(self, size: f64, capacity: f64) -> f64 {
        let load = size / capacity;
        match self {
            Filling::Sharp => f64::from(load > 1.0),
            Filling::Smeared => (load.log2() + 0.5).clamp(0.0, 1.0),
            Filling::Random => (0..400).fold(1.0, |part: f64, _| 1.0 - (-part * load).exp()),
            Filling::RandomPages => {
                // A line's set holds more than 16 lines when at least 16 others fall into it: Poisson.
                let mean = 16.0 * load;
                let mut term = (-mean).exp();
                let mut fewer = 0.0;
                for others in 0..16 {
                    fewer += term;
                    term *= mean / f64::from(others + 1);
                }
                1.0 - fewer
            }
        }
    }
}

/// A simulated machine: caches as (latency in ns, capacity in bytes, filling), and the DRAM's latency where the
/// sweep reaches it and at its end.
struct Machine {
    caches: Vec<(f64, f64, Filling)>,
    dram: (f64, f64),
}

/// Noise of a sweep: lognormal, one spread for sizes up to 1 MiB and one beyond, and outliers of +50 %.
struct Noise {
    near: f64,
    far: f64,
    outliers: usize,
}

const SIZES: (f64, f64) = (4.0 * KIB, 256.0 * MIB);

impl Machine {
    fn sweep(&self, per_octave: u32, noise: &Noise, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let octaves = (SIZES.1 / SIZES.0).log2();
        let count = (octaves * f64::from(per_octave)).round() as u32 + 1;
        let sizes = (0..count).map(|index| SIZES.0 * (f64::from(index) / f64::from(per_octave)).exp2());
        let mut points: Vec<(f64, f64)> = sizes
            .map(|size| {
                let spread = if size <= MIB { noise.near } else { noise.far };
                (size, self.latency(size) * (spread * normal(&mut random)).exp())
            })
            .collect();
        for _ in 0..noise.outliers {
            let index = (random.random::<f64>() * points.len() as f64) as usize;
            points[index].1 *= 1.5;
        }
        points
    }

    fn latency(&self, size: f64) -> f64 {
        let last = self.caches.last().map_or(SIZES.0, |cache| cache.1);
        let far = ((size / last).ln() / (SIZES.1 / last).ln()).clamp(0.0, 1.0);
        let mut latency = self.dram.0 + (self.dram.1 - self.dram.0) * far;
        for &(hit, capacity, filling) in self.caches.iter().rev() {
            let missing = filling.missing(size, capacity);
            latency = hit * (1.0 - missing) + latency * missing;
        }
        latency
    }

    /// How many of the seeds give the known levels, and the first sweep's answer that does not.
    fn found(&self, per_octave: u32, noise: &Noise, tolerance: f64) -> (u64, Option<Vec<Plateau>>) {
        let caches: Vec<(f64, f64)> = self.caches.iter().map(|cache| (cache.0, cache.1)).collect();
        let dram = 0.5 * (self.dram.0 + self.dram.1);
        let mut right = 0;
        let mut wrong = None;
        for seed in 0..SEEDS {
            let found = plateaus(&self.sweep(per_octave, noise, seed));
            if matches(&found, &caches, dram, tolerance) {
                right += 1;
            } else {
                wrong.get_or_insert(found);
            }
        }
        (right, wrong)
    }
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// A server of today; the last cache is shared, so that part of its 36 MiB answers.
fn server(last: f64, filling: Filling) -> Machine {
    Machine {
        caches: vec![(1.1, 32.0 * KIB, Filling::Sharp), (4.0, MIB, filling), (22.0, last, filling)],
        dram: (90.0, 110.0),
    }
}

const QUIET: Noise = Noise { near: 0.01, far: 0.03, outliers: 0 };
const NOISY: Noise = Noise { near: 0.05, far: 0.05, outliers: 2 };
const SHARED_HOST: Noise = Noise { near: 0.05, far: 0.2, outliers: 2 };

/// At least this part of the seeds must give every level, and none besides.
#[track_caller]
fn assert_found(machine: &Machine, per_octave: u32, noise: &Noise, tolerance: f64, least_percent: u64) {
    let (right, wrong) = machine.found(per_octave, noise, tolerance);
    assert!(
        100 * right >= least_percent * SEEDS,
        "{right} of {SEEDS} at {per_octave} an octave, {:?}: {wrong:#?}",
        machine.caches
    );
}

#[test]
fn a_quiet_server_shows_its_levels_however_they_fill() {
    for filling in [Filling::Sharp, Filling::Smeared, Filling::Random, Filling::RandomPages] {
        for last in [10.0 * MIB, 16.0 * MIB, 20.0 * MIB] {
            for per_octave in [2, 4] {
                // Random replacement misses late: see `plateaus` on the crossing chosen.
                let tolerance = if matches!(filling, Filling::Random) { 0.35 } else { 0.25 };
                assert_found(&server(last, filling), per_octave, &QUIET, tolerance, 100);
            }
        }
    }
}

#[test]
fn a_noisy_sweep_with_outliers_shows_the_levels() {
    for filling in [Filling::Sharp, Filling::Smeared] {
        // Two points an octave are 41 % apart.
        for (per_octave, tolerance) in [(2, 0.3), (4, 0.25)] {
            assert_found(&server(16.0 * MIB, filling), per_octave, &NOISY, tolerance, 95);
        }
    }
}

#[test]
fn a_shared_host_shows_the_levels() {
    for per_octave in [2, 4] {
        assert_found(&server(16.0 * MIB, Filling::Smeared), per_octave, &SHARED_HOST, 0.4, 90);
    }
}

#[test]
fn a_missing_level_is_not_invented() {
    let machine =
        Machine { caches: vec![(1.1, 32.0 * KIB, Filling::Sharp), (4.0, MIB, Filling::Smeared)], dram: (90.0, 110.0) };
    for per_octave in [2, 4] {
        assert_found(&machine, per_octave, &NOISY, 0.25, 95);
    }
}

#[test]
fn noise_alone_is_one_level() {
    let machine = Machine { caches: vec![], dram: (90.0, 110.0) };
    let noise = Noise { near: 0.2, far: 0.2, outliers: 2 };
    for per_octave in [2, 4, 8] {
        assert_found(&machine, per_octave, &noise, 0.0, 95);
    }
}

#[test]
fn degenerate_curves_give_what_they_hold() {
    assert!(plateaus(&[]).is_empty());
    assert!(plateaus(&[(0.0, 1.0), (1.0, f64::NAN), (-4.0, 2.0)]).is_empty());
    let single = plateaus(&[(4096.0, 1.5)]);
    assert_eq!(single.len(), 1);
    assert!((single[0].latency - 1.5).abs() < 1e-12 && single[0].capacity.is_none());
    // The curve ends on a ramp: the level before it is known to hold what it held.
    let ramp = plateaus(&[(1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (8.0, 2.0), (16.0, 4.0)]);
    assert_eq!((ramp.len(), ramp[0].capacity), (1, Some(4.0)));
    // More points than are searched one by one.
    let many: Vec<(f64, f64)> = (1..=2000).map(|size| (f64::from(size), if size <= 500 { 1.0 } else { 4.0 })).collect();
    let found = plateaus(&many);
    assert!(matches(&found, &[(1.0, 500.0)], 4.0, 0.03), "{found:#?}");
}

/// The points of a curve, each known to the rounds by this standard error of its logarithm.
fn known(points: &[(f64, f64)], error: impl Fn(usize) -> f64) -> Vec<Reading> {
    points.iter().enumerate().map(|(index, &(size, latency))| Reading { size, latency, error: error(index) }).collect()
}

#[test]
fn a_step_is_a_level_only_where_the_rounds_report_it_from_the_one_before() {
    // A step of twice the latency, six points on either side.
    let curve: Vec<(f64, f64)> =
        (0..12).map(|step| ((step as f64).exp2(), if step < 6 { 10.0 } else { 20.0 })).collect();
    assert_eq!(plateaus_of(&known(&curve, |_| 0.0)).len(), 2);
    assert_eq!(plateaus_of(&known(&curve, |_| 0.1)).len(), 2);
    // ln 2 is 0.69: where the rounds leave as much open there is one level.
    assert_eq!(plateaus_of(&known(&curve, |_| 0.7)).len(), 1);
    // Rounds of which nothing is known stand back behind the scatter of the points.
    assert_eq!(plateaus_of(&known(&curve, |_| f64::NAN)), plateaus(&curve));
}

#[test]
fn points_whose_rounds_disagree_make_no_level_of_their_own() {
    // Three points at twice their neighbours' latency: a level, unless their rounds say that they may as well lie on it.
    let curve: Vec<(f64, f64)> =
        (0..16).map(|step| ((step as f64 / 2.0).exp2(), if (9..13).contains(&step) { 1.9 } else { 1.0 })).collect();
    let certain = plateaus_of(&known(&curve, |_| 0.01));
    let disturbed = plateaus_of(&known(&curve, |index| if (9..13).contains(&index) { 0.6 } else { 0.01 }));
    assert_eq!(disturbed.len(), 1, "{disturbed:?}");
    assert_eq!(disturbed[0].last_size, curve[15].0);
    assert!(certain.len() > 1 || certain[0].last_size < curve[15].0, "{certain:?}");
}
