//! STREAM's arrays that caches hold in part, named beside their rates: under four last-level caches, or slower than half of each.

use hostmark_model::{Measured, Message};
use hostmark_say::say;

/// The note in which memory.stream says how many times the last-level caches an array has, where that is under 4.
const NOTE: &str = "times_caches";
/// The further quantity of triad on half of each array, and how many times the whole's rate it exceeds for certain where caches count.
const HALF: &str = "half";
const FASTER: f64 = 1.03;

/// Remark that arrays were too short; none where they were long enough.
pub fn short_arrays(measured: &Measured) -> Option<Message> {
    if let Some(times) = measured.notes.get(NOTE).filter(|times| times.parse::<f64>().is_ok()) {
        return Some(say!("arrays of {times} × the last-level caches, under the rule's 4: caches hold part of them"));
    }
    let (half, whole) = (&measured.also.get(HALF)?.estimate, &measured.estimate);
    let percent = 100.0 * (half.value() / whole.value() - 1.0);
    let ((half_low, _), (_, whole_high)) = (half.interval()?, whole.interval()?);
    (half_low > FASTER * whole_high)
        .then(|| say!("half of each array is {percent:.0} % faster: caches hold part of the whole"))
}
