//! Values that are made up, for tests.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// A normal number of mean 0 and deviation 1 (Box & Muller, "A note on the generation of random normal deviates", Annals of Mathematical
/// Statistics 1958).
pub(crate) fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
