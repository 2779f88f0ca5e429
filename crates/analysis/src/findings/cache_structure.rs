//! A cache whose line or ways measure other than the host says.

use hostmark_model::{CacheFact, Estimate, Lang, Run, Text, Unit};

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::format::value;
use crate::levels::{HIERARCHY, LEVELS, Level};
use crate::texts::findings::cache_structure as texts;

pub(super) static RULE: Rule = Rule {
    id: "memory.cache_structure_differs",
    shown: Demonstration::Run,
    probes: &[HIERARCHY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw: |run| LEVELS.iter().flat_map(|level| conclusions(run, level)).collect(),
};

fn conclusions(run: &Run, level: &Level) -> Vec<Conclusion> {
    let Some(reported) = level.reported(run) else { return Vec::new() };
    let cases: Vec<String> = level.case(run).map(|case| case.id.clone()).into_iter().collect();
    let texts = [line(run, level, reported), ways(run, level, reported)];
    texts
        .into_iter()
        .flatten()
        .map(|(short, text)| Conclusion { short, text, cases: cases.clone(), cost: 0.0 })
        .collect()
}

type Sentences = (Text<String>, Text<String>);

fn line(run: &Run, level: &Level, reported: &CacheFact) -> Option<Sentences> {
    let (measured, says) = (level.also(run, "line")?, reported.line_bytes?);
    differs(measured, says as f64).then(|| {
        let (name, measured) = (level.name, value(measured.value(), Unit::Count, Lang::En));
        let short = short(texts::line_short!(name, says, measured));
        let text = texts::line_text!(name, says, measured);
        (short, text)
    })
}

fn ways(run: &Run, level: &Level, reported: &CacheFact) -> Option<Sentences> {
    let (measured, says) = (level.also(run, "ways")?, reported.ways?);
    differs(measured, f64::from(says)).then(|| {
        let (name, measured) = (level.name, value(measured.value(), Unit::Count, Lang::En));
        let short = short(texts::ways_short!(name, says, measured));
        let text = texts::ways_text!(name, says, measured);
        (short, text)
    })
}

/// The share of rounds that must agree before the host is contradicted: a neighbour disturbs some of them.
const SURE: f64 = 0.75;

/// Tells whether the rounds agree on another value. Without a vote nothing is proven: a median of rounds may be a size that no cache has.
fn differs(measured: &Estimate, reported: f64) -> bool {
    reported > 0.0 && measured.value() != reported && measured.agreement.is_some_and(|share| share >= SURE)
}
