//! STREAM's arrays under four times the last-level caches, named wherever their rates are shown.

use hostmark_model::{Measured, Text};

/// The note in which memory.stream says how many times the last-level caches an array has, where that is under 4.
const NOTE: &str = "times_caches";

/// How short the arrays were; none where they were long enough.
pub fn short_arrays(measured: &Measured) -> Option<Text<String>> {
    let times = measured.notes.get(NOTE).filter(|times| times.parse::<f64>().is_ok())?;
    Some(Text {
        en: format!("arrays of {times} × the last-level caches, under the rule's 4: caches hold part of them"),
        zh: format!("数组只有末级缓存的 {times} 倍，不足规则要求的 4 倍：一部分留在缓存中"),
    })
}
