//! Duration of a run, as text.

use hostmark_model::Run;
use hostmark_model::timestamp::Timestamp;

/// Seconds from start to end, where the file tells both.
pub fn duration_s(run: &Run) -> Option<f64> {
    let (start, end) = (Timestamp::parse(&run.started)?, Timestamp::parse(run.finished.as_deref()?)?);
    let seconds = end.since(start);
    (seconds >= 0.0).then_some(seconds)
}
