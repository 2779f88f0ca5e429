//! How long a run took.

use hostmark_model::Run;

/// Seconds from start to end, where the file tells both.
pub fn duration_s(run: &Run) -> Option<f64> {
    let parse = |text: &str| text.parse::<jiff::Timestamp>().ok();
    let (start, end) = (parse(&run.started)?, parse(run.finished.as_deref()?)?);
    let seconds = end.duration_since(start).as_secs_f64();
    (seconds >= 0.0).then_some(seconds)
}
