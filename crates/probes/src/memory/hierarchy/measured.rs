//! A level as it is reported: the measurement of its representative case, with remarks.

use super::levels::MeasuredLevel;
use super::naming::Name;
use hostmark_engine::prelude::*;

/// The largest size that is proven to fit.
pub const FITS: Quantity = Quantity::given("size", Unit::Bytes, Better::Higher, term!("largest size that fits"));
/// The smallest size that is proven not to fit.
pub const LEAVES: Quantity =
    Quantity::given("leaves", Unit::Bytes, Better::Neither, term!("smallest size that does not fit"));
/// A median this much over the best round is the neighbours' doing, or the placement of pages.
const GAP: f64 = 1.10;

/// The representative case's measurement, with the level's size and further quantities beside it.
pub fn measured(level: &MeasuredLevel, beside: Vec<(&'static str, Also)>) -> Measured {
    let mut measured = level.case.clone();
    measured.also.extend(beside.into_iter().map(|(name, also)| (name.to_owned(), also)));
    let mut flag = |kind, detail: Message| measured.flags.push(Flag::new(kind, detail));
    let estimate = &level.case.estimate;
    if estimate.typical > GAP * estimate.best_round {
        let detail = say!(
            "the best round was {typical:.0} % faster",
            typical = (1.0 - estimate.best_round / estimate.typical) * 100.0
        );
        flag(FlagKind::BestRoundGap, detail);
    }
    let Bracket { fits, leaves } = level.bracket;
    if let Some(doubt) = &level.doubt {
        let is_memory = level.name == Name::Memory;
        flag(if is_memory { FlagKind::SmallBuffer } else { FlagKind::Unconfirmed }, doubt.clone());
    } else if let Some(reported) = level.reported_bytes {
        let size = |bytes: Option<f64>| size_text(bytes.unwrap_or(0.0) as u64);
        let size_reported = size_text(reported);
        if level.bracket.is_over(reported as f64) {
            let detail = say!("{fits} fit, and the host reports {size_reported}", fits = size(fits));
            flag(FlagKind::Unconfirmed, detail);
        } else if level.bracket.is_under(reported as f64) {
            flag(
                FlagKind::Unconfirmed,
                say!(
                    "{leaves} do not fit, and the host reports {size_reported}: neighbours probably use the rest",
                    leaves = size(leaves)
                ),
            );
        }
    } else if level.name != Name::Memory {
        flag(FlagKind::Unconfirmed, say!("the host reports no such cache"));
    }
    for (name, size) in [(FITS.name, fits), (LEAVES.name, leaves)] {
        measured.also.extend(size.map(|size| (name.to_owned(), exactly(size))));
    }
    measured.notes.insert("at".into(), level.at.clone());
    measured.notes.extend(level.evidence.map(|evidence| ("memory_because".into(), evidence.into())));
    measured
}

/// A quantity that the curve gives as one number, without an interval.
pub fn exactly(value: f64) -> Also {
    Also { estimate: estimate(&[vec![value]], 0.0, Better::Neither) }
}
