//! How many elements each array has.

use hostmark_engine::prelude::*;

/// An array has this many times the bytes of the last-level caches, so that little of it is still there a pass later.
const TIMES_CACHES: u64 = 4;
/// Last-level cache of a host that does not tell: as large as most.
const USUAL_CACHE_BYTES: u64 = 32 << 20;
/// Bytes of three arrays' elements.
const BYTES_OF_THREE: u64 = 24;
/// What a thread's arrays take besides their elements, at most: their ends, and what parts them.
const SLACK_BYTES: u64 = 32 << 10;

/// Elements of each array: as asked for, or by the rule, as far as memory allows.
pub fn elements(case: &mut Case, threads: u64) -> Result<u64> {
    let caches = if case.llc_sum_bytes() > 0 { case.llc_sum_bytes() } else { USUAL_CACHE_BYTES };
    let enough = TIMES_CACHES * caches / 8;
    let most = case.fillable_bytes().saturating_sub(SLACK_BYTES * threads) / BYTES_OF_THREE;
    let elements = match case.param::<String>("elements")?.as_str() {
        "auto" => enough.min(most.max(1)),
        _ => case.param("elements")?,
    };
    if elements < enough {
        let times = elements as f64 * 8.0 / caches as f64;
        case.note(
            "short",
            format!("each array has {times:.2} times the bytes of the last-level caches, not {TIMES_CACHES}"),
        );
    }
    Ok(elements)
}
