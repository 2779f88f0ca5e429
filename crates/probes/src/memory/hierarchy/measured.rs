//! A level as it is reported: the measurement of its representative case, with remarks.

use hostmark_engine::prelude::*;

use super::levels::Level;

/// Sizes that differ by more than this from what the host reports are marked.
const CONFIRMED: f64 = 1.25;
/// A median this much over the best round is the neighbours' doing, or the placement of pages.
const GAP: f64 = 1.10;

/// The representative case's measurement, with the level's size and further quantities beside it.
pub fn measured(level: &Level, beside: Vec<(&'static str, Also)>) -> Measured {
    let mut measured = level.case.clone();
    measured.also.extend(beside.into_iter().map(|(name, also)| (name.to_owned(), also)));
    let mut flag = |kind, detail: String| measured.flags.push(Flag { kind, detail });
    let estimate = &level.case.estimate;
    if estimate.median > GAP * estimate.best_round {
        let detail =
            format!("the best round was {:.0} % faster", (1.0 - estimate.best_round / estimate.median) * 100.0);
        flag(FlagKind::BestRoundGap, detail);
    }
    if let (Some(size), Some(reported)) = (level.size, level.reported_bytes) {
        let ratio = size / reported as f64;
        if !(1.0 / CONFIRMED..=CONFIRMED).contains(&ratio) {
            let detail = format!("ends at {ratio:.2} × the {} KiB that the host reports", reported / 1024);
            flag(FlagKind::Unconfirmed, detail);
        }
    } else if level.size.is_some() {
        flag(FlagKind::Unconfirmed, "the host reports no such cache".into());
    }
    if let Some(size) = level.size {
        measured.also.insert("size".into(), exactly(size));
    }
    measured.notes.insert("at".into(), level.at.clone());
    measured
}

/// A quantity that the curve gives as one number, without an interval.
pub fn exactly(value: f64) -> Also {
    Also { estimate: estimate(&[vec![value]], 0.0, Better::Neither, 0) }
}
