//! A cache that is proven to be smaller or larger than the host says it is.

use hostmark_model::{Lang, Run, Unit};

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::value;
use crate::levels::{HIERARCHY, LEVELS, Level};
use crate::texts::findings::cache_size as texts;

pub(super) static RULE: Rule = Rule {
    id: "memory.cache_size_differs",
    shown: Demonstration::Explain("memory.latency"),
    probes: &[HIERARCHY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: |run| LEVELS.iter().filter_map(|level| conclusion(run, *level)).collect(),
};

fn conclusion(run: &Run, level: Level) -> Option<Conclusion> {
    let bracket = level.bracket(run)?;
    let reported = level.reported(run)?.size_bytes as f64;
    let name = level.name;
    let size = |bytes: f64| value(bytes, Unit::Bytes, Lang::En);
    let says = size(reported);
    let (short, text) = if bracket.is_under(reported) {
        let leaves = size(bracket.leaves?);
        let short = short(texts::smaller_short!(name, says, leaves));
        let text = texts::smaller_text!(name, says, leaves);
        (short, text)
    } else if bracket.is_over(reported) {
        let fits = size(bracket.fits?);
        let short = short(texts::larger_short!(name, says, fits));
        let text = texts::larger_text!(name, says, fits);
        (short, text)
    } else {
        return None;
    };
    Some(Conclusion {
        short,
        text,
        cases: level.case(run).map(|case| case.id.clone()).into_iter().collect(),
        cost: 0.0,
    })
}
