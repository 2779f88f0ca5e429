//! STREAM's arrays of which caches hold a part, named wherever their rates are shown: under four times the last-level caches, or slower than
//! half of each.

use hostmark_model::{Measured, Text};

/// The note in which memory.stream says how many times the last-level caches an array has, where that is under 4.
const NOTE: &str = "times_caches";
/// The further quantity of triad on half of each array, and how many times the whole's rate it exceeds for certain where caches count.
const HALF: &str = "half";
const FASTER: f64 = 1.03;

/// How short the arrays were; none where they were long enough.
pub fn short_arrays(measured: &Measured) -> Option<Text<String>> {
    if let Some(times) = measured.notes.get(NOTE).filter(|times| times.parse::<f64>().is_ok()) {
        return Some(Text {
            en: format!("arrays of {times} × the last-level caches, under the rule's 4: caches hold part of them"),
            zh: format!("数组只有末级缓存的 {times} 倍，不足规则要求的 4 倍：一部分留在缓存中"),
        });
    }
    let (half, whole) = (&measured.also.get(HALF)?.estimate, &measured.estimate);
    let percent = 100.0 * (half.value() / whole.value() - 1.0);
    let ((half_low, _), (_, whole_high)) = (half.interval()?, whole.interval()?);
    (half_low > FASTER * whole_high).then(|| Text {
        en: format!("half of each array is {percent:.0} % faster: caches hold part of the whole"),
        zh: format!("数组取一半时快 {percent:.0}%：一部分留在缓存中"),
    })
}
